//! What names, labels, annotations and finalizers may look like.

use crate::{Cause, Kind};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// How a kind's objects may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Subdomain,
    Label,
    Label1035,
    /// Anything that fits into a path: RBAC's names hold colons.
    PathSegment,
}

/// The kinds whose names are not DNS subdomains. Sources: the `Validate*Name` functions of each group.
const FORMS: &[(&str, &str, Form)] = &[
    ("", "namespaces", Form::Label),
    ("", "services", Form::Label1035),
    ("apps", "statefulsets", Form::Label),
    ("rbac.authorization.k8s.io", "roles", Form::PathSegment),
    ("rbac.authorization.k8s.io", "rolebindings", Form::PathSegment),
    ("rbac.authorization.k8s.io", "clusterroles", Form::PathSegment),
    ("rbac.authorization.k8s.io", "clusterrolebindings", Form::PathSegment),
];

/// A name of a kind, or (at `metadata.generateName`) the beginning of one.
pub(crate) fn validate_name(kind: &Kind, name: &str, field: &str) -> Vec<Cause> {
    let form = FORMS
        .iter()
        .find(|(group, plural, _)| *group == kind.group && *plural == kind.plural)
        .map_or(Form::Subdomain, |(_, _, form)| *form);
    // A prefix may end in what the random letters will follow.
    let body = if field.ends_with("generateName") { name.trim_end_matches('-') } else { name };
    let (limit, wrong) = match form {
        Form::Subdomain => (253, (!is_subdomain(body)).then_some(SUBDOMAIN)),
        Form::Label => (63, (!is_label(body)).then_some(LABEL)),
        Form::Label1035 => (63, (!is_label_1035(body)).then_some(LABEL_1035)),
        Form::PathSegment => (usize::MAX, path_segment(name)),
    };
    let mut causes = Vec::new();
    let mut refuse = |why: &str| {
        causes.push(Cause::new("FieldValueInvalid", field, format!("Invalid value: {name:?}: {why}")));
    };
    if name.len() > limit {
        refuse(&format!("must be no more than {limit} bytes"));
    }
    if let Some(wrong) = wrong {
        refuse(wrong);
    }
    causes
}

fn path_segment(name: &str) -> Option<&'static str> {
    match name {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if name.contains('/') => Some("may not contain '/'"),
        _ if name.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

fn is_label(text: &str) -> bool {
    let alphanumeric = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    match text.as_bytes() {
        [] => false,
        [one] => alphanumeric(*one),
        [first, middle @ .., last] => {
            alphanumeric(*first)
                && alphanumeric(*last)
                && middle.iter().all(|c| alphanumeric(*c) || *c == b'-')
        }
    }
}

fn is_label_1035(text: &str) -> bool {
    is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// Letters, digits, and inside also `-`, `_`, `.`.
fn is_qualified_part(text: &str) -> bool {
    let edge = |c: u8| c.is_ascii_alphanumeric();
    match text.as_bytes() {
        [] => false,
        [one] => edge(*one),
        [first, middle @ .., last] => {
            edge(*first) && edge(*last) && middle.iter().all(|c| edge(*c) || matches!(c, b'-' | b'_' | b'.'))
        }
    }
}

/// What is wrong with `[prefix/]name`, in Kubernetes' words.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let (prefix, name) = match text.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) if !is_subdomain(prefix) => wrong.push(format!("prefix part {SUBDOMAIN}")),
        _ => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_part(name) {
        wrong.push(QUALIFIED.to_owned());
    }
    wrong
}

pub(super) fn validate_label(key: &str, value: &str) -> Vec<Cause> {
    let mut causes: Vec<Cause> =
        qualified_name(key).iter().map(|why| invalid("metadata.labels", key, why)).collect();
    if value.len() > 63 {
        causes.push(invalid("metadata.labels", value, "must be no more than 63 bytes"));
    }
    if !value.is_empty() && !is_qualified_part(value) {
        causes.push(invalid("metadata.labels", value, LABEL_VALUE));
    }
    causes
}

pub(super) fn validate_annotation(key: &str) -> Vec<Cause> {
    // Upper case is allowed in the prefix, for old times' sake.
    qualified_name(&key.to_lowercase()).iter().map(|why| invalid("metadata.annotations", key, why)).collect()
}

/// A finalizer is a qualified name; without a prefix it must be one of Kubernetes' own.
pub(super) fn validate_finalizer(finalizer: &str) -> Vec<Cause> {
    const OWN: &[&str] = &[super::ORPHAN, super::FOREGROUND, "kubernetes"];
    let mut causes: Vec<Cause> =
        qualified_name(finalizer).iter().map(|why| invalid("metadata.finalizers", finalizer, why)).collect();
    if causes.is_empty() && !finalizer.contains('/') && !OWN.contains(&finalizer) {
        causes.push(invalid(
            "metadata.finalizers",
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
    causes
}

fn invalid(field: &str, value: &str, why: &str) -> Cause {
    Cause::new("FieldValueInvalid", field, format!("Invalid value: {value:?}: {why}"))
}

/// `generateName` and five random letters that make no words.
pub(crate) fn generated(prefix: &str, rng: &mut fastrand::Rng) -> String {
    const LETTERS: &[char] = &[
        'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z',
        '2', '4', '5', '6', '7', '8', '9',
    ];
    // The whole fits into a DNS label, so a long prefix is cut.
    let mut name: String = prefix.chars().take(63 - 5).collect();
    name.extend((0..5).filter_map(|_| rng.choice(LETTERS)));
    name
}
