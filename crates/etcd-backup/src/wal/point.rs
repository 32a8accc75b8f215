//! A point in time, and the way there: which backup, which chain, up to which revision. Nothing is touched before all of the way was read.

use jiff::Timestamp;

use super::{
    chunk::Chunk,
    reach::Mark,
    shelf::Shelf,
    walk::{Stop, Way},
};
use crate::{
    Error, Key, Manifest, Result, Store,
    catalogue::{self, Entry},
};

/// Where somebody wants to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The newest backup, and nothing more.
    Newest,
    /// As it was after this revision.
    Revision(i64),
    /// As it was at this time: with nothing that was committed later.
    Time(Timestamp),
    /// The end of what was captured.
    End,
}

/// The way to a point, which was read from end to end and found whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub manifest: Manifest,
    /// None where the backup alone is it.
    pub way: Option<Way>,
    pub target: Mark,
}

/// Why a point cannot be reached, and what can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("there is no whole backup at {0}")]
    NoBackup(String),
    #[error(
        "{wanted} is before backup {id}, which was taken at {taken_at} and holds up to revision {holds}: choose an older backup"
    )]
    TooEarly { wanted: String, id: String, taken_at: Timestamp, holds: i64 },
    #[error("nothing was captured after backup {id}: only revision {holds} can be reached", holds = reached.revision)]
    NotCaptured { id: String, reached: Mark },
    #[error("{wanted} is after what was captured since backup {id}: revision {}, {} can be reached", reached.revision, reached.time)]
    TooLate { wanted: String, id: String, reached: Mark },
    #[error(
        "what was captured after backup {id} cannot be used beyond revision {}, {}: {why}", reached.revision, reached.time
    )]
    Broken { id: String, reached: Mark, why: String },
}

