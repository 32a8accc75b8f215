//! Characters, escapes and classes of characters within a pattern.

use super::Reason;

/// What may stand in `\p{…}`: categories, their long names, and scripts of one word, without case, blanks, `_` and `-`.
/// Go 1.25 and newer forget scripts of several words (`Old_Italic`); so do we, since Prometheus would refuse them.
const UNICODE: &str = " adlam ahom any arabic armenian ascii assigned avestan balinese bamum batak bengali bhaiksuki \
bopomofo brahmi braille buginese buhid c carian casedletter cc cf chakma cham cherokee chorasmian closepunctuation cn \
cntrl co combiningmark common connectorpunctuation control coptic cs cuneiform currencysymbol cypriot cyrillic \
dashpunctuation decimalnumber deseret devanagari digit dogra duployan elbasan elymaic enclosingmark ethiopic \
finalpunctuation format georgian glagolitic gothic grantha greek gujarati gurmukhi han hangul hanunoo hatran hebrew \
hiragana inherited initialpunctuation javanese kaithi kannada katakana kawi kharoshthi khmer khojki khudawadi l lao \
latin lc lepcha letter letternumber limbu lineseparator lisu ll lm lo lowercaseletter lt lu lycian lydian m mahajani \
makasar malayalam mandaic manichaean marchen mark mathsymbol mc me medefaidrin miao mn modi modifierletter \
modifiersymbol mongolian mro multani myanmar n nabataean nandinagari nd newa nko nl no nonspacingmark number nushu \
ogham openpunctuation oriya osage osmanya other otherletter othernumber otherpunctuation othersymbol p palmyrene \
paragraphseparator pc pd pe pf phoenician pi po privateuse ps punct punctuation rejang runic s samaritan saurashtra sc \
separator sharada shavian siddham sinhala sk sm so sogdian soyombo spaceseparator spacingmark sundanese surrogate \
symbol syriac tagalog tagbanwa takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta titlecaseletter \
toto ugaritic unassigned uppercaseletter vai vithkuqi wancho yezidi yi z zl zp zs ";

/// What may stand in `[[:…:]]`, also with `^` before it.
const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// What is left of a pattern.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        next
    }

    pub(super) fn skip(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// What stands before `end`, or everything; `end` is consumed.
    pub(super) fn until(&mut self, end: &str) -> &'a str {
        let (before, after) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = after;
        before
    }

    /// The counts of `{n}`, `{n,}` or `{n,m}`, past the brace; nothing is consumed if it is none of these: then the
    /// brace is a character.
    pub(super) fn counts(&mut self) -> Option<(u64, Option<u64>)> {
        let (inside, after) = self.rest.split_once('}')?;
        let counts = match inside.split_once(',') {
            None => {
                let exactly = count(inside)?;
                (exactly, Some(exactly))
            }
            Some((least, "")) => (count(least)?, None),
            Some((least, most)) => (count(least)?, Some(count(most)?)),
        };
        self.rest = after;
        Some(counts)
    }
}

fn count(digits: &str) -> Option<u64> {
    let no_number = digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit());
    if no_number || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// Reads an escape, past the backslash.
pub(super) fn escape(cursor: &mut Cursor<'_>) -> Result<char, Reason> {
    let character = cursor.next().ok_or(Reason::TrailingBackslash)?;
    let value = match character {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        // One digit alone would be a back-reference.
        '1'..='7' if !cursor.peek().is_some_and(|c| c.is_digit(8)) => return Err(Reason::BadEscape),
        '0'..='7' => {
            let mut value = character.to_digit(8).unwrap_or_default();
            for _ in 0..2 {
                let Some(digit) = cursor.peek().and_then(|c| c.to_digit(8)) else { break };
                value = value * 8 + digit;
                cursor.next();
            }
            value
        }
        'x' if cursor.skip('{') => {
            let digits = cursor.rest().split_once('}').map(|(digits, _)| digits).ok_or(Reason::BadEscape)?;
            let significant = digits.trim_start_matches('0');
            if digits.is_empty() || significant.len() > 6 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(Reason::BadEscape);
            }
            cursor.until("}");
            u32::from_str_radix(digits, 16).unwrap_or(u32::MAX)
        }
        'x' => {
            let mut digit = || cursor.next().and_then(|c| c.to_digit(16)).ok_or(Reason::BadEscape);
            digit()? * 16 + digit()?
        }
        _ if character.is_ascii() && !character.is_ascii_alphanumeric() => u32::from(character),
        _ => return Err(Reason::BadEscape),
    };
    // Go takes a surrogate for a character; for ranges only its place counts.
    match value {
        0xD800..0xE000 => Ok('\u{D7FF}'),
        _ => char::from_u32(value).ok_or(Reason::BadEscape),
    }
}

/// Reads `p{Greek}`, `pL`, `P{^Lu}`, past the backslash.
pub(super) fn unicode_class(cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    cursor.next();
    let rest = cursor.rest();
    let name = if cursor.skip('{') {
        let name = cursor.rest().split_once('}').map(|(name, _)| name).ok_or(Reason::BadRange)?;
        cursor.until("}");
        name
    } else {
        let letter = cursor.next().ok_or(Reason::BadRange)?;
        rest.get(..letter.len_utf8()).unwrap_or_default()
    };
    let name: String = name
        .strip_prefix('^')
        .unwrap_or(name)
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let known = !name.is_empty() && UNICODE.contains(&format!(" {name} "));
    if known { Ok(()) } else { Err(Reason::BadRange) }
}

/// Reads a class, past the opening bracket.
pub(super) fn class(cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    cursor.skip('^');
    let mut first = true;
    loop {
        if cursor.peek() == Some(']') && !first {
            cursor.next();
            return Ok(());
        }
        first = false;
        if let Some(named) = cursor.rest().strip_prefix("[:")
            && let Some((name, after)) = named.split_once(":]")
        {
            if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
                return Err(Reason::BadRange);
            }
            *cursor = Cursor::new(after);
            continue;
        }
        let mut ahead = *cursor;
        if ahead.skip('\\') {
            match ahead.peek() {
                Some('p' | 'P') => {
                    unicode_class(&mut ahead)?;
                    *cursor = ahead;
                    continue;
                }
                Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                    ahead.next();
                    *cursor = ahead;
                    continue;
                }
                _ => {}
            }
        }
        let low = class_character(cursor)?;
        let rest = cursor.rest();
        if rest.starts_with('-') && rest.len() >= 2 && !rest.starts_with("-]") {
            cursor.next();
            if class_character(cursor)? < low {
                return Err(Reason::BadRange);
            }
        }
    }
}

fn class_character(cursor: &mut Cursor<'_>) -> Result<char, Reason> {
    match cursor.next() {
        None => Err(Reason::UnclosedClass),
        Some('\\') => escape(cursor),
        Some(character) => Ok(character),
    }
}
