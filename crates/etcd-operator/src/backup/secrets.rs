//! Whether the Secrets that a store needs are there, with the keys that it needs. What is in them is forgotten at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use etcd_types::{BackupStore, SecretKey};
use k8s_openapi::api::core::v1::Secret;
use kit::{Context, Error, Key, KindId, Result, Slim, Store};
use kube::Api;

use super::Refusal;

/// The keys that a Secret with credentials must have, by the beginning of the store's URL. Source: `etcd_backup::store::CREDENTIALS`.
const CREDENTIALS: &[(&str, &[&str])] = &[
    ("s3://", &["accessKeyID", "secretAccessKey"]),
    ("gs://", &["serviceAccount"]),
    ("az://", &["accountName", "accountKey"]),
];

/// What is known of Secrets: that they are there, and the names of their keys.
pub(super) struct Secrets {
    all: Store<Slim<Secret>>,
    /// With the resourceVersion that they were read at.
    keys: Mutex<BTreeMap<Key, (u64, BTreeSet<String>)>>,
}

impl Secrets {
    pub(super) fn new(all: Store<Slim<Secret>>) -> Self {
        Self { all, keys: Mutex::default() }
    }

    pub(super) fn all(&self) -> &Store<Slim<Secret>> {
        &self.all
    }

    /// What of the Secrets that `store` names is missing, by field.
    pub(super) async fn missing(
        &self,
        cx: &Context,
        namespace: &str,
        store: &BackupStore,
    ) -> Result<Vec<Refusal>> {
        let mut refused = Vec::new();
        for Needed { field, secret, keys } in needed(store) {
            let there = self.keys(cx, Key::new(namespace, secret)).await?;
            refused.extend(judge(field, namespace, secret, &keys, there.as_ref()));
        }
        Ok(refused)
    }

    async fn keys(&self, cx: &Context, key: Key) -> Result<Option<BTreeSet<String>>> {
        let known = || self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(version) = self.all.get(&key).map(|seen| seen.meta().resource_version()) else {
            known().remove(&key);
            return Ok(None);
        };
        if let Some((_, keys)) = known().get(&key).filter(|(read, _)| *read >= version) {
            return Ok(Some(keys.clone()));
        }
        let api: Api<Secret> = Api::namespaced(cx.client(), key.namespace());
        let failed = |error| Error::api("get", KindId::of::<Secret>(), key.clone(), error);
        let Some(secret) = api.get_opt(key.name()).await.map_err(failed)? else { return Ok(None) };
        let version = kit::Row::resource_version(&secret);
        let keys: BTreeSet<String> = secret.data.into_iter().flatten().map(|(name, _)| name).collect();
        known().insert(key, (version, keys.clone()));
        Ok(Some(keys))
    }
}

struct Needed<'a> {
    field: &'static str,
    secret: &'a str,
    keys: Vec<&'a str>,
}

fn needed(store: &BackupStore) -> Vec<Needed<'_>> {
    let credentials = store.credentials.as_ref().map(|it| {
        let keys = CREDENTIALS.iter().find(|(scheme, _)| store.url.starts_with(scheme));
        let keys = keys.map(|(_, keys)| keys.to_vec()).unwrap_or_default();
        Needed { field: "spec.store.credentials", secret: &it.name, keys }
    });
    let ca = store.ca.as_ref().map(|it| one("spec.store.ca", it));
    let key = store.encryption.as_ref().map(|it| one("spec.store.encryption", it));
    [credentials, ca, key].into_iter().flatten().collect()
}

fn one<'a>(field: &'static str, it: &'a SecretKey) -> Needed<'a> {
    Needed { field, secret: &it.name, keys: vec![&it.key] }
}

/// Whether a store names this Secret.
pub(super) fn names(store: &BackupStore, secret: &str) -> bool {
    needed(store).iter().any(|needed| needed.secret == secret)
}

fn judge(
    field: &str,
    namespace: &str,
    secret: &str,
    keys: &[&str],
    there: Option<&BTreeSet<String>>,
) -> Option<Refusal> {
    let Some(there) = there else {
        return Some(Refusal::new(
            field,
            format!("there is no Secret {secret} in the namespace {namespace}. Create it"),
        ));
    };
    let missing: Vec<&str> = keys.iter().copied().filter(|key| !there.contains(*key)).collect();
    (!missing.is_empty()).then(|| {
        Refusal::new(field, format!("the Secret {secret} has no key {}. Add it", missing.join(", no key ")))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_named_by_field_secret_and_key() {
        let store: BackupStore =
            serde_json::from_value(json!({"url": "s3://b", "credentials": {"name": "c"},
            "encryption": {"name": "k", "key": "aes"}}))
            .unwrap();
        let needed = needed(&store);
        let fields: Vec<_> = needed.iter().map(|it| (it.field, it.secret, it.keys.clone())).collect();
        assert_eq!(
            fields,
            [
                ("spec.store.credentials", "c", vec!["accessKeyID", "secretAccessKey"]),
                ("spec.store.encryption", "k", vec!["aes"])
            ]
        );
        let keys = BTreeSet::from(["accessKeyID".to_owned()]);
        let said = |there| judge("f", "prod", "c", &["accessKeyID", "secretAccessKey"], there);
        assert_eq!(said(None).unwrap().why, "there is no Secret c in the namespace prod. Create it");
        assert_eq!(said(Some(&keys)).unwrap().why, "the Secret c has no key secretAccessKey. Add it");
        assert!(names(&store, "k") && !names(&store, "other"));
    }
}
