//! The syntax of Go's regular expressions (RE2 in Perl's dress), as `regexp.Compile` judges it.
//!
//! The pattern is read once, with a stack of open groups instead of recursion. Each part is reduced to what later
//! verdicts need: whether it can match the empty text, and how big and how deep it is, since Go bounds all of these.

mod class;

use class::{Cursor, class, escape, unicode_class};

/// Go's bound for one repetition, and for the product of repetitions within each other.
const MAX_REPEAT: u64 = 1000;
/// Go's bound for the compiled program: 128 MiB of instructions of 40 bytes.
const MAX_SIZE: u64 = (128 << 20) / 40;
/// Go's bound for the tree.
const MAX_HEIGHT: u64 = 1000;

/// Why a pattern is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid regular expression {pattern:?}: {reason}")]
pub struct RegexpError {
    pattern: String,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    #[error("a group is not closed")]
    UnclosedGroup,
    #[error("a parenthesis closes no group")]
    UnopenedGroup,
    #[error("a character class is not closed")]
    UnclosedClass,
    #[error("a class or range of characters is unknown or runs backwards")]
    BadRange,
    #[error("an escape is unknown")]
    BadEscape,
    #[error("it ends in a backslash")]
    TrailingBackslash,
    #[error("a repetition has nothing to repeat")]
    NothingToRepeat,
    #[error("a repetition follows another")]
    RepeatedRepetition,
    #[error("a repetition is above 1000, or its bounds are reversed")]
    BadRepetition,
    #[error("a group's flags or name are invalid; Go has no look-around")]
    BadGroup,
    #[error("it is too large")]
    TooLarge,
}

/// A pattern that Go compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regexp {
    matches_empty: bool,
    short_names: bool,
}

impl Regexp {
    /// Judges a pattern.
    pub fn parse(pattern: &str) -> Result<Self, RegexpError> {
        parse(pattern).map_err(|reason| RegexpError { pattern: pattern.to_owned(), reason })
    }

    /// Whether the empty text as a whole matches.
    pub fn matches_empty(self) -> bool {
        self.matches_empty
    }

    /// Whether a group is named as in `(?<name>…)`: Go before 1.22 knows only `(?P<name>…)`.
    pub fn has_short_names(self) -> bool {
        self.short_names
    }
}

/// A part of a pattern.
#[derive(Clone, Copy)]
struct Part {
    matches_empty: bool,
    literal: bool,
    size: u64,
    height: u64,
    /// The product of the repetitions within each other.
    repeats: u64,
}

const NOTHING: Part = Part { matches_empty: true, literal: false, size: 1, height: 1, repeats: 1 };
const CHARACTER: Part = Part { matches_empty: false, literal: false, size: 1, height: 1, repeats: 1 };
const LITERAL: Part = Part { literal: true, ..CHARACTER };
const NEVER_IN_EMPTY: Part = Part { matches_empty: false, ..NOTHING };

/// An open group: the alternatives that are complete, and the parts of the one being read.
#[derive(Default)]
struct Group {
    captures: bool,
    alternatives: Option<Part>,
    parts: Option<Part>,
    /// The part that a repetition would apply to; not yet in `parts`.
    last: Option<Part>,
}

impl Group {
    fn push(&mut self, part: Part) {
        self.settle();
        self.last = Some(part);
    }

    fn settle(&mut self) {
        let Some(last) = self.last.take() else { return };
        self.parts = Some(match self.parts {
            None => last,
            Some(parts) => Part {
                matches_empty: parts.matches_empty && last.matches_empty,
                literal: parts.literal && last.literal,
                size: parts.size + last.size,
                height: if parts.literal && last.literal { 1 } else { parts.height.max(last.height + 1) },
                repeats: parts.repeats.max(last.repeats),
            },
        });
    }

    fn alternative(&mut self) {
        self.settle();
        let parts = self.parts.take().unwrap_or(NOTHING);
        self.alternatives = Some(match self.alternatives {
            None => parts,
            Some(others) => Part {
                matches_empty: others.matches_empty || parts.matches_empty,
                literal: false,
                size: others.size + parts.size + 1,
                height: others.height.max(parts.height + 1),
                repeats: others.repeats.max(parts.repeats),
            },
        });
    }

