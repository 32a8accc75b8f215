//! The scope changes while the operator runs: what joins is looked after, what leaves is left alone.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Namespace;
use kit::Scope;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::world::*;

fn named(names: &[&str]) -> BTreeSet<String> {
    names.iter().copied().map(String::from).collect()
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_joins_is_looked_after_and_one_that_leaves_is_left_alone() {
    for (with, without) in [
        (Scope::Only(named(&["default", "other"])), Scope::Only(named(&["default"]))),
        (Scope::Except(named(&["kube-system"])), Scope::Except(named(&["kube-system", "other"]))),
        (Scope::All, Scope::Only(named(&["default"]))),
    ] {
        let server = server();
        let mut setup = setup(&server, "operator");
        setup.scope = without.clone();
        let operator = start_with(setup, &[("theirs", &[Do::Wait(seconds(60)), Do::Wait(seconds(60))])]);
        let user = user(&server);
        user.create("ours").await;
        user.create_in("other", "theirs").await;
        pass(seconds(10)).await;
        assert_eq!((operator.notes.count("ours"), operator.notes.count("theirs")), (1, 0), "{without:?}");

        operator.scope.send_replace(with.clone());
        pass(seconds(10)).await;
        assert_eq!((operator.notes.count("ours"), operator.notes.count("theirs")), (1, 1), "{with:?}");
        user.patch("other", "theirs", json!({"spec": {"size": 2}})).await;
        pass(seconds(1)).await;
        assert_eq!(operator.notes.last("theirs").size, Some(2));

        operator.scope.send_replace(without.clone());
        pass(seconds(10)).await;
        user.patch("other", "theirs", json!({"spec": {"size": 3}})).await;
        pass(seconds(600)).await;
        let seen: Vec<_> = operator.notes.passes_of("theirs").iter().map(|pass| pass.size).collect();
        assert_eq!(seen, [Some(1), Some(2)], "neither its end nor its waiting is made of it: {without:?}");
        assert_eq!(operator.notes.count("ours"), 1);

        operator.scope.send_replace(with);
        pass(seconds(10)).await;
        assert_eq!(operator.notes.last("theirs").size, Some(3));
        operator.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_scope_by_labels_follows_the_labels_of_namespaces() {
    let server = server();
    let mut setup = setup(&server, "operator");
    setup.scope = Scope::Labelled("team=db".into());
    let (manager, notes) = manager(setup, false);
    assert!(
        manager.access().iter().any(|access| access.resource == "namespaces"),
        "it needs to watch namespaces"
    );
    let operator = run(manager, notes, &[]);
    let user = user(&server);
    user.create_in("other", "theirs").await;
    pass(seconds(10)).await;
    assert_eq!(operator.notes.count("theirs"), 0);

    let label = |value: serde_json::Value| {
        let namespaces: kube::Api<Namespace> = kube::Api::all(server.client());
        let patch = Patch::Merge(json!({"metadata": {"labels": {"team": value}}}));
        async move { namespaces.patch("other", &PatchParams::default(), &patch).await.unwrap() }
    };
    label(json!("db")).await;
    pass(seconds(10)).await;
    assert_eq!(operator.notes.count("theirs"), 1);

    label(json!(null)).await;
    pass(seconds(10)).await;
    user.patch("other", "theirs", json!({"spec": {"size": 2}})).await;
    pass(seconds(10)).await;
    assert_eq!(operator.notes.count("theirs"), 1);
    operator.stop().await.unwrap();
}
