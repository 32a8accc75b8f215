//! GET of many objects: snapshots, paging, selectors.
//!
//! Sources: apiserver `storage/etcd3/store.go` and `storage/continue.go`, "API concepts: semantics for get and list".

use std::{ops::ControlFlow, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};

use super::{Answer, Call, Content};
use crate::{
    ApiError, Cause, Compacted, Object, ObjectId,
    matching::Matcher,
    negotiate::{list_type, write_item},
    request::{Params, VersionMatch},
};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    check(call.params)?;
    let matcher = Matcher::new(call)?;
    let page = Page::of(call)?;
    // From the watch cache (`resourceVersion=0`) the limit does not count.
    let any = call.params.resource_version.as_deref() == Some("0") && call.params.version_match.is_none();
    let limit = call.params.limit.filter(|_| !any).unwrap_or(u64::MAX);

    let mut found: Vec<Arc<Object>> = Vec::new();
    let mut last: Option<ObjectId> = None;
    let mut remaining = 0_u64;
    let visited = call.cluster.store.visit(&call.scope(), page.at, page.after.as_ref(), |id, object| {
        let object = object.seen_as(&call.kind);
        if !matcher.matches(object.value()) {
            return ControlFlow::Continue(());
        }
        if (found.len() as u64) < limit {
            found.push(object);
            last = Some(id.clone());
            return ControlFlow::Continue(());
        }
        remaining += 1;
        // With a selector the rest is not counted: one more is enough to know that there is more.
        if matcher.is_everything() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let revision = visited.map_err(|compacted| page.expired(compacted))?;

    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if let (Some(fields), Some(last), 1..) = (metadata.as_object_mut(), &last, remaining) {
        fields.insert("continue".into(), json!(token(revision, last)));
        if matcher.is_everything() {
            fields.insert("remainingItemCount".into(), json!(remaining));
        }
    }
    Ok(Answer {
        code: 200,
        content: Content::Json(render(call, &metadata, &found)),
        warnings: Vec::new(),
        revision: None,
    })
}

fn render(call: &Call<'_>, metadata: &Value, objects: &[Arc<Object>]) -> bytes::Bytes {
    let (api_version, kind) = list_type(&call.kind, call.shape);
    let item_version = call.kind.api_version();
    let mut out = BytesMut::with_capacity(256 + objects.len() * 512);
    let head = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata}).to_string();
    out.put_slice(head.trim_end_matches('}').as_bytes());
    // The head ends in the metadata object's brace and its own: the first stays.
    out.put_slice(b"},\"items\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        write_item(object, &call.kind, &item_version, call.shape, &mut out);
    }
    out.put_slice(b"]}");
    out.freeze()
}

/// Where a page begins, and as of when.
struct Page {
    at: Option<u64>,
    after: Option<ObjectId>,
    /// The revision came out of a continue token.
    continued: bool,
}

impl Page {
    fn of(call: &Call<'_>) -> Result<Self, ApiError> {
        let params = call.params;
        if let Some(token) = &params.continue_token {
            if params.resource_version.as_deref().is_some_and(|version| version != "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let (at, after) = read_token(token, call)?;
            return Ok(Self { at, after: Some(after), continued: true });
        }
        let first = |at| Ok(Self { at, after: None, continued: false });
        if call.stale.is_some() {
            check_not_too_new(call, params.resource_version.as_deref())?;
            return first(call.stale);
        }
        let Some(version) = params.resource_version.as_deref() else { return first(None) };
        let revision = parse_revision(version)?;
        let exact = match params.version_match {
            Some(how) => how == VersionMatch::Exact,
            // Older than `resourceVersionMatch`: a limit made the version exact.
            None => params.limit.is_some() && revision > 0,
        };
        check_not_too_new(call, Some(version))?;
        first(exact.then_some(revision))
    }

    fn expired(&self, compacted: Compacted) -> ApiError {
        let (Some(after), true) = (&self.after, self.continued) else { return expired(compacted) };
        let mut error = ApiError::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results. Continuing with the provided token results in an inconsistent list - objects that were \
             created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
        error.details.continue_token = Some(encode_token(-1, after));
        error
    }
}

/// The refusal of a list at a revision that is compacted.
pub(crate) fn expired(_: Compacted) -> ApiError {
    ApiError::expired("The resourceVersion for the provided list is too old.")
}

fn token(revision: u64, last: &ObjectId) -> String {
    encode_token(i64::try_from(revision).unwrap_or(i64::MAX), last)
}

fn encode_token(revision: i64, last: &ObjectId) -> String {
    let start = json!([&*last.namespace, &*last.name]);
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}).to_string())
}

/// The revision and the last object shown. Revision -1: go on with what there is now.
fn read_token(token: &str, call: &Call<'_>) -> Result<(Option<u64>, ObjectId), ApiError> {
    let read = || -> Option<(Option<u64>, ObjectId)> {
        let token: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        if token.get("v")?.as_str()? != "meta.k8s.io/v1" {
            return None;
        }
        let [namespace, name] = token.get("start")?.as_array()?.as_slice() else { return None };
        let id = ObjectId::new(&call.kind.group, &call.kind.plural, namespace.as_str()?, name.as_str()?);
        Some((u64::try_from(token.get("rv")?.as_i64()?).ok(), id))
    };
    read().ok_or_else(|| ApiError::bad_request(format!("continue key is not valid: {token}")))
}

pub(super) fn parse_revision(version: &str) -> Result<u64, ApiError> {
    version.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "resourceVersion: Invalid value: \"{version}\": must be a number or empty"
        ))
    })
}

/// Nobody can be served a revision that has not happened.
pub(super) fn check_not_too_new(call: &Call<'_>, version: Option<&str>) -> Result<(), ApiError> {
    let Some(version) = version else { return Ok(()) };
    let asked = parse_revision(version)?;
    let current = call.stale.unwrap_or_else(|| call.cluster.store.revision());
    if asked <= current {
        return Ok(());
    }
    let mut error = ApiError::new(
        504,
        "Timeout",
        format!("Timeout: Too large resource version: {asked}, current: {current}"),
    );
    error.details.causes = vec![Cause::new("ResourceVersionTooLarge", "", "Too large resource version")];
    error.details.retry_after_seconds = Some(1);
    Err(error)
}

fn check(params: &Params) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let mut forbid = |field: &str, why: &str| {
        causes.push(Cause::new("FieldValueForbidden", field, format!("Forbidden: {why}")));
    };
    if let Some(how) = params.version_match {
        let field = "resourceVersionMatch";
        if params.resource_version.is_none() {
            forbid(field, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if params.continue_token.is_some() {
            forbid(field, "resourceVersionMatch is forbidden when continue is provided");
        }
        if how == VersionMatch::Exact && params.resource_version.as_deref() == Some("0") {
            forbid(field, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if params.send_initial_events.is_some() {
        forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes)) }
}
