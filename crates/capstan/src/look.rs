//! How things look to people, whatever command shows them: colours by meaning, columns, bars, times and sizes.

pub(crate) mod paint;
pub(crate) mod words;

pub(crate) use paint::{Look, Paint, columns};

const CELLS: usize = 20;

/// `██████░░░░`, for a part of a whole.
pub(crate) fn bar(done: u64, all: u64) -> String {
    let full =
        done.saturating_mul(CELLS as u64).checked_div(all).map_or(0, |full| full.min(CELLS as u64) as usize);
    format!("{}{}", "█".repeat(full), "░".repeat(CELLS - full))
}
