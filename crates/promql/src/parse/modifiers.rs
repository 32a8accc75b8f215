//! What follows an expression (`[5m]`, `offset`, `@`, `anchored`), and what follows an operator (`bool`, `on`, `fill`).

use go_syntax::number::to_int64;

use super::{Parsed, Parser, Tree};
use crate::ast::{At, Expr, Many, Matching, Number, Range, Selector, Shift, Sign, Span, Subquery};
use crate::part::Part;
use crate::token::{Keyword, Kind};

/// What stands between an operator and its right side.
pub(super) struct BinaryModifiers {
    pub(super) returns_bool: bool,
    pub(super) matching: Matching,
}

impl Parser<'_> {
    pub(super) fn binary_modifiers(&mut self) -> Parsed<BinaryModifiers> {
        let returns_bool = self.skip(Kind::Keyword(Keyword::Bool));
        let mut matching = Matching::default();
        if let Kind::Keyword(keyword @ (Keyword::On | Keyword::Ignoring)) = self.peek() {
            self.at += 1;
            matching.on = keyword == Keyword::On;
            matching.labels = self.labels()?;
            if let Kind::Keyword(keyword @ (Keyword::GroupLeft | Keyword::GroupRight)) = self.peek() {
                self.at += 1;
                matching.many = Some(if keyword == Keyword::GroupLeft { Many::Left } else { Many::Right });
                if self.peek() == Kind::OpenParen {
                    matching.include = self.labels()?;
                }
            }
        }
        match self.peek() {
            Kind::Keyword(Keyword::Fill) => {
                let value = Some(self.fill_value()?);
                (matching.fill_left, matching.fill_right) = (value, value);
            }
            Kind::Keyword(Keyword::FillLeft) => {
                matching.fill_left = Some(self.fill_value()?);
                if self.peek() == Kind::Keyword(Keyword::FillRight) {
                    matching.fill_right = Some(self.fill_value()?);
                }
            }
            Kind::Keyword(Keyword::FillRight) => {
                matching.fill_right = Some(self.fill_value()?);
                if self.peek() == Kind::Keyword(Keyword::FillLeft) {
                    matching.fill_left = Some(self.fill_value()?);
                }
            }
            _ => {}
        }
        Ok(BinaryModifiers { returns_bool, matching })
    }

    fn fill_value(&mut self) -> Parsed<f64> {
        self.at += 1;
        self.expect(Kind::OpenParen, "fill")?;
        let number = self.signed_number()?;
        self.expect(Kind::CloseParen, "fill")?;
        Ok(number.value)
    }

    fn signed_number(&mut self) -> Parsed<Number> {
        let sign = self.sign().unwrap_or(Sign::Plus);
        Ok(self.plain_number()?.signed(sign))
    }

    /// Takes everything that binds to an expression.
    pub(super) fn modified(&mut self, mut tree: Tree) -> Parsed<Tree> {
        loop {
            let start = self.token().start;
            match self.peek() {
                Kind::OpenBracket => {
                    self.at += 1;
                    let expr = self.bracketed(tree.expr, start)?;
                    tree = self.grown(expr, tree.height)?;
                }
                Kind::Keyword(Keyword::Offset) => {
                    self.at += 1;
                    let offset = self.offset()?;
                    let Some(shift) = shift_of(&mut tree.expr) else {
                        return self.refuse_at(start, "offset must follow a selector or a subquery");
                    };
                    if !shift.offset.is_zero() {
                        return self.refuse_at(start, "offset may not be set multiple times");
                    }
                    shift.offset = offset;
                }
                Kind::At => {
                    self.at += 1;
                    let at = self.at_time()?;
                    let Some(shift) = shift_of(&mut tree.expr) else {
                        return self.refuse_at(start, "@ must follow a selector or a subquery");
                    };
                    if shift.at.replace(at).is_some() {
                        return self.refuse_at(start, "@ <timestamp> may not be set multiple times");
                    }
                }
                Kind::Keyword(keyword @ (Keyword::Anchored | Keyword::Smoothed)) => {
                    self.at += 1;
                    self.extend(&mut tree.expr, keyword, start)?;
                }
                _ => return Ok(tree),
            }
        }
    }

    /// `[range]`, `[range:]`, `[range:step]`, past the bracket.
    fn bracketed(&mut self, expr: Expr, start: usize) -> Parsed<Expr> {
        let range = self.positive_duration()?;
        if self.skip(Kind::CloseBracket) {
            let Expr::Selector(selector) = expr else {
                return self.refuse_at(start, "ranges only allowed for vector selectors");
            };
            // Prometheus 3.14 refuses only offsets and times that are known by now.
            if !selector.shift.offset.is_zero() || selector.shift.at.is_some() {
                self.parts.note(Part::ShiftBeforeRange);
            }
            if matches!(selector.shift.offset, Span::Nanoseconds(offset) if offset != 0) {
                return self.refuse_at(start, "no offset modifiers allowed before range");
            }
            if matches!(selector.shift.at, Some(At::Time(_))) {
                return self.refuse_at(start, "no @ modifiers allowed before range");
            }
            return Ok(Expr::Range(Box::new(Range { selector: *selector, range })));
        }
        self.expect(Kind::Colon, "subquery or range")?;
        let mut step = Span::default();
        if !self.skip(Kind::CloseBracket) {
            step = self.positive_duration()?;
            self.expect(Kind::CloseBracket, "subquery selector")?;
        }
        Ok(Expr::Subquery(Box::new(Subquery { expr, range, step, shift: Shift::default() })))
    }

    fn at_time(&mut self) -> Parsed<At> {
        let token = self.token();
        if let Kind::Keyword(keyword @ (Keyword::Start | Keyword::End)) = token.kind {
            self.at += 1;
            self.expect(Kind::OpenParen, "@")?;
            self.expect(Kind::CloseParen, "@")?;
            return Ok(if keyword == Keyword::Start { At::Start } else { At::End });
        }
        let seconds = self.signed_number()?.value;
        // 2^63: what an integer of Go holds.
        if !seconds.is_finite() || seconds.abs() >= 9_223_372_036_854_775_808.0 {
            return self.refuse_at(token.start, format!("timestamp out of bounds for @ modifier: {seconds}"));
        }
        Ok(At::Time(to_int64((seconds * 1000.0).round())))
    }

    fn extend(&mut self, expr: &mut Expr, keyword: Keyword, start: usize) -> Parsed<()> {
        let name = if keyword == Keyword::Anchored { "anchored" } else { "smoothed" };
        if !self.options.extended_range_selectors {
            return self.refuse_at(start, format!("{name} modifier is experimental and not enabled"));
        }
        self.parts.note(Part::ExtendedSelector);
        let Some(selector) = selector_of(expr) else {
            return self.refuse_at(start, format!("{name} must follow a selector"));
        };
        if keyword == Keyword::Anchored {
            selector.extension.anchored = true;
        } else {
            selector.extension.smoothed = true;
        }
        if selector.extension.anchored && selector.extension.smoothed {
            return self.refuse_at(start, "anchored and smoothed modifiers cannot be used together");
        }
        Ok(())
    }
}

fn selector_of(expr: &mut Expr) -> Option<&mut Selector> {
    match expr {
        Expr::Selector(selector) => Some(selector),
        Expr::Range(range) => Some(&mut range.selector),
        _ => None,
    }
}

fn shift_of(expr: &mut Expr) -> Option<&mut Shift> {
    match expr {
        Expr::Subquery(subquery) => Some(&mut subquery.shift),
        _ => selector_of(expr).map(|selector| &mut selector.shift),
    }
}
