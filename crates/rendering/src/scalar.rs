//! How a string is written so that every reader of YAML, of 1.1 and of 1.2, reads the same string.
//!
//! Plain only where that is beyond doubt: a list of what is safe, not of what is not. Everything else stands in double
//! quotes; text of several lines may stand as a literal block.

use std::fmt::Write;

/// Words that some reader takes for a boolean or for null, in any spelling.
const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Whether the text may stand without quotes, as a key or as a value.
pub(crate) fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    match bytes {
        [] => false,
        [b'0'..=b'9', ..] => is_duration_like(bytes),
        [b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'/' | b'$' | b'(', ..] => {
            is_safe_within(bytes) && !is_word(text)
        }
        _ => false,
    }
}

/// Digits with units of time, `30s` or `1h30m`: the only texts that begin with a digit and are no number to anybody.
fn is_duration_like(bytes: &[u8]) -> bool {
    let mut units = false;
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {}
            b's' | b'm' | b'h' | b'd' | b'w' | b'y' => units = true,
            _ => return false,
        }
    }
    units
}

/// No character that could end a plain scalar or begin something else, up to the last one.
fn is_safe_within(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        let safe = match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => true,
            b'_' | b'-' | b'.' | b'/' | b'$' | b'(' | b')' | b'|' | b'+' | b'*' | b'^' | b';' | b'@'
            | b'=' | b'?' | b'\\' | b',' | b'[' | b']' | b'{' | b'}' => true,
            // Inside only, and before a letter or digit, so that neither `: ` nor ` #` nor a trailing blank can arise.
            b':' | b' ' => matches!(tail, [b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'_', ..]),
            _ => false,
        };
        if !safe {
            return false;
        }
        rest = tail;
    }
    true
}

fn is_word(text: &str) -> bool {
    text.len() <= 5 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Writes the text in double quotes, with escapes for all that is not printable in every version of YAML.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            ' '..='~' => out.push(character),
            _ => write_beyond_ascii(character, out),
        }
    }
    out.push('"');
}

fn write_beyond_ascii(character: char, out: &mut String) {
    if is_printable(character) {
        out.push(character);
        return;
    }
    let code = u32::from(character);
    // Writing to a String cannot fail.
    let _ = match code {
        0..=0xFF => write!(out, "\\x{code:02X}"),
        0x100..=0xFFFF => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}

/// Printable beyond ASCII for YAML 1.1 and 1.2, and no line break or mark of byte order to either of them.
fn is_printable(character: char) -> bool {
    matches!(character, '\u{A1}'..='\u{2027}' | '\u{202A}'..='\u{D7FF}' | '\u{E000}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}' | '\u{10000}'..='\u{1FFFD}')
}

/// Whether text of several lines can stand as a literal block, where nothing is escaped.
pub(crate) fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with(['\n', ' '])
        && !text.ends_with("\n\n")
        && text.chars().all(|c| matches!(c, '\n' | ' '..='~') || is_printable(c))
        && text.lines().all(|line| !line.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_reader_can_take_for_something_else_is_plain() {
        for text in [
            "up",
            "__address__",
            "/metrics",
            "30s",
            "1h30m",
            "(prod);true",
            "$(SHARD)",
            "serviceMonitor/a/b/0",
            "a b",
            "http://x:9090/p",
            "a.b",
            "v1.0",
        ] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            "",
            " ",
            "~",
            "=",
            "<<",
            "-",
            "- a",
            "?",
            ":",
            "a:",
            "a: b",
            "a #b",
            "#a",
            " a",
            "a ",
            "a  ",
            "yes",
            "On",
            "NULL",
            "y",
            "1",
            "0x1F",
            "1_000",
            "12:30",
            "1e3",
            "0o7",
            ".5",
            ".inf",
            "+1",
            "-1",
            "2001-01-01",
            "1.2.3.4",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "@a",
            "`a",
            "%a",
            "{a",
            "[a",
            "'a",
            "\"a",
            "a\nb",
            "a\tb",
            "é",
            "\u{85}",
            "---",
            "...",
        ] {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn quotes_escape_what_is_not_printable_everywhere() {
        let mut out = String::new();
        write_quoted("a\"\\\n\t\r\0\u{7}\u{7f}\u{85}\u{a0}é\u{2028}\u{feff}😀\u{10ffff}", &mut out);
        assert_eq!(out, "\"a\\\"\\\\\\n\\t\\r\\0\\x07\\x7F\\x85\\xA0é\\u2028\\uFEFF😀\\U0010FFFF\"");
    }
}
