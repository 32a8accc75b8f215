//! Field selectors: `metadata.name=a,status.phase!=Running`, with `\` before `\`, `,` and `=` in values.

/// Requirements that must all hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    path: String,
    equals: bool,
    value: String,
}

/// `==` before `=`, or its second half would begin the value.
const OPERATORS: &[(&str, bool)] = &[("!=", false), ("==", true), ("=", true)];

impl FieldSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let requirements = terms.into_iter().filter(|term| !term.is_empty()).map(|term| {
            let (path, equals, value) = split_term(term)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
            Ok(Requirement { path: path.to_owned(), equals, value: unescape(value)? })
        });
        requirements.collect::<Result<_, _>>().map(Self)
    }

    /// Path, whether it must be equal, and the value.
    pub(crate) fn requirements(&self) -> impl Iterator<Item = (&str, bool, &str)> {
        self.0.iter().map(|r| (r.path.as_str(), r.equals, r.value.as_str()))
    }

    /// A field that is absent is as good as empty.
    pub(crate) fn matches(&self, value_of: impl Fn(&str) -> Option<String>) -> bool {
        self.0.iter().all(|r| (value_of(&r.path).unwrap_or_default() == r.value) == r.equals)
    }
}

/// Splits at commas that are not escaped; escapes stay.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let separates = |c: char| {
        let separates = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    };
    text.split(separates).collect()
}

/// At the first operator: paths have no escapes.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = |(operator, equals): &(&str, bool)| {
        let (path, value) = term.split_once(operator)?;
        Some((path, *equals, value))
    };
    // The earliest wins; of two at the same place, the longer, which comes first.
    OPERATORS.iter().filter_map(at).min_by_key(|(path, _, _)| path.len())
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => {
                    let sequence: String = ['\\'].into_iter().chain(other).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            // Kubernetes prints the character's number.
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        match FieldSelector::parse(text) {
            Ok(selector) => selector
                .requirements()
                .map(|(path, equals, value)| format!("{path}{}{value}", if equals { "=" } else { "≠" }))
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error,
        }
    }

    #[test]
    fn terms_are_read_with_their_escapes() {
        let cases = [
            ("", ""),
            (",", ""),
            ("metadata.name=a", "metadata.name=a"),
            ("metadata.name==a", "metadata.name=a"),
            ("b!=1,a=2", "a=2 b≠1"),
            ("a=", "a="),
            (r"a=x\,y\=z\\", r"a=x,y=z\"),
            (r"a=x\,b=1", "invalid field selector: unescaped character in value: 61"),
            (r"a=\n", r"invalid field selector: invalid escape sequence: \n"),
            (r"a=x\", r"invalid field selector: invalid escape sequence: \"),
            ("nothing", "invalid selector: 'nothing'; can't understand 'nothing'"),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn all_requirements_must_hold_and_absent_is_empty() {
        let value_of = |path: &str| (path == "status.phase").then(|| "Running".to_owned());
        let cases = [
            ("", true),
            ("status.phase=Running", true),
            ("status.phase!=Running", false),
            ("spec.nodeName=", true),
            ("spec.nodeName!=", false),
            ("status.phase=Running,spec.nodeName=a", false),
        ];
        for (text, expected) in cases {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(value_of), expected, "{text}");
        }
    }
}
