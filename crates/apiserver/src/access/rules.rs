//! RBAC rules: who has which, and what they cover.

use serde_json::{Value, json};

use super::{Attributes, User, service_account};
use crate::{ObjectId, Scope, Store};

const GROUP: &str = "rbac.authorization.k8s.io";

/// One `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) names: Vec<String>,
    pub(crate) paths: Vec<String>,
}

impl Rule {
    pub(crate) fn parse(rule: &Value) -> Self {
        let strings = |field: &str| -> Vec<String> {
            let items = rule.get(field).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: strings("verbs"),
            groups: strings("apiGroups"),
            resources: strings("resources"),
            names: strings("resourceNames"),
            paths: strings("nonResourceURLs"),
        }
    }

    pub(crate) fn allows(&self, wanted: &Attributes) -> bool {
        match wanted {
            Attributes::Path { verb, path } => {
                has(&self.verbs, verb) && self.paths.iter().any(|pattern| path_matches(pattern, path))
            }
            Attributes::Resource { verb, group, resource, name, .. } => {
                has(&self.verbs, verb)
                    && has(&self.groups, group)
                    && self.resources.iter().any(|pattern| resource_matches(pattern, resource))
                    && (self.names.is_empty() || self.names.contains(name))
            }
        }
    }

    /// The rule taken apart into rules of one verb on one thing each.
    pub(crate) fn atoms(&self) -> Vec<Self> {
        let mut atoms = Vec::new();
        for verb in &self.verbs {
            for path in &self.paths {
                atoms.push(Self { verbs: vec![verb.clone()], paths: vec![path.clone()], ..Self::default() });
            }
            for group in &self.groups {
                for resource in &self.resources {
                    let atom = Self {
                        verbs: vec![verb.clone()],
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        atoms.push(atom);
                    } else {
                        let named = |name: &String| Self { names: vec![name.clone()], ..atom.clone() };
                        atoms.extend(self.names.iter().map(named));
                    }
                }
            }
        }
        atoms
    }

    /// Does this rule allow all that `atom` allows?
    pub(crate) fn covers(&self, atom: &Self) -> bool {
        let all = |own: &[String], other: &[String]| other.iter().all(|item| has(own, item));
        all(&self.verbs, &atom.verbs)
            && all(&self.groups, &atom.groups)
            && atom.resources.iter().all(|r| self.resources.iter().any(|own| resource_matches(own, r)))
            && atom
                .paths
                .iter()
                .all(|path| self.paths.iter().any(|own| own == path || path_matches(own, path)))
            && (self.names.is_empty() || (!atom.names.is_empty() && all(&self.names, &atom.names)))
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { verbs, groups, resources, names, paths } = self;
        let mut rule = json!({"verbs": verbs});
        let fields = [
            ("apiGroups", groups),
            ("resources", resources),
            ("resourceNames", names),
            ("nonResourceURLs", paths),
        ];
        if let Some(rule) = rule.as_object_mut() {
            for (field, items) in fields.into_iter().filter(|(_, items)| !items.is_empty()) {
                rule.insert(field.into(), json!(items));
            }
        }
        rule
    }
}

/// All rules that `user` has in `namespace`, or (with `""`) in the whole cluster.
pub(crate) fn rules_of(store: &Store, user: &User, namespace: &str) -> Vec<Rule> {
    let (_, cluster) = store.list(&Scope::all(GROUP, "clusterrolebindings"));
    let local = match namespace {
        "" => Vec::new(),
        namespace => store.list(&Scope::namespace(GROUP, "rolebindings", namespace)).1,
    };
    cluster
        .iter()
        .map(|binding| (binding, ""))
        .chain(local.iter().map(|binding| (binding, namespace)))
        .filter(|(binding, place)| binds(binding.value(), user, place))
        .flat_map(|(binding, place)| rules_of_role(store, binding.value().get("roleRef"), place))
        .collect()
}

/// The rules of the role that a `roleRef` names.
pub(crate) fn rules_of_role(store: &Store, role_ref: Option<&Value>, namespace: &str) -> Vec<Rule> {
    let field = |name: &str| role_ref.and_then(|r| r.get(name)).and_then(Value::as_str).unwrap_or_default();
    let id = match field("kind") {
        "ClusterRole" => ObjectId::new(GROUP, "clusterroles", "", field("name")),
        _ => ObjectId::new(GROUP, "roles", namespace, field("name")),
    };
    store.get(&id).map(|role| parse_rules(role.value())).unwrap_or_default()
}

/// The rules that a Role or ClusterRole lists.
pub(crate) fn parse_rules(role: &Value) -> Vec<Rule> {
    role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Rule::parse).collect()
}

fn binds(binding: &Value, user: &User, namespace: &str) -> bool {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    subjects.into_iter().flatten().any(|subject| {
        let field = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or_default();
        match field("kind") {
            "User" => field("name") == user.name,
            "Group" => user.groups.iter().any(|group| group == field("name")),
            "ServiceAccount" => {
                let home = if field("namespace").is_empty() { namespace } else { field("namespace") };
                service_account(&user.name) == Some((home, field("name")))
            }
            _ => false,
        }
    })
}

fn has(own: &[String], wanted: &str) -> bool {
    own.iter().any(|item| item == "*" || item == wanted)
}

/// `*`, `pods`, `pods/status`, `*/scale`.
fn resource_matches(pattern: &str, resource: &str) -> bool {
    match (pattern.split_once('/'), resource.split_once('/')) {
        _ if pattern == "*" || pattern == resource => true,
        (Some(("*", wanted)), Some((_, subresource))) => wanted == subresource,
        _ => false,
    }
}

fn path_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => pattern == path,
    }
}
