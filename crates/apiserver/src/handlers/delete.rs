//! DELETE: at once, after finalizers, or (pods) after a grace period.
//!
//! Sources: apiserver `registry/rest/delete.go`, `registry/generic/registry/store.go`.

use serde_json::{Value, json};

use super::{Answer, Call, decode, success};
use crate::{
    ApiError, Cause, Expect, ObjectId, clock,
    cluster::to_version,
    meta,
    negotiate::{ContentType, Shown},
    request::dry_run,
    rules::{self, Dependents},
};

/// `DeleteOptions`, from the body or the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options {
    grace_period_seconds: Option<i64>,
    dependents: Option<Dependents>,
    /// The old spelling of orphan/background; it decides the status code of the answer.
    orphan_dependents: Option<bool>,
    uid: Option<String>,
    resource_version: Option<String>,
    dry_run: bool,
}

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    let options = Options::read(call)?;
    let (shown, deleted, revision) = delete(call, &call.id(call.name()), &options)?;
    let code = if !deleted && options.orphan_dependents == Some(false) { 202 } else { 200 };
    let answer = match shown {
        Shown::Stored(object) if deleted && !rules::returns_deleted(&call.kind) => {
            Answer::json(code, &success(&call.kind, object.value()))
        }
        Shown::Made(value) if deleted && !rules::returns_deleted(&call.kind) => {
            Answer::json(code, &success(&call.kind, &value))
        }
        shown => Answer::object(code, shown),
    };
    Ok(Answer { revision, ..answer })
}

