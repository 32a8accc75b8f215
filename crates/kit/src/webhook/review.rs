//! The AdmissionReview that an API server sends, and the one that it gets back (admission.k8s.io/v1).

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

use super::patch;

/// What somebody asks the API server to do, with the object as a `K`.
#[derive(Debug, Clone)]
pub struct AdmissionRequest<K> {
    /// Create, update, delete or connect.
    pub operation: Operation,
    /// The object's namespace; empty if it has none.
    pub namespace: String,
    /// The object's name; empty if it is still to be generated.
    pub name: String,
    /// The subresource that is asked for; empty for the object itself.
    pub subresource: String,
    /// Who asks.
    pub user: UserInfo,
    /// Whether this is only a trial.
    pub dry_run: bool,
    /// The object as it is to be; not on delete.
    pub object: Option<K>,
    /// The object as it is; on update and delete.
    pub old_object: Option<K>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// A new object.
    Create,
    /// Another content.
    Update,
    /// The end of it.
    Delete,
    /// A connection to it.
    Connect,
}

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserInfo {
    /// For example `system:serviceaccount:default:capstan`.
    pub username: String,
    /// For example `system:masters`.
    pub groups: Vec<String>,
}

/// A refusal. The message is for the person who asked: what is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    code: u16,
    reason: &'static str,
    message: String,
}

impl Denied {
    /// The object says something that cannot be.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: 422, reason: "Invalid", message: message.into() }
    }

    /// It could be, but must not.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: 403, reason: "Forbidden", message: message.into() }
    }
}

/// A body that is no AdmissionReview. It says where, and repeats nothing of the content.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no AdmissionReview of admission.k8s.io/v1: {0}")]
pub(super) struct BadReview(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: String,
    operation: Operation,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(default)]
    dry_run: bool,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    old_object: Option<&'a RawValue>,
}

/// Answers a review by asking `check`.
pub(super) fn validate<K: DeserializeOwned>(
    body: &[u8],
    check: impl FnOnce(&AdmissionRequest<K>) -> Result<(), Denied>,
) -> Result<Value, BadReview> {
    let (uid, request) = read(body)?;
    Ok(answer(&uid, request.and_then(|request| check(&request)).map(|()| Vec::new())))
}

/// Answers a review with the difference between the object and what `change` makes of it. Fields that `K` does not know are
/// on neither side of the comparison, so they stay.
pub(super) fn mutate<K: DeserializeOwned + Serialize>(
    body: &[u8],
    change: impl FnOnce(&AdmissionRequest<K>) -> Result<Option<K>, Denied>,
) -> Result<Value, BadReview> {
    let (uid, request) = read(body)?;
    let patch = request.and_then(|request| {
        let Some(changed) = change(&request)? else { return Ok(Vec::new()) };
        let json = |object: &K| {
            serde_json::to_value(object)
                .map_err(|error| Denied::invalid(format!("cannot write the object: {error}")))
        };
        let before = request.object.as_ref().map(&json).transpose()?.unwrap_or_default();
        Ok(patch::difference(&before, &json(&changed)?))
    });
    Ok(answer(&uid, patch))
}

type Read<K> = (String, Result<AdmissionRequest<K>, Denied>);

/// The request's uid, and the request; an object that is no `K` is the sender's fault and refused as such.
fn read<K: DeserializeOwned>(body: &[u8]) -> Result<Read<K>, BadReview> {
    let review: Review<'_> = serde_json::from_slice(body).map_err(|error| {
        let why =
            if error.is_data() { "a field is missing or has the wrong type" } else { "it is not valid JSON" };
        BadReview(format!("{why}, line {} column {}", error.line(), error.column()))
    })?;
    if (review.api_version.as_str(), review.kind.as_str()) != ("admission.k8s.io/v1", "AdmissionReview") {
        return Err(BadReview("apiVersion or kind is another".into()));
    }
    let request = review.request.ok_or_else(|| BadReview("it has no request".into()))?;
    let uid = request.uid.clone();
    Ok((uid, request.typed()))
}

impl Request<'_> {
    fn typed<K: DeserializeOwned>(self) -> Result<AdmissionRequest<K>, Denied> {
        let object = |raw: Option<&RawValue>| {
            raw.filter(|raw| raw.get() != "null")
                .map(|raw| serde_json::from_str(raw.get()))
                .transpose()
                .map_err(|error| Denied::invalid(format!("the object cannot be read: {error}")))
        };
        Ok(AdmissionRequest {
            operation: self.operation,
            object: object(self.object)?,
            old_object: object(self.old_object)?,
            namespace: self.namespace,
            name: self.name,
            subresource: self.sub_resource,
            user: self.user_info,
            dry_run: self.dry_run,
        })
    }
}

