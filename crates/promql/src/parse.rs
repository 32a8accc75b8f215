//! The grammar: expressions by precedence, then what may follow them, then what they are made of.
//!
//! Modifiers (`[5m]`, `offset`, `@`) bind to the nearest expression, a sign as strongly as `*`, so that `-2^2` is
//! `-(2^2)`. Where Prometheus' own generated parser has peculiarities, they are kept: `offset 5m + 3` adds to the
//! result, `offset (5m) + 3` to the offset.

mod duration;
mod modifiers;
mod selector;

use go_syntax::number::{parse_float, parse_int};
use go_syntax::quote::unquote;

use crate::ast::{Aggregation, Binary, Call, Expr, Number, Sign};
use crate::functions::{Function, Standing, function};
use crate::lex::lex;
use crate::part::{Part, Parts};
use crate::token::{Aggregator, Keyword, Kind, Operator, SIGN_STRENGTH, Token};
use crate::{Options, ParseError, check};

/// How deep parentheses may nest, and how high the tree may be: chains of operators grow it, too. Prometheus has no
/// bounds; these are far above what people and generators write, and keep the stack small.
const MAX_DEPTH: usize = 200;
const MAX_HEIGHT: usize = 1500;

/// Reads an expression and checks its types.
pub fn parse(input: &str, options: &Options) -> Result<Expr, ParseError> {
    parse_with_parts(input, options).map(|(expr, _)| expr)
}

/// The same, and what the expression uses that not every Prometheus reads.
pub fn parse_with_parts(input: &str, options: &Options) -> Result<(Expr, Vec<Part>), ParseError> {
    let tokens = lex(input)?;
    let mut parser = Parser { input, tokens, at: 0, options, depth: 0, parts: Parts::default() };
    if parser.peek() == Kind::End {
        return parser.refuse("no expression found in input");
    }
    let parsed = parser.expression(0)?;
    if parser.peek() != Kind::End {
        return parser.unexpected("");
    }
    let mut expr = parsed.expr;
    check::check(&mut expr).map_err(|message| ParseError::at(input, 0, message))?;
    Ok((expr, parser.parts.into_vec()))
}

struct Parser<'a> {
    input: &'a str,
    tokens: Vec<Token>,
    at: usize,
    options: &'a Options,
    depth: usize,
    parts: Parts,
}

