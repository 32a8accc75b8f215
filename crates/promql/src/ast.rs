//! An expression as a tree.

use crate::functions::{Function, ValueType};
use crate::matcher::Matcher;
use crate::token::{Aggregator, Operator};

/// An expression. `Display` prints it as Prometheus does.
#[derive(Clone, Debug)]
pub enum Expr {
    Number(Number),
    /// Bytes: `"\xff"` is no UTF-8.
    Text(Vec<u8>),
    Selector(Box<Selector>),
    Range(Box<Range>),
    Subquery(Box<Subquery>),
    Aggregation(Box<Aggregation>),
    Binary(Box<Binary>),
    Call(Box<Call>),
    Paren(Box<Expr>),
    Signed(Sign, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    /// Written as a duration; the value is in seconds.
    pub is_duration: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

/// `up{job="a"} @ 1.5 offset 5m`.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// The name before the braces; empty if there is none.
    pub name: String,
    /// The matchers in the braces; the name is not among them.
    pub matchers: Vec<Matcher>,
    pub shift: Shift,
    pub extension: Extension,
    /// Second argument of `info()`: may match everything.
    pub(crate) may_match_everything: bool,
}

/// How far and from where a selector looks.
#[derive(Clone, Debug, Default)]
pub struct Shift {
    pub at: Option<At>,
    pub offset: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Milliseconds since the epoch.
    Time(i64),
    Start,
    End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    pub anchored: bool,
    pub smoothed: bool,
}

/// A stretch of time: known, or to be computed.
#[derive(Clone, Debug)]
pub enum Span {
    Nanoseconds(i64),
    Computed(Duration),
}

impl Default for Span {
    fn default() -> Self {
        Self::Nanoseconds(0)
    }
}

impl Span {
    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Nanoseconds(0))
    }
}

/// Arithmetic of durations.
#[derive(Clone, Debug)]
pub enum Duration {
    Literal(Number),
    Step,
    Range,
    MaxOf(Box<Duration>, Box<Duration>),
    MinOf(Box<Duration>, Box<Duration>),
    Negative(Box<Duration>),
    Binary(Operator, Box<Duration>, Box<Duration>),
    Paren(Box<Duration>),
}

/// `up[5m]`.
#[derive(Clone, Debug)]
pub struct Range {
    pub selector: Selector,
    pub range: Span,
}

/// `up[1h:5m]`.
#[derive(Clone, Debug)]
pub struct Subquery {
    pub expr: Expr,
    pub range: Span,
    pub step: Span,
    pub shift: Shift,
}

#[derive(Clone, Debug)]
pub struct Aggregation {
    pub aggregator: Aggregator,
    pub parameter: Option<Expr>,
    pub expr: Expr,
    pub without: bool,
    pub labels: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Binary {
    pub operator: Operator,
    pub left: Expr,
    pub right: Expr,
    pub returns_bool: bool,
    /// Nothing where one side is no vector.
    pub matching: Option<Matching>,
}

/// How series of two vectors find each other.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    pub on: bool,
    pub labels: Vec<String>,
    pub many: Option<Many>,
    pub include: Vec<String>,
    pub fill_left: Option<f64>,
    pub fill_right: Option<f64>,
}

/// The side that may have several series for one of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    Left,
    Right,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub function: &'static Function,
    pub arguments: Vec<Expr>,
}

impl Expr {
    /// What the expression yields.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::Number(_) => ValueType::Scalar,
            Self::Text(_) => ValueType::Text,
            Self::Selector(_) | Self::Aggregation(_) => ValueType::Vector,
            Self::Range(_) | Self::Subquery(_) => ValueType::Matrix,
            Self::Binary(binary) => match (binary.left.value_type(), binary.right.value_type()) {
                (ValueType::Scalar, ValueType::Scalar) => ValueType::Scalar,
                _ => ValueType::Vector,
            },
            Self::Call(call) => call.function.returns,
            Self::Paren(inner) | Self::Signed(_, inner) => inner.value_type(),
        }
    }
}
