//! The tokens of PromQL, and the words that are keywords.

/// A token: what it is, and where it stands in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    OpenParen,
    CloseParen,
    OpenBrace,
    CloseBrace,
    OpenBracket,
    CloseBracket,
    Comma,
    Colon,
    /// `=`, `!=`, `=~`, `!~` within braces; `=` means nothing outside.
    Equal,
    EqualRegexp,
    NotEqualRegexp,
    At,
    Number,
    Duration,
    Text,
    /// A name without a colon.
    Name,
    /// A name with a colon.
    MetricName,
    Operator(Operator),
    Aggregator(Aggregator),
    Keyword(Keyword),
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Unless,
    Equal,
    NotEqual,
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    TrimUpper,
    TrimLower,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Atan2,
    Power,
}

/// Spelling and strength of every operator; only `^` binds to the right.
const OPERATORS: &[(Operator, &str, u8)] = &[
    (Operator::Or, "or", 1),
    (Operator::And, "and", 2),
    (Operator::Unless, "unless", 2),
    (Operator::Equal, "==", 3),
    (Operator::NotEqual, "!=", 3),
    (Operator::LessOrEqual, "<=", 3),
    (Operator::Less, "<", 3),
    (Operator::GreaterOrEqual, ">=", 3),
    (Operator::Greater, ">", 3),
    (Operator::TrimUpper, "</", 3),
    (Operator::TrimLower, ">/", 3),
    (Operator::Add, "+", 4),
    (Operator::Subtract, "-", 4),
    (Operator::Multiply, "*", 5),
    (Operator::Divide, "/", 5),
    (Operator::Modulo, "%", 5),
    (Operator::Atan2, "atan2", 5),
    (Operator::Power, "^", 6),
];

/// How strongly a sign binds: as multiplication does, so that `-2^2` is `-(2^2)`.
pub(crate) const SIGN_STRENGTH: u8 = 5;

impl Operator {
    fn row(self) -> Option<&'static (Operator, &'static str, u8)> {
        OPERATORS.iter().find(|(operator, ..)| *operator == self)
    }

    pub(crate) fn text(self) -> &'static str {
        self.row().map_or("", |(_, text, _)| text)
    }

    pub(crate) fn strength(self) -> u8 {
        self.row().map_or(0, |(.., strength)| *strength)
    }

    pub(crate) fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::LessOrEqual
                | Self::Less
                | Self::GreaterOrEqual
                | Self::Greater
        )
    }

    pub(crate) fn is_set(self) -> bool {
        matches!(self, Self::And | Self::Or | Self::Unless)
    }

    /// What may stand in a duration.
    pub(crate) fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Modulo | Self::Power
        )
    }
}

/// An aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregator {
    Avg,
    Bottomk,
    Count,
    CountValues,
    Group,
    Limitk,
    LimitRatio,
    Max,
    Min,
    Quantile,
    Stddev,
    Stdvar,
    Sum,
    Topk,
}

const AGGREGATORS: &[(Aggregator, &str)] = &[
    (Aggregator::Avg, "avg"),
    (Aggregator::Bottomk, "bottomk"),
    (Aggregator::Count, "count"),
    (Aggregator::CountValues, "count_values"),
    (Aggregator::Group, "group"),
    (Aggregator::Limitk, "limitk"),
    (Aggregator::LimitRatio, "limit_ratio"),
    (Aggregator::Max, "max"),
    (Aggregator::Min, "min"),
    (Aggregator::Quantile, "quantile"),
    (Aggregator::Stddev, "stddev"),
    (Aggregator::Stdvar, "stdvar"),
    (Aggregator::Sum, "sum"),
    (Aggregator::Topk, "topk"),
];

impl Aggregator {
    pub(crate) fn text(self) -> &'static str {
        AGGREGATORS.iter().find(|(aggregator, _)| *aggregator == self).map_or("", |(_, text)| text)
    }

    pub(crate) fn takes_parameter(self) -> bool {
        matches!(
            self,
            Self::Topk | Self::Bottomk | Self::CountValues | Self::Quantile | Self::Limitk | Self::LimitRatio
        )
    }

    pub(crate) fn is_experimental(self) -> bool {
        matches!(self, Self::Limitk | Self::LimitRatio)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Anchored,
    Bool,
    By,
    End,
    Fill,
    FillLeft,
    FillRight,
    GroupLeft,
    GroupRight,
    Ignoring,
    MaxOf,
    MinOf,
    Offset,
    On,
    Range,
    Smoothed,
    Start,
    Step,
    Without,
}

const KEYWORDS: &[(&str, Keyword)] = &[
    ("anchored", Keyword::Anchored),
    ("bool", Keyword::Bool),
    ("by", Keyword::By),
    ("end", Keyword::End),
    ("fill", Keyword::Fill),
    ("fill_left", Keyword::FillLeft),
    ("fill_right", Keyword::FillRight),
    ("group_left", Keyword::GroupLeft),
    ("group_right", Keyword::GroupRight),
    ("ignoring", Keyword::Ignoring),
    ("max_of", Keyword::MaxOf),
    ("min_of", Keyword::MinOf),
    ("offset", Keyword::Offset),
    ("on", Keyword::On),
    ("range", Keyword::Range),
    ("smoothed", Keyword::Smoothed),
    ("start", Keyword::Start),
    ("step", Keyword::Step),
    ("without", Keyword::Without),
];

impl Keyword {
    /// What a duration may begin with.
    pub(crate) fn is_duration(self) -> bool {
        matches!(self, Self::Step | Self::Range | Self::MaxOf | Self::MinOf)
    }

    pub(crate) fn is_fill(self) -> bool {
        matches!(self, Self::Fill | Self::FillLeft | Self::FillRight)
    }
}

impl Kind {
    /// What a word is, if it is not a name. Case does not matter.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        // No keyword is longer; most names are.
        if word.len() > 12 {
            return None;
        }
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if let Some((_, keyword)) = KEYWORDS.iter().find(|(text, _)| is(text)) {
            return Some(Self::Keyword(*keyword));
        }
        if let Some((aggregator, _)) = AGGREGATORS.iter().find(|(_, text)| is(text)) {
            return Some(Self::Aggregator(*aggregator));
        }
        let words = [Operator::Or, Operator::And, Operator::Unless, Operator::Atan2];
        match words.iter().find(|operator| is(operator.text())) {
            Some(operator) => Some(Self::Operator(*operator)),
            None => (is("inf") || is("nan")).then_some(Self::Number),
        }
    }

    /// Words that name a metric where a metric may stand.
    pub(crate) fn may_name_metric(self) -> bool {
        match self {
            Self::Name | Self::MetricName | Self::Aggregator(_) => true,
            Self::Operator(operator) => operator.is_set(),
            Self::Keyword(keyword) => !matches!(
                keyword,
                Keyword::Bool | Keyword::On | Keyword::Ignoring | Keyword::GroupLeft | Keyword::GroupRight
            ),
            _ => false,
        }
    }

    /// Words that name a label where labels are listed.
    pub(crate) fn may_name_label(self) -> bool {
        match self {
            Self::Name | Self::MetricName | Self::Aggregator(_) => true,
            Self::Operator(operator) => operator.is_set() || operator == Operator::Atan2,
            Self::Keyword(keyword) => keyword != Keyword::Without,
            _ => false,
        }
    }
}
