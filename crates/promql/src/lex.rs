//! The text as tokens.
//!
//! What a character means depends on where it stands: within braces every word is a name, within brackets words are
//! those of durations, and the first thing after a bracket is read more strictly than the rest.

use crate::ParseError;
use crate::token::{Kind, Operator, Token};

/// Splits a text; the last token is `End`.
pub(crate) fn lex(input: &str) -> Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer {
        input,
        at: 0,
        place: Place::Outside,
        parens: 0,
        colon_seen: false,
        duration_seen: false,
        tokens: Vec::with_capacity(input.len() / 4 + 2),
    };
    while lexer.one()? {}
    Ok(lexer.tokens)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Braces,
    /// Within brackets, before the first number: the strict part.
    Duration,
    /// Within brackets, after it.
    Brackets,
}

struct Lexer<'a> {
    input: &'a str,
    at: usize,
    place: Place,
    parens: usize,
    /// Within these brackets.
    colon_seen: bool,
    /// Within any brackets so far: Prometheus never forgets it.
    duration_seen: bool,
    tokens: Vec<Token>,
}

type Lexed<T> = Result<T, ParseError>;

impl Lexer<'_> {
    fn refuse<T>(&self, position: usize, message: impl Into<String>) -> Lexed<T> {
        Err(ParseError::at(self.input, position, message))
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.input.as_bytes().get(self.at + ahead).copied()
    }

    fn emit(&mut self, kind: Kind, length: usize) {
        self.tokens.push(Token { kind, start: self.at, end: self.at + length });
        self.at += length;
    }

    fn unexpected<T>(&self) -> Lexed<T> {
        let character = self.input.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        let place = match self.place {
            Place::Outside => "",
            Place::Braces => " inside braces",
            Place::Duration | Place::Brackets => " in duration expression",
        };
        self.refuse(self.at, format!("unexpected character{place}: {character:?}"))
    }

    /// Reads one token; whether there are more.
    fn one(&mut self) -> Lexed<bool> {
        while self.byte(0).is_some_and(is_space) {
            self.at += 1;
        }
        if self.byte(0) == Some(b'#') && self.place != Place::Duration {
            while self.byte(0).is_some_and(|b| b != b'\n' && b != b'\r') {
                self.at += 1;
            }
            return Ok(true);
        }
        let Some(byte) = self.byte(0) else { return self.end() };
        match self.place {
            Place::Outside | Place::Brackets => self.statement(byte)?,
            Place::Braces => self.inside_braces(byte)?,
            Place::Duration => self.duration(byte)?,
        }
        Ok(true)
    }

    fn end(&mut self) -> Lexed<bool> {
        let unclosed = match self.place {
            Place::Braces => Some("unexpected end of input inside braces"),
            Place::Duration => Some("unexpected end of input in duration expression"),
            _ if self.parens > 0 => Some("unclosed left parenthesis"),
            Place::Brackets => Some("unclosed left bracket"),
            Place::Outside => None,
        };
        match unclosed {
            Some(message) => self.refuse(self.at, message),
            None => {
                self.emit(Kind::End, 0);
                Ok(false)
            }
        }
    }

    fn statement(&mut self, byte: u8) -> Lexed<()> {
        let next = self.byte(1);
        match (byte, next) {
            (b'=', Some(b'=')) => self.emit(Kind::Operator(Operator::Equal), 2),
            (b'=', Some(b'~')) => return self.refuse(self.at, "unexpected character after '=': '~'"),
            (b'=', _) => self.emit(Kind::Equal, 1),
            (b'!', Some(b'=')) => self.emit(Kind::Operator(Operator::NotEqual), 2),
            (b'!', _) => return self.refuse(self.at, "unexpected character after '!'"),
            (b'<', Some(b'=')) => self.emit(Kind::Operator(Operator::LessOrEqual), 2),
            (b'<', Some(b'/')) => self.emit(Kind::Operator(Operator::TrimUpper), 2),
            (b'<', _) => self.emit(Kind::Operator(Operator::Less), 1),
            (b'>', Some(b'=')) => self.emit(Kind::Operator(Operator::GreaterOrEqual), 2),
            (b'>', Some(b'/')) => self.emit(Kind::Operator(Operator::TrimLower), 2),
            (b'>', _) => self.emit(Kind::Operator(Operator::Greater), 1),
            (b'@', _) => self.emit(Kind::At, 1),
            (b'"' | b'\'' | b'`', _) => return self.text(byte),
            (b'{', _) => {
                self.emit(Kind::OpenBrace, 1);
                // Braces within brackets are never valid; what follows does not matter.
                if self.place == Place::Brackets {
                    return self.refuse(self.at, "unexpected left brace in duration expression");
                }
                self.place = Place::Braces;
            }
            (b'[', _) => {
                if self.place == Place::Brackets {
                    return self.refuse(self.at, "unexpected left bracket '['");
                }
                self.emit(Kind::OpenBracket, 1);
                self.colon_seen = false;
                self.place = Place::Duration;
            }
            (b']', _) if self.place == Place::Brackets => {
                self.emit(Kind::CloseBracket, 1);
                self.place = Place::Outside;
            }
            (b']', _) => return self.refuse(self.at, "unexpected right bracket ']'"),
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => return self.number_or_duration(),
            (b':', _) if self.place == Place::Brackets => {
                if self.colon_seen {
                    return self.refuse(self.at, "unexpected colon ':'");
                }
                self.colon_seen = true;
                self.emit(Kind::Colon, 1);
            }
            _ if is_letter(byte) && self.place == Place::Brackets => return self.duration_keyword(),
            _ if is_letter(byte) || byte == b':' => self.word(),
            _ => return self.punctuation(byte),
        }
        Ok(())
    }

    /// What means the same outside and within brackets.
    fn punctuation(&mut self, byte: u8) -> Lexed<()> {
        let kind = match byte {
            b',' => Kind::Comma,
            b'*' => Kind::Operator(Operator::Multiply),
            b'/' => Kind::Operator(Operator::Divide),
            b'%' => Kind::Operator(Operator::Modulo),
            b'+' => Kind::Operator(Operator::Add),
            b'-' => Kind::Operator(Operator::Subtract),
            b'^' => Kind::Operator(Operator::Power),
            b'(' => {
                self.parens += 1;
                Kind::OpenParen
            }
            b')' => match self.parens.checked_sub(1) {
                Some(parens) => {
                    self.parens = parens;
                    Kind::CloseParen
                }
                None => return self.refuse(self.at, "unexpected right parenthesis ')'"),
            },
            _ => return self.unexpected(),
        };
        self.emit(kind, 1);
        Ok(())
    }

    fn inside_braces(&mut self, byte: u8) -> Lexed<()> {
        match (byte, self.byte(1)) {
            (b',', _) => self.emit(Kind::Comma, 1),
            (b'=', Some(b'~')) => self.emit(Kind::EqualRegexp, 2),
            (b'=', _) => self.emit(Kind::Equal, 1),
            (b'!', Some(b'~')) => self.emit(Kind::NotEqualRegexp, 2),
            (b'!', Some(b'=')) => self.emit(Kind::Operator(Operator::NotEqual), 2),
            (b'"' | b'\'' | b'`', _) => return self.text(byte),
            (b'}', _) => {
                self.emit(Kind::CloseBrace, 1);
                self.place = Place::Outside;
            }
            _ if is_letter(byte) => {
                let length = self.length_of(|b| is_letter(b) || b.is_ascii_digit());
                self.emit(Kind::Name, length);
            }
            _ => return self.unexpected(),
        }
        Ok(())
    }

    fn duration(&mut self, byte: u8) -> Lexed<()> {
        match (byte, self.byte(1)) {
            (b']', _) => {
                self.emit(Kind::CloseBracket, 1);
                self.place = Place::Outside;
            }
            (b':', _) if !self.duration_seen || self.colon_seen => {
                return self.refuse(self.at, "unexpected colon in duration expression");
            }
            (b':', _) => {
                self.colon_seen = true;
                self.emit(Kind::Colon, 1);
            }
            (b'0'..=b'9', _) | (b'.', Some(b'0'..=b'9')) => {
                self.duration_seen = true;
                self.place = Place::Brackets;
                return self.number_or_duration();
            }
            _ if is_letter(byte) => return self.duration_keyword(),
            _ => return self.punctuation(byte),
        }
        Ok(())
    }

    fn length_of(&self, belongs: impl Fn(u8) -> bool) -> usize {
        self.input.as_bytes().iter().skip(self.at).take_while(|b| belongs(**b)).count()
    }

    fn duration_keyword(&mut self) -> Lexed<()> {
        let length = self.length_of(is_letter);
        let word = self.input.get(self.at..self.at + length).unwrap_or_default();
        match Kind::of_word(word) {
            Some(kind @ Kind::Keyword(keyword)) if keyword.is_duration() => {
                self.emit(kind, length);
                Ok(())
            }
            _ => self.unexpected(),
        }
    }

    fn word(&mut self) {
        let length = self.length_of(|b| is_letter(b) || b.is_ascii_digit() || b == b':');
        let word = self.input.get(self.at..self.at + length).unwrap_or_default();
        let kind = match Kind::of_word(word) {
            // These three were names of metrics before they were keywords.
            Some(Kind::Keyword(keyword)) if keyword.is_fill() && !self.paren_follows(length) => Kind::Name,
            Some(kind) => kind,
            None if word.contains(':') => Kind::MetricName,
            None => Kind::Name,
        };
        self.emit(kind, length);
    }

    fn paren_follows(&self, length: usize) -> bool {
        self.input.as_bytes().iter().skip(self.at + length).find(|b| !is_space(**b)) == Some(&b'(')
    }

    fn text(&mut self, quote: u8) -> Lexed<()> {
        let mut characters = self.input.get(self.at..).unwrap_or_default().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                // Go does not tell this character from a byte that is none.
                char::REPLACEMENT_CHARACTER => return self.refuse(self.at + at, "invalid UTF-8 rune"),
                '\\' if quote != b'`' => {
                    characters.next();
                }
                '\n' if quote != b'`' => break,
                _ if character == char::from(quote) => {
                    self.emit(Kind::Text, at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.refuse(self.at, "unterminated quoted string")
    }

    fn number_or_duration(&mut self) -> Lexed<()> {
        let mut scan = Scan { bytes: self.input.as_bytes(), at: self.at };
        if scan.number() {
            self.emit(Kind::Number, scan.at - self.at);
        } else if scan.rest_of_duration() {
            self.emit(Kind::Duration, scan.at - self.at);
        } else {
            let read = self.input.get(self.at..scan.at).unwrap_or_default();
            return self.refuse(self.at, format!("bad number or duration syntax: {read:?}"));
        }
        Ok(())
    }
}

/// Where a number or duration ends. Generous: `08` or `1.5h` is refused when its value is asked for.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn is(&self, set: impl Fn(u8) -> bool) -> bool {
        self.peek().is_some_and(set)
    }

    fn accept(&mut self, set: impl Fn(u8) -> bool) -> bool {
        let accepted = self.is(set);
        if accepted {
            self.at += 1;
        }
        accepted
    }

    fn number(&mut self) -> bool {
        let hexadecimal = self.accept(|b| b == b'0') && self.accept(|b| matches!(b, b'x' | b'X'));
        if hexadecimal {
            self.accept(|b| b == b'_');
        }
        let digit = |b: u8| if hexadecimal { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
        let is_exponent = |b: u8| matches!(b, b'e' | b'E');
        let stops = |b: u8| matches!(b, b'.' | b'_' | b'e' | b'E');
        self.accept(|b| b == b'.');
        self.accept(digit);
        let (mut dot, mut exponent) = (false, false);
        while self.is(|b| digit(b) || stops(b)) {
            if (dot && self.is(|b| b == b'.')) || (exponent && self.is(is_exponent)) {
                self.at += 1;
                return false;
            }
            if self.accept(|b| b == b'.') {
                dot = true;
                if hexadecimal || self.accept(|b| matches!(b, b'_' | b'.')) {
                    return false;
                }
            } else if self.accept(is_exponent) {
                exponent = true;
                self.accept(|b| matches!(b, b'+' | b'-'));
                if self.accept(stops) || self.peek().is_none() {
                    return false;
                }
            } else if self.accept(|b| b == b'_') {
                if self.accept(stops) || self.peek().is_none() {
                    return false;
                }
            } else {
                while self.accept(digit) {}
            }
        }
        !self.is(|b| is_letter(b) || b.is_ascii_digit())
    }

    /// Units and further numbers, after a first number.
    fn rest_of_duration(&mut self) -> bool {
        if !self.accept(|b| b"smhdwy".contains(&b)) {
            return false;
        }
        self.accept(|b| b == b's');
        while self.accept(|b| b.is_ascii_digit()) {
            while self.accept(|b| b.is_ascii_digit()) {}
            if !self.accept(|b| b"smhdw".contains(&b)) {
                return false;
            }
            self.accept(|b| b == b's');
        }
        !self.is(|b| is_letter(b) || b.is_ascii_digit())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_letter(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphabetic()
}
