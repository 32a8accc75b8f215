//! What a request asks for: its path, verb and parameters, as kube-apiserver reads them.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::ApiError;

/// The verbs of Kubernetes, as RBAC names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// The resource that a path names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Resource(Target),
    /// Discovery, health, version: the path in full.
    Other(String),
}

impl Route {
    /// Reads a path; percent-encoding is undone in every segment.
    pub(crate) fn parse(path: &str) -> Self {
        let other = || Self::Other(path.to_owned());
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return other(),
        };
        let target =
            |namespace: Option<&str>, plural: &str, name: Option<&str>, subresource: Option<String>| {
                Self::Resource(Target {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    plural: plural.to_owned(),
                    namespace: namespace.map(str::to_owned),
                    name: name.map(str::to_owned),
                    subresource,
                })
            };
        match rest {
            [] => other(),
            // A namespace is the one object that its children's paths go through.
            ["namespaces", name, sub @ ("status" | "finalize")] => {
                target(None, "namespaces", Some(name), Some((*sub).to_owned()))
            }
            ["namespaces", namespace, plural] => target(Some(namespace), plural, None, None),
            ["namespaces", namespace, plural, name] => target(Some(namespace), plural, Some(name), None),
            ["namespaces", namespace, plural, name, sub @ ..] => {
                target(Some(namespace), plural, Some(name), Some(sub.join("/")))
            }
            [plural] => target(None, plural, None, None),
            [plural, name] => target(None, plural, Some(name), None),
            [plural, name, sub @ ..] => target(None, plural, Some(name), Some(sub.join("/"))),
        }
    }
}

/// How strictly unknown fields are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// `resourceVersionMatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// The query parameters that mean something to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params {
    pub limit: Option<u64>,
    pub continue_token: Option<String>,
    pub resource_version: Option<String>,
    pub version_match: Option<VersionMatch>,
    pub label_selector: Option<String>,
    pub field_selector: Option<String>,
    pub watch: bool,
    pub bookmarks: bool,
    pub send_initial_events: Option<bool>,
    pub timeout_seconds: Option<u64>,
    pub dry_run: bool,
    pub field_manager: Option<String>,
    pub field_validation: FieldValidation,
    pub force: Option<bool>,
    pub grace_period_seconds: Option<i64>,
    pub propagation_policy: Option<String>,
    pub orphan_dependents: Option<bool>,
}

