//! An object that cannot be read is left alone, and its user is told which field is wrong, on the object.

use k8s_openapi::api::events::v1::Event;
use kube::CustomResourceExt as _;
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn its_user_is_told_which_field_is_wrong_and_never_what_it_holds() {
    let server = bare_server();
    let mut loose = json!(Task::crd());
    *loose.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap() =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    server.install(loose).unwrap();
    let task = |size| json!({"apiVersion": "kit.test/v1", "kind": "Task", "metadata": {"name": "a"}, "spec": {"size": size}});
    server.install(task(json!("hunter2"))).unwrap();
    let operator = start(setup(&server, "operator"));
    user(&server).create("b").await;
    pass(seconds(600)).await;

    assert_eq!((operator.notes.count("a"), operator.notes.count("b")), (0, 1));
    assert_eq!(operator.metric("controller_runtime_terminal_reconcile_errors_total", &[]), 1.0);
    let events: Vec<Event> =
        kube::Api::namespaced(server.client(), "default").list(&Default::default()).await.unwrap().items;
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!(
        event.note.as_deref(),
        Some("Task default/a cannot be read, so it is left alone: spec.size: a string, expected u8")
    );
    let uid = kube::Api::<kube::core::DynamicObject>::namespaced_with(
        server.client(),
        "default",
        &kube::core::ApiResource::erase::<Task>(&()),
    );
    let uid = uid.get("a").await.unwrap().metadata.uid;
    let regarding = event.regarding.clone().unwrap();
    assert_eq!(
        (regarding.kind.as_deref(), regarding.name.as_deref(), regarding.uid),
        (Some("Task"), Some("a"), uid)
    );
    assert_eq!(regarding.api_version.as_deref(), Some("kit.test/v1"));
    assert!(!json!(events).to_string().contains("hunter2"));

    server.install(task(json!(3))).unwrap();
    pass(seconds(1)).await;
    assert_eq!(operator.notes.last("a").size, Some(3), "mended, it is looked after");
    operator.stop().await.unwrap();
}
