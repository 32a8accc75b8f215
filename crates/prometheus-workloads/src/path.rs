//! Paths as Go's `path` package makes them: arguments and probes must stay byte for byte what they were.

/// The shortest path that means the same, without `.`, `..` and doubled slashes; `.` when nothing is left.
pub(crate) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            part => kept.push(part),
        }
    }
    let joined = kept.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

pub(crate) fn join(directory: &str, file: &str) -> String {
    clean(&format!("{directory}/{file}"))
}

/// Whether a file's name has no directory, so that the operator chooses one.
pub(crate) fn is_bare(file: &str) -> bool {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let rooted = file.starts_with('/');
    !file.is_empty() && !rooted && clean(directory) == "."
}

/// A URL with an already cleaned path, escaped as Go's `net/url` does.
pub(crate) fn url(scheme: &str, host: &str, path: &str) -> String {
    let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
    let mut url = format!("{scheme}://{host}{slash}");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_cleans_them() {
        for (path, cleaned) in [
            ("//-/ready", "/-/ready"),
            ("/a/b//-/ready", "/a/b/-/ready"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("", "."),
            ("/", "/"),
            ("a/./b/", "a/b"),
        ] {
            assert_eq!(clean(path), cleaned, "{path}");
        }
    }

    #[test]
    fn a_bare_name_has_no_directory() {
        assert!(is_bare("query.log") && is_bare("./query.log") && is_bare("a/../query.log"));
        assert!(
            !is_bare("/var/log/query.log")
                && !is_bare("/query.log")
                && !is_bare("a/query.log")
                && !is_bare("")
        );
    }

    #[test]
    fn a_path_is_escaped_in_a_url() {
        assert_eq!(url("http", "localhost:9090", "/a b/-/reload"), "http://localhost:9090/a%20b/-/reload");
        assert_eq!(url("http", "localhost:9090", "x/-/reload"), "http://localhost:9090/x/-/reload");
    }
}
