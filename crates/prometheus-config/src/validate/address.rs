//! Addresses as Go's `net/url` and `net` judge them.

use std::net::IpAddr;

/// The parts of an address that checks look at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) host: &'a str,
}

/// Reads an address as Go's `url.Parse` does.
pub(crate) fn parse(url: &str) -> Result<Address<'_>, String> {
    if url.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("it has a control character".to_owned());
    }
    let (before, fragment) = url.split_once('#').unwrap_or((url, ""));
    check_escapes(fragment)?;
    if before == "*" {
        return Ok(Address { scheme: "", host: "" });
    }
    let (scheme, rest) = split_scheme(before)?;
    let rest = rest.split_once('?').map_or(rest, |(path, _query)| path);
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Ok(Address { scheme, host: "" });
        }
        let segment = rest.split('/').next().unwrap_or_default();
        if segment.contains(':') {
            return Err("it has a colon in its first segment but no scheme, such as http://".to_owned());
        }
    }
    let (host, path) = match rest.strip_prefix("//") {
        // A path that begins with three slashes has no host.
        Some(authority) if !scheme.is_empty() || !rest.starts_with("///") => {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at_checked(end).unwrap_or((authority, ""));
            (check_authority(authority)?, path)
        }
        _ => ("", rest),
    };
    check_escapes(path)?;
    Ok(Address { scheme, host })
}

fn split_scheme(url: &str) -> Result<(&str, &str), String> {
    for (at, character) in url.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("a scheme is missing before the colon".to_owned()),
            ':' => return Ok((url.get(..at).unwrap_or_default(), url.get(at + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok(("", url))
}

fn check_authority(authority: &str) -> Result<&str, String> {
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            if !user.chars().all(allowed) {
                return Err("its user information has strange characters".to_owned());
            }
            check_escapes(user)?;
            host
        }
        None => authority,
    };
    let port = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("a bracket of its host is not closed")?;
        host.get(end + 1..).unwrap_or_default()
    } else {
        host.find(':').and_then(|at| host.get(host.rfind(':').unwrap_or(at)..)).unwrap_or_default()
    };
    let numeric = port.strip_prefix(':').is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if !(port.is_empty() || port.starts_with(':')) || !numeric {
        return Err(format!("{port:?} is no port"));
    }
    if host.chars().any(|c| c.is_ascii() && (c == ' ' || "\"<>^`{|}\\".contains(c)) && !host.starts_with('['))
    {
        return Err("its host has strange characters".to_owned());
    }
    check_host_escapes(host)?;
    Ok(host)
}

fn check_escapes(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        let digits = after.as_bytes();
        match digits {
            [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => rest = after,
            _ => return Err("a % is not followed by two hexadecimal digits".to_owned()),
        }
    }
    Ok(())
}

/// In a host only bytes beyond ASCII may be escaped.
fn check_host_escapes(host: &str) -> Result<(), String> {
    check_escapes(host)?;
    let ascii =
        host.match_indices('%').any(|(at, _)| host.get(at + 1..at + 2).is_some_and(|digit| digit < "8"));
    if ascii && !host.starts_with('[') {
        Err("its host has an escape that is not allowed there".to_owned())
    } else {
        Ok(())
    }
}

/// The address of a prober: a host, or a host and a port.
pub(crate) fn check_prober(address: &str) -> Result<(), String> {
    let refuse = || Err(format!("{address:?} is no host and no host:port; write it without scheme and path"));
    match split_host_port(address) {
        None if is_host(address) => Ok(()),
        Some((host, port)) if is_host(host) && is_port(port) => Ok(()),
        _ => refuse(),
    }
}

/// `host:port` with the colons of IPv6 in brackets, as Go's `net.SplitHostPort`; `None` where there is no port.
fn split_host_port(address: &str) -> Option<(&str, &str)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']').filter(|inside| !inside.contains(['[', ']']))?,
        None if host.contains([':', '[', ']']) => return None,
        None => host,
    };
    (!port.contains([']', '['])).then_some((host, port))
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_host(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok() || is_dns_name(host)
}

/// Labels of letters, digits, `-` and `_`, with a dot or underscore at the end where users put one.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        let first = label.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        first
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    let without_end = name.strip_suffix('.').unwrap_or(name);
    name.replace('.', "").len() <= 255 && without_end.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_judged_as_go_judges_them() {
        for url in [
            "",
            "http://a:80/b?c#d",
            "a/b",
            "unix:///var/run/docker.sock",
            "//a/b",
            "http://[::1]:80",
            "http://a b/",
            "mailto:x",
            "http://u:p@h",
        ] {
            assert_eq!(parse(url).is_ok(), url != "http://a b/", "{url}: {:?}", parse(url));
        }
        for url in [":a", "a:b:c//", "http://a:b", "http://%zz", "1:2", "http://[::1", "http://a\n"] {
            assert!(parse(url).is_err() || url == "a:b:c//", "{url}");
        }
        assert_eq!(parse("https://h/p").unwrap(), Address { scheme: "https", host: "h" });
    }

    #[test]
    fn a_prober_is_a_host_with_or_without_a_port() {
        for address in ["blackbox", "blackbox:9115", "10.0.0.1:80", "::1", "[::1]:80", "a.b.svc.", "a_b:1"] {
            assert!(check_prober(address).is_ok(), "{address}");
        }
        for address in ["", "http://a", "a/b", "a:0", "a:70000", "a:", "[::1]", "a b", "-a", "a:b"] {
            assert!(check_prober(address).is_err(), "{address}");
        }
    }
}
