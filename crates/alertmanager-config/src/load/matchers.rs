//! Matchers of a raw configuration: those that no Alertmanager would read are refused.
//!
//! There are two grammars. The classic one knows names of letters, digits, underscores and colons; the one that came
//! with 0.27 knows quotes and any name, and that version reads what either of them takes.

use go_syntax::quote;
use go_syntax::regexp::Regexp;
use rendering::{Map, Tree};

use super::items;
use crate::invalid::{Invalid, Within};
use crate::value::text;

const COMPARISONS: [&str; 4] = ["=~", "!=", "!~", "="];

/// Judges the matchers of routes.
pub(super) fn check_route(route: &Map) -> Result<(), Invalid> {
    check_forms(route, ["match", "match_re", "matchers"])
}

/// Judges the matchers of inhibition rules.
pub(super) fn check_inhibitions(configuration: &Map) -> Result<(), Invalid> {
    for (index, rule) in items(configuration, "inhibit_rules").iter().enumerate() {
        let Some(rule) = rule.as_map() else { continue };
        check_forms(rule, ["source_match", "source_match_re", "source_matchers"])
            .and_then(|()| check_forms(rule, ["target_match", "target_match_re", "target_matchers"]))
            .at("inhibit_rules", index)?;
    }
    Ok(())
}

fn check_forms(section: &Map, [equal, regex, strings]: [&str; 3]) -> Result<(), Invalid> {
    for key in [equal, regex] {
        for (name, value) in section.get(key).and_then(Tree::as_map).into_iter().flat_map(Map::iter) {
            if !is_classic_name(name) || name.contains(':') {
                return Err(Invalid::new(key, format!("{name:?} is no name of a label")));
            }
            if key == regex {
                check_regex(text(value)).within(name).within(key)?;
            }
        }
    }
    for (index, line) in items(section, strings).iter().enumerate() {
        classic(text(line)).or_else(|problem| utf8(text(line)).ok_or(problem)).at(strings, index)?;
    }
    Ok(())
}

pub(crate) fn check_regex(pattern: &str) -> Result<(), Invalid> {
    match Regexp::parse(&format!("^(?:{pattern})$")) {
        Ok(_) => Ok(()),
        Err(error) => Err(Invalid::new("", format!("is no regular expression: {error}"))),
    }
}

