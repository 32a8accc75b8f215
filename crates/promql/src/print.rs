//! An expression as text, letter by letter as Prometheus prints it.

use std::fmt::{Display, Formatter, Result, Write};

use go_syntax::number::to_int64;
use go_syntax::quote::write_quoted;

use crate::ast::{
    Aggregation, At, Binary, Duration, Expr, Extension, Many, Matching, Number, Range, Selector, Shift, Sign,
    Span, Subquery,
};
use crate::matcher::{METRIC_NAME, MatchOp, is_plain_name};

impl Display for Expr {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Text(text) => {
                let mut quoted = String::with_capacity(text.len() + 2);
                write_quoted(&mut quoted, text);
                out.write_str(&quoted)
            }
            Self::Selector(selector) => {
                name_and_matchers(out, selector)?;
                at(out, &selector.shift)?;
                extension(out, selector.extension)?;
                offset(out, &selector.shift)
            }
            Self::Range(range) => self::range(out, range),
            Self::Subquery(subquery) => self::subquery(out, subquery),
            Self::Aggregation(aggregation) => self::aggregation(out, aggregation),
            Self::Binary(binary) => self::binary(out, binary),
            Self::Call(call) => {
                write!(out, "{}(", call.function.name)?;
                for (position, argument) in call.arguments.iter().enumerate() {
                    out.write_str(if position == 0 { "" } else { ", " })?;
                    argument.fmt(out)?;
                }
                out.write_char(')')
            }
            Self::Paren(inner) => write!(out, "({inner})"),
            Self::Signed(sign, inner) => {
                out.write_char(if *sign == Sign::Minus { '-' } else { '+' })?;
                inner.fmt(out)
            }
        }
    }
}

impl Display for Number {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        if self.is_duration {
            let sign = if self.value < 0.0 { "-" } else { "" };
            out.write_str(sign)?;
            return duration(out, to_int64(self.value.abs() * 1e9));
        }
        plain_float(out, self.value)
    }
}

/// `strconv.FormatFloat(value, 'f', -1, 64)`.
fn plain_float(out: &mut Formatter<'_>, value: f64) -> Result {
    if value.is_nan() {
        out.write_str("NaN")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        write!(out, "{value}")
    }
}

/// `fmt.Sprintf("%v", value)`: as short as it gets, with an exponent below 1e-4 and from 1e21 on.
fn short_float(out: &mut Formatter<'_>, value: f64) -> Result {
    let magnitude = value.abs();
    if !value.is_finite() || magnitude == 0.0 || (1e-4..1e21).contains(&magnitude) {
        return plain_float(out, value);
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    write!(out, "{mantissa}e{sign}{digits:0>2}")
}

const UNITS: &[(&str, i64, Unit)] = &[
    ("y", 31_536_000_000, Unit::OnlyWhole),
    ("w", 604_800_000, Unit::OnlyWhole),
    ("d", 86_400_000, Unit::Always),
    ("h", 3_600_000, Unit::Always),
    ("m", 60_000, Unit::Always),
    ("s", 1_000, Unit::Always),
    ("ms", 1, Unit::Always),
];

/// Years and weeks are only used where nothing is left over: 90d reads better than 12w6d.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    OnlyWhole,
    Always,
}

fn duration(out: &mut Formatter<'_>, nanoseconds: i64) -> Result {
    let mut milliseconds = nanoseconds / 1_000_000;
    if milliseconds == 0 {
        return out.write_str("0s");
    }
    if milliseconds < 0 {
        out.write_char('-')?;
        milliseconds = -milliseconds;
    }
    for (unit, length, kind) in UNITS {
        if *kind == Unit::OnlyWhole && milliseconds % length != 0 {
            continue;
        }
        if milliseconds >= *length {
            write!(out, "{}{unit}", milliseconds / length)?;
            milliseconds %= length;
        }
    }
    Ok(())
}

fn span(out: &mut Formatter<'_>, span: &Span) -> Result {
    match span {
        Span::Nanoseconds(nanoseconds) => duration(out, *nanoseconds),
        Span::Computed(computed) => computed.fmt(out),
    }
}

impl Display for Duration {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::Literal(number) => number.fmt(out),
            Self::Step => out.write_str("step()"),
            Self::Range => out.write_str("range()"),
            Self::MaxOf(left, right) => write!(out, "max_of({left}, {right})"),
            Self::MinOf(left, right) => write!(out, "min_of({left}, {right})"),
            Self::Negative(inner) => write!(out, "-{inner}"),
            Self::Binary(operator, left, right) => write!(out, "{left} {} {right}", operator.text()),
            Self::Paren(inner) => write!(out, "({inner})"),
        }
    }
}

