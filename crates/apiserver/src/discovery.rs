//! Discovery: which groups, versions and resources there are, in the old form and in the aggregated one.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{access::review::REVIEWS, crd::Registry, kinds::Kind};

/// The Kubernetes version that this server behaves as.
const VERSION: (&str, &str, &str) = ("1", "37", "v1.37.0");

const BASE_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The document at `path`; `None` when there is none. `aggregated`: the client asked for `APIGroupDiscoveryList`.
pub(crate) fn document(registry: &Registry, path: &str, aggregated: bool) -> Option<Value> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    match segments.as_slice() {
        ["version"] => Some(version()),
        ["healthz" | "livez" | "readyz"] => Some(json!("ok")),
        ["api"] if aggregated => Some(aggregate(registry, str::is_empty)),
        ["apis"] if aggregated => Some(aggregate(registry, |group| !group.is_empty())),
        ["api"] => Some(json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]})),
        ["apis"] => {
            let groups: Vec<Value> = groups(registry)
                .iter()
                .filter(|(name, _)| !name.is_empty())
                .map(|(name, versions)| group(name, versions))
                .collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["apis", name] => {
            let groups = groups(registry);
            let mut document = group(name, groups.get(*name)?);
            let object = document.as_object_mut()?;
            object.insert("kind".into(), json!("APIGroup"));
            object.insert("apiVersion".into(), json!("v1"));
            Some(document)
        }
        ["api", version] => resources(registry, "", version),
        ["apis", name, version] => resources(registry, name, version),
        _ => None,
    }
}

fn version() -> Value {
    let (major, minor, git) = VERSION;
    json!({"major": major, "minor": minor, "gitVersion": git, "gitCommit": "", "gitTreeState": "clean",
           "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64"})
}

/// What can be asked for: stored kinds, and reviews, which are only created.
#[derive(Clone)]
enum Served {
    Kind(Arc<Kind>),
    Review { plural: &'static str, kind: &'static str, namespaced: bool },
}

type Versions = BTreeMap<Reverse<Rank>, (String, Vec<Served>)>;

fn groups(registry: &Registry) -> BTreeMap<String, Versions> {
    let mut groups: BTreeMap<String, Versions> = BTreeMap::new();
    let mut add = |group: &str, version: &str, served: Served| {
        let versions = groups.entry(group.to_owned()).or_default();
        let (_, list) =
            versions.entry(Reverse(Rank::of(version))).or_insert_with(|| (version.to_owned(), Vec::new()));
        list.push(served);
    };
    for kind in registry.all() {
        add(&kind.group, &kind.version, Served::Kind(Arc::clone(&kind)));
    }
    for (group, plural, kind, namespaced) in REVIEWS {
        add(group, "v1", Served::Review { plural, kind, namespaced: *namespaced });
    }
    groups
}

fn group(name: &str, versions: &Versions) -> Value {
    let told: Vec<Value> = versions
        .values()
        .map(|(version, _)| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({"name": name, "preferredVersion": told.first(), "versions": told})
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let groups = groups(registry);
    let (_, served) = groups.get(group)?.values().find(|(name, _)| name == version)?;
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let list: Vec<Value> = served.iter().flat_map(resource_rows).collect();
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list}),
    )
}

fn resource_rows(served: &Served) -> Vec<Value> {
    let kind = match served {
        Served::Review { plural, kind, namespaced } => {
            let singular = kind.to_lowercase();
            return vec![
                json!({"name": plural, "singularName": singular, "namespaced": namespaced, "kind": kind,
                               "verbs": ["create"]}),
            ];
        }
        Served::Kind(kind) => kind,
    };
    let mut row = json!({"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
                         "kind": kind.kind, "verbs": BASE_VERBS});
    if let Some(row) = row.as_object_mut() {
        for (field, list) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
            if !list.is_empty() {
                row.insert(field.into(), json!(list));
            }
        }
    }
    let mut rows = vec![row];
    if kind.scale.is_some() {
        rows.push(json!({"name": format!("{}/scale", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                         "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]}));
    }
    if kind.status {
        rows.push(json!({"name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                         "kind": kind.kind, "verbs": ["get", "patch", "update"]}));
    }
    rows
}

fn aggregate(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Value {
    let items: Vec<Value> = groups(registry)
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .values()
                .map(|(version, served)| {
                    let resources: Vec<Value> =
                        served.iter().map(|one| aggregated_row(name, version, one)).collect();
                    json!({"version": version, "freshness": "Current", "resources": resources})
                })
                .collect();
            json!({"metadata": {"name": name, "creationTimestamp": null}, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_row(group: &str, version: &str, served: &Served) -> Value {
    let gvk = |kind: &str| json!({"group": group, "version": version, "kind": kind});
    let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
    match served {
        Served::Review { plural, kind, namespaced } => json!({
            "resource": plural, "responseKind": gvk(kind), "scope": scope(*namespaced), "singularResource": kind.to_lowercase(),
            "verbs": ["create"]}),
        Served::Kind(kind) => {
            let mut subresources = Vec::new();
            if kind.scale.is_some() {
                let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
                subresources.push(json!({"subresource": "scale", "responseKind": scale, "verbs": ["get", "patch", "update"]}));
            }
            if kind.status {
                let verbs = ["get", "patch", "update"];
                subresources
                    .push(json!({"subresource": "status", "responseKind": gvk(&kind.kind), "verbs": verbs}));
            }
            json!({"resource": kind.plural, "responseKind": gvk(&kind.kind), "scope": scope(kind.namespaced),
                   "singularResource": kind.singular, "shortNames": kind.short_names, "categories": kind.categories,
                   "verbs": BASE_VERBS, "subresources": subresources})
        }
    }
}

/// Which version is preferred: `v2` before `v1` before `v1beta2` before `v1alpha1` before anything else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u8, u64, u64, Reverse<String>);

impl Rank {
    fn of(version: &str) -> Self {
        let other = || Self(0, 0, 0, Reverse(version.to_owned()));
        let Some(rest) = version.strip_prefix('v') else { return other() };
        let parts = [("alpha", 1), ("beta", 2)].into_iter().find_map(|(word, stage)| {
            let (major, minor) = rest.split_once(word)?;
            Some((stage, major.parse().ok()?, minor.parse().ok()?))
        });
        match (parts, rest.parse()) {
            (Some((stage, major, minor)), _) => Self(stage, major, minor, Reverse(String::new())),
            (None, Ok(major)) => Self(3, major, 0, Reverse(String::new())),
            (None, Err(_)) => other(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_as_kubernetes_prefers_them() {
        let mut versions = ["v1alpha1", "foo", "v1", "v11beta2", "v2", "v10", "v1beta1", "v3beta1"];
        versions.sort_by_key(|version| Reverse(Rank::of(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v11beta2", "v3beta1", "v1beta1", "v1alpha1", "foo"]);
    }
}
