//! The same server over a socket.

use apiserver::{Server, User};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::{PostParams, WatchEvent, WatchParams},
};
use serde_json::json;

fn client(url: &str, token: Option<&str>) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.auth_info.token = token.map(|token| token.to_owned().into());
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn clients_in_other_processes_see_the_same_server() {
    let server = Server::new();
    let listening = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client(&listening.url, None), "default");
    let start = server.revision().to_string();
    let mut stream = api.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    assert!(matches!(stream.try_next().await.unwrap(), Some(WatchEvent::Added(_))));

    let inside: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    inside.get("a").await.unwrap();
    assert_eq!(server.requests().of("http").len(), 2);
}

#[tokio::test]
async fn tokens_are_users_and_unknown_ones_are_refused() {
    let server = Server::new();
    server.accept_token("secret", User::named("nobody"));
    let listening = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let refused = async |token: &str| {
        let api: Api<ConfigMap> = Api::namespaced(client(&listening.url, Some(token)), "default");
        match api.get("a").await {
            Err(kube::Error::Api(status)) => status.code,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused("secret").await, 403);
    assert_eq!(refused("unknown").await, 401);
}
