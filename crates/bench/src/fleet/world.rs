//! A server with workloads and simulated etcd, on threads of its own; and an operator on others.

use std::{ops::Range, time::Duration};

use anyhow::{Context as _, Result};
use apiserver::{ObjectId, Requests, Scope, Server, User};
use etcd_operator::Options;
use etcd_types::EtcdCluster;
use kit::{Api, Clock, Manager, Setup};
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use simulation::{
    OPERATOR,
    etcd::{Etcd, Trouble},
    workloads::{self, Volumes},
};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::across::Across;

const NAMESPACE: &str = "default";

pub(super) struct World {
    pub(super) server: Server,
    pub(super) etcd: Etcd,
    runtime: Runtime,
}

fn threads(name: &str) -> Result<Runtime> {
    let runtime = Builder::new_multi_thread().worker_threads(2).thread_name(name).enable_all().build();
    runtime.context("no runtime")
}

fn name(nth: usize) -> String {
    format!("db{nth}")
}

impl World {
    pub(super) fn new() -> Result<Self> {
        let runtime = threads("world")?;
        let inside = runtime.enter();
        let (server, etcd, volumes) = (Server::new(), Etcd::default(), Volumes::default());
        let definitions = etcd_types::definitions().into_iter().map(|definition| json!(definition));
        for object in definitions.chain([node()]) {
            let installed = server.install(object);
            installed.map_err(|error| anyhow::anyhow!("cannot prepare the server: {error:?}"))?;
        }
        workloads::start(&server, etcd.clone(), &volumes);
        etcd.start(&server, &volumes);
        drop(inside);
        Ok(Self { server, etcd, runtime })
    }

    pub(super) fn block_on<T>(&self, doing: impl Future<Output = T>) -> T {
        self.runtime.block_on(doing)
    }

    fn clusters(&self) -> kube::Api<EtcdCluster> {
        kube::Api::namespaced(self.server.client_named("user"), NAMESPACE)
    }

    pub(super) async fn create(&self, nth: usize) -> Result<()> {
        let cluster: EtcdCluster = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": name(nth)}, "spec": {"size": 3, "version": "3.6.16"},
        }))?;
        self.clusters().create(&PostParams::default(), &cluster).await?;
        Ok(())
    }

    pub(super) async fn patch(&self, nth: usize, change: Value) -> Result<()> {
        self.clusters().patch(&name(nth), &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    pub(super) fn healthy(&self) -> usize {
        let (_, clusters) = self.server.store().list(&Scope::all("etcd.capstan.dev", "etcdclusters"));
        let phase = |cluster: &Value| cluster.pointer("/status/phase") == Some(&json!("Healthy"));
        clusters.iter().filter(|cluster| phase(cluster.value())).count()
    }

    pub(super) fn has_policy(&self, nth: usize) -> bool {
        let policy = ObjectId::new("networking.k8s.io", "networkpolicies", NAMESPACE, &name(nth));
        self.server.store().get(&policy).is_some()
    }

    /// From now on no member of these clusters answers, and no connection to them ends.
    pub(super) fn hang(&self, which: Range<usize>) {
        for nth in which {
            let of = format!("//{}-", name(nth));
            for url in self.etcd.running().iter().filter(|url| url.contains(&of)) {
                self.etcd.trouble(url, Trouble::Paused);
            }
        }
    }

    pub(super) fn requests_since(&self, index: usize) -> Requests {
        self.server.requests().since(index).of(OPERATOR)
    }
}

fn node() -> Value {
    let ready = json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": null}]);
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions": ready}})
}

/// A running operator; dropping it ends it.
pub(super) struct Operator(Option<Runtime>);

impl Operator {
    /// The name of its threads.
    pub(super) const THREADS: &str = "operator";

    pub(super) fn start(world: &World) -> Result<Self> {
        let connection = world.server.connection(OPERATOR, User::admin());
        let across = Across { connection, world: world.runtime.handle().clone() };
        let runtime = threads(Self::THREADS)?;
        let inside = runtime.enter();
        let mut setup = Setup::new("etcd", Api::service(across));
        setup.clock = Clock::starting_at(world.server.now());
        let mut manager = Manager::new(setup)?;
        etcd_operator::add_to(&mut manager, Options { dial: world.etcd.dial(), ..Options::default() });
        tokio::spawn(manager.run(CancellationToken::new()));
        drop(inside);
        Ok(Self(Some(runtime)))
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}