/// An expression, and how high its tree is.
struct Tree {
    expr: Expr,
    height: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        let end = self.input.len();
        self.tokens.get(self.at).copied().unwrap_or(Token { kind: Kind::End, start: end, end })
    }

    fn peek(&self) -> Kind {
        self.token().kind
    }

    fn peek_second(&self) -> Kind {
        self.tokens.get(self.at + 1).map_or(Kind::End, |token| token.kind)
    }

    fn next(&mut self) -> Token {
        let token = self.token();
        self.at += 1;
        token
    }

    fn skip(&mut self, kind: Kind) -> bool {
        let skipped = self.peek() == kind;
        if skipped {
            self.at += 1;
        }
        skipped
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<()> {
        if self.skip(kind) { Ok(()) } else { self.unexpected(context) }
    }

    fn text_of(&self, token: Token) -> &'a str {
        self.input.get(token.start..token.end).unwrap_or_default()
    }

    fn refuse<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.refuse_at(self.token().start, message)
    }

    fn refuse_at<T>(&self, position: usize, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError::at(self.input, position, message))
    }

    fn unexpected<T>(&self, context: &str) -> Parsed<T> {
        let token = self.token();
        let what = if token.kind == Kind::End {
            "end of input".to_owned()
        } else {
            format!("{:?}", self.text_of(token))
        };
        let place = if context.is_empty() { String::new() } else { format!(" in {context}") };
        self.refuse(format!("unexpected {what}{place}"))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.refuse("the expression nests too deep");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn grown(&self, expr: Expr, below: usize) -> Parsed<Tree> {
        if below >= MAX_HEIGHT {
            return self.refuse("the expression is too long a chain of operators");
        }
        Ok(Tree { expr, height: below + 1 })
    }

    /// Operators that bind at least so strongly.
    fn expression(&mut self, least: u8) -> Parsed<Tree> {
        self.deeper(|parser| {
            let mut left = parser.signed()?;
            while let Kind::Operator(operator) = parser.peek() {
                if operator.strength() < least {
                    break;
                }
                let start = parser.token().start;
                parser.at += 1;
                let modifiers = parser.binary_modifiers()?;
                // `^` binds to the right.
                let stronger = u8::from(operator != Operator::Power);
                let right = parser.expression(operator.strength() + stronger)?;
                let fills = modifiers.matching.fill_left.is_some() || modifiers.matching.fill_right.is_some();
                if fills {
                    if !parser.options.binop_fill_modifiers {
                        let message = "binop fill modifiers are experimental and not enabled";
                        return parser.refuse_at(start, message);
                    }
                    parser.parts.note(Part::FillModifier);
                }
                if matches!(operator, Operator::TrimUpper | Operator::TrimLower) {
                    parser.parts.note(Part::TrimOperator);
                }
                let height = left.height.max(right.height);
                let binary = Binary {
                    operator,
                    left: left.expr,
                    right: right.expr,
                    returns_bool: modifiers.returns_bool,
                    matching: Some(modifiers.matching),
                };
                left = parser.grown(Expr::Binary(Box::new(binary)), height)?;
            }
            Ok(left)
        })
    }

    fn sign(&mut self) -> Option<Sign> {
        let sign = match self.peek() {
            Kind::Operator(Operator::Add) => Sign::Plus,
            Kind::Operator(Operator::Subtract) => Sign::Minus,
            _ => return None,
        };
        self.at += 1;
        Some(sign)
    }

    fn signed(&mut self) -> Parsed<Tree> {
        let Some(sign) = self.sign() else {
            let primary = self.primary()?;
            return self.modified(primary);
        };
        let operand = self.expression(SIGN_STRENGTH + 1)?;
        match operand.expr {
            Expr::Number(number) => Ok(Tree { expr: Expr::Number(number.signed(sign)), ..operand }),
            expr => self.grown(Expr::Signed(sign, Box::new(expr)), operand.height),
        }
    }

    fn primary(&mut self) -> Parsed<Tree> {
        let token = self.token();
        let paren_follows = self.peek_second() == Kind::OpenParen;
        match token.kind {
            Kind::Number | Kind::Duration => {
                let number = self.plain_number()?;
                self.grown(Expr::Number(number), 0)
            }
            Kind::Text => {
                let text = self.quoted()?;
                self.grown(Expr::Text(text), 0)
            }
            Kind::OpenParen => {
                self.at += 1;
                let inner = self.expression(0)?;
                self.expect(Kind::CloseParen, "parentheses")?;
                self.grown(Expr::Paren(Box::new(inner.expr)), inner.height)
            }
            Kind::Aggregator(aggregator)
                if paren_follows
                    || matches!(self.peek_second(), Kind::Keyword(Keyword::By | Keyword::Without)) =>
            {
                self.at += 1;
                self.aggregation(aggregator, token.start)
            }
            Kind::Name
            | Kind::Keyword(
                Keyword::Start
                | Keyword::End
                | Keyword::Step
                | Keyword::Range
                | Keyword::MaxOf
                | Keyword::MinOf,
            ) if paren_follows => {
                self.at += 1;
                self.call(token)
            }
            Kind::OpenBrace => {
                let selector = self.selector(String::new())?;
                self.grown(Expr::Selector(Box::new(selector)), 0)
            }
            kind if kind.may_name_metric() => {
                self.at += 1;
                self.note_name(kind);
                let selector = self.selector(self.text_of(token).to_owned())?;
                self.grown(Expr::Selector(Box::new(selector)), 0)
            }
            _ => self.unexpected(""),
        }
    }

    /// A number where no duration is asked for.
    fn plain_number(&mut self) -> Parsed<Number> {
        let number = self.number()?;
        if number.is_duration {
            self.parts.note(Part::DurationAsNumber);
        }
        Ok(number)
    }

    fn number(&mut self) -> Parsed<Number> {
        let token = self.next();
        let text = self.text_of(token);
        match token.kind {
            Kind::Number => {
                if text.contains('_') {
                    self.parts.note(Part::Underscore);
                }
                #[allow(clippy::cast_precision_loss, reason = "PromQL's numbers are floats")]
                let value = parse_int(text).map(|integer| integer as f64).or_else(|| parse_float(text));
                match value {
                    Some(value) => Ok(Number { value, is_duration: false }),
                    None => self.refuse_at(token.start, format!("{text:?} is no number")),
                }
            }
            Kind::Duration => match rendering::duration::prometheus(text) {
                #[allow(clippy::cast_precision_loss, reason = "PromQL's numbers are floats")]
                Ok(milliseconds) => {
                    if milliseconds == 0 {
                        self.parts.note(Part::ZeroDuration);
                    }
                    let seconds =
                        (milliseconds / 1000) as f64 + (milliseconds % 1000 * 1_000_000) as f64 / 1e9;
                    Ok(Number { value: seconds, is_duration: true })
                }
                Err(error) => self.refuse_at(token.start, error.to_string()),
            },
            _ => {
                self.at -= 1;
                self.unexpected("number")
            }
        }
    }

    fn quoted(&mut self) -> Parsed<Vec<u8>> {
        let token = self.next();
        unquote(self.text_of(token)).or_else(|error| self.refuse_at(token.start, error.to_string()))
    }

    fn aggregation(&mut self, aggregator: Aggregator, start: usize) -> Parsed<Tree> {
        let mut grouping = self.grouping()?;
        let (mut arguments, height) = self.arguments()?;
        if grouping.is_none() {
            grouping = self.grouping()?;
        }
        let name = aggregator.text();
        if aggregator.is_experimental() && !self.options.experimental_functions && !arguments.is_empty() {
            return self.refuse_at(start, format!("{name}() is experimental and must be enabled"));
        }
        let expected = 1 + usize::from(aggregator.takes_parameter());
        let got = arguments.len();
        let wrong = format!("{name}() takes {expected} argument(s), got {got}");
        if got != expected {
            return self.refuse_at(start, wrong);
        }
        let Some(expr) = arguments.pop() else { return self.refuse_at(start, wrong) };
        self.parts.note(Part::Aggregation(name));
        let (without, labels) = grouping.unwrap_or_default();
        let aggregation = Aggregation { aggregator, parameter: arguments.pop(), expr, without, labels };
        self.grown(Expr::Aggregation(Box::new(aggregation)), height)
    }

    /// `by (…)` or `without (…)`.
    fn grouping(&mut self) -> Parsed<Option<(bool, Vec<String>)>> {
        let without = match self.peek() {
            Kind::Keyword(Keyword::By) => false,
            Kind::Keyword(Keyword::Without) => true,
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some((without, self.labels()?)))
    }

    fn call(&mut self, name: Token) -> Parsed<Tree> {
        let text = self.text_of(name);
        let retired = self.options.retired_functions;
        let known = |function: &&Function| retired || function.standing != Standing::Retired;
        let Some(function) = function(text).filter(known) else {
            return self.refuse_at(name.start, format!("unknown function with name {text:?}"));
        };
        if function.standing == Standing::Experimental && !self.options.experimental_functions {
            return self.refuse_at(name.start, format!("function {text:?} is experimental and not enabled"));
        }
        self.parts.note(Part::Function(function.name));
        let (arguments, height) = self.arguments()?;
        self.grown(Expr::Call(Box::new(Call { function, arguments })), height)
    }

    /// What stands in the parentheses of a call, and the height of the highest.
    fn arguments(&mut self) -> Parsed<(Vec<Expr>, usize)> {
        self.expect(Kind::OpenParen, "call")?;
        let mut arguments = Vec::new();
        let mut height = 0;
        if self.skip(Kind::CloseParen) {
            return Ok((arguments, height));
        }
        loop {
            let argument = self.expression(0)?;
            height = height.max(argument.height);
            arguments.push(argument.expr);
            if self.skip(Kind::CloseParen) {
                return Ok((arguments, height));
            }
            self.expect(Kind::Comma, "call")?;
            if self.peek() == Kind::CloseParen {
                return self.refuse("trailing commas not allowed in function call args");
            }
        }
    }
}

