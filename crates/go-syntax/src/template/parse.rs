//! The grammar of templates over their tokens.

use std::collections::HashMap;

use super::tokens::{Keyword, Kind, Token, tokens};
use super::{BUILTIN_FUNCTIONS, TemplateError};
use crate::number::{parse_float, parse_int, parse_uint};
use crate::quote::{Unquoted, unquote, unquote_character};

/// How deep parentheses and blocks may nest. Go allows more; nobody writes more, and our stack is smaller.
const MAX_DEPTH: usize = 200;

pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    functions: &'a [&'a str],
    variables: Vec<&'a str>,
    /// In how many `{{range}}` of this template we are.
    ranges: usize,
    depth: usize,
    /// Templates that are defined here, and whether there is anything in them.
    defined: HashMap<Vec<u8>, Content>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Blank,
    Something,
}

/// What a term is, as far as later checks ask.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    /// A literal, `.` or `nil`: nothing that could be called or has fields.
    Value,
    Executable,
}

/// What ended a list of texts and actions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    End,
    Else,
    /// `{{else if` and `{{else with`: the keyword is still to be read.
    ElseChain(Keyword),
}

enum Action {
    Content(Content),
    Ended(Ended),
}

type Parsed<T = ()> = Result<T, TemplateError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, functions: &'a [&'a str], variables: &[&'a str]) -> Self {
        let mut known = vec!["$"];
        known.extend_from_slice(variables);
        Self {
            tokens: tokens(text),
            at: 0,
            functions,
            variables: known,
            ranges: 0,
            depth: 0,
            defined: HashMap::new(),
        }
    }

    /// The whole template, `{{define}}`s included.
    pub(super) fn whole(mut self, name: &str) -> Parsed {
        let mut content = Content::Blank;
        while self.peek() != Kind::End {
            if self.peek() == Kind::Open {
                let open = self.at;
                self.at += 1;
                if self.next() == Kind::Keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.at = open;
            }
            match self.text_or_action()? {
                Action::Content(found) => content = content.and(found),
                Action::Ended(_) => return self.refuse("unexpected {{end}} or {{else}}"),
            }
        }
        // A variable of the caller makes the template say something, however blank it looks.
        if self.variables.len() > 1 {
            content = Content::Something;
        }
        self.define(name.as_bytes().to_vec(), content)
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Parsed<T> {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(1, |token| token.line);
        Err(TemplateError { line, reason: reason.into() })
    }

    fn unexpected<T>(&self, kind: &Kind<'_>, context: &str) -> Parsed<T> {
        match kind {
            Kind::Error(reason) => self.refuse(*reason),
            Kind::End => self.refuse("unexpected end of the text"),
            _ => self.refuse(format!("unexpected {kind:?} in {context}")),
        }
    }

    /// The next token, blanks included.
    fn peek(&self) -> Kind<'a> {
        self.tokens.get(self.at).map_or(Kind::End, |token| token.kind.clone())
    }

    fn skip_space(&mut self) {
        while self.peek() == Kind::Space {
            self.at += 1;
        }
    }

    /// The next token that is no blank; consumed.
    fn next(&mut self) -> Kind<'a> {
        self.skip_space();
        let kind = self.peek();
        self.at += 1;
        kind
    }

    fn expect_close(&mut self, context: &str) -> Parsed {
        match self.next() {
            Kind::Close => Ok(()),
            other => self.unexpected(&other, context),
        }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.refuse("nests too deep");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn define(&mut self, name: Vec<u8>, content: Content) -> Parsed {
        match self.defined.get(&name) {
            None | Some(Content::Blank) => {
                self.defined.insert(name, content);
            }
            Some(Content::Something) if content == Content::Something => {
                let name = String::from_utf8_lossy(&name).into_owned();
                return self.refuse(format!("multiple definition of template {name:?}"));
            }
            Some(Content::Something) => {}
        }
        Ok(())
    }

    /// A template within this one: it sees none of its variables and loops.
    fn apart<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let variables = std::mem::replace(&mut self.variables, vec!["$"]);
        let ranges = std::mem::take(&mut self.ranges);
        let parsed = parse(self);
        self.variables = variables;
        self.ranges = ranges;
        parsed
    }

    fn definition(&mut self) -> Parsed {
        let name = self.template_name("define clause")?;
        self.expect_close("define clause")?;
        let content = self.apart(Self::until_end)?;
        self.define(name, content)
    }

    fn template_name(&mut self, context: &str) -> Parsed<Vec<u8>> {
        match self.next() {
            Kind::Quoted(quoted) => unquote(quoted).or_else(|error| self.refuse(error.to_string())),
            other => self.unexpected(&other, context),
        }
    }

    fn until_end(&mut self) -> Parsed<Content> {
        match self.list()? {
            (content, Ended::End) => Ok(content),
            _ => self.refuse("unexpected {{else}}"),
        }
    }

    fn list(&mut self) -> Parsed<(Content, Ended)> {
        self.deeper(|parser| {
            let mut content = Content::Blank;
            loop {
                match parser.text_or_action()? {
                    Action::Content(found) => content = content.and(found),
                    Action::Ended(ended) => return Ok((content, ended)),
                }
            }
        })
    }

    fn text_or_action(&mut self) -> Parsed<Action> {
        match self.next() {
            Kind::Text(text) if text.trim().is_empty() => Ok(Action::Content(Content::Blank)),
            Kind::Text(_) => Ok(Action::Content(Content::Something)),
            Kind::Open => self.action(),
            other => self.unexpected(&other, "input"),
        }
    }

    fn action(&mut self) -> Parsed<Action> {
        self.skip_space();
        let Kind::Keyword(keyword) = self.peek() else {
            self.pipeline("command", &Kind::Close)?;
            return Ok(Action::Content(Content::Something));
        };
        self.at += 1;
        match keyword {
            Keyword::End => {
                self.expect_close("end")?;
                return Ok(Action::Ended(Ended::End));
            }
            Keyword::Else => {
                self.skip_space();
                if let Kind::Keyword(chained @ (Keyword::If | Keyword::With)) = self.peek() {
                    return Ok(Action::Ended(Ended::ElseChain(chained)));
                }
                self.expect_close("else")?;
                return Ok(Action::Ended(Ended::Else));
            }
            Keyword::Break | Keyword::Continue => {
                self.expect_close("break or continue")?;
                if self.ranges == 0 {
                    return self.refuse("{{break}} or {{continue}} outside {{range}}");
                }
            }
            Keyword::If | Keyword::Range | Keyword::With => self.control(keyword)?,
            Keyword::Template => {
                self.template_name("template clause")?;
                self.skip_space();
                if self.peek() == Kind::Close {
                    self.at += 1;
                } else {
                    self.pipeline("template clause", &Kind::Close)?;
                }
            }
            Keyword::Block => {
                let name = self.template_name("block clause")?;
                self.pipeline("block clause", &Kind::Close)?;
                let content = self.apart(Self::until_end)?;
                self.define(name, content)?;
            }
            Keyword::Define => return self.unexpected(&Kind::Keyword(Keyword::Define), "command"),
        }
        Ok(Action::Content(Content::Something))
    }

    fn control(&mut self, keyword: Keyword) -> Parsed {
        let known = self.variables.len();
        let context = match keyword {
            Keyword::Range => "range",
            Keyword::With => "with",
            _ => "if",
        };
        self.pipeline(context, &Kind::Close)?;
        if keyword == Keyword::Range {
            self.ranges += 1;
        }
        let (_, ended) = self.list()?;
        if keyword == Keyword::Range {
            self.ranges -= 1;
        }
        match ended {
            Ended::End => {}
            Ended::ElseChain(chained) if chained == keyword => {
                self.at += 1;
                self.deeper(|parser| parser.control(chained))?;
            }
            // What follows is then read as the start of a text, and is none.
            Ended::ElseChain(chained) => return self.unexpected(&Kind::Keyword(chained), "input"),
            Ended::Else => {
                self.until_end()?;
            }
        }
        self.variables.truncate(known);
        Ok(())
    }

    fn pipeline(&mut self, context: &str, end: &Kind<'_>) -> Parsed {
        self.declarations(context)?;
        let mut commands = 0usize;
        loop {
            self.skip_space();
            match self.peek() {
                kind if kind == *end => {
                    self.at += 1;
                    break;
                }
                Kind::Bool
                | Kind::Character(_)
                | Kind::Complex(_)
                | Kind::Dot
                | Kind::Field
                | Kind::Function(_)
                | Kind::Number(_)
                | Kind::Nil
                | Kind::Quoted(_)
                | Kind::Variable(_)
                | Kind::OpenParen => {
                    let first = self.command()?;
                    commands += 1;
                    if commands > 1 && first == Term::Value {
                        return self.refuse(format!("non executable command in pipeline stage {commands}"));
                    }
                }
                other => {
                    self.at += 1;
                    return self.unexpected(&other, context);
                }
            }
        }
        if commands == 0 { self.refuse(format!("missing value for {context}")) } else { Ok(()) }
    }

    /// `$x := `, `$x = `, and in a range `$i, $x := `.
    fn declarations(&mut self, context: &str) -> Parsed {
        let mut declared = 0;
        loop {
            self.skip_space();
            let Kind::Variable(variable) = self.peek() else { return Ok(()) };
            let before = self.at;
            self.at += 1;
            match self.next() {
                Kind::Assign | Kind::Declare => {
                    self.variables.push(variable);
                    return Ok(());
                }
                Kind::Comma => {
                    self.variables.push(variable);
                    declared += 1;
                    if context != "range" || declared >= 2 {
                        return self.refuse(format!("too many declarations in {context}"));
                    }
                    self.skip_space();
                    if !matches!(self.peek(), Kind::Variable(_) | Kind::Close | Kind::CloseParen) {
                        return self.refuse("range can only initialize variables");
                    }
                }
                _ => {
                    self.at = before;
                    return Ok(());
                }
            }
        }
    }

    /// Operands up to a pipe, which is consumed, or an end, which is not. Yields what the first is.
    fn command(&mut self) -> Parsed<Term> {
        let mut first = None;
        loop {
            self.skip_space();
            if let Some(operand) = self.operand()? {
                first.get_or_insert(operand);
            }
            let kind = self.peek();
            self.at += 1;
            match kind {
                Kind::Space => continue,
                Kind::Close | Kind::CloseParen => self.at -= 1,
                Kind::Pipe => {}
                other => return self.unexpected(&other, "operand"),
            }
            break;
        }
        match first {
            Some(first) => Ok(first),
            None => self.refuse("empty command"),
        }
    }

    fn operand(&mut self) -> Parsed<Option<Term>> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek() != Kind::Field {
            return Ok(Some(term));
        }
        if term == Term::Value {
            return self.refuse("unexpected . after a value");
        }
        while self.peek() == Kind::Field {
            self.at += 1;
        }
        Ok(Some(Term::Executable))
    }

    fn term(&mut self) -> Parsed<Option<Term>> {
        let kind = self.peek();
        self.at += 1;
        let term = match kind {
            Kind::Function(name) => {
                if !BUILTIN_FUNCTIONS.contains(&name) && !self.functions.contains(&name) {
                    return self.refuse(format!("function {name:?} not defined"));
                }
                Term::Executable
            }
            Kind::Dot | Kind::Nil | Kind::Bool => Term::Value,
            Kind::Variable(name) => {
                if !self.variables.contains(&name) {
                    return self.refuse(format!("undefined variable {name:?}"));
                }
                Term::Executable
            }
            Kind::Field => Term::Executable,
            Kind::Character(_) | Kind::Complex(_) | Kind::Number(_) => {
                if !is_number(&kind) {
                    return self.refuse(format!("illegal number syntax: {kind:?}"));
                }
                Term::Value
            }
            Kind::OpenParen => {
                self.deeper(|parser| parser.pipeline("parenthesized pipeline", &Kind::CloseParen))?;
                Term::Executable
            }
            Kind::Quoted(quoted) => {
                unquote(quoted).or_else(|error| self.refuse(error.to_string()))?;
                Term::Value
            }
            _ => {
                self.at -= 1;
                return Ok(None);
            }
        };
        Ok(Some(term))
    }
}

impl Content {
    fn and(self, other: Self) -> Self {
        if self == Self::Blank { other } else { self }
    }
}

fn is_number(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Character(quoted) => {
            let inside = quoted.get(1..).unwrap_or_default();
            matches!(unquote_character(inside, '\''), Some((Unquoted::Byte(_) | Unquoted::Character(_), "'")))
        }
        Kind::Complex(text) => {
            let sign = text.rfind(['+', '-']).filter(|at| *at > 0).unwrap_or(text.len());
            let (real, imaginary) = text.split_at_checked(sign).unwrap_or((text, ""));
            parse_float(real).is_some() && imaginary.strip_suffix('i').and_then(parse_float).is_some()
        }
        Kind::Number(text) => {
            text.strip_suffix('i').is_some_and(|number| parse_float(number).is_some())
                || parse_uint(text).is_some()
                || parse_int(text).is_some()
                || (text.contains(['.', 'e', 'E', 'p', 'P']) && parse_float(text).is_some())
        }
        _ => false,
    }
}
