//! Who may do what: users, RBAC rules, and the reviews that tell.
//!
//! - `rules`: what a user may do, from the stored roles and bindings; "does this cover that?".
//! - `grants`: nobody gives away more than they have.
//! - `review`: the access reviews of `authorization.k8s.io` and `authentication.k8s.io`.

pub(crate) mod grants;
pub(crate) mod review;
mod rules;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::{ApiError, Store};
pub(crate) use rules::{Rule, rules_of};

const ADMINS: &str = "system:masters";

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    /// A user who may do everything.
    pub fn admin() -> Self {
        Self { name: "kubernetes-admin".into(), groups: vec![ADMINS.into(), "system:authenticated".into()] }
    }

    /// The user of that name, in the groups that the name implies.
    pub fn named(name: &str) -> Self {
        let mut groups = Vec::new();
        if let Some((namespace, _)) = service_account(name) {
            groups.extend(["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")]);
        }
        let known =
            if name == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
        groups.push(known.into());
        Self { name: name.into(), groups }
    }

    #[must_use]
    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.push(group.into());
        self
    }

    fn is_admin(&self) -> bool {
        self.groups.iter().any(|group| group == ADMINS)
    }
}

/// `system:serviceaccount:<namespace>:<name>`.
fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

/// What is asked for, as RBAC sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attributes {
    Resource {
        verb: String,
        group: String,
        /// Plural, with the subresource: `pods/status`.
        resource: String,
        /// Empty at the cluster scope.
        namespace: String,
        /// Empty when no object is named.
        name: String,
    },
    Path {
        verb: String,
        path: String,
    },
}

/// May `user` do that?
pub(crate) fn is_allowed(store: &Store, user: &User, wanted: &Attributes) -> bool {
    if user.is_admin() {
        return true;
    }
    let namespace = match wanted {
        Attributes::Resource { namespace, .. } => namespace,
        Attributes::Path { .. } => "",
    };
    rules_of(store, user, namespace).iter().any(|rule| rule.allows(wanted))
}

/// Refuses what `user` may not do, in kube-apiserver's words.
pub(crate) fn check(store: &Store, user: &User, wanted: &Attributes) -> Result<(), ApiError> {
    if is_allowed(store, user, wanted) {
        return Ok(());
    }
    Err(match wanted {
        Attributes::Path { verb, path } => {
            let why = format!("User \"{}\" cannot {verb} path \"{path}\"", user.name);
            ApiError::new(403, "Forbidden", format!("forbidden: {why}"))
        }
        Attributes::Resource { verb, group, resource, namespace, name } => {
            let place = match namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let user = &user.name;
            let why = format!(
                "User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {place}"
            );
            let plural = resource.split('/').next().unwrap_or(resource);
            ApiError::forbidden(group, plural, name, &why)
        }
    })
}

/// Whom the request acts for: the caller, or whom its `Impersonate-*` headers name if the caller may do that.
pub(crate) fn impersonated(store: &Store, caller: User, headers: &http::HeaderMap) -> Result<User, ApiError> {
    let header = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
    };
    let groups = header("impersonate-group");
    let Some(name) = header("impersonate-user").into_iter().next() else {
        if groups.is_empty() {
            return Ok(caller);
        }
        return Err(ApiError::internal("requested groups without impersonating a user"));
    };
    let may = |resource: &str, namespace: &str, name: &str| {
        let wanted = Attributes::Resource {
            verb: "impersonate".into(),
            group: String::new(),
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
        };
        check(store, &caller, &wanted)
    };
    match service_account(&name) {
        Some((namespace, account)) => may("serviceaccounts", namespace, account)?,
        None => may("users", "", &name)?,
    }
    for group in &groups {
        may("groups", "", group)?;
    }
    let mut user = User::named(&name);
    if !groups.is_empty() {
        // Groups that are named replace those that the name implies; to be known is never lost.
        user.groups = groups;
        let authenticated = "system:authenticated".to_owned();
        if name != "system:anonymous" && !user.groups.contains(&authenticated) {
            user.groups.push(authenticated);
        }
    }
    Ok(user)
}

/// The roles that every cluster has from its first start, as far as operators meet them.
pub(crate) fn bootstrap() -> Vec<Value> {
    let role = |name: &str, rules: Value| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
               "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}, "rules": rules})
    };
    let binding = |name: &str, groups: &[&str]| {
        let subjects: Vec<Value> = groups
            .iter()
            .map(|group| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}))
            .collect();
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
               "subjects": subjects})
    };
    let reviews = json!([
        {"apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
         "verbs": ["create"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ]);
    let discovery = json!([{"nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi",
        "/openapi/*", "/readyz", "/version", "/version/"], "verbs": ["get"]}]);
    let public = json!([{"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]}]);
    let everything = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    vec![
        role("cluster-admin", everything),
        binding("cluster-admin", &[ADMINS]),
        role("system:basic-user", reviews),
        binding("system:basic-user", &["system:authenticated"]),
        role("system:discovery", discovery),
        binding("system:discovery", &["system:authenticated"]),
        role("system:public-info-viewer", public),
        binding("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    ]
}
