//! Names of volumes, made from names of Secrets and ConfigMaps: a volume's name is a DNS label, theirs are longer and have dots.

use twox_hash::XxHash64;

/// The longest DNS label.
const LONGEST: usize = 63;
/// `-` and eight digits of a hash.
const SUFFIX: usize = 9;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no volume can be named after {0:?}: it has no letter or digit of a DNS label")]
pub struct NameError(String);

/// `prefix-name`, as a DNS label.
pub(crate) fn volume_name(prefix: &str, name: &str) -> Result<String, NameError> {
    let mut label = label(prefix, name);
    label.truncate(LONGEST);
    let label = label.trim_end_matches('-');
    if label.is_empty() { Err(NameError(name.to_owned())) } else { Ok(label.to_owned()) }
}

/// `prefix-name-hash`: different names stay different where a label is cut or characters are replaced.
pub(crate) fn unique_volume_name(prefix: &str, name: &str) -> String {
    let hash = format!("{:x}", XxHash64::oneshot(0, name.as_bytes()));
    let mut label = label(prefix, name);
    label.truncate(LONGEST - SUFFIX);
    label.push('-');
    label.extend(hash.chars().take(SUFFIX - 1));
    label
}

/// Lower case, every run of other characters a dash, no dash at either end. All ASCII, so it can be cut anywhere.
fn label(prefix: &str, name: &str) -> String {
    let mut label = String::with_capacity(prefix.len() + name.len() + 1);
    let text = format!("{}-{name}", prefix.trim_end_matches('-')).to_lowercase();
    let mut replaced = false;
    for character in text.chars() {
        let fits = character == '-' || character.is_ascii_lowercase() || character.is_ascii_digit();
        if fits {
            label.push(character);
        } else if !replaced {
            label.push('-');
        }
        replaced = !fits;
    }
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_name_becomes_a_label() {
        assert_eq!(volume_name("secret", "My.Secret_x").unwrap(), "secret-my-secret-x");
        assert_eq!(volume_name("secret", &"a".repeat(80)).unwrap().len(), LONGEST);
        assert_eq!(
            volume_name("secret", &format!("{}-b", "a".repeat(55))).unwrap(),
            format!("secret-{}", "a".repeat(55))
        );
    }

    #[test]
    fn a_unique_name_ends_with_the_hash_upstream_uses() {
        assert_eq!(
            unique_volume_name("web-config-tls-secret-key-", "test-secret"),
            "web-config-tls-secret-key-test-secret-f9e12a15"
        );
        assert_eq!(
            unique_volume_name("web-config-tls-secret-key-", ""),
            "web-config-tls-secret-key-ef46db37"
        );
        assert_eq!(unique_volume_name("x", &"a".repeat(80)).len(), LONGEST);
    }
}
