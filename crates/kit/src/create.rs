//! Create: for what is made once and never changed afterwards, such as a Job, or a Secret with a generated password.

use kube::{Resource, api::PostParams};
use serde::Serialize;

use crate::{Context, Error, Result, call::Target};

impl Context {
    /// Creates `object`, unless there is one of its name already: that one stays as it is, whoever made it. Returns whether it
    /// was created.
    ///
    /// [`apply`](Self::apply) would be wrong for such objects: on a cache that has not seen them yet it replaces a password, or
    /// tries to change what cannot be changed.
    pub async fn create<K>(&self, object: &K) -> Result<bool>
    where
        K: Resource<DynamicType = ()> + Serialize,
        K::Scope: 'static,
    {
        let target = Target::of(object)?;
        let body = serde_json::to_vec(object).map_err(Error::other)?;
        let params =
            PostParams { field_manager: Some(self.field_manager.to_string()), ..PostParams::default() };
        match self.write("create", &target, target.request().create(&params, body)).await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(409) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use apiserver::Server;
    use k8s_openapi::api::core::v1::Secret;
    use kube::Api;
    use serde_json::json;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_one_stays() {
        let server = Server::new();
        let (cx, _recorder) = Context::for_tests(server.client());
        let secret = |password: &str| -> Secret {
            serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "default"}, "stringData": {"password": password}})).unwrap()
        };
        assert!(cx.create(&secret("first")).await.unwrap());
        assert!(!cx.create(&secret("second")).await.unwrap());
        let kept = Api::<Secret>::namespaced(server.client(), "default").get("a").await.unwrap();
        assert_eq!(json!(kept)["data"]["password"], "Zmlyc3Q=");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_refuses_is_an_error() {
        let (cx, _recorder) = Context::for_tests(Server::new().client());
        let nameless = Secret::default();
        assert!(matches!(cx.create(&nameless).await, Err(Error::Invalid(_))));
    }
}
