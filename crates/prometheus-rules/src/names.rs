//! What may be the name of a metric or a label.

/// Which names are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameScheme {
    /// Letters, digits and `_`, no digit first; in names of metrics also `:`.
    Legacy,
    /// Anything but the empty text.
    Utf8,
}

impl NameScheme {
    pub fn is_metric_name(self, name: &str) -> bool {
        self.is_name(name, |byte| byte == b':')
    }

    pub fn is_label_name(self, name: &str) -> bool {
        self.is_name(name, |_| false)
    }

    fn is_name(self, name: &str, also: impl Fn(u8) -> bool) -> bool {
        if self == Self::Utf8 {
            return !name.is_empty();
        }
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric() || also(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_is_for_metrics_and_a_dot_for_utf8() {
        assert!(NameScheme::Legacy.is_metric_name("job:up:sum"));
        assert!(!NameScheme::Legacy.is_label_name("job:up"));
        assert!(!NameScheme::Legacy.is_metric_name("1a"));
        assert!(!NameScheme::Legacy.is_label_name("a.b"));
        assert!(NameScheme::Utf8.is_label_name("a.b"));
        assert!(!NameScheme::Utf8.is_label_name(""));
    }
}
