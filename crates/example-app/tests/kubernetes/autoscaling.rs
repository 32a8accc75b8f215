//! Its own rule: as many pods as the requests need, more at once, fewer after a minute.

use std::time::Duration;

use serde_json::json;

use crate::{
    app::{Apps as _, condition, url_of},
    http as web,
    patience::{Beside, LONG, PATIENCE},
    world::scenario,
};

/// Five requests in two seconds at one a second for each pod need three pods; slow enough for a busy machine to keep the pace.
const PERIOD: Duration = Duration::from_millis(400);

#[tokio::test]
async fn pods_grow_with_the_load_and_shrink_after_it() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2", "autoscaling": {"minReplicas": 1, "maxReplicas": 5, "requestsPerSecond": 1}})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let (password, pod) = (app.password().await.unwrap(), app.one_pod().await);
        let url = url_of(&pod, "notes/oats");
        let load: Beside<()> = Beside::every(PERIOD, move || {
            let (password, url) = (password.clone(), url.clone());
            // Whether they are answered is another scenario's question.
            async move { web::get(&url, Some(&password)).await.err().map(drop).and(None) }
        });
        app.until("three pods", PATIENCE, |app| app.status.as_ref().unwrap().ready_replicas == Some(3)).await;
        // What three pods say is the same load, so three stay.
        app.until("settled at three", PATIENCE, |app| {
            let status = app.status.clone().unwrap();
            status.autoscaling.is_some_and(|it| it.replicas == 3) && condition(app, "Available").is_some_and(|it| it.status == "True")
        })
        .await;
        assert_eq!(app.object().await.spec.replicas, 1, "the user's own field stays the user's");
        load.stop();
        app.until("one pod", LONG, |app| app.status.as_ref().unwrap().replicas == Some(1)).await;
        app.ready(1).await;
        app.has_its_notes().await;
    })
    .await;
}