impl Options {
    pub(super) fn read(call: &Call<'_>) -> Result<Self, ApiError> {
        let params = call.params;
        let (policy, mut options) = if call.body.is_empty() {
            let options = Self {
                grace_period_seconds: params.grace_period_seconds,
                orphan_dependents: params.orphan_dependents,
                dry_run: params.dry_run,
                ..Self::default()
            };
            (params.propagation_policy.clone(), options)
        } else {
            let body = match call.content {
                ContentType::Yaml => decode::yaml(call.body)?,
                _ => decode::json(call.body)?,
            };
            Self::from_body(&body, params.dry_run)?
        };
        let mut causes = Vec::new();
        let policy = policy.map(|policy| match policy.as_str() {
            "Background" => Some(Dependents::Background),
            "Foreground" => Some(Dependents::Foreground),
            "Orphan" => Some(Dependents::Orphan),
            other => {
                causes.push(Cause::new(
                    "FieldValueNotSupported",
                    "propagationPolicy",
                    format!(
                        "Unsupported value: \"{other}\": supported values: \"Background\", \"Foreground\", \"Orphan\", \"nil\""
                    ),
                ));
                None
            }
        });
        if policy.is_some() && options.orphan_dependents.is_some() {
            causes.push(Cause::new(
                "FieldValueInvalid",
                "propagationPolicy",
                "Invalid value: orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        if !causes.is_empty() {
            return Err(ApiError::invalid("meta.k8s.io", "DeleteOptions", "", causes));
        }
        let old = options
            .orphan_dependents
            .map(|orphan| if orphan { Dependents::Orphan } else { Dependents::Background });
        options.dependents = policy.flatten().or(old);
        Ok(options)
    }

    fn from_body(body: &Value, dry_run_param: bool) -> Result<(Option<String>, Self), ApiError> {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut dry = dry_run_param;
        for value in body.get("dryRun").and_then(Value::as_array).into_iter().flatten() {
            dry |= dry_run(value.as_str().unwrap_or_default())?;
        }
        let options = Self {
            grace_period_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            dependents: None,
            orphan_dependents: body.get("orphanDependents").and_then(Value::as_bool),
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            dry_run: dry,
        };
        Ok((text("/propagationPolicy"), options))
    }

    fn check_preconditions(&self, call: &Call<'_>, live: &Value) -> Result<(), ApiError> {
        let conflict =
            |why: String| Err(ApiError::conflict(&call.kind.group, &call.kind.kind, meta::name(live), &why));
        let uid = meta::text(live, "uid");
        if let Some(wanted) = &self.uid
            && wanted != uid
        {
            return conflict(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). \
                 The object might have been deleted and then recreated"
            ));
        }
        let version = meta::text(live, "resourceVersion");
        if let Some(wanted) = &self.resource_version
            && wanted != version
        {
            return conflict(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). \
                 The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// Deletes one object, or marks it. What to show, whether it is gone, and the revision made.
pub(super) fn delete(
    call: &Call<'_>,
    id: &ObjectId,
    options: &Options,
) -> Result<(Shown, bool, Option<u64>), ApiError> {
    let store = &call.cluster.store;
    loop {
        let live = store.get(id).ok_or_else(|| call.not_found(&id.name))?;
        options.check_preconditions(call, live.value())?;
        rules::may_delete(&call.kind, live.value())?;
        let old = to_version(&call.kind, &live);
        match mark(call, &old, options) {
            Marked::Pending => return Ok((Shown::Stored(live), false, None)),
            Marked::Changed(new) if options.dry_run => return Ok((Shown::Made(new), false, None)),
            Marked::Changed(new) => {
                let expect = Expect::Revision(live.revision());
                if let Ok((object, revision)) = call.cluster.commit(&call.kind, id, expect, new)? {
                    return Ok((Shown::Stored(object), false, revision));
                }
            }
            Marked::Now if options.dry_run => return Ok((Shown::Made(old), true, None)),
            Marked::Now => {
                if let Ok((object, revision)) =
                    store.commit_event(id, Expect::Revision(live.revision()), None)
                {
                    return Ok((Shown::Stored(object), true, revision));
                }
            }
        }
    }
}

/// What a deletion does to an object.
enum Marked {
    /// It waits for its end already; nothing to do.
    Pending,
    Changed(Value),
    Now,
}

fn mark(call: &Call<'_>, old: &Value, options: &Options) -> Marked {
    let mut new = old.clone();
    let graceful = match rules::graceful(&call.kind, old, options.grace_period_seconds) {
        None => false,
        Some(seconds) => match shorten(call, &mut new, seconds, options.grace_period_seconds.is_some()) {
            Grace::Pending => return Marked::Pending,
            Grace::Set => true,
            Grace::Over => false,
        },
    };
    let finalizers = finalizers_for(call, old, options);
    meta::set_finalizers(&mut new, &finalizers);
    // Looks at the object before its deletion begins, and may add to its finalizers.
    if rules::stays_for_its_content(call.cluster, &call.kind, &mut new) {
        begin_deletion(call, &mut new);
        return Marked::Changed(new);
    }
    match (finalizers.is_empty(), graceful) {
        (true, false) => Marked::Now,
        (true, true)
            if meta::of(&new).get("deletionGracePeriodSeconds").and_then(Value::as_i64) == Some(0) =>
        {
            Marked::Now
        }
        (_, true) => Marked::Changed(new),
        (false, false) => {
            begin_deletion(call, &mut new);
            Marked::Changed(new)
        }
    }
}

enum Grace {
    Pending,
    Set,
    /// Already at zero: no grace left to give.
    Over,
}

/// Graceful deletion: the first sets the time of the end, later ones may only bring it nearer.
fn shorten(call: &Call<'_>, new: &mut Value, seconds: i64, asked: bool) -> Grace {
    let now = call.cluster.clock.now();
    if !meta::is_deleting(new) {
        let end = clock::plus_seconds(now, seconds);
        meta::set(new, "deletionTimestamp", json!(clock::rfc3339(end)));
        meta::set(new, "deletionGracePeriodSeconds", json!(seconds));
        bump_generation(new);
        return Grace::Set;
    }
    let current = meta::of(new).get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or_default();
    if current == 0 {
        return Grace::Over;
    }
    if !asked || seconds >= current {
        return Grace::Pending;
    }
    let end: jiff::Timestamp = meta::text(new, "deletionTimestamp").parse().unwrap_or(now);
    let nearer = clock::plus_seconds(end, seconds - current);
    let (end, seconds) = if nearer < now { (now, seconds.min(1)) } else { (nearer, seconds) };
    meta::set(new, "deletionTimestamp", json!(clock::rfc3339(end)));
    meta::set(new, "deletionGracePeriodSeconds", json!(seconds));
    Grace::Set
}

fn begin_deletion(call: &Call<'_>, new: &mut Value) {
    let now = call.cluster.clock.now();
    if !meta::is_deleting(new) {
        bump_generation(new);
    }
    let end: Option<jiff::Timestamp> = meta::text(new, "deletionTimestamp").parse().ok();
    if end.is_none_or(|end| end > now) {
        meta::set(new, "deletionTimestamp", json!(clock::rfc3339(now)));
    }
    meta::set(new, "deletionGracePeriodSeconds", json!(0));
}

fn bump_generation(new: &mut Value) {
    let generation = meta::generation(new);
    if generation > 0 {
        meta::set(new, "generation", json!(generation + 1));
    }
}

/// The object's finalizers, with those that tell the garbage collector what becomes of the dependents.
fn finalizers_for(call: &Call<'_>, old: &Value, options: &Options) -> Vec<String> {
    let before = meta::finalizers(old);
    let mut after: Vec<String> = before
        .iter()
        .filter(|finalizer| **finalizer != meta::ORPHAN && **finalizer != meta::FOREGROUND)
        .map(|finalizer| (*finalizer).to_owned())
        .collect();
    let Some(default) = rules::dependents(&call.kind) else { return after };
    let chosen = options.dependents.unwrap_or_else(|| {
        if before.contains(&meta::ORPHAN) {
            Dependents::Orphan
        } else if before.contains(&meta::FOREGROUND) {
            Dependents::Foreground
        } else {
            default
        }
    });
    match chosen {
        Dependents::Background => {}
        Dependents::Orphan => after.push(meta::ORPHAN.to_owned()),
        Dependents::Foreground => after.push(meta::FOREGROUND.to_owned()),
    }
    after
}
