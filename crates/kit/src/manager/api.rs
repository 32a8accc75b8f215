//! The way to an API server: a kubeconfig or in-cluster configuration, or (in tests) a service in this process.

use std::path::Path;

use http::{Request, Response};
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use tower::{BoxError, Service};

use super::ManagerError;
use crate::{
    client::{ClientOptions, connect, layered},
    telemetry::chain,
};

/// Where the API server is. A manager opens several connections to it, so that a lease renewal never queues behind other writes.
pub struct Api(Box<dyn Fn(ClientOptions) -> crate::Result<kube::Client> + Send + Sync>);

impl Api {
    /// The server of this context of this kubeconfig, or of the cluster that we run in, or of the user's kubeconfig; and the
    /// namespace that is ours there.
    pub async fn load(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
    ) -> Result<(Self, String), ManagerError> {
        let config = configuration(kubeconfig, context).await?;
        let namespace = config.default_namespace.clone();
        Ok((Self::at(config), namespace))
    }

    /// The server of this configuration.
    pub fn at(config: Config) -> Self {
        Self(Box::new(move |options| connect(config.clone(), options)))
    }

    /// A service that answers as an API server does.
    pub fn service<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Box::new(move |options| Ok(layered(service.clone(), "default", options))))
    }

    pub(super) fn client(&self, options: ClientOptions) -> crate::Result<kube::Client> {
        (self.0)(options)
    }
}

async fn configuration(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, ManagerError> {
    let unconfigured = |what: &str, error: &dyn std::error::Error| ManagerError::Unconfigured {
        why: format!("{what}: {}", chain(error)),
    };
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    if let Some(file) = kubeconfig {
        let what = format!("kubeconfig {}", file.display());
        let read = Kubeconfig::read_from(file).map_err(|error| unconfigured(&what, &error))?;
        return Config::from_custom_kubeconfig(read, &options)
            .await
            .map_err(|error| unconfigured(&what, &error));
    }
    // Whoever names a context means one of their own kubeconfig.
    if context.is_none()
        && let Ok(config) = Config::incluster()
    {
        return Ok(config);
    }
    Config::from_kubeconfig(&options)
        .await
        .map_err(|error| unconfigured("not in a cluster, and the kubeconfig", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CONTEXTS: &str = "
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: 'https://one.example:6443'}}
- {name: two, cluster: {server: 'https://two.example:6443'}}
contexts:
- {name: one, context: {cluster: one, user: me}}
- {name: two, context: {cluster: two, user: me, namespace: operators}}
users:
- {name: me, user: {}}
";

    #[tokio::test]
    async fn a_kubeconfig_and_a_context_of_it_say_where_the_server_is_and_which_namespace_is_ours() {
        let file = std::env::temp_dir().join(format!("kit-kubeconfig-{}", std::process::id()));
        std::fs::write(&file, TWO_CONTEXTS).unwrap();
        for (context, server, namespace) in [
            (None, "https://one.example:6443/", "default"),
            (Some("two"), "https://two.example:6443/", "operators"),
        ] {
            let config = configuration(Some(&file), context).await.unwrap();
            assert_eq!(
                (config.cluster_url.to_string(), &*config.default_namespace),
                (server.to_owned(), namespace)
            );
        }
        let Err(error) = configuration(Some(&file), Some("three")).await else {
            panic!("there is no such context")
        };
        std::fs::remove_file(&file).unwrap();
        let told = error.to_string();
        assert!(
            told.contains("kubeconfig /") && told.contains("three") && told.contains("--context"),
            "{told}"
        );
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let Err(error) = configuration(Some(Path::new("/no/such/file")), None).await else {
            panic!("it is not there")
        };
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}
