//! What an expression uses that some release of Prometheus does not read.

/// A part of the language that came, or went, with a release. Which release is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Function(&'static str),
    Aggregation(&'static str),
    /// `a </ b`, `a >/ b`.
    TrimOperator,
    /// `a + fill(0) b`.
    FillModifier,
    /// `foo[5m] anchored`, `foo smoothed`.
    ExtendedSelector,
    /// A metric or label of the name `anchored` or `smoothed`.
    ExtensionAsName,
    /// `{"my.metric"}`, `{"my.label"="a"}`.
    QuotedName,
    /// `by ("a")`.
    QuotedLabel,
    /// `by ("my.label")`, `by (a:b)`.
    Utf8Label,
    /// `a=~"(?<name>b)"`.
    ShortGroupName,
    /// `a=~"\xff"`.
    BytesInRegexp,
    /// `a=~"\xff|b"`.
    AlternativeBytes,
    /// `1_000`.
    Underscore,
    /// `foo[300]`, `offset 300`.
    NumberAsDuration,
    /// `5m * 2`, `@ 5m`.
    DurationAsNumber,
    /// `offset 0s`.
    ZeroDuration,
    /// `foo[+5m]`, `offset +5m`.
    SignedDuration,
    /// `offset -(5m)`.
    SignedParenthesis,
    /// `offset -5m ^ 2`, where durations have no arithmetic.
    PowerOfNegativeOffset,
    /// `foo[5m * 2]`, `offset (5m)`.
    DurationArithmetic,
    /// `foo[step()]`.
    StepOfDuration,
    /// `foo[range()]`.
    RangeOfDuration,
    /// `foo[max_of(1m, 2m)]`.
    ExtremeOfDurations,
    /// `foo @ start()[5m]`.
    ShiftBeforeRange,
}

/// The parts that were met so far, each once.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    pub(crate) fn note(&mut self, part: Part) {
        if !self.0.contains(&part) {
            self.0.push(part);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Part> {
        self.0
    }
}
