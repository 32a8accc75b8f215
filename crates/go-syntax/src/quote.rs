//! Quoted texts: `strconv.Quote`, and the way back for the three quotes that PromQL and templates know.
//!
//! A text is bytes: `"\xff"` is one byte that is no UTF-8, and Go keeps it.

use std::fmt::Write;

/// Why a quoted text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid escape or quote in {0}")]
pub struct QuoteError(String);

/// Reads a quoted text with its quotes: `"…"` and `'…'` with escapes, `` `…` `` as it is.
pub fn unquote(quoted: &str) -> Result<Vec<u8>, QuoteError> {
    let refuse = || QuoteError(quoted.to_owned());
    let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')).ok_or_else(refuse)?;
    let inside = quoted.get(1..).and_then(|rest| rest.strip_suffix(quote)).ok_or_else(refuse)?;
    if quote == '`' {
        return if inside.contains('`') { Err(refuse()) } else { Ok(inside.as_bytes().to_vec()) };
    }
    let mut text = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while !rest.is_empty() {
        let (character, after) = unquote_character(rest, quote).ok_or_else(refuse)?;
        match character {
            Unquoted::Byte(byte) => text.push(byte),
            Unquoted::Character(character) => {
                let mut buffer = [0; 4];
                text.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            }
        }
        rest = after;
    }
    Ok(text)
}

/// One character of a quoted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    Byte(u8),
    Character(char),
}

/// Reads the first character or escape of what stands between quotes, as `strconv.UnquoteChar`.
pub fn unquote_character(inside: &str, quote: char) -> Option<(Unquoted, &str)> {
    let mut characters = inside.chars();
    let first = characters.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unquoted::Character(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let simple = |character: char| Some((Unquoted::Character(character), rest));
    match escape {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '\\' => simple('\\'),
        '\'' | '"' if escape == quote => simple(escape),
        'x' => {
            coded(rest, 2, 16).and_then(|(code, rest)| Some((Unquoted::Byte(u8::try_from(code).ok()?), rest)))
        }
        'u' => coded(rest, 4, 16)
            .and_then(|(code, rest)| Some((Unquoted::Character(char::from_u32(code)?), rest))),
        'U' => coded(rest, 8, 16)
            .and_then(|(code, rest)| Some((Unquoted::Character(char::from_u32(code)?), rest))),
        '0'..='7' => {
            let (code, rest) = coded(inside.get(1..)?, 3, 8)?;
            Some((Unquoted::Byte(u8::try_from(code).ok()?), rest))
        }
        _ => None,
    }
}

fn coded(text: &str, digits: usize, radix: u32) -> Option<(u32, &str)> {
    let code = text.get(..digits)?;
    if !code.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some((u32::from_str_radix(code, radix).ok()?, text.get(digits..)?))
}

/// Writes a text as `strconv.Quote` does.
pub fn write_quoted(out: &mut String, text: &[u8]) {
    out.push('"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            write_character(out, character);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
}

fn write_character(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        ' '..='~' => out.push(character),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ if is_printable(character) => out.push(character),
        _ => {
            let code = u32::from(character);
            let _ = match code {
                ..0x80 => write!(out, "\\x{code:02x}"),
                0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
        }
    }
}

/// Go prints letters, marks, digits, punctuation and symbols. The standard library decides the same for its own
/// `escape_debug`, except for marks, which it escapes to keep them off the quote before them.
fn is_printable(character: char) -> bool {
    let mut escaped = character.escape_debug();
    if escaped.next() == Some(character) {
        return true;
    }
    // A mark is shown as it is when it does not come first.
    let mut text = String::from("a");
    text.push(character);
    text.escape_debug().nth(1) == Some(character)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn quoted(text: &[u8]) -> String {
        let mut out = String::new();
        write_quoted(&mut out, text);
        out
    }

    #[test]
    fn quoting_is_that_of_go() {
        assert_eq!(quoted("a\"b\\\n\t\u{7f}".as_bytes()), r#""a\"b\\\n\t\x7f""#);
        assert_eq!(quoted("é日本😀".as_bytes()), "\"é日本😀\"");
        assert_eq!(quoted("\u{a0}\u{200b}\u{feff}\u{fffd}".as_bytes()), "\"\\u00a0\\u200b\\ufeff\u{fffd}\"");
        assert_eq!(quoted("e\u{301}".as_bytes()), "\"e\u{301}\"");
        assert_eq!(quoted(&[b'a', 0xff, 0xc3]), r#""a\xff\xc3""#);
    }

    #[test]
    fn unquoting_knows_escapes_and_bytes() {
        assert_eq!(unquote(r#""a\x41\u00e9\101\"""#).unwrap(), "aAéA\"".as_bytes());
        assert_eq!(unquote(r#"'\xff'"#).unwrap(), [0xff]);
        assert_eq!(unquote(r"`a\n`").unwrap(), br"a\n");
        for refused in [r#""\'""#, r#""\ud800""#, r#""\400""#, r#""\x4""#, r#""\q""#, "\"a", "\"a\nb\""] {
            assert!(unquote(refused).is_err(), "{refused}");
        }
    }
}
