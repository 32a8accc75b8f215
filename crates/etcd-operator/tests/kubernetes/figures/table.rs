//! The table as docs/etcd.md has it, and whether every figure is within its limit.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Requests,
}

/// A quantity as people read it.
struct Quantity(f32, Unit);

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, unit) = self;
        match unit {
            Unit::Seconds if *value < 4.0 => write!(f, "{value:.2} s"),
            Unit::Seconds => write!(f, "{value:.1} s"),
            Unit::Milliseconds => write!(f, "{value:.0} ms"),
            Unit::Requests => write!(f, "{value:.0}"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    lines: Vec<String>,
    exceeded: Vec<String>,
}

impl Table {
    /// Told at once: those before a failure are worth something, too.
    pub(super) fn row(&mut self, what: &str, measured: f32, unit: Unit, limit: f32, beside: &str) {
        let line =
            format!("| {what} | {} | {} | {beside} |", Quantity(measured, unit), Quantity(limit, unit));
        println!("    {line}");
        if measured > limit {
            self.exceeded.push(what.to_owned());
        }
        self.lines.push(line);
    }

    pub(super) fn print_and_judge(&self) {
        println!("\n| | measured | limit | beside |\n|---|---|---|---|\n{}\n", self.lines.join("\n"));
        assert!(self.exceeded.is_empty(), "over the limit: {:?}", self.exceeded);
    }
}
