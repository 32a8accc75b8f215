//! A store as a pod sees it: flags of `capstan backup`, and the volumes that they name. Pure.

use etcd_types::BackupStore;
use k8s_openapi::api::core::v1::{PodTemplateSpec, SecretVolumeSource, Volume, VolumeMount};
use kit::parts;

/// Where a claim that holds backups is mounted.
const CLAIM: &str = "/store";
const CREDENTIALS: &str = "/credentials";
const CA: &str = "/store-ca";
const KEY: &str = "/key";

/// What a pod needs to reach a store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    /// The store's URL first, then flags.
    pub(crate) arguments: Vec<String>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) mounts: Vec<VolumeMount>,
    /// The platform gives this account an identity.
    pub(crate) account: Option<String>,
}

pub(crate) fn place(store: &BackupStore) -> Place {
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    let mut arguments = vec![store.url.clone()];
    if let Some(rest) = store.url.strip_prefix("pvc://") {
        let (claim, directory) = rest.split_once('/').unwrap_or((rest, ""));
        arguments = vec![format!("file://{CLAIM}/{}", directory.trim_matches('/'))];
        volumes.push(parts::claim_volume("store", claim));
        mounts.push(parts::mount("store", CLAIM));
    }
    let mut flag = |name: &str, value: Option<&str>| {
        arguments.extend(value.into_iter().flat_map(|value| [name.to_owned(), value.to_owned()]));
    };
    flag("--server", store.server.as_deref());
    flag("--region", store.region.as_deref());
    flag("--server-side-encryption", store.server_side_encryption.as_deref());
    flag("--kms-key", store.kms_key.as_deref());
    flag("--credentials", store.credentials.as_ref().map(|_| CREDENTIALS));
    let file = |directory: &str, key: &str| format!("{directory}/{key}");
    flag("--ca-file", store.ca.as_ref().map(|ca| file(CA, &ca.key)).as_deref());
    flag("--key-file", store.encryption.as_ref().map(|it| file(KEY, &it.key)).as_deref());
    if store.virtual_host_style {
        arguments.push("--virtual-host-style".to_owned());
    }
    let secrets = [
        ("credentials", CREDENTIALS, store.credentials.as_ref().map(|it| &it.name)),
        ("store-ca", CA, store.ca.as_ref().map(|it| &it.name)),
        ("key", KEY, store.encryption.as_ref().map(|it| &it.name)),
    ];
    for (name, path, secret) in secrets {
        if let Some(secret) = secret {
            volumes.push(secret_volume(name, secret));
            mounts.push(parts::mount_read_only(name, path));
        }
    }
    Place { arguments, volumes, mounts, account: store.service_account_name.clone() }
}

/// Annotations that keep a platform from giving its identity to some containers of a pod: with what separates their names. Source: READMEs of
/// amazon-eks-pod-identity-webhook and azure-workload-identity.
const SKIP: [(&str, &str); 2] =
    [("eks.amazonaws.com/skip-containers", ","), ("azure.workload.identity/skip-containers", ";")];

/// Keeps the identity that a platform gives a pod away from the containers that run an image of the user's.
pub(crate) fn without_identity(pods: &mut PodTemplateSpec, containers: &[&str]) {
    let annotations = pods.metadata.get_or_insert_default().annotations.get_or_insert_default();
    annotations.extend(SKIP.map(|(name, between)| (name.to_owned(), containers.join(between))));
}

/// Read by the pod's group only.
pub(crate) fn secret_volume(name: &str, secret: &str) -> Volume {
    let source = SecretVolumeSource {
        secret_name: Some(secret.to_owned()),
        default_mode: Some(0o440),
        ..SecretVolumeSource::default()
    };
    Volume { name: name.to_owned(), secret: Some(source), ..Volume::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(store: serde_json::Value) -> Place {
        place(&serde_json::from_value(store).unwrap())
    }

    #[test]
    fn a_bucket_is_flags_and_the_secrets_are_files() {
        let place = of(json!({"url": "s3://b/p", "server": "https://s3:9000", "credentials": {"name": "c"},
            "ca": {"name": "ca", "key": "ca.crt"}, "encryption": {"name": "k", "key": "aes"}, "virtualHostStyle": true}));
        assert_eq!(
            place.arguments.join(" "),
            "s3://b/p --server https://s3:9000 --credentials /credentials --ca-file /store-ca/ca.crt --key-file /key/aes --virtual-host-style"
        );
        let named: Vec<_> = place
            .volumes
            .iter()
            .map(|volume| volume.secret.as_ref().unwrap().secret_name.as_deref().unwrap())
            .collect();
        assert_eq!((named, place.mounts.len()), (vec!["c", "ca", "k"], 3));
    }

    #[test]
    fn a_claim_is_a_directory() {
        let place = of(json!({"url": "pvc://backups/of/db"}));
        assert_eq!(place.arguments, ["file:///store/of/db"]);
        assert_eq!(
            place.volumes.first().unwrap().persistent_volume_claim.as_ref().unwrap().claim_name,
            "backups"
        );
    }
}
