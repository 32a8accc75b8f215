//! Addresses as Go's `url.Parse` takes them (Go 1.26: colons within the host of HTTP are refused, brackets hold IPv6 only).

use std::net::Ipv6Addr;

/// The parts of an address that checks look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// In lower case; empty when there is none.
    pub scheme: String,
    /// With its port, as it was written.
    pub host: &'a str,
}

/// Why Go does not take an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("it has a control character; remove it")]
    Control,
    #[error("there is a colon with no scheme before it; begin with one, such as http://")]
    NoScheme,
    #[error("its first segment has a colon, but no scheme comes before; begin with one, such as http://")]
    Colon,
    #[error("a % is not followed by two hexadecimal digits; write %25 for a percent sign")]
    Escape,
    #[error("its user information has a character that must be escaped")]
    User,
    #[error("its port is not a number")]
    Port,
    #[error("its host has a character or an escape that no host may have")]
    Host,
    #[error("square brackets are for an IPv6 address, at the beginning of the host")]
    Brackets,
}

/// Reads an address.
pub fn parse(url: &str) -> Result<Address<'_>, UrlError> {
    let (before, fragment) = url.split_once('#').unwrap_or((url, ""));
    if before.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err(UrlError::Control);
    }
    if before == "*" {
        check_escapes(fragment)?;
        return Ok(Address { scheme: String::new(), host: "" });
    }
    let (scheme, rest) = split_scheme(before)?;
    let rest = rest.split_once('?').map_or(rest, |(path, _query)| path);
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            // An opaque part, as of `mailto:someone`.
            check_escapes(fragment)?;
            return Ok(Address { scheme, host: "" });
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err(UrlError::Colon);
        }
    }
    let (host, path) = match rest.strip_prefix("//") {
        // Three slashes without a scheme begin a path.
        Some(authority) if !scheme.is_empty() || !authority.starts_with('/') => {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at_checked(end).unwrap_or((authority, ""));
            (check_authority(&scheme, authority)?, path)
        }
        _ => ("", rest),
    };
    check_escapes(path)?;
    check_escapes(fragment)?;
    Ok(Address { scheme, host })
}

/// The scheme in lower case and what follows it; no scheme when the text does not begin with one.
fn split_scheme(url: &str) -> Result<(String, &str), UrlError> {
    for (at, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlError::NoScheme),
            b':' => {
                let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
                return Ok((scheme.to_ascii_lowercase(), rest));
            }
            _ => break,
        }
    }
    Ok((String::new(), url))
}

/// The host of `user:password@host:port`, with its port.
fn check_authority<'a>(scheme: &str, authority: &'a str) -> Result<&'a str, UrlError> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        check_host(scheme, authority)?;
        return Ok(authority);
    };
    check_host(scheme, host)?;
    if !user.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c)) {
        return Err(UrlError::User);
    }
    // Name and password are unescaped one by one: an escape does not span the colon.
    user.splitn(2, ':').try_for_each(check_escapes)?;
    Ok(host)
}

fn check_host(scheme: &str, host: &str) -> Result<(), UrlError> {
    match host.rfind('[') {
        Some(0) => {
            let (literal, port) =
                host.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')).ok_or(UrlError::Brackets)?;
            check_port(port)?;
            check_literal(literal)
        }
        Some(_) => Err(UrlError::Brackets),
        None => {
            // Lists of hosts with ports are customary for databases, and never for HTTP.
            let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
            if let Some(colon) = colon {
                check_port(host.get(colon..).unwrap_or_default())?;
            }
            check_name(host)
        }
    }
}

/// Nothing, or a colon and digits; the digits may be missing.
fn check_port(port: &str) -> Result<(), UrlError> {
    let digits = port.strip_prefix(':').or_else(|| port.is_empty().then_some(port)).ok_or(UrlError::Port)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { Ok(()) } else { Err(UrlError::Port) }
}

