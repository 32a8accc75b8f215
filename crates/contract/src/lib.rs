//! Kubernetes' API behaviour as named cases, each written once against a client, so that they run on any server.
//!
//! ```text
//! all() ──filter──▶ run(cases, client, options) ──▶ Report ──▶ text; two reports ──▶ a page
//!                        │  per case: a fresh namespace, a group of its own for CRDs, a deadline
//!                        ▼
//!                   case(World) ──▶ Ok, or Failure with what was expected and what came
//! ```
//!
//! | file | what |
//! |---|---|
//! | `cases/<area>.rs` | the cases, with a table of their names at the bottom |
//! | `world.rs` | what a case has: its namespace, the collections in it, CRDs, waiting |
//! | `resource.rs` | one collection and the verbs on it, as plain JSON: typed clients hide what is tested here |
//! | `watch.rs` | a watch as a sequence of events with a deadline |
//! | `crd.rs` | a CRD of the case's own, made in one line |
//! | `samples.rs` | small objects of the built-in kinds |
//! | `json.rs` | reading answers, and the assertions |
//! | `run.rs`, `report.rs` | running the cases in parallel, and what came of it |
//!
//! A case asserts only what kube-apiserver 1.33 and later documents or has always done, and nothing that a
//! controller of a real cluster may change meanwhile. The judge is the real kube-apiserver
//! (`cargo run -p contract --example contract`); our own server in `crates/apiserver` must give the same answers.

mod cases;
mod crd;
mod json;
mod report;
mod resource;
mod run;
mod samples;
mod watch;
mod world;

use futures::future::LocalBoxFuture;

pub use json::Failure;
pub use report::{Report, Row, Verdict, comparison};
pub use run::{Compact, Options, run};
pub use world::World;

/// What came of a case: nothing to say, or what was expected and what came instead.
pub type Outcome = Result<(), Failure>;

/// One behaviour of the API, under a name that says it.
#[derive(Clone, Copy)]
pub struct Case {
    pub area: &'static str,
    pub name: &'static str,
    /// What the server must have besides the API itself; without it the case is skipped, and counted as such.
    pub needs: &'static [Need],
    pub run: fn(World) -> LocalBoxFuture<'static, Outcome>,
}

/// What not every server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// Something collects orphans and empties deleted namespaces: kube-controller-manager, on a real cluster.
    GarbageCollector,
    /// History can be compacted on demand: [`Options::compact`].
    Compaction,
    /// The client may act as any user (`Impersonate-User`).
    Impersonation,
}

/// Every case, area by area.
pub fn all() -> Vec<Case> {
    cases::TABLES.iter().flat_map(|table| table.iter().copied()).collect()
}

/// The cases whose `area/name` contains `text`.
pub fn matching(text: &str) -> Vec<Case> {
    all().into_iter().filter(|case| format!("{}/{}", case.area, case.name).contains(text)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let mut seen = BTreeSet::new();
        for case in all() {
            assert!(seen.insert((case.area, case.name)), "{}/{} is there twice", case.area, case.name);
        }
    }

    #[test]
    fn a_filter_finds_cases_by_area_and_name() {
        assert!(matching("watch/").iter().all(|case| case.area == "watch"));
        assert!(!matching("watch/").is_empty());
        assert!(matching("no such case").is_empty());
    }
}
