//! Switched and tuned while it runs.

use serde_json::json;

use crate::{
    app::{Apps as _, arguments},
    world::scenario,
};

#[tokio::test]
async fn features_are_switched_on_and_off() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        app.answers("search?q=coarse", 404).await;
        app.answers("export", 404).await;
        app.patch(json!({"features": {"exampleFeature1": true, "exampleFeature2": true}})).await;
        assert_eq!(app.answers("search?q=coarse", 200).await, r#"["oats"]"#);
        assert!(app.answers("export", 200).await.contains("two litres"));
        app.patch(json!({"features": {"exampleFeature1": false}})).await;
        app.answers("search?q=coarse", 404).await;
        app.answers("export", 200).await;
        app.runs("0.0.2").await;
        app.has_its_notes().await;
    })
    .await;
}

/// A quarter of the memory limit is the cache's.
#[tokio::test]
async fn the_cache_follows_the_memory_limit() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "resources": {"limits": {"memory": "256Mi"}}})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        for (limit, cache) in [("256Mi", 64 << 20), ("128Mi", 32 << 20)] {
            app.patch(json!({"resources": {"limits": {"memory": limit}}})).await;
            app.runs("0.0.1").await;
            let pod = app.one_pod().await;
            let arguments = arguments(&pod);
            let given = arguments.iter().skip_while(|it| *it != "--cache").nth(1).unwrap();
            assert_eq!(kit::quantity::bytes(given), Some(cache), "{arguments:?}");
            let resources = pod.spec.unwrap().containers[0].resources.clone().unwrap();
            assert_eq!(resources.limits.unwrap()["memory"].0, limit);
        }
        app.has_its_notes().await;
    })
    .await;
}
