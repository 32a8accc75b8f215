//! Labels, annotations and owner of what the operator makes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::operator::Operator;

pub(crate) type Labels = BTreeMap<String, String>;

pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub(crate) const NAME: &str = "app.kubernetes.io/name";
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
pub(crate) const VERSION: &str = "app.kubernetes.io/version";
pub(crate) const MANAGER: &str = "prometheus-operator";
pub(crate) const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
const INPUT_HASH: &str = "prometheus-operator-input-hash";

/// Labels from pairs; values may be anything that can be written.
pub(crate) fn labels<const N: usize>(pairs: [(&str, &str); N]) -> Labels {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// All of them; the later win.
pub(crate) fn layered<const N: usize>(layers: [&Labels; N]) -> Labels {
    layers.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What a made object's metadata come from.
pub(crate) struct Made<'a> {
    pub(crate) name: String,
    pub(crate) resource: &'a ObjectMeta,
    pub(crate) owner: OwnerReference,
    pub(crate) operator: &'a Operator,
    /// Labels of the workload's kind, and those its pods are selected by.
    pub(crate) kind: Labels,
    pub(crate) selector: &'a Labels,
    pub(crate) input_hash: Option<&'a str>,
}

impl Made<'_> {
    /// The namespace is the reconciler's to set.
    pub(crate) fn metadata(self) -> ObjectMeta {
        let own = labels([("managed-by", MANAGER), (MANAGED_BY, MANAGER)]);
        let given = self.resource.labels.clone().unwrap_or_default();
        let labels = layered([&own, &given, &self.kind, self.selector, &self.operator.labels]);

        let given = self.resource.annotations.clone().unwrap_or_default();
        let mut annotations = layered([&given, &self.operator.annotations]);
        annotations.extend(self.input_hash.map(|hash| (INPUT_HASH.to_owned(), hash.to_owned())));
        annotations.retain(|key, _| !key.starts_with("kubectl.kubernetes.io/"));
        ObjectMeta {
            name: Some(self.name),
            labels: Some(labels),
            annotations: (!annotations.is_empty()).then_some(annotations),
            owner_references: Some(vec![self.owner]),
            ..Default::default()
        }
    }
}

/// The resource as owner and controller of what is made for it.
pub(crate) fn owner(api_version: &str, kind: &str, resource: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: resource.name.clone().unwrap_or_default(),
        uid: resource.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
