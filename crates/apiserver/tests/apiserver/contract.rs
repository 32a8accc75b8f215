//! The contract suite: every case, each on a server of its own.

use std::sync::Arc;

use apiserver::Server;
use contract::{Options, Verdict, run};
use futures::FutureExt;

#[tokio::test(start_paused = true)]
async fn every_case_of_the_contract_holds() {
    let mut failed = Vec::new();
    let mut skipped = Vec::new();
    let mut passed = 0;
    for case in contract::all() {
        let server = Server::new();
        let compacting = server.clone();
        let compact = move || {
            compacting.compact();
            std::future::ready(()).boxed()
        };
        let options = Options { compact: Some(Arc::new(compact)), ..Options::default() };
        for row in run(vec![case], &server.client(), &options).await.rows {
            match row.verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed(why) => failed.push(format!("{}/{}: {why}", row.area, row.name)),
                Verdict::Skipped(need) => skipped.push(format!("{}/{}: {need:?}", row.area, row.name)),
            }
        }
    }
    assert!(failed.is_empty(), "{passed} passed, {} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(skipped.is_empty(), "nothing is missing here: {skipped:#?}");
    assert!(passed >= 200, "only {passed} cases");
}
