//! PromQL: read, checked, changed, and printed as Prometheus prints it.
//!
//! ```text
//!   text ──lex──> tokens ──parse──> Expr ──check──> Expr with known types ──print──> text
//!                                    │
//!                                    └──enforce: every selector gets a matcher
//! ```
//!
//! The language is that of Prometheus 3.14, with the experimental parts behind [`Options`]. Invariant: what this parser
//! accepts Prometheus accepts, the other way round too, and [`Expr`]'s `Display` is Prometheus' own printing, since
//! users compare it with what they wrote. What an expression uses that another Prometheus may lack is noted as [`Part`]s.

mod ast;
mod check;
mod enforce;
mod functions;
mod lex;
mod matcher;
mod parse;
mod part;
mod print;
mod token;

pub use ast::{Expr, Selector};
pub use enforce::enforce;
pub use functions::{FUNCTIONS, Function, Last, Standing, ValueType};
pub use matcher::{MatchOp, Matcher};
pub use parse::{parse, parse_with_parts};
pub use part::Part;

/// Which parts of the language are on that not everybody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `info()`, `limitk()`, `sort_by_label()` and others.
    pub experimental_functions: bool,
    /// `foo[5m * 2]`, `offset step()`.
    pub duration_expressions: bool,
    /// `foo[5m] anchored`, `foo smoothed`.
    pub extended_range_selectors: bool,
    /// `a + fill(0) b`.
    pub binop_fill_modifiers: bool,
    /// `holt_winters()`, which Prometheus 3 no longer has.
    pub retired_functions: bool,
}

impl Options {
    /// Everything experimental on.
    pub const ALL: Self = Self {
        experimental_functions: true,
        duration_expressions: true,
        extended_range_selectors: true,
        binop_fill_modifiers: true,
        retired_functions: false,
    };
}

/// Why a text is no PromQL, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes, as Prometheus counts.
    pub column: usize,
    pub message: String,
}

impl ParseError {
    pub(crate) fn at(input: &str, position: usize, message: impl Into<String>) -> Self {
        let before = input.get(..position).unwrap_or(input);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.len() - line_start + 1,
            message: message.into(),
        }
    }
}
