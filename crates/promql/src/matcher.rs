//! A matcher of a label: `job=~"a.*"`.

use go_syntax::quote::write_quoted;
use go_syntax::regexp::Regexp;

use crate::part::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchOp {
    Equal,
    NotEqual,
    Regexp,
    NotRegexp,
}

/// A matcher; its regular expression, if it has one, is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    pub name: Vec<u8>,
    pub op: MatchOp,
    pub value: Vec<u8>,
    matches_empty: bool,
    short_names: bool,
}

pub(crate) const METRIC_NAME: &[u8] = b"__name__";

impl Matcher {
    /// Refuses an invalid regular expression, and says why.
    pub fn new(name: impl Into<Vec<u8>>, op: MatchOp, value: impl Into<Vec<u8>>) -> Result<Self, String> {
        let (name, value) = (name.into(), value.into());
        let mut short_names = false;
        let mut empty_regexp = || match std::str::from_utf8(&value) {
            Ok(pattern) => {
                let regexp = Regexp::parse(pattern).map_err(|error| error.to_string())?;
                short_names = regexp.has_short_names();
                Ok(regexp.matches_empty())
            }
            // Prometheus compares alternatives of plain texts itself, whatever their bytes.
            Err(_) if !value.iter().any(|byte| br"\.+*?()[]{}^$".contains(byte)) => {
                Ok(value.split(|byte| *byte == b'|').any(<[u8]>::is_empty))
            }
            Err(_) => Err("a regular expression must be UTF-8".to_owned()),
        };
        let matches_empty = match op {
            MatchOp::Equal => value.is_empty(),
            MatchOp::NotEqual => !value.is_empty(),
            MatchOp::Regexp => empty_regexp()?,
            MatchOp::NotRegexp => !empty_regexp()?,
        };
        Ok(Self { name, op, value, matches_empty, short_names })
    }

    /// `name="value"`, which is always valid.
    pub fn equal(name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        let value = value.into();
        let matches_empty = value.is_empty();
        Self { name: name.into(), op: MatchOp::Equal, value, matches_empty, short_names: false }
    }

    /// What its regular expression has that not every Prometheus reads.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        let regexp = matches!(self.op, MatchOp::Regexp | MatchOp::NotRegexp);
        let bytes = regexp && std::str::from_utf8(&self.value).is_err();
        let found = [
            (self.short_names, Part::ShortGroupName),
            (bytes, Part::BytesInRegexp),
            (bytes && self.value.contains(&b'|'), Part::AlternativeBytes),
        ];
        found.into_iter().filter_map(|(is, part)| is.then_some(part))
    }

    /// Whether a series without the label is selected.
    pub fn matches_empty(&self) -> bool {
        self.matches_empty
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(self.name.len() + self.value.len() + 5);
        match std::str::from_utf8(&self.name) {
            Ok(name) if is_plain_name(name) => text.push_str(name),
            _ => write_quoted(&mut text, &self.name),
        }
        text.push_str(match self.op {
            MatchOp::Equal => "=",
            MatchOp::NotEqual => "!=",
            MatchOp::Regexp => "=~",
            MatchOp::NotRegexp => "!~",
        });
        write_quoted(&mut text, &self.value);
        text
    }
}

/// A name that needs no quotes: letters, digits and `_`, no digit first.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
