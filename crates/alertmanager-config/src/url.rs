//! Addresses as Alertmanager takes them: HTTP or HTTPS with a host, judged as Go's `net/url` judges.
//!
//! Upstream and Alertmanager both refuse an address that Go cannot parse, and one such address keeps the whole
//! configuration from loading; a more lenient parser here would let it through.

use go_syntax::{template, url};
use rendering::Assets;

/// Checks an address that users see in full.
pub(crate) fn check(url: &str) -> Result<(), String> {
    if url.as_bytes() == Assets::UNSEEN {
        return Ok(());
    }
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
    url::parse(url).map(|_| ()).map_err(|error| error.to_string())
}

/// Checks an address as Alertmanager does when it reads its file.
pub(crate) fn check_http(url: &str) -> Result<(), String> {
    let address = url::parse(url).map_err(|error| error.to_string())?;
    if !matches!(address.scheme.as_str(), "http" | "https") {
        return Err(format!("must begin with http:// or https://, not with {:?}", address.scheme));
    }
    if address.host.is_empty() {
        return Err("has no host".into());
    }
    Ok(())
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
