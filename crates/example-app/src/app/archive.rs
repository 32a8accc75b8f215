//! All notes as one stream of lines: what a backup is. Its last line proves that nothing is missing or changed.
//!
//! The same notes give the same bytes.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use jiff::Timestamp;

use super::{
    failure::Failure,
    format::{Format, Key, Note, hex, json_line},
    tree::Tree,
};

/// No line is longer: a note of the largest size, every character escaped, fits several times.
const LONGEST_LINE: usize = 16 << 20;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Archive {
        format: Format,
    },
    Note {
        key: Key,
        text: String,
        created: Timestamp,
        modified: Timestamp,
    },
    /// The last one: how many notes, and the SHA-256 of every byte before this line.
    End {
        notes: usize,
        sha256: String,
    },
}

/// An archive as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) format: Format,
    pub(super) notes: usize,
    pub(super) bytes: u64,
    /// Of all bytes, the last line included: what `sha256sum` says about the object.
    pub(super) sha256: String,
}

/// Writes an archive, line by line.
pub(super) struct Encoder {
    format: Format,
    notes: usize,
    bytes: u64,
    hash: Sha256,
}

impl Encoder {
    /// Also returns the first line.
    pub(super) fn new(format: Format) -> (Self, Vec<u8>) {
        let mut encoder = Self { format, notes: 0, bytes: 0, hash: Sha256::new() };
        let first = encoder.line(&Line::Archive { format });
        (encoder, first)
    }

    pub(super) fn note(&mut self, key: &Key, note: Note) -> Vec<u8> {
        self.notes += 1;
        let Note { text, created, modified } = note;
        self.line(&Line::Note { key: key.clone(), text, created, modified })
    }

    pub(super) fn end(mut self) -> (Vec<u8>, Summary) {
        let sha256 = hex(&self.hash.clone().finalize());
        let last = self.line(&Line::End { notes: self.notes, sha256 });
        let sha256 = hex(&self.hash.finalize());
        (last, Summary { format: self.format, notes: self.notes, bytes: self.bytes, sha256 })
    }

    fn line(&mut self, line: &Line) -> Vec<u8> {
        let line = json_line(line);
        self.hash.update(&line);
        self.bytes += line.len() as u64;
        line
    }
}

/// What an archive of `tree` would be.
pub(super) fn summary(tree: &Tree) -> Result<Summary, Failure> {
    encode(tree, |_| ())
}

/// An archive of `tree`, in memory.
pub(super) fn whole(tree: &Tree) -> Result<Vec<u8>, Failure> {
    let mut archive = Vec::new();
    encode(tree, |line| archive.extend(line))?;
    Ok(archive)
}

fn encode(tree: &Tree, mut each: impl FnMut(Vec<u8>)) -> Result<Summary, Failure> {
    let (mut encoder, first) = Encoder::new(tree.format);
    each(first);
    for key in tree.keys()? {
        if let Some((_, note)) = tree.read(&key)? {
            each(encoder.note(&key, note));
        }
    }
    let (last, summary) = encoder.end();
    each(last);
    Ok(summary)
}

/// Reads an archive from pieces of any size.
#[derive(Default)]
pub(super) struct Decoder {
    rest: Vec<u8>,
    hash: Sha256,
    bytes: u64,
    format: Option<Format>,
    notes: usize,
    ended: bool,
}

/// What a piece of an archive contained.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    Begin(Format),
    Note(Key, Note),
}