fn is_classic_name(name: &str) -> bool {
    let letter = |c: char| c == '_' || c == ':' || c.is_ascii_alphabetic();
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Matchers between commas, with or without braces around all of them. Commas between quotes do not count.
fn classic(line: &str) -> Result<(), Invalid> {
    let inside = line.strip_prefix('{').unwrap_or(line);
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let (mut quoted, mut escaped, mut start) = (false, false, 0);
    for (at, c) in inside.char_indices() {
        match c {
            ',' if !quoted => {
                classic_matcher(inside.get(start..at).unwrap_or_default())?;
                start = at + 1;
                continue;
            }
            // A comma between quotes leaves an escape open, as it does in Alertmanager.
            ',' => {}
            '"' if escaped => escaped = false,
            '"' => quoted = !quoted,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    match inside.get(start..).unwrap_or_default().trim() {
        "" => Ok(()),
        last => classic_matcher(last),
    }
}

fn classic_matcher(matcher: &str) -> Result<(), Invalid> {
    let wrong = || Invalid::new("", format!("{matcher:?} is not a name, a comparison and a value"));
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    let trimmed = matcher.trim_matches(space);
    let end = trimmed.find(|c: char| space(c) || "=!~".contains(c)).ok_or_else(wrong)?;
    let (name, rest) = trimmed.split_at_checked(end).ok_or_else(wrong)?;
    let rest = rest.trim_start_matches(space);
    let comparison = COMPARISONS.into_iter().find(|sign| rest.starts_with(sign)).ok_or_else(wrong)?;
    if !is_classic_name(name) {
        return Err(wrong());
    }
    let value = classic_value(rest.strip_prefix(comparison).unwrap_or_default().trim_matches(space))
        .ok_or_else(|| Invalid::new("", format!("{matcher:?} has a quote too many or too few")))?;
    if comparison.contains('~') { check_regex(&value) } else { Ok(()) }
}

/// What a value says, in quotes or not.
fn classic_value(raw: &str) -> Option<String> {
    let (inside, mut open) = match raw.strip_prefix('"') {
        Some(inside) => (inside, true),
        None => (raw, false),
    };
    let (mut out, mut escaped) = (String::new(), false);
    for (at, c) in inside.char_indices() {
        let last = at + 1 == inside.len();
        match c {
            'n' if escaped => out.push('\n'),
            '"' | '\\' if escaped => out.push(c),
            _ if escaped => out.extend(['\\', c]),
            '\\' if !last => {
                escaped = true;
                continue;
            }
            '"' if open && last => open = false,
            '"' => return None,
            _ => out.push(c),
        }
        escaped = false;
    }
    (!open).then_some(out)
}

#[derive(Debug, PartialEq)]
enum Token {
    Text(String),
    Comparison(&'static str),
    Open,
    Close,
    Comma,
}

/// Nothing, if the line is not of the newer grammar.
fn utf8(line: &str) -> Option<()> {
    let tokens = tokens(line)?;
    let mut rest = tokens.as_slice();
    let braces = rest.first() == Some(&Token::Open);
    if braces {
        rest = rest.strip_suffix(&[Token::Close])?.get(1..)?;
    }
    while let [Token::Text(_), Token::Comparison(comparison), Token::Text(value), after @ ..] = rest {
        if comparison.contains('~') {
            check_regex(value).ok()?;
        }
        rest = match after {
            [Token::Comma, after @ ..] => after,
            [] => after,
            _ => return None,
        };
    }
    rest.is_empty().then_some(())
}

fn tokens(line: &str) -> Option<Vec<Token>> {
    let reserved = |c: char| c.is_whitespace() || "{}!=~,\\\"'`".contains(c);
    let mut out = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '{' => (Token::Open, 1),
            '}' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '=' | '!' => {
                let sign = COMPARISONS.into_iter().find(|sign| rest.starts_with(sign))?;
                (Token::Comparison(sign), sign.len())
            }
            '"' => {
                let length = quoted_length(rest)?;
                let bytes = quote::unquote(rest.get(..length)?).ok()?;
                (Token::Text(String::from_utf8(bytes).ok()?), length)
            }
            c if !reserved(c) => {
                let length = rest.find(reserved).unwrap_or(rest.len());
                (Token::Text(rest.get(..length)?.to_owned()), length)
            }
            _ => return None,
        };
        out.push(token);
        rest = rest.get(length..)?.trim_start();
    }
    Some(out)
}

/// How long the text in quotes is with which the line begins.
fn quoted_length(line: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in line.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(line: &str) -> Result<(), Invalid> {
        let route = Map::new().with("matchers", vec![Tree::text(line)]);
        check_route(&route)
    }

    #[test]
    fn what_one_of_the_two_grammars_knows_is_a_matcher() {
        for line in [
            "",
            "{}",
            "a=b",
            " a = \"b\" ",
            "a:b!=c",
            "a=~\"x|y\", b!~z",
            "{a=\"b,c\",d=e}",
            "a=",
            "a=b c",
            "a=\"\\\"\"",
            "a=b\\",
            "\"a b\"=\"c\"",
            "a.b=c",
            "{\"ä\"=~\"x+\",}",
        ] {
            assert_eq!(verdict(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn what_neither_grammar_knows_is_refused() {
        for line in
            ["a", "=b", "a.b", "a b=c", "a=~\"(\"", "a=\"b", "a=b\"", "{\"a b\"=c", "0a=\"b\"c", "a=b,,c=d"]
        {
            assert!(verdict(line).is_err(), "{line}");
        }
    }

    #[test]
    fn maps_of_matchers_have_classic_names_and_regular_expressions() {
        let rule = |key: &str, name: &str, value: &str| {
            let side = Map::new().with(name.to_owned(), Tree::text(value));
            let rules = vec![Map::new().with(key.to_owned(), side)];
            check_inhibitions(&Map::new().with("inhibit_rules", rules))
        };
        assert_eq!(rule("source_match_re", "a", "x|y"), Ok(()));
        let field = |checked: Result<(), Invalid>| checked.unwrap_err().field;
        assert_eq!(field(rule("source_match_re", "a", "(")), "inhibit_rules[0].source_match_re.a");
        assert_eq!(field(rule("target_match", "a.b", "x")), "inhibit_rules[0].target_match");
    }
}
