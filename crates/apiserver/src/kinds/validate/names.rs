//! The syntax of names inside objects, with the server's words for what is wrong.

/// Letters, digits and dashes: names of containers, ports and volumes.
pub(super) fn dns_label(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some("must be no more than 63 bytes".into());
    }
    (!is_label(name, |b| b.is_ascii_lowercase() || b.is_ascii_digit())).then(|| {
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')".into()
    })
}

pub(super) fn dns_subdomain(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 bytes".into());
    }
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (!name.split('.').all(|part| is_label(part, edge))).then(|| {
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".into()
    })
}

/// Names of ports that other objects refer to.
pub(super) fn port_name(name: &str) -> Option<String> {
    if name.len() > 15 {
        return Some("must be no more than 15 characters".into());
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') || name.is_empty() {
        return Some("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        return Some("must contain at least one letter (a-z)".into());
    }
    if name.contains("--") {
        return Some("must not contain consecutive hyphens".into());
    }
    (name.starts_with('-') || name.ends_with('-')).then(|| "must not begin or end with a hyphen".into())
}

/// Keys of ConfigMaps and Secrets.
pub(super) fn config_key(key: &str) -> Option<String> {
    if key.len() > 253 {
        return Some("must be no more than 253 characters".into());
    }
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(good) {
        return Some("a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')".into());
    }
    if key == "." {
        return Some("must not be '.'".into());
    }
    key.starts_with("..").then(|| "must not start with '..'".into())
}

fn is_label(name: &str, edge: impl Fn(u8) -> bool) -> bool {
    let bytes = name.as_bytes();
    bytes.iter().all(|b| edge(*b) || *b == b'-')
        && bytes.first().is_some_and(|b| edge(*b))
        && bytes.last().is_some_and(|b| edge(*b))
}
