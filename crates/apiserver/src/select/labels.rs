//! Label selectors: `a=1,b!=2,c in (x,y),d notin (z),e,!f,g>3,h<4`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::meta::qualified_name;

/// Requirements that must all hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    /// Absent keys pass.
    NotIn(BTreeSet<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Parser { tokens: tokens(text), at: 0 }.selector().map(Self)
    }

    pub(crate) fn matches(&self, labels: &Map<String, Value>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key).and_then(Value::as_str);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                Test::Exists => value.is_some(),
                Test::Absent => value.is_none(),
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Above(bound) => number().is_some_and(|number| number > *bound),
                Test::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

/// Symbols, longest first.
const SYMBOLS: &[&str] = &["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Symbol(&'static str),
    /// A key, a value, or `in` and `notin`: which one, the place decides.
    Word(&'t str),
    End,
}

impl<'t> Token<'t> {
    fn text(self) -> &'t str {
        match self {
            Self::Symbol(text) => text,
            Self::Word(text) => text,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some((symbol, after)) =
            SYMBOLS.iter().find_map(|symbol| Some((*symbol, rest.strip_prefix(symbol)?)))
        {
            tokens.push(Token::Symbol(symbol));
            rest = after.trim_start();
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "=!(),><".contains(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push(Token::Word(word));
            rest = after.trim_start();
        }
    }
    tokens
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Symbol("!") => {}
                Token::Symbol(other) => {
                    return Err(format!("found '{other}', expected: !, identifier, or 'end of string'"));
                }
            }
            let requirement =
                self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
            requirements.push(requirement);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") if matches!(self.peek(), Token::Word(_) | Token::Symbol("!")) => {}
                Token::Symbol(",") => {
                    return Err(format!("found '{}', expected: identifier after ','", self.peek().text()));
                }
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Symbol("!");
        if absent {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        let faults = qualified_name(key);
        if !faults.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", faults.join("; ")));
        }
        let test = match self.peek() {
            _ if absent => Test::Absent,
            Token::End | Token::Symbol(",") => Test::Exists,
            _ => self.comparison(key)?,
        };
        Ok(Requirement { key: key.to_owned(), test })
    }

    fn comparison(&mut self, key: &str) -> Result<Test, String> {
        Ok(match self.next() {
            Token::Word("in") => Test::In(self.values(key)?),
            Token::Word("notin") => Test::NotIn(self.values(key)?),
            Token::Symbol("=" | "==") => Test::In([self.value(key)?].into()),
            Token::Symbol("!=") => Test::NotIn([self.value(key)?].into()),
            Token::Symbol(">") => Test::Above(number(&self.value(key)?)?),
            Token::Symbol("<") => Test::Below(number(&self.value(key)?)?),
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        })
    }

    /// One value; nothing at all is the empty value.
    fn value(&mut self, key: &str) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(value) => {
                self.next();
                checked(key, 0, value)
            }
            Token::Symbol(other) => Err(format!("found '{other}', expected: identifier")),
        }
    }

    /// `(a,b)`. A value that is left out is the empty value.
    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    self.next();
                    values.insert(checked(key, values.len(), value)?);
                }
                Token::Symbol("," | ")") => {
                    values.insert(String::new());
                }
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

const BAD_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// A value has the letters of a key's name, and may not have a prefix.
fn checked(key: &str, index: usize, value: &str) -> Result<String, String> {
    let why = match value {
        _ if value.len() > 63 => "must be no more than 63 bytes",
        _ if value.contains('/') || !qualified_name(value).is_empty() => BAD_VALUE,
        _ => return Ok(value.to_owned()),
    };
    Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}"))
}

fn number(value: &str) -> Result<i64, String> {
    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
    value.parse().map_err(|_| format!("values[0]: Invalid value: {value:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(labels.as_object().unwrap())
    }

    #[test]
    fn requirements_match_as_documented() {
        let cases = [
            ("", json!({}), true),
            ("a=1", json!({"a": "1"}), true),
            ("a==1", json!({"a": "2"}), false),
            ("a=1", json!({}), false),
            ("a!=1", json!({}), true),
            ("a!=1", json!({"a": "1"}), false),
            ("a=", json!({"a": ""}), true),
            ("a=,b", json!({"a": "", "b": "x"}), true),
            ("a in (1, 2)", json!({"a": "2"}), true),
            ("a in (1,2)", json!({}), false),
            ("a in ()", json!({"a": ""}), true),
            ("a in (,x)", json!({"a": ""}), true),
            ("a in (x,)", json!({"a": ""}), true),
            ("a notin (1,2)", json!({"a": "3"}), true),
            ("a notin (1,2)", json!({}), true),
            ("a notin (1,2)", json!({"a": "1"}), false),
            ("a", json!({"a": ""}), true),
            ("!a", json!({"a": ""}), false),
            ("!a", json!({"b": ""}), true),
            ("a>3", json!({"a": "4"}), true),
            ("a > 3", json!({"a": "3"}), false),
            ("a<3", json!({"a": "-1"}), true),
            ("a<3", json!({"a": "x"}), false),
            ("a=1,b in (x),!c", json!({"a": "1", "b": "x"}), true),
            ("a=1,b in (x),!c", json!({"a": "1", "b": "x", "c": ""}), false),
            ("in in (in,notin)", json!({"in": "notin"}), true),
            ("app.kubernetes.io/name = db", json!({"app.kubernetes.io/name": "db"}), true),
        ];
        for (selector, labels, expected) in cases {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_kubernetes_words() {
        let cases = [
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=1 b", "found 'b', expected: ',' or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("!a=1", "found '=', expected: ',' or 'end of string'"),
            ("a in x", "unable to parse requirement: found 'x' expected: '('"),
            ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"),
            ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("a==(", "unable to parse requirement: found '(', expected: identifier"),
        ];
        for (selector, expected) in cases {
            assert_eq!(LabelSelector::parse(selector).unwrap_err(), expected, "{selector}");
        }
        let refusals = [
            ("-a=1", "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of"),
            (
                "a=-1",
                "unable to parse requirement: values[0][a]: Invalid value: \"-1\": a valid label must be",
            ),
            (
                "a=b/c",
                "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a valid label must be",
            ),
            ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators"),
        ];
        for (selector, expected) in refusals {
            let error = LabelSelector::parse(selector).unwrap_err();
            assert!(error.starts_with(expected), "{selector}: {error}");
        }
    }
}