impl Params {
    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        let mut params = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            params.set(&decode(key), decode(value))?;
        }
        Ok(params)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), ApiError> {
        match key {
            // Empty means unset, as for every parameter in Kubernetes.
            _ if value.is_empty() => {}
            "limit" => self.limit = Some(number(key, &value)?).filter(|limit| *limit > 0),
            "continue" => self.continue_token = Some(value),
            "resourceVersion" => self.resource_version = Some(value),
            "resourceVersionMatch" => self.version_match = Some(version_match(&value)?),
            "labelSelector" => self.label_selector = Some(value),
            "fieldSelector" => self.field_selector = Some(value),
            "watch" => self.watch = boolean(&value),
            "allowWatchBookmarks" => self.bookmarks = boolean(&value),
            "sendInitialEvents" => self.send_initial_events = Some(boolean(&value)),
            "timeoutSeconds" => self.timeout_seconds = Some(number(key, &value)?),
            "dryRun" => self.dry_run = dry_run(&value)?,
            "fieldManager" => self.field_manager = Some(field_manager(value)?),
            "fieldValidation" => self.field_validation = field_validation(&value)?,
            "force" => self.force = Some(boolean(&value)),
            "gracePeriodSeconds" => self.grace_period_seconds = Some(number(key, &value)?),
            "propagationPolicy" => self.propagation_policy = Some(value),
            "orphanDependents" => self.orphan_dependents = Some(boolean(&value)),
            _ => {}
        }
        Ok(())
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Kubernetes takes everything but `0` and `false` for true.
fn boolean(value: &str) -> bool {
    !matches!(value, "0" | "false" | "False" | "FALSE")
}

fn number<N: std::str::FromStr>(key: &str, value: &str) -> Result<N, ApiError> {
    value.parse().map_err(|_| {
        ApiError::bad_request(format!("invalid value \"{value}\" for the parameter {key}: not a number"))
    })
}

pub(crate) fn dry_run(value: &str) -> Result<bool, ApiError> {
    match value {
        "All" => Ok(true),
        other => Err(unsupported("dryRun", other, &["All"])),
    }
}

fn field_manager(value: String) -> Result<String, ApiError> {
    if value.len() > 128 {
        let message = format!("Invalid value: \"{value}\": may not be more than 128 bytes");
        return Err(invalid_options("fieldManager", message));
    }
    Ok(value)
}

fn field_validation(value: &str) -> Result<FieldValidation, ApiError> {
    match value {
        "Ignore" => Ok(FieldValidation::Ignore),
        "Warn" => Ok(FieldValidation::Warn),
        "Strict" => Ok(FieldValidation::Strict),
        other => Err(unsupported("fieldValidation", other, &["Ignore", "Strict", "Warn"])),
    }
}

fn version_match(value: &str) -> Result<VersionMatch, ApiError> {
    match value {
        "Exact" => Ok(VersionMatch::Exact),
        "NotOlderThan" => Ok(VersionMatch::NotOlderThan),
        other => Err(unsupported("resourceVersionMatch", other, &["Exact", "NotOlderThan"])),
    }
}

fn unsupported(field: &str, value: &str, supported: &[&str]) -> ApiError {
    let quoted: Vec<String> = supported.iter().map(|value| format!("\"{value}\"")).collect();
    let message = format!("Unsupported value: \"{value}\": supported values: {}", quoted.join(", "));
    let mut error = invalid_options(field, message);
    for cause in &mut error.details.causes {
        cause.reason = "FieldValueNotSupported";
    }
    error
}

fn invalid_options(field: &str, message: String) -> ApiError {
    let cause = crate::Cause::new("FieldValueInvalid", field, message);
    ApiError::invalid("meta.k8s.io", "Options", "", vec![cause])
}

/// The verb of a request to a resource, or the refusal of a method that it does not have.
pub(crate) fn verb(method: &Method, target: &Target, watch: bool) -> Result<Verb, ApiError> {
    let named = target.name.is_some();
    match (method.as_str(), named) {
        ("GET" | "HEAD", true) => Ok(Verb::Get),
        ("GET" | "HEAD", false) => Ok(if watch { Verb::Watch } else { Verb::List }),
        ("POST", _) => Ok(Verb::Create),
        ("PUT", true) => Ok(Verb::Update),
        ("PATCH", true) => Ok(Verb::Patch),
        ("DELETE", true) => Ok(Verb::Delete),
        ("DELETE", false) => Ok(Verb::DeleteCollection),
        _ => Err(method_not_allowed()),
    }
}

pub(crate) fn method_not_allowed() -> ApiError {
    ApiError::method_not_allowed("the server does not allow this method on the requested resource")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> String {
        match Route::parse(path) {
            Route::Other(path) => format!("other {path}"),
            Route::Resource(t) => format!(
                "{}/{} {} ns={} name={} sub={}",
                t.group,
                t.version,
                t.plural,
                t.namespace.unwrap_or_default(),
                t.name.unwrap_or_default(),
                t.subresource.unwrap_or_default()
            ),
        }
    }

    #[test]
    fn paths_lead_where_kubernetes_has_them() {
        let rows = [
            ("/api", "other /api"),
            ("/apis/apps/v1", "other /apis/apps/v1"),
            ("/healthz", "other /healthz"),
            ("/api/v1/nodes", "/v1 nodes ns= name= sub="),
            ("/api/v1/namespaces", "/v1 namespaces ns= name= sub="),
            ("/api/v1/namespaces/a", "/v1 namespaces ns= name=a sub="),
            ("/api/v1/namespaces/a/status", "/v1 namespaces ns= name=a sub=status"),
            ("/api/v1/namespaces/a/pods", "/v1 pods ns=a name= sub="),
            ("/api/v1/namespaces/a/pods/b/log", "/v1 pods ns=a name=b sub=log"),
            ("/apis/apps/v1/namespaces/a/deployments/b/scale", "apps/v1 deployments ns=a name=b sub=scale"),
            ("/apis/g.io/v1/things/x%3Ay", "g.io/v1 things ns= name=x:y sub="),
        ];
        for (path, expected) in rows {
            assert_eq!(told(path), expected, "{path}");
        }
    }

    #[test]
    fn parameters_are_decoded_and_checked() {
        let params = Params::parse("labelSelector=a%3Db%2Cc+in+%28d%29&limit=5&watch=1&dryRun=All").unwrap();
        assert_eq!(params.label_selector.as_deref(), Some("a=b,c in (d)"));
        assert_eq!((params.limit, params.watch, params.dry_run), (Some(5), true, true));
        assert_eq!(Params::parse("limit=x").unwrap_err().code, 400);
        assert_eq!(Params::parse("dryRun=Some").unwrap_err().code, 422);
        assert_eq!(Params::parse("fieldValidation=No").unwrap_err().code, 422);
    }
}
