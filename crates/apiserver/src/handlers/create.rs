//! POST: a new object.

use serde_json::Value;

use super::{
    Answer, Call,
    admit::{self, Ownership},
    decode,
};
use crate::{ApiError, CommitError, Expect, ObjectId, crd, meta, negotiate::Shown, rules};

/// How often a generated name is tried again when it is taken.
const GENERATE_TRIES: usize = 8;

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    check_kind_stays(call)?;
    let mut object = decode::object(call)?;
    meta::settle_namespace(&mut object, call.namespace())?;
    let warnings = admit::unknown_fields(call, &mut object)?;
    if !meta::text(&object, "resourceVersion").is_empty() {
        return Err(ApiError::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let generates = meta::name(&object).is_empty();
    let mut tries = if generates { GENERATE_TRIES } else { 1 };
    loop {
        tries -= 1;
        match store(call, object.clone(), Ownership::Track) {
            Err(error) if generates && error.reason == "AlreadyExists" && tries > 0 => {}
            result => return result.map(|answer| Answer { warnings, ..answer }),
        }
    }
}

/// A definition that goes takes no new objects.
fn check_kind_stays(call: &Call<'_>) -> Result<(), ApiError> {
    let definition = ObjectId::new(crd::GROUP, crd::PLURAL, "", &call.kind.resource());
    let dying = || call.cluster.store.get(&definition).is_some_and(|found| meta::is_deleting(found.value()));
    if call.kind.custom && dying() {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::method_not_allowed(why));
    }
    Ok(())
}

/// Admits a new object and puts it into the store: the end of POST, and of the PUT or apply of what does not exist.
pub(super) fn store(call: &Call<'_>, object: Value, ownership: Ownership) -> Result<Answer, ApiError> {
    rules::namespace_takes(call.cluster, &call.kind, call.namespace(), meta::name(&object))?;
    let object = admit::on_create(call, object, ownership)?;
    let name = meta::name(&object).to_owned();
    let id = call.id(&name);
    if call.params.dry_run {
        return match call.cluster.store.get(&id) {
            Some(live) => Err(exists(call, &name, live.value())),
            None => Ok(Answer::object(201, Shown::Made(object))),
        };
    }
    match call.cluster.commit(&call.kind, &id, Expect::Absent, object)? {
        Ok((object, revision)) => Ok(Answer { revision, ..Answer::object(201, Shown::Stored(object)) }),
        Err(CommitError::Exists | CommitError::Missing | CommitError::Changed { .. }) => {
            let live = call.cluster.store.get(&id);
            Err(exists(call, &name, live.as_ref().map_or(&Value::Null, |live| live.value())))
        }
    }
}

fn exists(call: &Call<'_>, name: &str, live: &Value) -> ApiError {
    let mut error = ApiError::already_exists(&call.kind.group, &call.kind.plural, name);
    if meta::is_deleting(live) {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}
