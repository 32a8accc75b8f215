//! Running cases: each in a world of its own, several at a time, none able to harm another.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use kube::Client;

use crate::{Case, Failure, Need, Report, Row, Verdict, World};

/// Makes the server forget its history, so that old revisions and continue tokens are gone.
pub type Compact = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    /// How many cases run at the same time.
    pub parallel: usize,
    /// How long a case waits for something that must come in the end (a collected object, a watch event).
    pub patience: Duration,
    /// When a case is given up.
    pub deadline: Duration,
    pub compact: Option<Compact>,
    /// Whether orphans are collected and deleted namespaces emptied.
    pub garbage_collector: bool,
    /// Whether the client may act as any user.
    pub impersonation: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            parallel: 8,
            patience: Duration::from_secs(30),
            deadline: Duration::from_secs(180),
            compact: None,
            garbage_collector: true,
            impersonation: true,
        }
    }
}

impl Options {
    fn has(&self, need: Need) -> bool {
        match need {
            Need::GarbageCollector => self.garbage_collector,
            Need::Compaction => self.compact.is_some(),
            Need::Impersonation => self.impersonation,
        }
    }
}

/// Runs the cases against the server that `client` talks to, as a cluster administrator.
pub async fn run(cases: Vec<Case>, client: &Client, options: &Options) -> Report {
    let mut rows: Vec<(usize, Row)> = stream::iter(cases.into_iter().enumerate())
        .map(|(place, case)| {
            let (client, options) = (client.clone(), options.clone());
            async move {
                let verdict = verdict(case, client, options).await;
                (place, Row { area: case.area, name: case.name, verdict })
            }
        })
        // One that waits long holds up none of the others.
        .buffer_unordered(options.parallel.max(1))
        .collect()
        .await;
    rows.sort_by_key(|(place, _)| *place);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Report { rows }
}

async fn verdict(case: Case, client: Client, options: Options) -> Verdict {
    if let Some(need) = case.needs.iter().find(|need| !options.has(**need)) {
        return Verdict::Skipped(*need);
    }
    // A case that panics fails, and the others go on.
    match AssertUnwindSafe(in_a_world(case, client, options)).catch_unwind().await {
        Ok(Ok(())) => Verdict::Passed,
        Ok(Err(why)) => Verdict::Failed(why),
        Err(_) => Verdict::Failed(Failure::new("the case itself is broken: it panicked")),
    }
}

async fn in_a_world(case: Case, client: Client, options: Options) -> Result<(), Failure> {
    let world = World::create(client, &options).await?;
    let outcome = tokio::time::timeout(options.deadline, (case.run)(world.clone())).await;
    world.clean_up().await;
    outcome.unwrap_or_else(|_| Err(Failure::new(format!("not done after {:?}", options.deadline))))
}

#[cfg(test)]
mod tests {
    use http::Response;
    use kube::client::Body;

    use super::*;
    use crate::Outcome;

    /// A server that says yes to everything.
    fn agreeable() -> Client {
        let yes = |_: http::Request<Body>| async {
            let body = Body::from(br#"{"metadata": {"name": "contract-x"}}"#.to_vec());
            Ok::<_, std::convert::Infallible>(Response::new(body))
        };
        Client::new(tower::service_fn(yes), "default")
    }

    async fn fine(world: World) -> Outcome {
        if world.namespace() == "contract-x" { Ok(()) } else { Err(Failure::new(world.namespace())) }
    }

    async fn broken(_: World) -> Outcome {
        panic!("a bug in a case")
    }

    async fn endless(_: World) -> Outcome {
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_case_cannot_take_the_others_with_it() {
        let case = |name, needs, run| Case { area: "test", name, needs, run };
        let cases = vec![
            case("broken", &[], |w| Box::pin(broken(w))),
            case("endless", &[], |w| Box::pin(endless(w))),
            case("old", &[Need::Compaction] as &[Need], |w| Box::pin(fine(w))),
            case("fine", &[], |w| Box::pin(fine(w))),
        ];
        let report = run(cases, &agreeable(), &Options::default()).await;
        let expected = "failed  test/broken: the case itself is broken: it panicked\n\
            failed  test/endless: not done after 180s\n\
            skipped test/old: needs Compaction\n\
            1 passed, 2 failed, 1 skipped";
        assert_eq!(report.to_string(), expected);
    }
}
