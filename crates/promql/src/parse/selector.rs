//! Selectors, and lists of labels.

use super::{Parsed, Parser};
use crate::ast::Selector;
use crate::matcher::{METRIC_NAME, MatchOp, Matcher, is_plain_name};
use crate::part::Part;
use crate::token::{Keyword, Kind, Operator};

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

    /// A word that is the name of a metric or a label outside braces.
    pub(super) fn note_name(&mut self, kind: Kind) {
        if matches!(kind, Kind::Keyword(Keyword::Anchored | Keyword::Smoothed)) {
            self.parts.note(Part::ExtensionAsName);
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
            Kind::Text => {
                self.parts.note(Part::QuotedName);
                self.quoted()?
            }
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
        let matcher =
            Matcher::new(name, op, value).or_else(|message| self.refuse_at(token.start, message))?;
        matcher.parts().for_each(|part| self.parts.note(part));
        Ok(matcher)
    }

    /// `(job, "my.label",)`.
    pub(super) fn labels(&mut self) -> Parsed<Vec<String>> {
        self.expect(Kind::OpenParen, "grouping opts")?;
        let mut labels = Vec::new();
        while !self.skip(Kind::CloseParen) {
            let token = self.token();
            let label = match token.kind {
                Kind::Text => {
                    self.parts.note(Part::QuotedLabel);
                    let label = String::from_utf8(self.quoted()?).unwrap_or_default();
                    if label.is_empty() {
                        return self.refuse_at(token.start, "invalid label name for grouping");
                    }
                    label
                }
                kind if kind.may_name_label() => {
                    self.at += 1;
                    self.note_name(kind);
                    self.text_of(token).to_owned()
                }
                _ => return self.unexpected("grouping opts"),
            };
            if !is_plain_name(&label) {
                self.parts.note(Part::Utf8Label);
            }
            labels.push(label);
            if self.peek() != Kind::CloseParen {
                self.expect(Kind::Comma, "grouping opts")?;
            }
        }
        Ok(labels)
    }
}
