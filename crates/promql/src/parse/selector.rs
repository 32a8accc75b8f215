//! Selectors, and lists of labels.

use super::{Parsed, Parser};
use crate::ast::Selector;
use crate::matcher::{METRIC_NAME, MatchOp, Matcher};
use crate::token::{Kind, Operator};

impl Parser<'_> {
    /// The braces of a selector, if there are any.
    pub(super) fn selector(&mut self, name: String) -> Parsed<Selector> {
        let mut selector = Selector { name, ..Selector::default() };
        if !self.skip(Kind::OpenBrace) || self.skip(Kind::CloseBrace) {
            return Ok(selector);
        }
        loop {
            let matcher = self.matcher()?;
            selector.matchers.push(matcher);
            if self.skip(Kind::CloseBrace) {
                return Ok(selector);
            }
            self.expect(Kind::Comma, "label matching")?;
            if self.skip(Kind::CloseBrace) {
                return Ok(selector);
            }
        }
    }

    /// `job="a"`, `"my.label"="a"`, or `"my.metric"`.
    fn matcher(&mut self) -> Parsed<Matcher> {
        let token = self.token();
        let name = match token.kind {
            Kind::Name => {
                self.at += 1;
                self.text_of(token).as_bytes().to_vec()
            }
            Kind::Text => self.quoted()?,
            _ => return self.unexpected("label matching"),
        };
        let op = match self.peek() {
            Kind::Equal => MatchOp::Equal,
            Kind::Operator(Operator::NotEqual) => MatchOp::NotEqual,
            Kind::EqualRegexp => MatchOp::Regexp,
            Kind::NotEqualRegexp => MatchOp::NotRegexp,
            _ if token.kind == Kind::Text => return Ok(Matcher::equal(METRIC_NAME, name)),
            _ => return self.unexpected("label matching"),
        };
        self.at += 1;
        if self.peek() != Kind::Text {
            return self.unexpected("label matching");
        }
        let value = self.quoted()?;
        Matcher::new(name, op, value).or_else(|message| self.refuse_at(token.start, message))
    }

    /// `(job, "my.label",)`.
    pub(super) fn labels(&mut self) -> Parsed<Vec<String>> {
        self.expect(Kind::OpenParen, "grouping opts")?;
        let mut labels = Vec::new();
        while !self.skip(Kind::CloseParen) {
            let token = self.token();
            let label = match token.kind {
                Kind::Text => {
                    let label = String::from_utf8(self.quoted()?).unwrap_or_default();
                    if label.is_empty() {
                        return self.refuse_at(token.start, "invalid label name for grouping");
                    }
                    label
                }
                kind if kind.may_name_label() => {
                    self.at += 1;
                    self.text_of(token).to_owned()
                }
                _ => return self.unexpected("grouping opts"),
            };
            labels.push(label);
            if self.peek() != Kind::CloseParen {
                self.expect(Kind::Comma, "grouping opts")?;
            }
        }
        Ok(labels)
    }
}