impl Number {
    fn signed(self, sign: Sign) -> Self {
        match sign {
            Sign::Plus => self,
            Sign::Minus => Self { value: -self.value, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[track_caller]
    fn prints(text: &str, expected: &str) {
        assert_eq!(
            parse(text, &Options::ALL).map(|expr| expr.to_string()).as_deref(),
            Ok(expected),
            "{text}"
        );
    }

    #[test]
    fn expressions_are_printed_as_prometheus_prints_them() {
        for (text, expected) in [
            ("-2^2", "-2 ^ 2"),
            ("(-2)^2", "(-2) ^ 2"),
            ("1_000 + 0x1F + 017 + .5e3", "1000 + 31 + 15 + 500"),
            ("inf-Inf+NaN", "+Inf - +Inf + NaN"),
            ("5m", "5m"),
            ("SUM BY(a,b,) (x)", "sum by (a, b) (x)"),
            ("sum(x) without()", "sum without () (x)"),
            ("sum by () (x)", "sum(x)"),
            ("a+on()b", "a + on () b"),
            ("a+ignoring()b", "a + b"),
            ("a*on(x)group_left(y,\"z.z\")b", "a * on (x) group_left (y, \"z.z\") b"),
            ("a>bool 1", "a > bool 1"),
            ("1 >bool 2", "1 > bool 2"),
        ] {
            prints(text, expected);
        }
        prints("foo{b='x',a=\"y\"}[5m] offset 1d2h @ 1.5", r#"foo{a="y",b="x"}[5m] @ 1.500 offset 1d2h"#);
        prints("{\"foo.bar\", \"a.b\"=~'c.*'}", r#"{"a.b"=~"c.*",__name__="foo.bar"}"#);
        prints("foo[90d:1w]", "foo[90d:1w]");
        prints("a + fill(-23) b", "a + fill (-23) b");
        prints("a + fill_right(1) fill_left(2e-7) b", "a + fill_left (2e-07) fill_right (1) b");
        prints("foo[5m*2] anchored offset -(step())", "foo[5m * 2] anchored offset -(step())");
        prints("foo offset 5m + 3", "foo offset 5m + 3");
        prints("foo offset (5m) + 3m", "foo offset 5m + 3m");
        prints("foo offset (5m + 3m)", "foo offset (5m + 3m)");
        prints("label_replace(a, \"\\xff\", '', `$1`, \"\")", r#"label_replace(a, "\xff", "", "$1", "")"#);
        prints("offset offset 5m", "offset offset 5m");
        prints("sum + step{a=\"b\"} + fill", "sum + step{a=\"b\"} + fill");
        prints("a # comment\n+ b", "a + b");
    }

    #[test]
    fn what_prometheus_refuses_is_refused() {
        for text in [
            "",
            "1 +",
            "(a",
            "a)",
            "a[5m",
            "a{",
            "a{b=\"c\"",
            "{}",
            "{a=~\".*\"}",
            "a{__name__=\"b\"}",
            "a == on(b) 1",
            "1 == 2",
            "a and 1",
            "a and on(b) group_left c",
            "rate(a)",
            "rate(a[5m], 1)",
            "sum(a, b)",
            "topk(a)",
            "topk(a, b)",
            "count_values(1, a)",
            "unknown(a)",
            "Rate(a[5m])",
            "a[0]",
            "a[-5m]",
            "a[5m:0s]",
            "1[5m]",
            "(a)[5m]",
            "a offset 5m offset 5m",
            "a @ 1 @ 2",
            "a @ inf",
            "sum(a,)",
            "a{b=c}",
            "a{b=~\"*\"}",
            "'\\q'",
            "\"a",
            "a smoothed anchored",
            "a[5m:1m] smoothed",
            "foo offset (5m) + bar",
            "by(a)",
            "a{,}",
            "1.5h",
            "08x",
            "5m5y",
            "a + fill(x) b",
            "sum by (without) (a)",
            "-\"a\"",
            "a[5m] + 1",
            "info(a, b)",
            "foo[5m/0]",
            "foo[1:2:3]",
        ] {
            assert!(parse(text, &Options::ALL).is_err(), "{text}");
        }
    }

    #[test]
    fn experimental_parts_are_refused_unless_enabled() {
        for text in [
            "limitk(1, a)",
            "info(a)",
            "a anchored",
            "a[5m] smoothed",
            "a[5m*2]",
            "a offset step()",
            "a offset (5m)",
            "a + fill(0) b",
            "step()",
            "max_of(1, 2)",
            "sort_by_label(a, \"b\")",
        ] {
            assert!(parse(text, &Options::ALL).is_ok(), "{text}");
            assert!(parse(text, &Options::default()).is_err(), "{text}");
        }
        // The parenthesis belongs to the offset here.
        assert!(parse("a offset -(5m)", &Options::default()).is_ok());
    }

    #[test]
    fn what_not_every_prometheus_reads_is_noted_once() {
        let parts = |text| parse_with_parts(text, &Options::ALL).unwrap().1;
        assert_eq!(parts("a{b=\"c\"} offset 5m > 1"), []);
        assert_eq!(
            parts("sum by (\"b.c\") (rate(a[300])) + rate({\"d\"}[5m] offset 0s)"),
            [
                Part::QuotedLabel,
                Part::Utf8Label,
                Part::Function("rate"),
                Part::NumberAsDuration,
                Part::Aggregation("sum"),
                Part::QuotedName,
                Part::ZeroDuration
            ]
        );
        assert_eq!(parts("a[+5m] anchored"), [Part::SignedDuration, Part::ExtendedSelector]);
        assert_eq!(parts("anchored @ 1_0"), [Part::ExtensionAsName, Part::Underscore]);
    }

    #[test]
    fn depth_is_bounded_and_long_chains_are_not_deep() {
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&nested(100), &Options::default()).is_ok());
        assert!(parse(&nested(100_000), &Options::default()).is_err());
        assert!(parse(&"-".repeat(100_000), &Options::default()).is_err());
        let chain = |links: usize| vec!["a"; links].join(" or ");
        assert_eq!(parse(&chain(1400), &Options::default()).unwrap().to_string(), chain(1400));
        assert!(parse(&chain(100_000), &Options::default()).is_err());
    }

    #[test]
    fn an_error_says_where() {
        let error = parse("sum(a)\n+ unknown(b)", &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), "2:3: unknown function with name \"unknown\"");
    }
}
