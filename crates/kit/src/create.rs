//! Create: for what is made once and never changed afterwards, such as a Job, or a Secret with a generated password.

use k8s_openapi::api::core::v1::Secret;
use kube::{Resource, api::PostParams};
use serde::Serialize;

use crate::{Context, Error, Result, call::Target, secure};

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

    /// Creates `secret` with a fresh password under the key `password`, unless there is one of its name already. The password
    /// exists in this function, and then in the Secret only: plans are printed, so it is no part of them.
    pub async fn create_with_password(&self, secret: &Secret) -> Result<bool> {
        let password = secure::password().ok_or_else(|| Error::other("no random numbers for a password"))?;
        let mut secret = secret.clone();
        secret.string_data = Some([("password".to_owned(), password)].into());
        self.create(&secret).await
    }
}

#[cfg(test)]
mod tests {
    use apiserver::Server;
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
        assert!(
            !cx.create_with_password(&secret("ignored")).await.unwrap(),
            "nor is it replaced by a new one"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_refuses_is_an_error() {
        let (cx, _recorder) = Context::for_tests(Server::new().client());
        let nameless = Secret::default();
        assert!(matches!(cx.create(&nameless).await, Err(Error::Invalid(_))));
    }
}
