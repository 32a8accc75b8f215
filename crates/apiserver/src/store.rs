//! Every object at every revision: one counter, one log, and no forgetting before [`Store::compact`].
//!
//! Invariants: a commit is one revision of one object; an object's `metadata.resourceVersion` is the revision of its last
//! commit; a commit that changes nothing makes no revision.

mod object;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    ops::ControlFlow,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use serde_json::Value;

pub use object::{Object, ObjectId, Scope};

use crate::{Follower, Turns};

/// Where the counter starts: a cluster that tests meet is never new.
const FIRST_REVISION: u64 = 1000;

/// The database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    data: RwLock<Data>,
    revision: Turns,
}

/// From a revision on an object was like this; `None`: it was deleted.
type Version = (u64, Option<Arc<Object>>);

#[derive(Debug)]
struct Data {
    revision: u64,
    /// Nothing older than this can be served.
    compacted: u64,
    live: BTreeMap<ObjectId, Arc<Object>>,
    /// How many objects there have been at each place: not forgotten by [`Store::compact`].
    came: BTreeMap<ObjectId, u64>,
    /// Per object its versions, oldest first.
    history: BTreeMap<ObjectId, Vec<Version>>,
    /// One event per revision, the first for `log_start`.
    log: VecDeque<Event>,
    log_start: u64,
}

/// What a commit did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of the log.
#[derive(Debug, Clone)]
pub struct Event {
    pub revision: u64,
    pub id: ObjectId,
    pub change: Change,
    /// The object after the change; for a deletion its last state, at the revision of the deletion.
    pub object: Arc<Object>,
    pub previous: Option<Arc<Object>>,
}

/// What must be true of the stored object for a commit to go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Absent,
    Revision(u64),
}

/// Why a commit did not go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    #[error("the object exists")]
    Exists,
    #[error("the object does not exist")]
    Missing,
    #[error("the object is at revision {live}")]
    Changed { live: u64 },
}

/// The revision asked for is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("revisions before {compacted} are compacted")]
pub struct Compacted {
    pub compacted: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    pub fn new() -> Self {
        let data = Data {
            revision: FIRST_REVISION,
            compacted: FIRST_REVISION,
            live: BTreeMap::new(),
            came: BTreeMap::new(),
            history: BTreeMap::new(),
            log: VecDeque::new(),
            log_start: FIRST_REVISION + 1,
        };
        Self(Arc::new(Shared { data: RwLock::new(data), revision: Turns::new(FIRST_REVISION) }))
    }

    fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.0.data.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.0.data.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the last commit.
    pub fn revision(&self) -> u64 {
        self.read().revision
    }

    /// The oldest revision that can be served.
    pub fn compacted(&self) -> u64 {
        self.read().compacted
    }

    /// Says when there are new revisions.
    pub fn subscribe(&self) -> Follower {
        self.0.revision.follow()
    }

    pub fn get(&self, id: &ObjectId) -> Option<Arc<Object>> {
        self.read().live.get(id).cloned()
    }

    /// How many objects there have been at this place, one after the other.
    pub(crate) fn came(&self, id: &ObjectId) -> u64 {
        self.read().came.get(id).copied().unwrap_or_default()
    }

    /// The object as it was at `revision`.
    pub fn get_at(&self, id: &ObjectId, revision: u64) -> Result<Option<Arc<Object>>, Compacted> {
        let data = self.read();
        data.check(revision)?;
        Ok(data.history.get(id).and_then(|versions| as_of(versions, revision)).cloned())
    }

    /// All objects of a scope, and the revision that this is the state of.
    pub fn list(&self, scope: &Scope) -> (u64, Vec<Arc<Object>>) {
        let mut objects = Vec::new();
        let visited = self.visit(scope, None, None, |_, object| {
            objects.push(Arc::clone(object));
            ControlFlow::Continue(())
        });
        // Only a past revision can be compacted.
        (visited.unwrap_or_default(), objects)
    }

    /// All objects of a scope as they were at `revision`.
    pub fn list_at(&self, scope: &Scope, revision: u64) -> Result<Vec<Arc<Object>>, Compacted> {
        let mut objects = Vec::new();
        self.visit(scope, Some(revision), None, |_, object| {
            objects.push(Arc::clone(object));
            ControlFlow::Continue(())
        })?;
        Ok(objects)
    }

