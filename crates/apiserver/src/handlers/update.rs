//! PUT: the whole object anew; and the loop that every change of an existing object runs in.

use serde_json::Value;

use super::{
    Answer, Call,
    admit::{self, Ownership, Part},
    create, decode,
};
use crate::{
    ApiError, Cause, CommitError, Expect, Object, cluster::to_version, meta, negotiate::Shown, request::Verb,
    rules,
};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    put(call, Part::Main)
}

/// PUT to the object or to its status.
pub(super) fn put(call: &Call<'_>, part: Part) -> Result<Answer, ApiError> {
    let mut object = decode::object(call)?;
    decode::check_place(call, &mut object)?;
    let warnings = admit::unknown_fields(call, &mut object)?;
    let answer = write(call, part, Ownership::Track, |live| {
        let Some(live) = live else {
            return if part == Part::Main && rules::creates_on_update(&call.kind) {
                Ok(object.clone())
            } else {
                Err(call.not_found(call.name()))
            };
        };
        let uid = meta::text(&object, "uid");
        if !uid.is_empty() && uid != meta::text(live, "uid") {
            return Err(uid_mismatch(call, uid, meta::text(live, "uid")));
        }
        Ok(object.clone())
    })?;
    Ok(Answer { warnings, ..answer })
}

fn uid_mismatch(call: &Call<'_>, given: &str, live: &str) -> ApiError {
    let (plural, name) = (&call.kind.plural, call.name());
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{plural}/{}/{name}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {live}",
        call.namespace()
    );
    ApiError::conflict(&call.kind.group, plural, name, &why)
}

/// Reads, changes, admits, commits; and again when somebody else was faster and the client did not say which version it meant.
///
/// `change` gets the stored object in the call's version, or `None` when there is none.
pub(super) fn write(
    call: &Call<'_>,
    part: Part,
    ownership: Ownership,
    change: impl Fn(Option<&Value>) -> Result<Value, ApiError>,
) -> Result<Answer, ApiError> {
    let id = call.id(call.name());
    loop {
        let Some(live) = call.cluster.store.get(&id) else {
            let object = change(None)?;
            // Who may change things may not make them by that.
            crate::http::authorize(call.cluster, call.user, call.target, Verb::Create)?;
            return create::store(call, object, ownership);
        };
        let old = to_version(&call.kind, &live);
        let mut new = change(Some(&old))?;
        check_version(call, &mut new, &live)?;
        let new = admit::on_update(call, new, &old, part, ownership)?;
        if goes_away(&new, &old) {
            if call.params.dry_run {
                return Ok(Answer::object(200, Shown::Made(new)));
            }
            match call.cluster.store.commit_event(&id, Expect::Revision(live.revision()), None) {
                // Clients of an update expect the object that they sent.
                Ok((_, revision)) => return Ok(Answer { revision, ..Answer::object(200, Shown::Made(new)) }),
                Err(_) => continue,
            }
        }
        if call.params.dry_run {
            return Ok(Answer::object(200, Shown::Made(new)));
        }
        match call.cluster.commit(&call.kind, &id, Expect::Revision(live.revision()), new)? {
            Ok((object, revision)) => {
                return Ok(Answer { revision, ..Answer::object(200, Shown::Stored(object)) });
            }
            Err(CommitError::Changed { .. } | CommitError::Missing | CommitError::Exists) => {}
        }
    }
}

/// Optimistic concurrency: the version that the client saw is the version that is stored.
fn check_version(call: &Call<'_>, new: &mut Value, live: &Object) -> Result<(), ApiError> {
    let given = meta::text(new, "resourceVersion").to_owned();
    if given.is_empty() || given == "0" {
        if !rules::updates_unconditionally(&call.kind) {
            let why = "Invalid value: 0x0: must be specified for an update";
            let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", why);
            return Err(ApiError::invalid(&call.kind.group, &call.kind.plural, call.name(), vec![cause]));
        }
        meta::set(new, "resourceVersion", Value::String(live.revision().to_string()));
        return Ok(());
    }
    if given == live.revision().to_string() { Ok(()) } else { Err(call.conflict(call.name())) }
}

/// The last finalizer of an object that is being deleted is gone.
fn goes_away(new: &Value, old: &Value) -> bool {
    let no_grace = meta::of(old).get("deletionGracePeriodSeconds").and_then(Value::as_i64) == Some(0);
    meta::is_deleting(old) && no_grace && meta::finalizers(new).is_empty()
}
