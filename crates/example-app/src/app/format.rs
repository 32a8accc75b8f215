//! A note, its key, and how each data format writes it into a file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest key in bytes. Its file is named in hexadecimal, and a file name holds 255 bytes.
const LONGEST_KEY: usize = 120;

/// How notes are written, in the order in which the formats came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The file is the text. Its time is the file's; damage shows only where the text is no longer UTF-8.
    Raw = 1,
    /// JSON with text, times and a checksum over them and the key.
    Checked = 2,
}

/// A note's name: 1 to 120 bytes of UTF-8 without `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(crate) struct Key(String);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
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

impl Format {
    pub fn number(self) -> u32 {
        self as u32
    }

    pub(super) fn of_number(number: u32) -> Option<Self> {
        [Self::Raw, Self::Checked].into_iter().find(|format| format.number() == number)
    }

    /// What a file of this format holds for `note`.
    pub(super) fn encode(self, key: &Key, note: &Note) -> Vec<u8> {
        match self {
            Self::Raw => note.text.clone().into_bytes(),
            Self::Checked => json_line(&CheckedFile { note: note.clone(), checksum: checksum(key, note) }),
        }
    }

    /// Reads such a file; `modified` is the file's time. The error says what is wrong with it.
    pub(super) fn decode(self, key: &Key, bytes: Vec<u8>, modified: Timestamp) -> Result<Note, String> {
        match self {
            Self::Raw => {
                let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
                Ok(Note { text, created: modified, modified })
            }
            Self::Checked => {
                let CheckedFile { note, checksum: told } =
                    serde_json::from_slice(&bytes).map_err(|error| format!("it is not a note: {error}"))?;
                if checksum(key, &note) == told { Ok(note) } else { Err("its checksum is wrong".to_owned()) }
            }
        }
    }
}

impl Key {
    pub(crate) fn new(key: impl Into<String>) -> Result<Self, String> {
        let key = key.into();
        match key.len() {
            1..=LONGEST_KEY if key.contains('/') => Err("a key has no '/' in it".to_owned()),
            1..=LONGEST_KEY => Ok(Self(key)),
            length => Err(format!("a key has 1 to {LONGEST_KEY} bytes; this one has {length}")),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn file_name(&self) -> String {
        hex(self.0.as_bytes())
    }

    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        let pairs = (0..name.len()).step_by(2).map(|at| name.get(at..at + 2));
        let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<_>>()?;
        Self::new(String::from_utf8(bytes).ok()?).ok().filter(|key| key.file_name() == name)
    }
}

/// Over the key too, so that a file under another note's name is found out.
fn checksum(key: &Key, note: &Note) -> String {
    hex(&Sha256::digest(json_line(&(key, &note.text, note.created, note.modified))))
}

/// One line of JSON. Maps with keys that are not strings, the only thing that cannot be JSON, are not written here.
pub(super) fn json_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn note(text: &str) -> Note {
        let at = |s: &str| s.parse().unwrap();
        Note { text: text.into(), created: at("2026-11-16T03:15:00Z"), modified: at("2026-11-16T03:16:00Z") }
    }

    fn read(format: Format, key: &str, bytes: &[u8]) -> String {
        match format.decode(&Key::new(key).unwrap(), bytes.to_vec(), note("").modified) {
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

    #[test]
    fn a_key_is_any_short_text_without_a_slash() {
        for good in ["a", " ", "..", "käse", "a\nb", &"x".repeat(120)] {
            let key = Key::new(good).unwrap();
            assert!(key.file_name().len() <= 240);
            assert_eq!(Key::from_file_name(&key.file_name()), Some(key));
        }
        assert_eq!(Key::new("").unwrap_err(), "a key has 1 to 120 bytes; this one has 0");
        assert_eq!(Key::new("ä".repeat(61)).unwrap_err(), "a key has 1 to 120 bytes; this one has 122");
        assert_eq!(Key::new("a/b").unwrap_err(), "a key has no '/' in it");
        for stray in ["", "6", "6z", "6D", "ff", "2f", "+6"] {
            assert_eq!(Key::from_file_name(stray), None, "{stray}");
        }
    }
}
