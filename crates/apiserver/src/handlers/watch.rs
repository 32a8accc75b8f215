//! GET with `watch=true`: where the stream begins.

use std::{ops::ControlFlow, time::Duration};

use super::{Answer, Call, Content, list};
use crate::{
    ApiError, Cause,
    matching::Matcher,
    request::VersionMatch,
    watch::{self, Feed, Options, Start},
};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    check(call)?;
    let matcher = Matcher::new(call)?;
    let start = start(call, &matcher)?;
    let timeout = call.params.timeout_seconds.filter(|seconds| *seconds > 0);
    let timeout = timeout.map_or_else(|| call.cluster.watch_timeout(), Duration::from_secs);
    let options = Options { bookmarks: call.params.bookmarks, timeout };
    let feed = Feed::new(call.cluster, &call.kind, call.shape, call.scope(), matcher, start, &options);
    Ok(Answer { code: 200, content: Content::Watch(Box::new(feed)), warnings: Vec::new(), revision: None })
}

fn start(call: &Call<'_>, matcher: &Matcher) -> Result<Start, ApiError> {
    let asked = call.params.resource_version.as_deref().unwrap_or_default();
    let asked = if asked.is_empty() { 0 } else { list::parse_revision(asked)? };
    let from = |revision| Start { initial: Vec::new(), revision, marks_initial_end: false, refused: None };
    let present = call.stale.unwrap_or_else(|| call.cluster.store.revision());
    match call.params.send_initial_events {
        Some(true) => {
            list::check_not_too_new(call, call.params.resource_version.as_deref())?;
            let mut start = state(call, matcher)?;
            start.marks_initial_end = call.params.bookmarks;
            Ok(start)
        }
        Some(false) if asked == 0 => Ok(from(present)),
        None if asked == 0 => state(call, matcher),
        Some(false) | None => {
            let compacted = call.cluster.store.compacted();
            let mut start = from(asked);
            if asked < compacted {
                start.refused = Some(watch::too_old(asked, compacted));
            }
            Ok(start)
        }
    }
}

/// The present state as events, and its revision.
fn state(call: &Call<'_>, matcher: &Matcher) -> Result<Start, ApiError> {
    let mut initial = Vec::new();
    let visited = call.cluster.store.visit(&call.scope(), call.stale, None, |id, object| {
        let object = object.seen_as(&call.kind);
        if matcher.matches(object.value()) {
            initial.push((id.clone(), object));
        }
        ControlFlow::Continue(())
    });
    let revision = visited.map_err(list::expired)?;
    Ok(Start { initial, revision, marks_initial_end: false, refused: None })
}

fn check(call: &Call<'_>) -> Result<(), ApiError> {
    let params = call.params;
    let mut causes = Vec::new();
    let mut refuse =
        |reason: &'static str, field: &str, why: &str| causes.push(Cause::new(reason, field, why));
    let field = "resourceVersionMatch";
    if params.send_initial_events.is_some() && params.version_match != Some(VersionMatch::NotOlderThan) {
        refuse(
            "FieldValueForbidden",
            field,
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        );
    }
    if let Some(how) = params.version_match {
        if params.send_initial_events.is_none() {
            refuse(
                "FieldValueForbidden",
                field,
                "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        if how != VersionMatch::NotOlderThan {
            refuse(
                "FieldValueNotSupported",
                field,
                "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"",
            );
        }
        if params.continue_token.is_some() {
            refuse(
                "FieldValueForbidden",
                field,
                "Forbidden: resourceVersionMatch is forbidden when continue is provided",
            );
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes)) }
}