fn name_and_matchers(out: &mut Formatter<'_>, selector: &Selector) -> Result {
    out.write_str(&selector.name)?;
    // The name may have been given again in the braces by whoever built the selector.
    let repeats_name = |matcher: &&crate::Matcher| {
        matcher.op == MatchOp::Equal
            && matcher.name == METRIC_NAME
            && !selector.name.is_empty()
            && matcher.value == selector.name.as_bytes()
    };
    let mut matchers: Vec<String> =
        selector.matchers.iter().filter(|m| !repeats_name(m)).map(crate::Matcher::text).collect();
    if matchers.is_empty() {
        return Ok(());
    }
    matchers.sort_unstable();
    write!(out, "{{{}}}", matchers.join(","))
}

fn at(out: &mut Formatter<'_>, shift: &Shift) -> Result {
    match shift.at {
        None => Ok(()),
        #[allow(clippy::cast_precision_loss, reason = "Prometheus prints it as a float, too")]
        Some(At::Time(milliseconds)) => write!(out, " @ {:.3}", milliseconds as f64 / 1000.0),
        Some(At::Start) => out.write_str(" @ start()"),
        Some(At::End) => out.write_str(" @ end()"),
    }
}

fn extension(out: &mut Formatter<'_>, extension: Extension) -> Result {
    out.write_str(match (extension.anchored, extension.smoothed) {
        (true, _) => " anchored",
        (_, true) => " smoothed",
        _ => "",
    })
}

fn offset(out: &mut Formatter<'_>, shift: &Shift) -> Result {
    match &shift.offset {
        Span::Nanoseconds(0) => Ok(()),
        Span::Nanoseconds(nanoseconds) => {
            out.write_str(if *nanoseconds < 0 { " offset -" } else { " offset " })?;
            duration(out, nanoseconds.wrapping_abs())
        }
        Span::Computed(computed) => write!(out, " offset {computed}"),
    }
}

fn range(out: &mut Formatter<'_>, range: &Range) -> Result {
    name_and_matchers(out, &range.selector)?;
    out.write_char('[')?;
    span(out, &range.range)?;
    out.write_char(']')?;
    extension(out, range.selector.extension)?;
    at(out, &range.selector.shift)?;
    offset(out, &range.selector.shift)
}

fn subquery(out: &mut Formatter<'_>, subquery: &Subquery) -> Result {
    write!(out, "{}[", subquery.expr)?;
    span(out, &subquery.range)?;
    out.write_char(':')?;
    if !subquery.step.is_zero() {
        span(out, &subquery.step)?;
    }
    out.write_char(']')?;
    at(out, &subquery.shift)?;
    offset(out, &subquery.shift)
}

fn aggregation(out: &mut Formatter<'_>, aggregation: &Aggregation) -> Result {
    out.write_str(aggregation.aggregator.text())?;
    if aggregation.without || !aggregation.labels.is_empty() {
        out.write_str(if aggregation.without { " without (" } else { " by (" })?;
        labels(out, &aggregation.labels)?;
        out.write_str(") ")?;
    }
    out.write_char('(')?;
    if let Some(parameter) = &aggregation.parameter {
        write!(out, "{parameter}, ")?;
    }
    write!(out, "{})", aggregation.expr)
}

fn labels(out: &mut Formatter<'_>, labels: &[String]) -> Result {
    for (position, label) in labels.iter().enumerate() {
        out.write_str(if position == 0 { "" } else { ", " })?;
        if is_plain_name(label) {
            out.write_str(label)?;
        } else {
            let mut quoted = String::new();
            write_quoted(&mut quoted, label.as_bytes());
            out.write_str(&quoted)?;
        }
    }
    Ok(())
}

/// Chains of operators grow to the left, and long: the way down is a loop.
fn binary(out: &mut Formatter<'_>, binary: &Binary) -> Result {
    let mut chain = vec![binary];
    let mut first = &binary.left;
    while let Expr::Binary(left) = first {
        chain.push(left);
        first = &left.left;
    }
    first.fmt(out)?;
    for binary in chain.into_iter().rev() {
        write!(out, " {}", binary.operator.text())?;
        if binary.returns_bool {
            out.write_str(" bool")?;
        }
        if let Some(matching) = &binary.matching {
            self::matching(out, matching)?;
        }
        write!(out, " {}", binary.right)?;
    }
    Ok(())
}

fn matching(out: &mut Formatter<'_>, matching: &Matching) -> Result {
    if matching.on || !matching.labels.is_empty() || matching.many.is_some() {
        out.write_str(if matching.on { " on (" } else { " ignoring (" })?;
        labels(out, &matching.labels)?;
        out.write_char(')')?;
    }
    if let Some(many) = matching.many {
        out.write_str(if many == Many::Left { " group_left (" } else { " group_right (" })?;
        labels(out, &matching.include)?;
        out.write_char(')')?;
    }
    let mut fill = |keyword: &str, value: f64| {
        write!(out, " {keyword} (")?;
        short_float(out, value)?;
        out.write_char(')')
    };
    match (matching.fill_left, matching.fill_right) {
        (Some(left), Some(right)) if left == right => fill("fill", left),
        (left, right) => {
            left.map_or(Ok(()), |value| fill("fill_left", value))?;
            right.map_or(Ok(()), |value| fill("fill_right", value))
        }
    }
}
