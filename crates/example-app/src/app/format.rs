//! A note, and how each data format writes it into a file.

use jiff::Timestamp;
pub(crate) use kit::disk::RecordKey as Key;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How notes are written, in the order in which the formats came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The file is the text. Its time is the file's; damage shows only where the text is no longer UTF-8.
    Raw = 1,
    /// JSON with text, times and a checksum over them and the key.
    Checked = 2,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub(crate) text: String,
    pub(crate) created: Timestamp,
    pub(crate) modified: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct CheckedFile {
    #[serde(flatten)]
    note: Note,
    checksum: String,
}

impl kit::disk::Format for Format {
    type Record = Note;
    const RECORD: &'static str = "note";
    const ALL: &'static [Self] = &[Self::Raw, Self::Checked];

    fn number(self) -> u32 {
        self as u32
    }

    fn encode(self, key: &Key, note: &Note) -> Vec<u8> {
        match self {
            Self::Raw => note.text.clone().into_bytes(),
            Self::Checked => json_line(&CheckedFile { note: note.clone(), checksum: checksum(key, note) }),
        }
    }

    fn decode(self, key: &Key, bytes: &[u8], modified: Timestamp) -> Result<Note, String> {
        match self {
            Self::Raw => {
                let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
                Ok(Note { text: text.to_owned(), created: modified, modified })
            }
            Self::Checked => {
                let CheckedFile { note, checksum: told } =
                    serde_json::from_slice(bytes).map_err(|error| format!("it is not a note: {error}"))?;
                if checksum(key, &note) == told { Ok(note) } else { Err("its checksum is wrong".to_owned()) }
            }
        }
    }

    fn modified(note: &Note) -> Timestamp {
        note.modified
    }
}

/// What is on a volume; beside it, in [`BEFORE_RESTORE`], what the last restore replaced.
pub(super) type Tree = kit::disk::Records<Format>;
pub(super) const BEFORE_RESTORE: &str = "before-restore";

/// Over the key too, so that a file under another note's name is found out.
fn checksum(key: &Key, note: &Note) -> String {
    sha256(&(key, &note.text, note.created, note.modified))
}

/// Of a value as [`json_line`] writes it, in hexadecimal.
pub(super) fn sha256(value: &impl Serialize) -> String {
    format!("{:x}", Sha256::digest(json_line(value)))
}

/// One line of JSON. Maps with keys that are not strings, the only thing that cannot be JSON, are not written here.
pub(super) fn json_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use kit::disk::Format as _;

    fn note(text: &str) -> Note {
        let at = |s: &str| s.parse().unwrap();
        Note { text: text.into(), created: at("2026-11-16T03:15:00Z"), modified: at("2026-11-16T03:16:00Z") }
    }

    fn read(format: Format, key: &str, bytes: &[u8]) -> String {
        match format.decode(&Key::new(key).unwrap(), bytes, note("").modified) {
            Ok(note) => format!("{:?} created {} modified {}", note.text, note.created, note.modified),
            Err(wrong) => wrong,
        }
    }

    #[test]
    fn format_1_is_the_text_and_format_2_is_checked() {
        let key = Key::new("milk").unwrap();
        assert_eq!(Format::Raw.encode(&key, &note("2 litres")), b"2 litres");
        expect![[r#"
            {"text":"2 litres","created":"2026-11-16T03:15:00Z","modified":"2026-11-16T03:16:00Z","checksum":"40436da77f1d0f3433a032209b9d6eb7bfc4365440fb17d4f96befe87f4b7b34"}
        "#]]
        .assert_eq(&String::from_utf8(Format::Checked.encode(&key, &note("2 litres"))).unwrap());
    }

    #[test]
    fn damage_is_found_as_far_as_the_format_allows() {
        let check =
            |format, key, bytes: &[u8], expected: Expect| expected.assert_eq(&read(format, key, bytes));
        let good =
            String::from_utf8(Format::Checked.encode(&Key::new("milk").unwrap(), &note("2 litres"))).unwrap();
        check(
            Format::Checked,
            "milk",
            good.as_bytes(),
            expect![[r#""2 litres" created 2026-11-16T03:15:00Z modified 2026-11-16T03:16:00Z"#]],
        );
        check(Format::Checked, "bread", good.as_bytes(), expect!["its checksum is wrong"]);
        check(Format::Checked, "milk", good.replace('2', "3").as_bytes(), expect!["its checksum is wrong"]);
        check(
            Format::Checked,
            "milk",
            &good.as_bytes()[..20],
            expect!["it is not a note: EOF while parsing a string at line 1 column 20"],
        );
        check(
            Format::Checked,
            "milk",
            b"",
            expect!["it is not a note: EOF while parsing a value at line 1 column 0"],
        );
        check(
            Format::Raw,
            "milk",
            b"",
            expect![[r#""" created 2026-11-16T03:16:00Z modified 2026-11-16T03:16:00Z"#]],
        );
        check(Format::Raw, "milk", b"\xff\xfe", expect!["it is not UTF-8 text"]);
    }
}
