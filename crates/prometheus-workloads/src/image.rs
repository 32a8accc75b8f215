//! Which image a container runs: the one named, or one composed of base, version, tag and digest.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("{0:?} is no image reference: expected [host[:port]/]path, in lower case")]
    Reference(String),
    #[error("{0:?} is no tag of an image")]
    Tag(String),
}

/// What an image may be composed of. Tag and digest are the deprecated ways of choosing a version.
pub(crate) struct Parts<'a> {
    pub(crate) image: &'a str,
    pub(crate) base: &'a str,
    pub(crate) version: &'a str,
    pub(crate) tag: &'a str,
    pub(crate) sha: &'a str,
}

impl Parts<'_> {
    /// A full reference is taken as it is; otherwise digest wins over tag, and tag over version.
    pub(crate) fn compose(&self) -> Result<String, ImageError> {
        let Self { image, base, version, tag, sha } = *self;
        if !image.trim().is_empty() {
            return Ok(image.to_owned());
        }
        let reference = Reference::parse(base).ok_or_else(|| ImageError::Reference(base.to_owned()))?;
        Ok(match (reference.complete, sha.trim(), tag.trim()) {
            (true, _, _) => base.to_owned(),
            (false, "", "") => format!("{base}:{version}"),
            (false, "", _) if !is_tag(tag) => return Err(ImageError::Tag(tag.to_owned())),
            (false, "", _) => format!("{}:{tag}", reference.full_name()),
            (false, _, _) => format!("{base}@sha256:{sha}"),
        })
    }
}

/// `text`, or `default` when there is nothing but blanks in it.
pub(crate) fn or_default<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.trim().is_empty() { default } else { text }
}

/// A reference as registries' clients read it. Source: the grammar of the distribution project's `reference` package.
struct Reference<'a> {
    /// The registry's host, when the first part of the name is one.
    host: Option<&'a str>,
    path: &'a str,
    /// Whether a tag or digest is there.
    complete: bool,
}

impl<'a> Reference<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        let (host, path) = match name.split_once('/') {
            Some((first, path))
                if first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first =>
            {
                (Some(first), path)
            }
            _ => (None, name),
        };
        let is_id = host.is_none() && path.len() == 64 && path.bytes().all(|b| b.is_ascii_hexdigit());
        let valid = path.split('/').all(is_component)
            && host.is_none_or(is_host)
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest)
            && !is_id;
        valid.then_some(Self { host, path, complete: tag.is_some() || digest.is_some() })
    }

    /// The name with everything that is understood when left out.
    fn full_name(&self) -> String {
        let host = match self.host {
            None | Some("index.docker.io") => "docker.io",
            Some(host) => host,
        };
        let library = if host == "docker.io" && !self.path.contains('/') { "library/" } else { "" };
        format!("{host}/{library}{}", self.path)
    }
}

/// Letters and digits, joined by one `.`, one or two `_`, or any number of `-`.
fn is_component(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = text.split(word).filter(|between| !between.is_empty());
    text.starts_with(word)
        && text.ends_with(word)
        && separators
            .into_iter()
            .all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|b| b == b'-'))
}

fn is_host(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "0"));
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.split('.').all(label) && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

fn is_digest(text: &str) -> bool {
    let hexadecimal = |hex: &str| hex.len() >= 32 && hex.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_once(':').is_some_and(|(algorithm, hex)| {
        algorithm.starts_with(|c: char| c.is_ascii_alphabetic()) && hexadecimal(hex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compose(image: &str, base: &str, tag: &str, sha: &str) -> Result<String, ImageError> {
        Parts { image, base, version: "v1", tag, sha }.compose()
    }

    #[test]
    fn digest_wins_over_tag_and_tag_over_version() {
        assert_eq!(compose("", "registry.example/a/b", "", "").unwrap(), "registry.example/a/b:v1");
        assert_eq!(compose("", "registry.example/a/b", "t", "").unwrap(), "registry.example/a/b:t");
        assert_eq!(
            compose("", "registry.example/a/b", "t", "ab12").unwrap(),
            "registry.example/a/b@sha256:ab12"
        );
        assert_eq!(compose("", "b", "t", "").unwrap(), "docker.io/library/b:t");
        assert_eq!(compose("", "localhost:5000/b", "", "").unwrap(), "localhost:5000/b:v1");
    }

    #[test]
    fn what_is_complete_stays_as_it_is() {
        assert_eq!(compose("anything AT all", "registry.example/a/b", "t", "").unwrap(), "anything AT all");
        assert_eq!(compose(" ", "registry.example/a/b:x", "t", "ab").unwrap(), "registry.example/a/b:x");
    }

    #[test]
    fn what_no_registry_understands_is_refused() {
        for base in ["", "registry.example/A/b", "registry.example/a/", "a//b", "a_.b", "a:b:c/d"] {
            assert_eq!(compose("", base, "", ""), Err(ImageError::Reference(base.to_owned())));
        }
        assert_eq!(compose("", "a/b", "t!", ""), Err(ImageError::Tag("t!".to_owned())));
    }
}
