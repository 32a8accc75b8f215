//! What Go accepts: the operands are written in Go, and their users write its regular expressions and templates.
//!
//! ```text
//!   [`regexp`]    `regexp/syntax`: is a pattern valid, does it match the empty text
//!   [`template`]  `text/template`: does a text parse, with which functions and variables
//!   [`number`]    `strconv.ParseInt` with base 0, `strconv.ParseFloat`
//!   [`quote`]     `strconv.Quote` and its way back
//!   [`url`]       `url.Parse`: is a text an address, which scheme and host does it have
//! ```
//!
//! Verdicts only: nothing is matched, nothing is expanded. Invariant: a verdict differs from Go's in neither direction,
//! since both a refusal of what the operand takes and a file that it refuses to load are faults.

pub mod number;
pub mod quote;
pub mod regexp;
pub mod template;
pub mod url;