    fn close(mut self) -> Part {
        self.alternative();
        let whole = self.alternatives.unwrap_or(NOTHING);
        if self.captures {
            Part { literal: false, size: whole.size + 2, height: whole.height + 1, ..whole }
        } else {
            Part { literal: false, ..whole }
        }
    }
}

fn parse(pattern: &str) -> Result<Regexp, Reason> {
    let mut cursor = Cursor::new(pattern);
    let mut outer: Vec<Group> = Vec::new();
    let mut group = Group::default();
    let mut after_repetition = false;
    let mut short_names = false;
    while let Some(character) = cursor.next() {
        let mut is_repetition = false;
        match character {
            '(' => {
                short_names |= cursor.rest().starts_with("?<");
                let captures = match cursor.peek() {
                    Some('?') => match flags(&mut cursor)? {
                        Opened::Nothing => {
                            after_repetition = false;
                            continue;
                        }
                        Opened::Plain => false,
                        Opened::Capture => true,
                    },
                    _ => true,
                };
                outer.push(std::mem::replace(&mut group, Group { captures, ..Group::default() }));
            }
            ')' => {
                let around = outer.pop().ok_or(Reason::UnopenedGroup)?;
                let part = std::mem::replace(&mut group, around).close();
                group.push(bounded(part)?);
            }
            '|' => group.alternative(),
            '^' | '$' => group.push(NOTHING),
            '.' => group.push(CHARACTER),
            '[' => {
                class(&mut cursor)?;
                group.push(CHARACTER);
            }
            '*' | '+' | '?' => {
                is_repetition = true;
                repeat(&mut group, &mut cursor, after_repetition, |part| match character {
                    '*' => Part { matches_empty: true, size: part.size + 2, ..part },
                    '?' => Part { matches_empty: true, size: part.size + 1, ..part },
                    _ => Part { size: part.size + 1, ..part },
                })?;
            }
            '{' => match cursor.counts() {
                None => group.push(LITERAL),
                Some((least, most)) => {
                    is_repetition = true;
                    counted(&mut group, &mut cursor, after_repetition, least, most)?;
                }
            },
            '\\' => backslash(&mut group, &mut cursor)?,
            _ => group.push(LITERAL),
        }
        after_repetition = is_repetition;
    }
    if !outer.is_empty() {
        return Err(Reason::UnclosedGroup);
    }
    let whole = bounded(group.close())?;
    Ok(Regexp { matches_empty: whole.matches_empty, short_names })
}

fn bounded(part: Part) -> Result<Part, Reason> {
    if part.size > MAX_SIZE || part.height > MAX_HEIGHT { Err(Reason::TooLarge) } else { Ok(part) }
}

fn repeat(
    group: &mut Group,
    cursor: &mut Cursor<'_>,
    after_repetition: bool,
    of: impl FnOnce(Part) -> Part,
) -> Result<(), Reason> {
    cursor.skip('?');
    if after_repetition {
        return Err(Reason::RepeatedRepetition);
    }
    let part = group.last.ok_or(Reason::NothingToRepeat)?;
    let repeated = of(part);
    group.last = Some(bounded(Part { literal: false, height: part.height + 1, ..repeated })?);
    Ok(())
}

fn counted(
    group: &mut Group,
    cursor: &mut Cursor<'_>,
    after_repetition: bool,
    least: u64,
    most: Option<u64>,
) -> Result<(), Reason> {
    if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
        return Err(Reason::BadRepetition);
    }
    let times = most.unwrap_or(least);
    let mut repeats = 1;
    repeat(group, cursor, after_repetition, |part| {
        // `{0}` drops what it repeats, and Go does not look into it.
        repeats = if most == Some(0) { 1 } else { times.max(1).saturating_mul(part.repeats) };
        Part {
            matches_empty: part.matches_empty || least == 0,
            repeats,
            size: match most {
                None if least == 0 => part.size + 2,
                None => least * part.size + 1,
                Some(most) => (most * part.size + (most - least)).max(1),
            },
            ..part
        }
    })?;
    if (least >= 2 || most.is_some_and(|most| most >= 2)) && repeats > MAX_REPEAT {
        return Err(Reason::BadRepetition);
    }
    Ok(())
}

