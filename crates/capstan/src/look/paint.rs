//! Colours, by what they mean.

use std::fmt::Display;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Good,
    /// Something is going on, as it should.
    Busy,
    /// It works, and somebody should look at it.
    Warn,
    Bad,
    /// What matters less.
    Dim,
    Strong,
    /// One of several that only need to be told apart.
    Nth(usize),
}

/// What [`Look::Nth`] goes through: neither what means well nor what means ill.
const APART: &[&str] = &["36", "35", "34", "33", "96", "95", "94", "93"];

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    pub(crate) colours: bool,
}

impl Paint {
    pub(crate) fn as_(self, look: Look, text: impl Display) -> String {
        let code = match look {
            Look::Good => "32",
            Look::Busy => "36",
            Look::Warn => "1;33",
            Look::Bad => "1;31",
            Look::Dim => "2",
            Look::Strong => "1",
            Look::Nth(number) => APART.get(number % APART.len()).copied().unwrap_or_default(),
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// How wide a text is on the screen: colours take no room.
pub(crate) fn width(text: &str) -> usize {
    let (mut width, mut hidden) = (0, false);
    for c in text.chars() {
        match c {
            '\x1b' => hidden = true,
            'm' if hidden => hidden = false,
            _ if hidden => {}
            _ => width += 1,
        }
    }
    width
}

/// Rows as columns, two spaces between them; the last one is not filled up.
pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells =
            row.iter().zip(&widths).map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide - width(cell))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_a_cluster_has_members_are_told_apart() {
        let paint = Paint { colours: true };
        let seven: std::collections::BTreeSet<String> =
            (0..7).map(|number| paint.as_(Look::Nth(number), "x")).collect();
        assert_eq!(seven.len(), 7);
        assert_eq!(paint.as_(Look::Nth(8), "x"), paint.as_(Look::Nth(0), "x"));
    }

    #[test]
    fn columns_stand_below_each_other_whether_there_are_colours_or_not() {
        let rows =
            |paint: Paint| vec![vec![paint.as_(Look::Bad, "a"), "b".into()], vec!["long".into(), "c".into()]];
        assert_eq!(columns(&rows(Paint { colours: false })), ["a     b", "long  c"]);
        assert_eq!(columns(&rows(Paint { colours: true })), ["\x1b[1;31ma\x1b[0m     b", "long  c"]);
    }
}