impl Unreachable {
    /// How far one can go.
    pub fn reached(&self) -> Option<Mark> {
        match self {
            Self::NoBackup(_) | Self::TooEarly { .. } => None,
            Self::NotCaptured { reached, .. }
            | Self::TooLate { reached, .. }
            | Self::Broken { reached, .. } => Some(*reached),
        }
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Newest => f.write_str("the newest backup"),
            Self::Revision(revision) => write!(f, "revision {revision}"),
            Self::Time(time) => write!(f, "{time}"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// The newest backup of a cluster from which the point can be reached, and the way. Without a cluster: of whatever cluster has the newest.
pub async fn choose(
    store: &Store,
    cluster_uid: Option<&str>,
    point: Point,
    key: Option<&Key>,
) -> Result<Plan> {
    // Newest first, and none that a restore has refuted.
    let all: Vec<Manifest> =
        catalogue::list(store).await?.iter().filter_map(Entry::usable).cloned().collect();
    let none = || Unreachable::NoBackup(store.location().to_owned());
    let uid = cluster_uid.or(all.first().map(|newest| newest.cluster.uid.as_str())).ok_or_else(none)?;
    let mut refused = None;
    for manifest in all.iter().filter(|manifest| manifest.cluster.uid == uid) {
        match plan(store, manifest, point, key).await {
            Ok(plan) => return Ok(plan),
            // An older backup may reach what this one does not; what is said is the newest one's refusal, unless it is only too new.
            Err(Error::Unreachable(why)) => match &refused {
                Some(Unreachable::TooEarly { .. }) | None => refused = Some(why),
                Some(_) => (),
            },
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(none).into())
}

/// The way from a backup to the point.
pub async fn plan(store: &Store, manifest: &Manifest, point: Point, key: Option<&Key>) -> Result<Plan> {
    let holds = manifest.revision;
    let alone = Plan {
        manifest: manifest.clone(),
        way: None,
        target: Mark { revision: holds.at_most, time: manifest.taken_at },
    };
    let early = || Unreachable::TooEarly {
        wanted: point.to_string(),
        id: manifest.id.clone(),
        taken_at: manifest.taken_at,
        holds: holds.at_most,
    };
    match point {
        Point::Newest => return Ok(alone),
        Point::Revision(revision) if revision < holds.at_most => return Err(early().into()),
        Point::Revision(revision) if revision == holds.at_least => return Ok(alone),
        Point::Time(time) if time < manifest.taken_at => return Err(early().into()),
        _ => (),
    }
    let shelf = Shelf { store, cluster_uid: &manifest.cluster.uid };
    let mut refused = Unreachable::NotCaptured { id: manifest.id.clone(), reached: alone.target };
    for listed in shelf.list().await? {
        let Some(way) = Way::from(&shelf, &listed, manifest).await? else { continue };
        match along(&shelf, manifest, &way, point, key).await {
            Ok(target) if target.revision < holds.at_most => return Err(early().into()),
            Ok(target) => return Ok(Plan { manifest: manifest.clone(), way: Some(way), target }),
            Err(why) => {
                let further = |it: &Unreachable| it.reached().map(|mark| mark.revision);
                if further(&why) >= further(&refused) {
                    refused = why;
                }
            }
        }
    }
    Err(refused.into())
}

/// Walks as far as the point, and says which revision it is.
async fn along(
    shelf: &Shelf<'_>,
    manifest: &Manifest,
    way: &Way,
    point: Point,
    key: Option<&Key>,
) -> Result<Mark, Unreachable> {
    let id = || manifest.id.clone();
    let mut reached = Mark { revision: manifest.revision.at_least, time: manifest.taken_at };
    let mut walk = way.walk(shelf, key);
    while let Some(chunk) = walk.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(Stop::Broken(why)) => {
                return Err(Unreachable::Broken { id: id(), reached, why: why.to_string() });
            }
            Err(Stop::Unusable(why)) => {
                return Err(Unreachable::Broken { id: id(), reached, why: why.to_string() });
            }
        };
        if let Some(target) = within(&chunk, &mut reached, point) {
            return Ok(target);
        }
    }
    match point {
        Point::End | Point::Newest => Ok(reached),
        Point::Time(wanted) if wanted == reached.time => Ok(reached),
        Point::Revision(_) | Point::Time(_) => {
            Err(Unreachable::TooLate { wanted: point.to_string(), id: id(), reached })
        }
    }
}

/// The point, if it is in this chunk. `reached` goes along.
fn within(chunk: &Chunk, reached: &mut Mark, point: Point) -> Option<Mark> {
    let before = reached.revision;
    for revision in chunk.revisions.iter().filter(|it| it.revision > before) {
        let time = Timestamp::from_millisecond(revision.received).unwrap_or(chunk.header.until);
        if let Point::Time(wanted) = point
            && time > wanted
        {
            return Some(Mark { revision: reached.revision, time: wanted });
        }
        *reached = Mark { revision: revision.revision, time };
        if point == Point::Revision(revision.revision) {
            return Some(*reached);
        }
    }
    reached.time = reached.time.max(chunk.header.until);
    match point {
        // In the same moment more may have come, in the next chunk.
        Point::Time(wanted) if wanted < reached.time => {
            Some(Mark { revision: reached.revision, time: wanted })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Sha256,
        wal::chunk::{self, example_packed},
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_000_000 + second).unwrap()
    }

    fn asked(point: Point) -> (Option<i64>, i64) {
        let (bytes, _) = example_packed(1, Sha256::of(b""), 40, 10, None);
        let chunk = chunk::open(&bytes, None).unwrap();
        let mut reached = Mark { revision: 39, time: at(0) };
        let target = within(&chunk, &mut reached, point).map(|mark| mark.revision);
        (target, reached.revision)
    }

    #[test]
    fn a_revision_is_found_and_others_are_passed() {
        assert_eq!(asked(Point::Revision(43)), (Some(43), 43));
        assert_eq!(asked(Point::Revision(50)), (None, 49));
    }

    /// Revision n of the example was received n seconds after its beginning; the chunk knows of the second after its last.
    #[test]
    fn a_time_is_the_last_revision_that_had_come_by_then() {
        assert_eq!(asked(Point::Time(at(43))), (Some(43), 43));
        assert_eq!(asked(Point::Time(at(39))), (Some(39), 39));
        assert_eq!(asked(Point::Time(at(49))), (Some(49), 49));
        // In the moment in which it ends, the next one may have more.
        assert_eq!(asked(Point::Time(at(50))), (None, 49));
    }
}
