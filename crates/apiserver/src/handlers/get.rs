//! GET of one object, now or as of an earlier revision.

use super::{Answer, Call, list};
use crate::{ApiError, negotiate::Shown};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    list::check_not_too_new(call, call.params.resource_version.as_deref())?;
    let id = call.id(call.name());
    let object = match call.stale {
        Some(revision) => call.cluster.store.get_at(&id, revision).map_err(list::expired)?,
        None => call.cluster.store.get(&id),
    };
    let object = object.ok_or_else(|| call.not_found(call.name()))?;
    Ok(Answer::object(200, Shown::Stored(object.seen_as(&call.kind))))
}
