//! The StatefulSet of one member: a single pod, that Kubernetes restarts and reschedules with or without this operator.
//!
//! `OnDelete`: a change of the template restarts nothing. When a member restarts is decided, one member at a time. What the pod is
//! made from stands on the StatefulSet, so that it can be rendered again as it is.

use std::collections::BTreeMap;

use etcd_core::{Serial, Template};
use etcd_types::EtcdCluster;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use kit::parts;
use kube::ResourceExt as _;

use super::{owned, pod};
use crate::names;

pub(crate) fn stateful_set(cluster: &EtcdCluster, serial: Serial, template: &Template) -> StatefulSet {
    let name = names::of(cluster);
    let name = name.get();
    let member = name.member(serial);
    let mut metadata = names::member_meta(cluster, &member);
    // Plain data with string keys: it cannot fail, and a StatefulSet without it would only be rendered from the spec.
    let origin = serde_json::to_string(template).unwrap_or_default();
    metadata.annotations = Some([(names::TEMPLATE.to_owned(), origin)].into());
    let mut selector = names::selector(name.cluster);
    selector.insert(names::MEMBER.to_owned(), member);
    let set = StatefulSet {
        metadata,
        spec: StatefulSetSpec {
            replicas: Some(1),
            service_name: Some(name.peer_service()),
            selector: parts::matching(selector),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(1),
            template: pod::template(&name, serial, template, &cluster.uid().unwrap_or_default()),
            ..StatefulSetSpec::default()
        },
        status: None,
    };
    owned(set, cluster)
}

/// Writes on the pods of a member which CAs they are started with. Where that is not known, what was known before stays.
pub(crate) fn record_trust(
    set: &mut StatefulSet,
    live: Option<&StatefulSet>,
    record: BTreeMap<String, String>,
) {
    let known = |name: &str| {
        let annotations = live?.spec.template.metadata.as_ref()?.annotations.as_ref()?;
        Some((name.to_owned(), annotations.get(name)?.clone()))
    };
    let record = match record.is_empty() {
        true => [names::CLIENT_TRUST, names::PEER_TRUST].into_iter().filter_map(known).collect(),
        false => record,
    };
    let metadata = set.spec.template.metadata.get_or_insert_default();
    metadata.annotations.get_or_insert_default().extend(record);
}

/// What the pod of a StatefulSet is made from, if that can be read.
pub(crate) fn template_of(set: &StatefulSet) -> Option<Template> {
    serde_json::from_str(set.annotations().get(names::TEMPLATE)?).ok()
}
