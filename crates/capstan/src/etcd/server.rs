//! Which API server and which namespace, by kubectl's flags; and what its refusals mean, with what to do about them.

use anyhow::{Error, Result, anyhow};
use etcd_types::EtcdCluster;
use kube::{
    Api, Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};

use super::Common;

/// The API server, as this user sees it.
pub(super) struct Server {
    pub(super) client: Client,
    /// Chosen, or the context's.
    pub(super) namespace: String,
}

impl Server {
    pub(super) async fn of(common: &Common) -> Result<Self> {
        let options = KubeConfigOptions { context: common.context.clone(), ..KubeConfigOptions::default() };
        let config = match &common.kubeconfig {
            Some(file) => match Kubeconfig::read_from(file) {
                Ok(read) => Config::from_custom_kubeconfig(read, &options).await,
                Err(error) => Err(error),
            },
            None => Config::from_kubeconfig(&options).await,
        };
        let config = match config {
            Ok(config) => config,
            // In a pod there is none, and none is needed.
            Err(error) if common.kubeconfig.is_none() && common.context.is_none() => {
                Config::incluster().map_err(|_| unconfigured(error))?
            }
            Err(error) => return Err(unconfigured(error)),
        };
        Self::at(config, common)
    }

    fn at(mut config: Config, common: &Common) -> Result<Self> {
        // A person waits: what fails is said at once.
        config.default_retry = false;
        let namespace = common.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        Ok(Self { client: Client::try_from(config)?, namespace })
    }

    pub(super) fn clusters(&self) -> Api<EtcdCluster> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// One cluster, by its name.
    pub(super) async fn cluster(&self, name: &str) -> Result<EtcdCluster> {
        let found = self.clusters().get(name).await;
        found.map_err(|error| explain(error, "get", &format!("EtcdCluster {}/{name}", self.namespace)))
    }

    /// All clusters of the namespace, or of all.
    pub(super) async fn list(&self, everywhere: bool) -> Result<Vec<EtcdCluster>> {
        let (api, of) = match everywhere {
            true => (Api::all(self.client.clone()), "all namespaces".to_owned()),
            false => (self.clusters(), format!("namespace {}", self.namespace)),
        };
        let listed = api.list(&ListParams::default()).await;
        Ok(listed.map_err(|error| explain(error, "list", &format!("EtcdClusters of {of}")))?.items)
    }
}

fn unconfigured(error: kube::config::KubeconfigError) -> Error {
    Error::new(error).context("no API server: choose one with --kubeconfig or --context, or set KUBECONFIG")
}

/// What a refusal means to a person, and what to do.
pub(super) fn explain(error: kube::Error, verb: &str, what: &str) -> Error {
    let kube::Error::Api(status) = &error else {
        return Error::new(error).context(format!("cannot {verb} {what}: the API server does not answer"));
    };
    match status.code {
        // Only of an object is a name said; of a kind, that the server could not find the resource.
        404 if status.details.as_ref().is_none_or(|details| details.name.is_empty()) => anyhow!(
            "the server knows no EtcdCluster: install Capstan with `kubectl apply --server-side -f deploy/install.yaml`"
        ),
        404 => anyhow!("{what} is not there; `capstan etcd status -A` shows which are"),
        401 => anyhow!("the API server does not know you: log in again, or choose another --context"),
        403 => anyhow!("you may not {verb} {what}: {}", status.message),
        _ => anyhow!("cannot {verb} {what}: {}", status.message),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refusal(code: u16, name: &str, message: &str) -> String {
        let status: Status = serde_json::from_value(serde_json::json!({
            "status": "Failure", "code": code, "message": message, "details": { "name": name },
        }))
        .unwrap();
        explain(kube::Error::Api(Box::new(status)), "get", "EtcdCluster shop/db").to_string()
    }

    #[test]
    fn a_refusal_names_the_object_and_what_to_do() {
        assert_eq!(
            refusal(404, "db", ""),
            "EtcdCluster shop/db is not there; `capstan etcd status -A` shows which are"
        );
        assert!(refusal(404, "", "").contains("install Capstan with"));
        assert!(
            refusal(403, "db", "user cannot get")
                .starts_with("you may not get EtcdCluster shop/db: user cannot")
        );
        assert_eq!(refusal(500, "db", "boom"), "cannot get EtcdCluster shop/db: boom");
    }
}
