//! Does the operator do what it declares, all of it and nothing else?

use std::{collections::BTreeSet, fmt};

use super::{Access, Reach, Verb, merged};

/// Resources that every authenticated user may create, by `system:basic-user`.
const FREE: &[(&str, &str)] = &[
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
];

/// A request, as RBAC looks at it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// What it takes: an apply takes `patch`, and `create` for an object that may not exist.
    pub verbs: BTreeSet<Verb>,
    /// API group; empty for core.
    pub group: String,
    /// With its subresource, for example `pods/status`.
    pub resource: String,
    /// Empty for all namespaces, and for objects outside of them.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
}

impl Request {
    /// Reads an HTTP request, as the server recorded it. `None` for what is no resource: discovery, health, version.
    pub fn parse(method: &str, path_and_query: &str) -> Option<Self> {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let query = Query::parse(query);
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, rest) = match segments.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, resource, name, subresource) = match *rest {
            ["namespaces", name, sub @ ("status" | "finalize")] => ("", "namespaces", name, sub),
            ["namespaces", name] => ("", "namespaces", name, ""),
            ["namespaces", namespace, resource] => (namespace, resource, "", ""),
            ["namespaces", namespace, resource, name] => (namespace, resource, name, ""),
            ["namespaces", namespace, resource, name, sub, ..] => (namespace, resource, name, sub),
            [resource] => ("", resource, "", ""),
            [resource, name] => ("", resource, name, ""),
            [resource, name, sub, ..] => ("", resource, name, sub),
            [] => return None,
        };
        let verbs: &[Verb] = match (method, name) {
            ("GET" | "HEAD", _) if query.watch => &[Verb::Watch],
            ("GET" | "HEAD", "") => &[Verb::List],
            ("GET" | "HEAD", _) => &[Verb::Get],
            ("POST", _) => &[Verb::Create],
            ("PUT", _) => &[Verb::Update],
            ("PATCH", _) if query.apply && subresource.is_empty() => &[Verb::Patch, Verb::Create],
            ("PATCH", _) => &[Verb::Patch],
            ("DELETE", "") => &[Verb::DeleteCollection],
            ("DELETE", _) => &[Verb::Delete],
            _ => return None,
        };
        let name = if name.is_empty() { query.name.unwrap_or_default() } else { name.to_owned() };
        let resource = match subresource {
            "" => resource.to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        let verbs = verbs.iter().copied().collect();
        Some(Self { verbs, group: group.to_owned(), resource, namespace: namespace.to_owned(), name })
    }
}

#[derive(Default)]
struct Query {
    watch: bool,
    /// `force` is a parameter of applies only.
    apply: bool,
    /// `fieldSelector=metadata.name=x` names one object, also to RBAC.
    name: Option<String>,
}

impl Query {
    fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = value.replace("%3D", "=");
            match name {
                "watch" => parsed.watch = matches!(value.as_str(), "true" | "1"),
                "force" => parsed.apply = true,
                "fieldSelector" => parsed.name = value.strip_prefix("metadata.name=").map(str::to_owned),
                _ => {}
            }
        }
        parsed
    }
}

/// A request that no declaration allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The verb that is missing.
    pub verb: Verb,
    /// What was asked for.
    pub request: Request,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { group, resource, namespace, name, .. } = &self.request;
        let group = if group.is_empty() { "core" } else { group };
        write!(f, "the operator did {} {resource} ({group})", self.verb)?;
        match (namespace.as_str(), name.as_str()) {
            ("", "") => {}
            ("", name) => write!(f, " {name}")?,
            (namespace, "") => write!(f, " in {namespace}")?,
            (namespace, name) => write!(f, " {namespace}/{name}")?,
        }
        f.write_str(", which it does not declare: add it to its accesses")
    }
}

/// A right that no request made use of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unused {
    /// The declaration.
    pub access: Access,
    /// Those of its verbs that were never used.
    pub verbs: BTreeSet<Verb>,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.as_str()).collect();
        let group = if self.access.group.is_empty() { "core" } else { &self.access.group };
        write!(f, "the operator may {} {} ({group}), but never did", verbs.join(", "), self.access.resource)
    }
}

/// Requests and declarations that do not match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Each kind of request once.
    pub missing: Vec<Missing>,
    /// Rights to be given up, or to be exercised by a test. Rights to `finalizers` are not among them: the server checks those
    /// in admission, where no request shows it.
    pub unused: Vec<Unused>,
}

/// Compares what an operator did with what it declares. `home` is its own namespace.
pub fn check<'a>(requests: impl IntoIterator<Item = &'a Request>, declared: &[Access], home: &str) -> Report {
    let declared = merged(declared);
    let mut used: Vec<BTreeSet<Verb>> = vec![BTreeSet::new(); declared.len()];
    let mut missing: Vec<Missing> = Vec::new();
    for request in requests.into_iter().filter(|request| !is_free(request)) {
        for verb in &request.verbs {
            let mut allowed = false;
            for (access, used) in declared.iter().zip(&mut used) {
                if allows(access, *verb, request, home) {
                    used.insert(*verb);
                    allowed = true;
                }
            }
            if !allowed && !missing.iter().any(|known| alike(known, *verb, request)) {
                missing.push(Missing { verb: *verb, request: request.clone() });
            }
        }
    }
    let unused = declared
        .into_iter()
        .zip(used)
        .filter(|(access, _)| !access.resource.ends_with("/finalizers"))
        .map(|(access, used)| Unused { verbs: access.verbs.difference(&used).copied().collect(), access })
        .filter(|unused| !unused.verbs.is_empty())
        .collect();
    Report { missing, unused }
}

fn allows(access: &Access, verb: Verb, request: &Request, home: &str) -> bool {
    access.verbs.contains(&verb)
        && access.group == request.group
        && access.resource == request.resource
        && (access.names.is_empty() || access.names.contains(request.name.as_str()))
        && (access.reach != Reach::Home || request.namespace == home)
}

/// The same right is missing. In another namespace it is the same one, unless only some are allowed.
fn alike(known: &Missing, verb: Verb, request: &Request) -> bool {
    known.verb == verb && known.request.group == request.group && known.request.resource == request.resource
}

fn is_free(request: &Request) -> bool {
    FREE.contains(&(request.group.as_str(), request.resource.as_str()))
}

#[cfg(test)]
mod tests;