impl Decoder {
    /// Takes the next piece. What it returns is to be trusted only after [`Decoder::end`].
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Vec<Item>, Failure> {
        self.bytes += piece.len() as u64;
        let mut items = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                items.extend(self.line(&line)?);
            }
        }
        match self.rest.len() > LONGEST_LINE {
            true => Err(damaged("a line of it has no end")),
            false => Ok(items),
        }
    }

    fn line(&mut self, bytes: &[u8]) -> Result<Option<Item>, Failure> {
        let line = serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("a line of it is not JSON as we write it: {error}")))?;
        let item = match (line, self.format) {
            _ if self.ended => return Err(damaged("something follows its last line")),
            (Line::Archive { format }, None) => {
                self.format = Some(format);
                Some(Item::Begin(format))
            }
            (Line::Note { key, text, created, modified }, Some(_)) => {
                self.notes += 1;
                Some(Item::Note(key, Note { text, created, modified }))
            }
            (Line::End { notes, sha256 }, Some(_)) => {
                if notes != self.notes || sha256 != hex(&self.hash.clone().finalize()) {
                    return Err(damaged("its checksum is wrong"));
                }
                self.ended = true;
                None
            }
            _ => return Err(damaged("its lines are in the wrong order")),
        };
        self.hash.update(bytes);
        Ok(item)
    }

    /// After the last piece: was that a whole archive?
    pub(super) fn end(self) -> Result<Summary, Failure> {
        match self.format {
            Some(format) if self.ended && self.rest.is_empty() => Ok(Summary {
                format,
                notes: self.notes,
                bytes: self.bytes,
                sha256: hex(&self.hash.finalize()),
            }),
            _ => Err(damaged("its end is missing")),
        }
    }
}

fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure::Corrupt(format!("the archive is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::btree_map, prelude::*};
    use std::collections::BTreeMap;

    fn written(format: Format, notes: &BTreeMap<Key, Note>) -> (Vec<u8>, Summary) {
        let (mut encoder, mut bytes) = Encoder::new(format);
        for (key, note) in notes {
            bytes.extend(encoder.note(key, note.clone()));
        }
        let (last, summary) = encoder.end();
        bytes.extend(last);
        (bytes, summary)
    }

    fn decode(pieces: &[&[u8]]) -> Result<(BTreeMap<Key, Note>, Summary), Failure> {
        let mut decoder = Decoder::default();
        let mut notes = BTreeMap::new();
        for piece in pieces {
            notes.extend(decoder.feed(piece)?.into_iter().filter_map(|item| match item {
                Item::Note(key, note) => Some((key, note)),
                Item::Begin(_) => None,
            }));
        }
        Ok((notes, decoder.end()?))
    }

    fn notes() -> impl Strategy<Value = BTreeMap<Key, Note>> {
        let key = any::<String>().prop_filter_map("a key", |key| Key::new(key).ok());
        let time = (-9_000_000_000_i64..99_000_000_000, 0..1_000_000_000_i32)
            .prop_filter_map("a time", |(seconds, nanos)| Timestamp::new(seconds, nanos).ok());
        let note = (any::<String>(), time.clone(), time).prop_map(|(text, created, modified)| Note {
            text,
            created,
            modified,
        });
        btree_map(key, note, 0..8)
    }

    proptest! {
        #[test]
        fn an_archive_gives_back_the_notes_that_it_was_made_of(notes in notes(), cut in any::<prop::sample::Index>()) {
            let (bytes, summary) = written(Format::Checked, &notes);
            prop_assert_eq!(summary.sha256.clone(), hex(&Sha256::digest(&bytes)));
            let (head, tail) = bytes.split_at(cut.index(bytes.len()));
            let decoded = decode(&[head, tail]).unwrap();
            prop_assert_eq!(&decoded.0, &notes);
            prop_assert_eq!(decoded.1, summary);
            prop_assert!(matches!(decode(&[head]), Err(Failure::Corrupt(_))), "a part is never a whole");
        }

        #[test]
        fn a_changed_byte_is_found(notes in notes(), at in any::<prop::sample::Index>(), with in 1_u8..) {
            let (mut bytes, _) = written(Format::Raw, &notes);
            let at = at.index(bytes.len());
            bytes[at] ^= with;
            // Only the digits of the checksum itself have two spellings, and ours is the lower-case one.
            prop_assert!(matches!(decode(&[&bytes]), Err(Failure::Corrupt(_))));
        }
    }

    #[test]
    fn what_follows_the_end_is_refused() {
        let (bytes, _) = written(Format::Checked, &BTreeMap::new());
        assert!(decode(&[&bytes, b"{\"archive\":{\"format\":2}}\n"]).is_err());
        assert!(decode(&[&bytes, b"x"]).is_err());
        assert!(decode(&[]).is_err());
    }
}
