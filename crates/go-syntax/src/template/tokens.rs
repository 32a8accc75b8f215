//! A template as tokens.

/// A token, and the line it is on.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Text outside of actions.
    Text(&'a str),
    Open,
    Close,
    Space,
    Assign,
    Declare,
    Pipe,
    OpenParen,
    CloseParen,
    Comma,
    /// `"…"` or `` `…` `` with its quotes.
    Quoted(&'a str),
    Character(&'a str),
    Number(&'a str),
    Complex(&'a str),
    Variable(&'a str),
    Field,
    Dot,
    Bool,
    Nil,
    Function(&'a str),
    Keyword(Keyword),
    /// A printable character that means nothing here.
    Other(char),
    End,
    Error(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

const KEYWORDS: &[(&str, Keyword)] = &[
    ("block", Keyword::Block),
    ("break", Keyword::Break),
    ("continue", Keyword::Continue),
    ("define", Keyword::Define),
    ("else", Keyword::Else),
    ("end", Keyword::End),
    ("if", Keyword::If),
    ("range", Keyword::Range),
    ("template", Keyword::Template),
    ("with", Keyword::With),
];

/// Splits a template; the last token is `End` or `Error`.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { rest: text, line: 1, parens: 0, tokens: Vec::new() };
    let last = lexer.text().err().unwrap_or(Kind::End);
    let line = lexer.line;
    lexer.tokens.push(Token { kind: last, line });
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    parens: usize,
    tokens: Vec<Token<'a>>,
}

type Lexed<'a, T = ()> = Result<T, Kind<'a>>;

impl<'a> Lexer<'a> {
    fn emit(&mut self, kind: Kind<'a>) {
        let line = self.line;
        self.tokens.push(Token { kind, line });
    }

    /// Takes so many bytes off the rest.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    fn text(&mut self) -> Lexed<'a> {
        while let Some(open) = self.rest.find("{{") {
            let text = self.take(open);
            self.take(2);
            let trims = trim_marker_at_open(self.rest);
            let text = if trims { text.trim_end_matches(is_space) } else { text };
            if !text.is_empty() {
                self.emit(Kind::Text(text));
            }
            let after_marker = if trims { self.rest.get(2..).unwrap_or_default() } else { self.rest };
            if after_marker.starts_with("/*") {
                self.comment(after_marker)?;
            } else {
                self.emit(Kind::Open);
                self.take(if trims { 2 } else { 0 });
                self.parens = 0;
                self.action()?;
            }
        }
        if !self.rest.is_empty() {
            let text = self.take(self.rest.len());
            self.emit(Kind::Text(text));
        }
        Ok(())
    }

    fn comment(&mut self, comment: &'a str) -> Lexed<'a> {
        let skipped = self.rest.len() - comment.len();
        let end =
            comment.get(2..).and_then(|inside| inside.find("*/")).ok_or(Kind::Error("unclosed comment"))?;
        self.take(skipped + 2 + end + 2);
        if self.at_close().is_none() {
            return Err(Kind::Error("comment ends before closing delimiter"));
        }
        self.close();
        Ok(())
    }

    /// Whether `}}` or ` -}}` comes next; how long it is.
    fn at_close(&self) -> Option<usize> {
        let marked = self.rest.strip_prefix(is_space).and_then(|rest| rest.strip_prefix("-}}"));
        match marked {
            Some(_) => Some(4),
            None => self.rest.starts_with("}}").then_some(2),
        }
    }

    fn close(&mut self) {
        let length = self.at_close().unwrap_or_default();
        self.take(length);
        if length == 4 {
            self.take(self.rest.len() - self.rest.trim_start_matches(is_space).len());
        }
    }

    fn action(&mut self) -> Lexed<'a> {
        loop {
            if self.at_close().is_some() {
                if self.parens > 0 {
                    return Err(Kind::Error("unclosed left paren"));
                }
                self.emit(Kind::Close);
                self.close();
                return Ok(());
            }
            let kind = self.one()?;
            self.emit(kind);
        }
    }

    fn one(&mut self) -> Lexed<'a, Kind<'a>> {
        let Some(first) = self.rest.chars().next() else { return Err(Kind::Error("unclosed action")) };
        if is_space(first) {
            while self.rest.starts_with(is_space) && self.at_close().is_none() {
                self.take(1);
            }
            return Ok(Kind::Space);
        }
        let second = self.rest.chars().nth(1);
        let kind = match first {
            '=' => Kind::Assign,
            ':' if second == Some('=') => {
                self.take(2);
                return Ok(Kind::Declare);
            }
            ':' => return Err(Kind::Error("expected :=")),
            '|' => Kind::Pipe,
            ',' => Kind::Comma,
            '(' => {
                self.parens += 1;
                Kind::OpenParen
            }
            ')' => {
                self.parens = self.parens.checked_sub(1).ok_or(Kind::Error("unexpected right paren"))?;
                Kind::CloseParen
            }
            '"' => return self.quoted('"', "unterminated quoted string").map(Kind::Quoted),
            '\'' => return self.quoted('\'', "unterminated character constant").map(Kind::Character),
            '`' => {
                let end = self.rest.get(1..).and_then(|inside| inside.find('`'));
                let end = end.ok_or(Kind::Error("unterminated raw quoted string"))?;
                return Ok(Kind::Quoted(self.take(end + 2)));
            }
            '$' => return self.variable(),
            '.' if !second.is_some_and(|c| c.is_ascii_digit()) && second.is_some() => return self.field(),
            '.' | '+' | '-' | '0'..='9' => return self.number(),
            _ if is_word(first) => return self.word(),
            ' '..='~' => Kind::Other(first),
            _ => return Err(Kind::Error("unrecognized character in action")),
        };
        self.take(1);
        Ok(kind)
    }

    /// A text with escapes, within quotes and a line.
    fn quoted(&mut self, quote: char, unterminated: &'static str) -> Lexed<'a, &'a str> {
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\n' => break,
                '\\' if characters.next().is_none_or(|(_, escaped)| escaped == '\n') => break,
                _ if character == quote => return Ok(self.take(at + 1)),
                _ => {}
            }
        }
        Err(Kind::Error(unterminated))
    }

    fn variable(&mut self) -> Lexed<'a, Kind<'a>> {
        let length = 1 + word_length(self.rest.get(1..).unwrap_or_default());
        let variable = self.take(length);
        self.terminated().map(|()| Kind::Variable(variable))
    }

    fn field(&mut self) -> Lexed<'a, Kind<'a>> {
        let length = 1 + word_length(self.rest.get(1..).unwrap_or_default());
        self.take(length);
        self.terminated().map(|()| if length == 1 { Kind::Dot } else { Kind::Field })
    }

    fn word(&mut self) -> Lexed<'a, Kind<'a>> {
        let word = self.take(word_length(self.rest));
        self.terminated()?;
        Ok(match KEYWORDS.iter().find(|(keyword, _)| *keyword == word) {
            Some((_, keyword)) => Kind::Keyword(*keyword),
            None if word == "true" || word == "false" => Kind::Bool,
            None if word == "nil" => Kind::Nil,
            None => Kind::Function(word),
        })
    }

    /// What may follow a word: `$x+2` would be one of them otherwise.
    fn terminated(&self) -> Lexed<'a> {
        let ends = match self.rest.chars().next() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(next) => is_space(next) || self.rest.starts_with("}}"),
        };
        if ends { Ok(()) } else { Err(Kind::Error("bad character after a word")) }
    }

    fn number(&mut self) -> Lexed<'a, Kind<'a>> {
        let bad = Kind::Error("bad number syntax");
        let all = self.rest;
        let length = number_length(all).ok_or(bad.clone())?;
        let after = all.get(length..).unwrap_or_default();
        if after.starts_with(['+', '-']) {
            let imaginary = number_length(after).ok_or(bad.clone())?;
            if !after.get(..imaginary).is_some_and(|number| number.ends_with('i')) {
                return Err(bad);
            }
            return Ok(Kind::Complex(self.take(length + imaginary)));
        }
        Ok(Kind::Number(self.take(length)))
    }
}

/// The longest start that could be a number, unless a letter or digit follows it.
fn number_length(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut digits: fn(char) -> bool = |c| c.is_ascii_digit() || c == '_';
    let mut exponent: &[char] = &['e', 'E'];
    if let Some(after) = rest.strip_prefix('0') {
        rest = after;
        if let Some(after) = rest.strip_prefix(['x', 'X']) {
            (rest, digits, exponent) = (after, |c: char| c.is_ascii_hexdigit() || c == '_', &['p', 'P']);
        } else if let Some(after) = rest.strip_prefix(['o', 'O']) {
            (rest, digits, exponent) = (after, |c: char| c.is_digit(8) || c == '_', &[]);
        } else if let Some(after) = rest.strip_prefix(['b', 'B']) {
            (rest, digits, exponent) = (after, |c: char| c.is_digit(2) || c == '_', &[]);
        }
    }
    rest = rest.trim_start_matches(digits);
    if let Some(after) = rest.strip_prefix('.') {
        rest = after.trim_start_matches(digits);
    }
    if let Some(after) = rest.strip_prefix(exponent) {
        rest = after.strip_prefix(['+', '-']).unwrap_or(after);
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    }
    rest = rest.strip_prefix('i').unwrap_or(rest);
    if rest.starts_with(is_word) { None } else { Some(text.len() - rest.len()) }
}

/// `{{- `: the minus counts only when a blank follows it.
fn trim_marker_at_open(inside: &str) -> bool {
    inside.strip_prefix('-').is_some_and(|rest| rest.starts_with(is_space))
}

fn word_length(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_word).len()
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}
