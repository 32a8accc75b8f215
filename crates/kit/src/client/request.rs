//! What kind of request is it? Answered from method and URL alone, so that it holds for requests built by anyone.

use http::{Method, Request};

/// Objects that are posted to ask a question; nothing is stored.
const REVIEWS: &[&str] = &[
    "selfsubjectaccessreviews",
    "subjectaccessreviews",
    "localsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "selfsubjectreviews",
    "tokenreviews",
];

/// Whether the answer has no foreseeable end: a watch, or a log that is followed.
pub(super) fn is_stream<B>(request: &Request<B>) -> bool {
    request.method() == Method::GET
        && query(request)
            .any(|(name, value)| matches!(name, "watch" | "follow") && !matches!(value, "false" | "0" | ""))
}

/// Whether the request only asks.
pub(super) fn is_read<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whether the request would change something in the cluster.
pub(super) fn changes<B>(request: &Request<B>) -> bool {
    let dry_run = query(request).any(|(name, value)| name == "dryRun" && value == "All");
    let is_review = request.method() == Method::POST
        && REVIEWS.contains(&request.uri().path().rsplit('/').next().unwrap_or_default());
    !is_read(request) && !dry_run && !is_review
}

/// Whether the request asks to evict a pod. Its 429 says that a disruption budget forbids it, not that the server is busy.
pub(super) fn is_eviction<B>(request: &Request<B>) -> bool {
    request.uri().path().ends_with("/eviction")
}

fn query<B>(request: &Request<B>) -> impl Iterator<Item = (&str, &str)> {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_and_url_tell_what_a_request_is() {
        let pods = "/api/v1/namespaces/a/pods";
        let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        // method, URL, what it is
        let table = [
            ("GET", format!("{pods}/p"), "read"),
            ("GET", format!("{pods}?limit=500"), "read"),
            ("GET", format!("{pods}?watch=true&resourceVersion=1"), "read stream"),
            ("GET", format!("{pods}?allowWatchBookmarks=true&watch=1"), "read stream"),
            ("GET", format!("{pods}?watch=false"), "read"),
            ("GET", format!("{pods}?watch=0"), "read"),
            ("GET", format!("{pods}/p/log?follow=true"), "read stream"),
            ("POST", pods.to_owned(), "change"),
            ("POST", format!("{pods}?dryRun=All"), ""),
            ("POST", format!("{pods}/p/eviction"), "change eviction"),
            ("POST", reviews.to_owned(), ""),
            ("PUT", format!("{reviews}/x"), "change"),
            ("PATCH", format!("{pods}/p?fieldManager=a&force=true"), "change"),
            ("PATCH", format!("{pods}/p?fieldManager=a&dryRun=All"), ""),
            ("DELETE", format!("{pods}/p"), "change"),
            ("DELETE", pods.to_owned(), "change"),
        ];
        for (method, url, expected) in table {
            let request = Request::builder().method(method).uri(&url).body(()).unwrap();
            let words = [
                (is_read(&request), "read"),
                (is_stream(&request), "stream"),
                (changes(&request), "change"),
                (is_eviction(&request), "eviction"),
            ];
            let found: Vec<_> = words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
            assert_eq!(found.join(" "), expected, "{method} {url}");
        }
    }
}
