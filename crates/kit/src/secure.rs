//! What every operator needs to be safe by default: pods that pass Pod Security `restricted`, and passwords nobody can guess.

use k8s_openapi::api::core::v1::{
    Capabilities, Container, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext, Volume,
};

/// Letters and digits that are not mistaken for each other: 32 of them carry 5 bits each.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A pod that runs as `user`, whose group owns its volumes.
/// Source: Pod Security Standards, `restricted`.
pub fn restricted_pod(user: i64) -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(user),
        run_as_group: Some(user),
        fs_group: Some(user),
        // A volume with many files must not be walked at every start.
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// A pod as [`restricted_pod`], of a ServiceAccount whose token it does not get.
pub fn pod(account: String, user: i64, container: Container, volumes: Vec<Volume>) -> PodSpec {
    PodSpec {
        service_account_name: Some(account),
        automount_service_account_token: Some(false),
        security_context: Some(restricted_pod(user)),
        containers: vec![container],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

/// A container as [`restricted_container`], of this name and image.
pub fn container(name: &str, image: String) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image),
        security_context: Some(restricted_container()),
        ..Container::default()
    }
}

/// A container without privileges, that cannot write to its image.
/// Source: Pod Security Standards, `restricted`.
pub fn restricted_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

/// A password of 32 characters, 160 bits, from the system's random numbers. `None` if there are none: then it is tried again.
pub fn password() -> Option<String> {
    let mut bytes = [0; 32];
    rustls::crypto::aws_lc_rs::default_provider().secure_random.fill(&mut bytes).ok()?;
    let letter = |byte: u8| ALPHABET.get(usize::from(byte % 32)).copied().map(char::from);
    bytes.into_iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_have_no_privileges() {
        let container = container("app", "app:1".to_owned());
        assert_eq!((&*container.name, container.image.as_deref()), ("app", Some("app:1")));
        assert_eq!(container.security_context, Some(restricted_container()));
    }

    #[test]
    fn passwords_are_long_and_differ() {
        let (a, b) = (password().unwrap(), password().unwrap());
        assert_eq!(a.len(), 32);
        assert!(a.bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_ne!(a, b);
    }
}
