//! Durations in brackets and after `offset`: numbers, or arithmetic where it is enabled.

use go_syntax::number::to_int64;

use super::{Parsed, Parser};
use crate::ast::{Duration, Number, Sign, Span};
use crate::part::Part;
use crate::token::{Keyword, Kind, Operator, SIGN_STRENGTH};

/// What 63 bits of nanoseconds hold, in seconds.
const MAX_SECONDS: f64 = 9_223_372_036_854_775_808.0 / 1e9;

impl Parser<'_> {
    /// What stands in brackets.
    pub(super) fn positive_duration(&mut self) -> Parsed<Span> {
        let start = self.token().start;
        match self.duration_expression(0)? {
            Duration::Literal(number) if number.value <= 0.0 => {
                self.refuse_at(start, "duration must be greater than 0")
            }
            duration => Ok(duration.into_span()),
        }
    }

    /// What follows `offset`. A number, a call or a negative parenthesis ends it: what comes then is arithmetic of the
    /// result. Anything else is read as far as it goes.
    pub(super) fn offset(&mut self) -> Parsed<Span> {
        let first = self.at;
        let sign = self.sign();
        let ends = match self.peek() {
            Kind::Number | Kind::Duration => true,
            Kind::Keyword(keyword) if keyword.is_duration() => true,
            Kind::OpenParen => sign.is_some(),
            _ => false,
        };
        if !ends {
            self.at = first;
            return Ok(self.duration_expression(0)?.into_span());
        }
        if sign == Some(Sign::Plus) {
            self.parts.note(Part::SignedDuration);
        }
        let start = self.token().start;
        // The parenthesis after a sign belongs to the offset itself, and needs no arithmetic to be enabled.
        let duration = if self.skip(Kind::OpenParen) {
            let inner = self.duration_expression(0)?;
            self.expect(Kind::CloseParen, "offset")?;
            if matches!(inner, Duration::Literal(_)) {
                self.parts.note(Part::SignedParenthesis);
            }
            inner.wrapped()
        } else {
            self.duration_primary()?
        };
        let power = self.peek() == Kind::Operator(Operator::Power);
        if power && sign.is_some() && !self.options.duration_expressions {
            self.parts.note(Part::PowerOfNegativeOffset);
        }
        self.duration_signed(duration, sign, start).map(Duration::into_span)
    }

    fn duration_expression(&mut self, least: u8) -> Parsed<Duration> {
        self.deeper(|parser| {
            let start = parser.token().start;
            let mut left = match parser.sign() {
                None => parser.duration_primary()?,
                Some(sign) => {
                    parser.parts.note(Part::SignedDuration);
                    let operand = parser.duration_expression(SIGN_STRENGTH + 1)?;
                    parser.duration_signed(operand, Some(sign), start)?
                }
            };
            let mut links = 0;
            while let Kind::Operator(operator) = parser.peek() {
                if !operator.is_arithmetic() || operator.strength() < least {
                    break;
                }
                let start = parser.token().start;
                parser.at += 1;
                let stronger = u8::from(operator != Operator::Power);
                let right = parser.duration_expression(operator.strength() + stronger)?;
                parser.duration_arithmetic_enabled(start)?;
                let by_zero = matches!(&right, Duration::Literal(number) if number.value == 0.0);
                if by_zero && matches!(operator, Operator::Divide | Operator::Modulo) {
                    return parser.refuse_at(start, "division or modulo by zero");
                }
                links += 1;
                if links > super::MAX_DEPTH {
                    return parser.refuse_at(start, "the duration is too long a chain of operators");
                }
                left = Duration::Binary(operator, Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn duration_primary(&mut self) -> Parsed<Duration> {
        let token = self.token();
        match token.kind {
            Kind::Number | Kind::Duration => {
                if token.kind == Kind::Number {
                    self.parts.note(Part::NumberAsDuration);
                }
                let number = self.number()?;
                self.in_range(number, token.start).map(Duration::Literal)
            }
            Kind::OpenParen => {
                self.at += 1;
                let inner = self.duration_expression(0)?;
                self.expect(Kind::CloseParen, "duration")?;
                self.duration_arithmetic_enabled(token.start)?;
                Ok(inner.wrapped())
            }
            Kind::Keyword(keyword) if keyword.is_duration() => {
                self.at += 1;
                self.parts.note(match keyword {
                    Keyword::Step => Part::StepOfDuration,
                    Keyword::Range => Part::RangeOfDuration,
                    _ => Part::ExtremeOfDurations,
                });
                self.expect(Kind::OpenParen, "duration")?;
                let duration = match keyword {
                    Keyword::Step => Duration::Step,
                    Keyword::Range => Duration::Range,
                    _ => {
                        let left = Box::new(self.duration_expression(0)?);
                        self.expect(Kind::Comma, "duration")?;
                        let right = Box::new(self.duration_expression(0)?);
                        if keyword == Keyword::MaxOf {
                            Duration::MaxOf(left, right)
                        } else {
                            Duration::MinOf(left, right)
                        }
                    }
                };
                self.expect(Kind::CloseParen, "duration")?;
                self.duration_arithmetic_enabled(token.start)?;
                Ok(duration)
            }
            _ => self.unexpected("duration"),
        }
    }

    fn duration_signed(&mut self, duration: Duration, sign: Option<Sign>, start: usize) -> Parsed<Duration> {
        match (duration, sign) {
            (duration, None) => Ok(duration),
            (Duration::Literal(number), Some(sign)) => {
                self.in_range(number.signed(sign), start).map(Duration::Literal)
            }
            (duration, Some(Sign::Plus)) => Ok(duration),
            (duration, Some(Sign::Minus)) => Ok(Duration::Negative(Box::new(duration))),
        }
    }

    fn in_range(&self, number: Number, start: usize) -> Parsed<Number> {
        if number.value.abs() > MAX_SECONDS {
            return self.refuse_at(start, "duration out of range");
        }
        Ok(number)
    }

    fn duration_arithmetic_enabled(&mut self, start: usize) -> Parsed<()> {
        if self.options.duration_expressions {
            self.parts.note(Part::DurationArithmetic);
            Ok(())
        } else {
            self.refuse_at(start, "experimental duration expression is not enabled")
        }
    }
}

impl Duration {
    fn into_span(self) -> Span {
        match self {
            Self::Literal(number) => Span::Nanoseconds(to_int64((number.value * 1e9).round())),
            computed => Span::Computed(computed),
        }
    }

    /// In parentheses. Prometheus forgets them around a number, and prints them once elsewhere.
    fn wrapped(self) -> Self {
        match self {
            Self::Literal(_) | Self::Paren(_) => self,
            inner => Self::Paren(Box::new(inner)),
        }
    }
}