fn answer(uid: &str, said: Result<Vec<Value>, Denied>) -> Value {
    let mut response = json!({ "uid": uid, "allowed": said.is_ok() });
    if let Value::Object(response) = &mut response {
        match said {
            Ok(patch) if patch.is_empty() => {}
            Ok(patch) => {
                response.insert("patchType".into(), json!("JSONPatch"));
                response
                    .insert("patch".into(), json!(ByteString(Value::Array(patch).to_string().into_bytes())));
            }
            Err(Denied { code, reason, message }) => {
                response
                    .insert("status".into(), json!({ "code": code, "reason": reason, "message": message }));
            }
        }
    }
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn review(object: &Value) -> Vec<u8> {
        let request = json!({ "uid": "u1", "operation": "CREATE", "namespace": "default", "name": "a", "object": object,
            "oldObject": null, "userInfo": { "username": "jane", "groups": ["dev"], "uid": "x" }, "dryRun": true,
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" } });
        let review =
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request });
        review.to_string().into_bytes()
    }

    #[test]
    fn a_valid_object_is_allowed_and_the_function_sees_who_asks_for_what() {
        let body = review(&json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }));
        let answer = validate::<ConfigMap>(&body, |request| {
            assert_eq!((request.operation, request.namespace.as_str()), (Operation::Create, "default"));
            assert_eq!((request.user.username.as_str(), request.dry_run), ("jane", true));
            assert!(request.old_object.is_none() && request.object.as_ref().unwrap().data.is_some());
            Ok(())
        });
        assert_eq!(answer.unwrap()["response"], json!({ "uid": "u1", "allowed": true }));
    }

    #[test]
    fn a_refusal_carries_its_sentence() {
        let answer = validate::<ConfigMap>(&review(&json!({})), |_| {
            Err(Denied::invalid("spec.version: no such version"))
        });
        let status = json!({ "code": 422, "reason": "Invalid", "message": "spec.version: no such version" });
        assert_eq!(answer.unwrap()["response"], json!({ "uid": "u1", "allowed": false, "status": status }));
    }

    #[test]
    fn a_change_becomes_a_patch_and_unknown_fields_are_left_alone() {
        let body = review(&json!({ "metadata": { "name": "a" }, "data": { "k": "v" }, "fromTheFuture": 1 }));
        let answer = mutate::<ConfigMap>(&body, |request| {
            let mut object = request.object.clone().unwrap();
            object.data.as_mut().unwrap().insert("added".into(), "x".into());
            Ok(Some(object))
        });
        let response = &answer.unwrap()["response"];
        let patch: ByteString = serde_json::from_value(response["patch"].clone()).unwrap();
        let patch: Value = serde_json::from_slice(&patch.0).unwrap();
        assert_eq!(patch, json!([{ "op": "add", "path": "/data/added", "value": "x" }]));
        assert_eq!((&response["allowed"], &response["patchType"]), (&json!(true), &json!("JSONPatch")));
    }

    #[test]
    fn an_object_that_cannot_be_read_is_refused() {
        let answer = validate::<ConfigMap>(&review(&json!({ "data": 7 })), |_| Ok(())).unwrap();
        assert_eq!(answer["response"]["allowed"], false);
        assert!(
            answer["response"]["status"]["message"]
                .as_str()
                .unwrap()
                .starts_with("the object cannot be read: ")
        );
    }

    #[test]
    fn a_body_that_is_no_review_is_told_where_without_its_content() {
        let other =
            json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview" }).to_string();
        let empty = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview" }).to_string();
        for (body, why) in [
            ("{\"hunter2", "it is not valid JSON, line 1 column 9"),
            (
                "{\"request\": {\"uid\": {\"a\": \"hunter2\"}}}",
                "a field is missing or has the wrong type, line 1 column 20",
            ),
            (&other, "apiVersion or kind is another"),
            (&empty, "it has no request"),
        ] {
            let error = validate::<ConfigMap>(body.as_bytes(), |_| Ok(())).unwrap_err();
            assert_eq!(error, BadReview(why.into()));
        }
    }
}
