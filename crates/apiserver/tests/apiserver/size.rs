//! Many objects and large ones.

use apiserver::{Expect, ObjectId, Server};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{ListParams, PostParams},
};
use serde_json::json;

fn map(name: &str, value: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": value}})
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_objects_are_held_and_paged_through() {
    let server = Server::builder().without_controllers().build();
    for number in 0..100_000 {
        let name = format!("m{number:06}");
        let id = ObjectId::new("", "configmaps", "default", &name);
        server.store().commit(&id, Expect::Absent, Some(map(&name, "v"))).unwrap();
    }
    let api: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    let mut params = ListParams::default().limit(10_000);
    let mut seen = 0;
    loop {
        let page = api.list(&params).await.unwrap();
        seen += page.items.len();
        let remaining = page.metadata.remaining_item_count.unwrap_or_default();
        assert_eq!(seen + usize::try_from(remaining).unwrap(), 100_000);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!((seen, server.request_count()), (100_000, 10));
}

#[tokio::test(start_paused = true)]
async fn what_etcd_cannot_hold_is_refused() {
    let server = Server::new();
    let api: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    let create = async |size: usize| {
        let mut object: ConfigMap = serde_json::from_value(map("a", "v")).unwrap();
        // Data has its own limit of 1 MiB; annotations have one of 256 KiB.
        object.data = Some([("k".to_owned(), "x".repeat(size))].into());
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => 201,
            Err(kube::Error::Api(status)) => status.code,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(create(4 << 20).await, 413);
    assert_eq!(create(2 << 20).await, 422);
    assert_eq!(create(1 << 19).await, 201);
}