/// An IPv6 address, with or without a zone behind `%25`.
fn check_literal(literal: &str) -> Result<(), UrlError> {
    let (address, zone) = match literal.find("%25") {
        Some(at) => literal.split_at_checked(at).unwrap_or((literal, "")),
        None => (literal, ""),
    };
    check_name(address)?;
    address.parse::<Ipv6Addr>().map_err(|_| UrlError::Brackets)?;
    let Some(zone) = zone.strip_prefix("%25") else { return Ok(()) };
    if zone.is_empty() {
        return Err(UrlError::Brackets);
    }
    let mut rest = zone;
    while let Some(first) = rest.chars().next() {
        rest = if first == '%' {
            let byte = escaped(rest)?;
            let plain = byte == b'%' || byte == b' ' || is_host_byte(byte);
            plain.then(|| rest.get(3..).unwrap_or_default()).ok_or(UrlError::Host)?
        } else {
            let plain = !first.is_ascii() || is_host_byte(first as u8);
            plain.then(|| rest.get(first.len_utf8()..).unwrap_or_default()).ok_or(UrlError::Host)?
        };
    }
    Ok(())
}

/// In a name only bytes beyond ASCII may be escaped, and the percent sign.
fn check_name(host: &str) -> Result<(), UrlError> {
    let mut rest = host;
    while let Some(first) = rest.chars().next() {
        rest = if first == '%' {
            let byte = escaped(rest)?;
            if byte < 0x80 && byte != b'%' {
                return Err(UrlError::Host);
            }
            rest.get(3..).unwrap_or_default()
        } else if first.is_ascii() && !is_host_byte(first as u8) {
            return Err(UrlError::Host);
        } else {
            rest.get(first.len_utf8()..).unwrap_or_default()
        };
    }
    Ok(())
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

fn check_escapes(text: &str) -> Result<(), UrlError> {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let escape = rest.get(at..).unwrap_or_default();
        escaped(escape)?;
        rest = escape.get(3..).unwrap_or_default();
    }
    Ok(())
}

/// The byte that the escape at the beginning of `text` stands for.
fn escaped(text: &str) -> Result<u8, UrlError> {
    let digits = text.get(1..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or(UrlError::Escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_takes_is_taken() {
        for url in [
            "",
            "*",
            "a/b",
            "//a/b",
            "///a:b",
            "mailto:a@b",
            "example.com:80",
            "http://example.com",
            "https://user:pass@example.com:8080/a/b?c=d#e",
            "http://u:p@ss@h",
            "HTTP://EXAMPLE.com",
            "http://[::1]:80/",
            "http://[::ffff:1.2.3.4]",
            "http://[fe80::1%25en0]/",
            "http://[fe80::1%25e%20n]",
            "http://bücher.example/ä",
            "http://host:/",
            "http://host/%20",
            "http://host?%zz",
            "http://a_b.c",
            "http://a<b>\"",
            "http://%ff%25",
            "unix:///var/run/docker.sock",
            "postgres://a:1,b:2/db",
            "http://host#\n",
        ] {
            assert!(parse(url).is_ok(), "{url}: {:?}", parse(url));
        }
        let whole = parse("HTTPS://u@h:1/p").unwrap();
        assert_eq!(whole, Address { scheme: "https".to_owned(), host: "h:1" });
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for (url, why) in [
            (":a", UrlError::NoScheme),
            ("1:2", UrlError::Colon),
            ("http://a:b", UrlError::Port),
            ("http://a:1:2", UrlError::Port),
            ("http://::1", UrlError::Port),
            ("postgres://a:1,b:x", UrlError::Port),
            ("http://[::1", UrlError::Brackets),
            ("http://[1.2.3.4]", UrlError::Brackets),
            ("http://[a]", UrlError::Brackets),
            ("http://a[::1]", UrlError::Brackets),
            ("http://[::1]x", UrlError::Port),
            ("http://[fe80::1%25]", UrlError::Brackets),
            ("http://a b/", UrlError::Host),
            ("http://a%41", UrlError::Host),
            ("http://%zz", UrlError::Escape),
            ("http://%><invalid.com", UrlError::Escape),
            ("http://host/%2", UrlError::Escape),
            ("http://host#%2", UrlError::Escape),
            ("http://a{b}@h", UrlError::User),
            ("http://host\n", UrlError::Control),
            ("a\u{7f}", UrlError::Control),
        ] {
            assert_eq!(parse(url), Err(why), "{url}");
        }
    }
}
