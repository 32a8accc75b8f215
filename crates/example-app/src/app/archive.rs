//! All notes as one document: what a backup is. Its checksum proves that nothing is missing or changed.

use kit::run::Failure;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    format::{Format, Key, Note, hex, json_line},
    tree::Tree,
};

#[derive(Debug, Serialize, Deserialize)]
struct Archive {
    format: u32,
    /// In the order of their keys, so that the same notes give the same bytes.
    notes: Vec<(String, Note)>,
    /// Over all of the above.
    sha256: String,
}

/// The archive of `tree`, and how many notes are in it.
pub(super) fn encode(tree: &Tree) -> Result<(Vec<u8>, usize), Failure> {
    let notes = tree.notes()?;
    Ok((write(tree.format, &notes), notes.len()))
}

fn write(format: Format, notes: &[(Key, Note)]) -> Vec<u8> {
    let format = format.number();
    let notes: Vec<_> = notes.iter().map(|(key, note)| (key.as_str().to_owned(), note.clone())).collect();
    let sha256 = hex(&Sha256::digest(json_line(&(format, &notes))));
    json_line(&Archive { format, notes, sha256 })
}

/// What is in an archive; the error says what is wrong with it.
pub(super) fn decode(bytes: &[u8]) -> Result<(Format, Vec<(Key, Note)>), String> {
    let archive: Archive =
        serde_json::from_slice(bytes).map_err(|error| format!("the archive is damaged: {error}"))?;
    let format =
        Format::of_number(archive.format).ok_or("the archive has a data format that is not known")?;
    let notes = archive.notes.into_iter().map(|(key, note)| Ok((Key::new(key)?, note)));
    let notes: Vec<(Key, Note)> = notes.collect::<Result<_, String>>()?;
    // Written again it must be the same, checksum and all.
    match write(format, &notes) == bytes {
        true => Ok((format, notes)),
        false => Err("the archive is damaged: its checksum is wrong".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use proptest::{collection::btree_map, prelude::*};

    use super::*;

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
            let bytes = write(Format::Checked, &Vec::from_iter(notes.clone()));
            let (format, decoded) = decode(&bytes).unwrap();
            prop_assert_eq!(format, Format::Checked);
            prop_assert_eq!(decoded.into_iter().collect::<BTreeMap<_, _>>(), notes);
            let (head, _) = bytes.split_at(cut.index(bytes.len()));
            prop_assert!(decode(head).is_err(), "a part is never a whole");
        }

        #[test]
        fn a_changed_byte_is_found(notes in notes(), at in any::<prop::sample::Index>(), with in 1_u8..) {
            let mut bytes = write(Format::Raw, &Vec::from_iter(notes));
            let at = at.index(bytes.len());
            bytes[at] ^= with;
            // Only the digits of the checksum itself have two spellings, and ours is the lower-case one.
            prop_assert!(decode(&bytes).is_err());
        }
    }

    #[test]
    fn what_follows_the_end_is_refused() {
        let bytes = write(Format::Checked, &[]);
        assert!(decode(&[&bytes[..], b"{}\n"].concat()).is_err());
        assert!(decode(&[&bytes[..], b"x"].concat()).is_err());
        assert!(decode(&[]).is_err());
    }
}
