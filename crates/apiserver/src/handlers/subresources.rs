//! `/status` and `/scale`; every other subresource is refused by name.

mod scale;

use super::{Answer, Call, admit::Part, get, patch, update};
use crate::{
    ApiError,
    request::{Verb, method_not_allowed},
};

/// Subresources that a real server has and this one refuses: they need a kubelet, a scheduler or a token issuer.
const NOT_SERVED: &[(&str, &str, &str)] = &[
    ("pods", "log", "there is no kubelet"),
    ("pods", "exec", "there is no kubelet"),
    ("pods", "attach", "there is no kubelet"),
    ("pods", "portforward", "there is no kubelet"),
    ("pods", "proxy", "there is no kubelet"),
    ("pods", "binding", "there is no scheduler"),
    ("pods", "eviction", "there is no disruption controller"),
    ("pods", "ephemeralcontainers", "there is no kubelet"),
    ("pods", "resize", "there is no kubelet"),
    ("nodes", "proxy", "there is no kubelet"),
    ("services", "proxy", "there is no network"),
    ("serviceaccounts", "token", "there is no token issuer"),
];

pub(super) fn answer(call: &Call<'_>, subresource: &str) -> Result<Answer, ApiError> {
    if call.kind.namespaced && call.target.namespace.is_none() {
        return Err(super::page_not_found());
    }
    match subresource {
        "status" if call.kind.status => match call.verb {
            Verb::Get => get::answer(call),
            Verb::Update => update::put(call, Part::Status),
            Verb::Patch => patch::patch_part(call, Part::Status),
            _ => Err(method_not_allowed()),
        },
        "scale" if call.kind.scale.is_some() => scale::answer(call),
        "finalize" if call.kind.group.is_empty() && call.kind.plural == "namespaces" => match call.verb {
            Verb::Update => update::put(call, Part::Finalize),
            _ => Err(method_not_allowed()),
        },
        other => Err(refuse(call, other)),
    }
}

fn refuse(call: &Call<'_>, subresource: &str) -> ApiError {
    let mut error = super::page_not_found();
    let found = NOT_SERVED.iter().find(|(plural, sub, _)| *plural == call.kind.plural && *sub == subresource);
    if let Some((plural, sub, why)) = found {
        error.code = 405;
        error.reason = "MethodNotAllowed";
        error.message = format!("{plural}/{sub} is not served by this test server: {why}");
    }
    error
}
