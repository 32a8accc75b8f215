//! The webhooks of `monitoring.coreos.com`: an HTTP request in, a response out. Paths are those of prometheus-operator,
//! so that webhook configurations stay as they are.
//!
//! ```text
//!   /admission-prometheusrules/validate      rules that Prometheus would refuse are refused  ─┐
//!   /admission-prometheusrules/mutate        numbers as labels become texts                  ─┼─ review
//!   /admission-alertmanagerconfigs/validate  both versions                                   ─┘
//!   /convert                                 AlertmanagerConfig v1alpha1 <-> v1beta1            convert
//! ```
//!
//! No socket, no clock: whoever serves calls [`respond`].

mod alertmanager_configs;
pub mod conformance;
mod convert;
mod mutate;
mod review;
mod rules;

pub use prometheus_rules::Judge;

/// A request, as far as an answer depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub path: &'a str,
    pub content_type: &'a str,
    pub body: &'a [u8],
}

/// What to answer: JSON when the status is 200, a text for people otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: String,
}

impl Response {
    fn json(body: &impl serde::Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self { status: 200, body },
            Err(error) => Self::text(500, format!("the answer cannot be written: {error}")),
        }
    }

    fn text(status: u16, body: impl Into<String>) -> Self {
        Self { status, body: body.into() }
    }
}

/// Answers a request. `judge` says by which names and which PromQL rules are judged: a webhook cannot know which
/// Prometheus will load them.
pub fn respond(request: &Request<'_>, judge: &Judge) -> Response {
    match request.path {
        "/admission-prometheusrules/validate" => {
            review::respond(request, |review| rules::validate(review, judge))
        }
        "/admission-prometheusrules/mutate" => review::respond(request, mutate::mutate),
        "/admission-alertmanagerconfigs/validate" => review::respond(request, alertmanager_configs::validate),
        "/convert" => convert::respond(request.body),
        path => Response::text(404, format!("there is no webhook at {path}")),
    }
}
