//! DELETE of everything that a selector finds.

use serde_json::{Value, json};

use super::{Answer, Call, delete};
use crate::{ApiError, ObjectId, cluster::to_version, matching::Matcher, meta};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    let options = delete::Options::read(call)?;
    let matcher = Matcher::new(call)?;
    let (revision, objects) = call.cluster.store.list(&call.scope());
    let limit = call.params.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut items: Vec<Value> = Vec::new();
    let mut last = None;
    for object in objects.iter().filter(|object| matcher.matches(object.value())).take(limit) {
        let (namespace, name) = (meta::text(object.value(), "namespace"), meta::name(object.value()));
        let id = ObjectId::new(&call.kind.group, &call.kind.plural, namespace, name);
        match delete::delete(call, &id, &options) {
            Ok((_, _, revision)) => last = revision.or(last),
            // Somebody else was faster.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
        items.push(to_version(&call.kind, object));
    }
    let list = json!({
        "kind": call.kind.list_kind, "apiVersion": call.kind.api_version(),
        "metadata": {"resourceVersion": revision.to_string()}, "items": items,
    });
    Ok(Answer { revision: last, ..Answer::json(200, &list) })
}