fn backslash(group: &mut Group, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    match cursor.peek() {
        Some('A' | 'z' | 'B') => group.push(NOTHING),
        // No word begins or ends in an empty text.
        Some('b') => group.push(NEVER_IN_EMPTY),
        Some('C') => return Err(Reason::BadEscape),
        Some('Q') => {
            cursor.next();
            for _ in cursor.until("\\E").chars() {
                group.push(LITERAL);
            }
            return Ok(());
        }
        Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => group.push(CHARACTER),
        Some('p' | 'P') => {
            unicode_class(cursor)?;
            group.push(CHARACTER);
            return Ok(());
        }
        _ => {
            escape(cursor)?;
            group.push(LITERAL);
            return Ok(());
        }
    }
    cursor.next();
    Ok(())
}

/// What `(?…` opened.
enum Opened {
    Capture,
    Plain,
    /// `(?i)`: flags for the rest of the group; no part of their own.
    Nothing,
}

/// Reads what follows `(`, from the `?` on.
fn flags(cursor: &mut Cursor<'_>) -> Result<Opened, Reason> {
    cursor.next();
    let rest = cursor.rest();
    if let Some(named) = rest.strip_prefix("P<").or_else(|| rest.strip_prefix('<')) {
        let (name, after) = named.split_once('>').ok_or(Reason::BadGroup)?;
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return Err(Reason::BadGroup);
        }
        *cursor = Cursor::new(after);
        return Ok(Opened::Capture);
    }
    let mut negated = false;
    let mut flag_seen = false;
    while let Some(character) = cursor.next() {
        match character {
            'i' | 'm' | 's' | 'U' => flag_seen = true,
            '-' if !negated => {
                negated = true;
                flag_seen = false;
            }
            ':' | ')' if !negated || flag_seen => {
                return Ok(if character == ':' { Opened::Plain } else { Opened::Nothing });
            }
            _ => break,
        }
    }
    Err(Reason::BadGroup)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_short_name_of_a_group_is_told_from_a_text() {
        for (pattern, short) in [
            ("(?<a>b)", true),
            ("(?P<a>b)", false),
            (r"\(?<a>", false),
            (r"[(?<]a", false),
            (r"\Q(?<a>\E", false),
        ] {
            assert_eq!(Regexp::parse(pattern).unwrap().has_short_names(), short, "{pattern}");
        }
    }

    #[test]
    fn what_go_accepts_is_accepted_and_whether_it_matches_nothing_is_known() {
        for (pattern, matches_empty) in [
            ("", true),
            ("a", false),
            (".*", true),
            (".+", false),
            ("a|", true),
            ("(a|b)?", true),
            ("^$", true),
            (r"\b", false),
            (r"\B", true),
            (r"\Qa.b\E", false),
            (r"\Q\E", true),
            (r"a{,2}", false),
            (r"a{0,2}", true),
            (r"a{2}", false),
            (r"{", false),
            (r"(?i)x*", true),
            (r"a(?i)*", true),
            (r"(?P<n>a)(?<m>b)", false),
            (r"(?i-s:a)", false),
            (r"[]a]", false),
            (r"[a-]", false),
            (r"[[:alpha:]\d\p{Greek}]", false),
            (r"\pL\p{^Lu}\PN", false),
            (r"\x{10FFFF}\x41\012\0", false),
            (r"\_\-\.", false),
            (r"[[a]", false),
            (r"(a{10}){100}", false),
            (r"(a{0}){0}", true),
        ] {
            assert_eq!(Regexp::parse(pattern).map(Regexp::matches_empty), Ok(matches_empty), "{pattern}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "(",
            ")",
            "(?",
            "[",
            "[a",
            "*",
            "a**",
            "a*??",
            "a{2}{3}",
            "a{1001}",
            "a{3,2}",
            "(a{10}){101}",
            "|*",
            "(*)",
            r"\",
            r"\1",
            r"\8",
            r"\C",
            r"\q",
            r"\p{Foo}",
            r"\x{110000}",
            r"\xg",
            r"[z-a]",
            r"[[:foo:]]",
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?x)a",
            "(?P<>a)",
            "(?P<a b>c)",
            "(?i-)a",
            r"[\b]",
            "(?",
        ] {
            assert!(Regexp::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn depth_and_size_are_bounded_without_recursion() {
        assert!(Regexp::parse(&format!("{}a{}", "(".repeat(900), ")".repeat(900))).is_ok());
        assert!(Regexp::parse(&format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000))).is_err());
        assert!(Regexp::parse(&format!("({}){{1000}}", "ab".repeat(2000))).is_err());
    }
}