    /// Shows the objects of a scope in key order, now or at a past revision, beginning behind `after`. Returns the revision shown.
    pub fn visit(
        &self,
        scope: &Scope,
        at: Option<u64>,
        after: Option<&ObjectId>,
        mut see: impl FnMut(&ObjectId, &Arc<Object>) -> ControlFlow<()>,
    ) -> Result<u64, Compacted> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let data = self.read();
        let first = scope.first();
        let from = match after {
            Some(after) if *after >= first => Excluded(after),
            _ => Included(&first),
        };
        let Some(at) = at.filter(|at| *at != data.revision) else {
            for (id, object) in data.live.range((from, Unbounded)).take_while(|(id, _)| scope.holds(id)) {
                if see(id, object).is_break() {
                    break;
                }
            }
            return Ok(data.revision);
        };
        data.check(at)?;
        for (id, versions) in data.history.range((from, Unbounded)).take_while(|(id, _)| scope.holds(id)) {
            if let Some(object) = as_of(versions, at)
                && see(id, object).is_break()
            {
                break;
            }
        }
        Ok(at)
    }

    /// Everything there is.
    pub fn everything(&self) -> Vec<(ObjectId, Arc<Object>)> {
        self.read().live.iter().map(|(id, object)| (id.clone(), Arc::clone(object))).collect()
    }

    /// Writes `value`, or deletes the object when it is `None`.
    pub fn commit(
        &self,
        id: &ObjectId,
        expect: Expect,
        value: Option<Value>,
    ) -> Result<Arc<Object>, CommitError> {
        self.commit_event(id, expect, value).map(|(object, _)| object)
    }

    /// As [`Store::commit`], and says which revision it made; `None` for a commit that changed nothing.
    pub fn commit_event(
        &self,
        id: &ObjectId,
        expect: Expect,
        value: Option<Value>,
    ) -> Result<(Arc<Object>, Option<u64>), CommitError> {
        let mut data = self.write();
        let live = data.live.get(id).cloned();
        match (expect, &live) {
            (Expect::Absent, Some(_)) => return Err(CommitError::Exists),
            (Expect::Revision(_), None) => return Err(CommitError::Missing),
            (Expect::Revision(expected), Some(live)) if live.revision() != expected => {
                return Err(CommitError::Changed { live: live.revision() });
            }
            _ => {}
        }
        let next = data.revision + 1;
        let (object, change) = match (value, &live) {
            (None, None) => return Err(CommitError::Missing),
            (None, Some(live)) => (live.as_of(next), Change::Deleted),
            (Some(value), Some(live)) if live.same(&value) => return Ok((Arc::clone(live), None)),
            (Some(value), Some(_)) => (Object::new(value, next), Change::Modified),
            (Some(value), None) => (Object::new(value, next), Change::Added),
        };
        let object = Arc::new(object);
        data.push(id.clone(), change, Arc::clone(&object), live);
        drop(data);
        self.0.revision.set(next);
        Ok((object, Some(next)))
    }

    /// The events after `revision`, at most `limit`.
    pub fn events_since(&self, revision: u64, limit: usize) -> Result<Vec<Event>, Compacted> {
        let data = self.read();
        data.check(revision)?;
        let skip = usize::try_from((revision + 1).saturating_sub(data.log_start)).unwrap_or(usize::MAX);
        Ok(data.log.range(skip.min(data.log.len())..).take(limit).cloned().collect())
    }

    /// Forgets everything older than `revision`.
    pub fn compact(&self, revision: u64) {
        let mut data = self.write();
        let revision = revision.min(data.revision);
        if revision <= data.compacted {
            return;
        }
        data.compacted = revision;
        data.history.retain(|_, versions| {
            let keep_from = versions.partition_point(|(at, _)| *at <= revision).saturating_sub(1);
            versions.drain(..keep_from);
            !matches!(versions.as_slice(), [(at, None)] if *at <= revision)
        });
        while data.log.front().is_some_and(|event| event.revision <= revision) {
            data.log.pop_front();
        }
        data.log_start = revision + 1;
    }
}

impl Data {
    fn check(&self, revision: u64) -> Result<(), Compacted> {
        if revision < self.compacted { Err(Compacted { compacted: self.compacted }) } else { Ok(()) }
    }

    fn push(&mut self, id: ObjectId, change: Change, object: Arc<Object>, previous: Option<Arc<Object>>) {
        let revision = object.revision();
        self.revision = revision;
        if change == Change::Added {
            *self.came.entry(id.clone()).or_default() += 1;
        }
        let state = (change != Change::Deleted).then(|| Arc::clone(&object));
        match &state {
            Some(state) => self.live.insert(id.clone(), Arc::clone(state)),
            None => self.live.remove(&id),
        };
        self.history.entry(id.clone()).or_default().push((revision, state));
        self.log.push_back(Event { revision, id, change, object, previous });
    }
}

/// The version that was current at `revision`.
fn as_of(versions: &[Version], revision: u64) -> Option<&Arc<Object>> {
    let next = versions.partition_point(|(at, _)| *at <= revision);
    versions.get(next.checked_sub(1)?)?.1.as_ref()
}
