//! Addresses as Alertmanager takes them: HTTP or HTTPS with a host, judged as Go's `net/url` judges.
//!
//! Upstream and Alertmanager both refuse an address that Go cannot parse, and one such address keeps the whole
//! configuration from loading; a more lenient parser here would let it through.

use go_syntax::template;

/// Checks an address that users see in full.
pub(crate) fn check(url: &str) -> Result<(), String> {
    // Upstream reads the address as the inside of a JSON string, so quotes and lone backslashes are errors.
    let text: String = serde_json::from_str(&format!("\"{url}\""))
        .map_err(|_| "has characters that no URL may have".to_owned())?;
    check_http(&text)
}

/// Checks an address which may be a template: then the template must be well formed, and what it yields is not known.
pub(crate) fn check_template(url: &str) -> Result<(), String> {
    if url.contains("{{") {
        return check_template_text(url);
    }
    check_secret(url)
}

/// Whether Go parses the text as a template that calls nothing but Go's own functions: upstream does not know
/// Alertmanager's where it checks.
pub(crate) fn check_template_text(text: &str) -> Result<(), String> {
    template::check("", text, &[], &[]).map_err(|problem| format!("is no template: {problem}"))
}

/// Checks an address that must not be repeated in messages.
pub(crate) fn check_secret(url: &str) -> Result<(), String> {
    // What Alertmanager shows in place of an address; it takes it back.
    if url == "<secret>" { Ok(()) } else { check(url) }
}

/// Whether Go's `url.Parse` takes the text, whatever its scheme.
pub(crate) fn parses(url: &str) -> Result<(), String> {
    parse(url).map(|_| ())
}

fn check_http(url: &str) -> Result<(), String> {
    let parts = parse(url)?;
    if !matches!(parts.scheme.as_str(), "http" | "https") {
        return Err(format!("must begin with http:// or https://, not with {:?}", parts.scheme));
    }
    if parts.host.is_empty() {
        return Err("has no host".into());
    }
    Ok(())
}

struct Parts<'a> {
    scheme: String,
    host: &'a str,
}

fn parse(url: &str) -> Result<Parts<'_>, String> {
    if url.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("has a control character".into());
    }
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    check_escapes(fragment)?;
    if url == "*" {
        return Ok(Parts { scheme: String::new(), host: "" });
    }
    let (scheme, rest) = split_scheme(url)?;
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            // An opaque part, as of `mailto:someone`.
            return Ok(Parts { scheme, host: "" });
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("has a colon in its first path segment".into());
        }
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) if !rest.starts_with("//") || !scheme.is_empty() => match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        },
        _ => ("", rest),
    };
    check_escapes(path)?;
    let host = match authority.rsplit_once('@') {
        Some((user, host)) => {
            check_userinfo(user)?;
            host
        }
        None => authority,
    };
    check_host(host)?;
    Ok(Parts { scheme, host })
}

/// The scheme in lower case and what follows it; no scheme when the text does not begin with one.
fn split_scheme(url: &str) -> Result<(String, &str), String> {
    for (at, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("has no scheme before the colon".into()),
            b':' => {
                let (scheme, rest) = url.split_at(at);
                return Ok((scheme.to_ascii_lowercase(), rest.strip_prefix(':').unwrap_or(rest)));
            }
            _ => break,
        }
    }
    Ok((String::new(), url))
}

fn check_escapes(text: &str) -> Result<(), String> {
    let mut parts = text.split('%');
    parts.next();
    for part in parts {
        let two = part.as_bytes().get(..2);
        if !two.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)) {
            return Err("has a % that is not followed by two hexadecimal digits".into());
        }
    }
    Ok(())
}

fn check_userinfo(user: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if user.chars().all(allowed) {
        check_escapes(user)
    } else {
        Err("has an invalid user name or password".into())
    }
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(rest) => match rest.rsplit_once(']') {
            Some((_, port)) => port,
            None => return Err("has no ']' after its host".into()),
        },
        None => host.find(':').map_or("", |colon| host.split_at(colon).1),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if (!port.is_empty() && !port.starts_with(':')) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("has the invalid port {port:?}"));
    }
    let allowed =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    if !host.chars().all(allowed) {
        return Err("has a character in its host that no host may have".into());
    }
    // Only bytes beyond ASCII may be escaped in a host, and the `%25` before an IPv6 zone.
    let mut parts = host.split('%');
    parts.next();
    if parts.any(|part| !(part.starts_with("25") || part.starts_with(|c: char| "89abcdefABCDEF".contains(c))))
    {
        return Err("has an escape in its host".into());
    }
    check_escapes(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_go_takes_them() {
        for url in [
            "http://example.com",
            "https://user:pass@example.com:8080/a/b?c=d#e",
            "HTTP://EXAMPLE.com",
            "http://[::1]:80/",
            "http://[fe80::1%25en0]/",
            "http://bücher.example/ä",
            "http://host:/",
            "http://host/%20",
            "http://host?%zz",
            "http://a_b.c",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for url in [
            "",
            "example.com",
            "ftp://example.com",
            "http://",
            "http:///path",
            "://jira.example.com",
            "http://::invalid-url",
            "http://%><invalid.com",
            "http://host:port",
            "http://host/%2",
            "http://ho st",
            "http://host\n",
            "http://host/\"",
            "http://host\\",
            "mailto:a@b",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_template_is_judged_as_a_template() {
        assert_eq!(check_template("{{ .ExternalURL }}/x"), Ok(()));
        assert!(check_template("http://x/{{ .A").is_err());
        assert!(check_template("{ .ExternalURL }").is_err());
    }
}
