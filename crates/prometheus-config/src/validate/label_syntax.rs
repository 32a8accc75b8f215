//! Names and values of labels, selectors by label and by field, as Prometheus and Kubernetes spell them.

/// A label of Prometheus: any text since 3.0, before that letters, digits and `_`.
pub(crate) fn is_label_name(name: &str, utf8: bool) -> bool {
    if utf8 {
        return !name.is_empty();
    }
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(is_word)
}

/// The same, with references to groups such as `${1}` in it.
pub(crate) fn is_label_template(name: &str, utf8: bool) -> bool {
    if utf8 {
        return !name.is_empty();
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '$' => match rest.strip_prefix("${") {
                Some(inside) => match inside.split_once('}') {
                    Some((group, tail)) if !group.is_empty() && group.bytes().all(is_word) => tail,
                    _ => return false,
                },
                None => {
                    let tail = rest.trim_start_matches('$');
                    let group = tail.bytes().take_while(|byte| is_word(*byte)).count();
                    match tail.split_at_checked(group) {
                        Some((group, tail))
                            if !group.is_empty() && rest.len() - tail.len() == group.len() + 1 =>
                        {
                            tail
                        }
                        _ => return false,
                    }
                }
            },
            first if first.is_ascii() && is_word(first as u8) => rest.get(1..).unwrap_or_default(),
            _ => return false,
        };
    }
    true
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A key of a Kubernetes label: `name` or `domain/name`.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let prefix_is_domain = prefix.is_none_or(|prefix| {
        let label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        prefix.len() <= 253 && prefix.split('.').all(label)
    });
    if prefix_is_domain && !name.is_empty() && is_label_text(name) {
        Ok(())
    } else {
        Err(format!("{key:?} is no key of a Kubernetes label"))
    }
}

/// A value of a Kubernetes label, which may be empty.
pub(crate) fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_label_text(value) {
        Ok(())
    } else {
        Err(format!("{value:?} is no value of a Kubernetes label"))
    }
}

fn is_label_text(text: &str) -> bool {
    let ends = |character: Option<char>| character.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.bytes().all(|byte| is_word(byte) || byte == b'-' || byte == b'.')
}

/// A field selector as the Kubernetes API takes it: `spec.nodeName=a,status.phase!=Failed`.
pub(crate) fn check_field_selector(selector: &str) -> Result<(), String> {
    for term in split_terms(selector).into_iter().filter(|term| !term.is_empty()) {
        let operator = find_operator(term).ok_or_else(|| format!("{term:?} has no = or != in it"))?;
        let value = term.get(operator..).unwrap_or_default();
        let value =
            ["!=", "==", "="].iter().find_map(|operator| value.strip_prefix(operator)).unwrap_or_default();
        check_escapes(value).map_err(|why| format!("{term:?}: {why}"))?;
    }
    Ok(())
}

/// Splits at commas that no backslash precedes.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, character) in selector.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(selector.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(selector.get(start..).unwrap_or_default());
    terms
}

fn find_operator(term: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, character) in term.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '=' => return Some(at),
            '!' if term.get(at + 1..).is_some_and(|rest| rest.starts_with('=')) => return Some(at),
            _ => {}
        }
    }
    None
}

fn check_escapes(value: &str) -> Result<(), &'static str> {
    let mut escaped = false;
    for character in value.chars() {
        match (escaped, character) {
            (true, '\\' | ',' | '=') => escaped = false,
            (true, _) => return Err("a backslash may precede only \\, comma or ="),
            (false, '\\') => escaped = true,
            (false, ',' | '=') => return Err("a comma or = in a value needs a backslash before it"),
            (false, _) => {}
        }
    }
    if escaped { Err("it ends in a backslash") } else { Ok(()) }
}

/// A label selector as the Kubernetes API takes it: `app=web,tier in (a,b),!legacy`.
pub(crate) fn check_label_selector(selector: &str) -> Result<(), String> {
    let mut rest = selector.trim_start();
    while !rest.is_empty() {
        rest = check_requirement(rest)?.trim_start();
        match rest.strip_prefix(',') {
            Some(tail) => {
                rest = tail.trim_start();
                if rest.is_empty() {
                    return Err("it ends in a comma".to_owned());
                }
            }
            None if rest.is_empty() => {}
            None => return Err(format!("a comma is missing before {rest:?}")),
        }
    }
    Ok(())
}

/// Checks the first requirement and gives back what follows it.
fn check_requirement(text: &str) -> Result<&str, String> {
    if let Some(negated) = text.strip_prefix('!') {
        let (key, rest) = word(negated.trim_start());
        check_key(key)?;
        return Ok(rest);
    }
    let (key, rest) = word(text);
    check_key(key)?;
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with(',') {
        return Ok(rest);
    }
    for operator in ["==", "=", "!="] {
        if let Some(value) = rest.strip_prefix(operator) {
            let (value, rest) = word(value.trim_start());
            check_value(value)?;
            return Ok(rest);
        }
    }
    for operator in [">", "<"] {
        if let Some(value) = rest.strip_prefix(operator) {
            let (value, rest) = word(value.trim_start());
            value.parse::<i64>().map_err(|_| format!("{value:?} is no number, as {operator} needs one"))?;
            return Ok(rest);
        }
    }
    match word(rest) {
        ("in" | "notin", rest) => check_set(rest.trim_start()),
        (other, _) => Err(format!("{other:?} is no operator; use =, !=, in or notin")),
    }
}

fn check_set(text: &str) -> Result<&str, String> {
    let inside = text.strip_prefix('(').ok_or("values of in and notin stand in parentheses")?;
    let (values, rest) = inside.split_once(')').ok_or("a parenthesis is not closed")?;
    for value in values.split(',') {
        let value = value.trim();
        if value.contains(|c: char| c.is_whitespace() || "=!<>(".contains(c)) {
            return Err(format!("{value:?} is no value of a Kubernetes label"));
        }
        check_value(value)?;
    }
    Ok(rest)
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || "=!,()<>".contains(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_judged_as_the_kubernetes_api_judges_them() {
        for text in [
            "",
            "a",
            "!a",
            "a=b",
            "a==b",
            "a!=b",
            "a in (b, c),d notin (e)",
            "a.b/c=d",
            "a>1",
            "a=",
            "a in ()",
        ] {
            assert!(check_label_selector(text).is_ok(), "{text}: {:?}", check_label_selector(text));
        }
        for text in ["a b", "a in b", "a in (b", "a=b c", "=a", "a,", "-a", "a/b/c", "a>b", "a in (b c)"] {
            assert!(check_label_selector(text).is_err(), "{text}");
        }
        for text in ["", "a=b", "a==b", "a!=b,c=d", r"a=b\,c"] {
            assert!(check_field_selector(text).is_ok(), "{text}");
        }
        for text in ["a", "a=b,c", "a=b=c", r"a=b\x", "a in (b)"] {
            assert!(check_field_selector(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_of_labels_may_refer_to_groups_where_templates_are_taken() {
        assert!(
            is_label_template("${1}_x", false)
                && is_label_template("a$1", false)
                && is_label_template("$a_b", false)
        );
        assert!(
            !is_label_template("1a", false)
                && !is_label_template("$", false)
                && !is_label_template("a-b", false)
                && !is_label_template("${}", false)
        );
        assert!(!is_label_template("$$1", false) && is_label_template("a-b", true));
        assert!(
            is_label_name("_a1", false)
                && !is_label_name("1", false)
                && !is_label_name("a.b", false)
                && is_label_name("a.b", true)
        );
    }
}
