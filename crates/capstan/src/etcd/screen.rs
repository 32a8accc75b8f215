//! Where a live view is shown: on a terminal drawn over, elsewhere a line whenever something has changed.

use anyhow::Result;
use jiff::Timestamp;

use crate::{
    look::{Look, Paint},
    output::{go_on, is_terminal, mention, say},
};

/// What there is to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// For a terminal.
    pub(super) drawn: Vec<String>,
    /// For logs, a line each: the same text means that nothing has changed.
    pub(super) told: Vec<String>,
}

pub(super) struct Screen {
    kind: Kind,
    pub(super) paint: Paint,
    /// What was shown last.
    last: Vec<String>,
    /// What went wrong last, where that is no part of a picture.
    trouble: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pipe,
    Terminal,
    /// A terminal with our picture on it.
    Entered,
}

/// The other screen of the terminal, the cursor hidden, lines cut instead of wrapped; and all that back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

impl Screen {
    /// The terminal is entered with the first picture.
    pub(super) fn new(paint: Paint) -> Self {
        Self::of(if is_terminal() { Kind::Terminal } else { Kind::Pipe }, paint)
    }

    #[cfg(test)]
    pub(super) fn pipe() -> Self {
        Self::of(Kind::Pipe, Paint { colours: false })
    }

    fn of(kind: Kind, paint: Paint) -> Self {
        Self { kind, paint, last: Vec::new(), trouble: None }
    }

    /// `trouble` is why it may be old. An error when nobody looks any more.
    pub(super) fn show(&mut self, frame: Frame, trouble: Option<&str>, now: Timestamp) -> Result<()> {
        let trouble = trouble.map(|why| format!("no news from the API server: {why}"));
        if self.kind == Kind::Pipe {
            return self.tell(frame.told, trouble, now);
        }
        if self.kind == Kind::Terminal {
            self.kind = Kind::Entered;
            say(ENTER)?;
        }
        let mut lines = frame.drawn;
        lines.extend(trouble.map(|trouble| self.paint.as_(Look::Bad, trouble)));
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        self.last = lines;
        go_on(&format!("\x1b[H{text}\x1b[J"))
    }

    fn tell(&mut self, lines: Vec<String>, trouble: Option<String>, now: Timestamp) -> Result<()> {
        if let Some(trouble) = trouble.as_ref().filter(|it| self.trouble.as_ref() != Some(*it)) {
            mention(trouble);
        }
        self.trouble = trouble;
        let text = news(&self.last, &lines, now);
        self.last = lines;
        if text.is_empty() { Ok(()) } else { go_on(&text) }
    }
}

/// The lines that were not there before, each with the time.
fn news(before: &[String], lines: &[String], now: Timestamp) -> String {
    let new = lines.iter().filter(|line| !before.contains(line));
    new.map(|line| format!("{} {line}\n", now.strftime("%H:%M:%S"))).collect()
}

/// The terminal is left as it was, with the last picture on it.
impl Drop for Screen {
    fn drop(&mut self) {
        if self.kind == Kind::Entered {
            say(&format!("{LEAVE}{}\n", self.last.join("\n"))).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_told() {
        let now: Timestamp = "2026-11-16T06:00:00Z".parse().unwrap();
        let lines = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(news(&[], &lines(&["a", "b"]), now), "06:00:00 a\n06:00:00 b\n");
        assert_eq!(news(&lines(&["a", "b"]), &lines(&["a", "c"]), now), "06:00:00 c\n");
        assert_eq!(news(&lines(&["a"]), &lines(&["a"]), now), "");
    }
}
