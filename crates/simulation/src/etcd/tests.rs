//! The model's rules, asked as an operator asks them: through pods, volumes and endpoints.

mod campaign;
mod corrupt;
mod faults;
mod members;
mod start;
mod versions;

use std::{sync::Arc, time::Duration};

use apiserver::Server;
use etcd_api::{Consistency, Endpoint, EtcdError, MemberId, Refusal, Tls};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::workloads::{self, Volumes};

const DEADLINE: Duration = Duration::from_secs(1);

/// A Kubernetes with pods `db-1`, `db-2` … that run etcd.
struct Town {
    server: Server,
    etcd: Etcd,
    volumes: Volumes,
    version: &'static str,
}

impl Town {
    fn new() -> Self {
        let (server, etcd, volumes) = (Server::new(), Etcd::default(), Volumes::default());
        workloads::start(&server, etcd.clone(), &volumes);
        etcd.start(&server, &volumes);
        Self { server, etcd, volumes, version: "3.6.16" }
    }

    /// With these founders, and ten seconds later.
    async fn founded(founders: &[u32]) -> Self {
        let town = Self::new();
        for founder in founders {
            town.start(*founder, founders, "new").await;
        }
        town.pass(10).await;
        town
    }

    /// Starts the pod of a member that is told of these ones; its claim may be there from before.
    async fn start(&self, serial: u32, initial: &[u32], state: &str) {
        let claim = json!({"metadata": {"name": name(serial)}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.server.client(), "default");
        let _ = claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await;
        let initial: Vec<String> =
            initial.iter().map(|serial| format!("{}={}", name(*serial), peer_url(*serial))).collect();
        let pod = json!({"metadata": {"name": name(serial)}, "spec": {
            "containers": [{"name": "etcd", "image": format!("etcd:v{}", self.version), "command": ["etcd"], "args": [
                format!("--name={}", name(serial)), format!("--initial-advertise-peer-urls={}", peer_url(serial)),
                format!("--advertise-client-urls={}", url(serial)), format!("--initial-cluster={}", initial.join(",")),
                format!("--initial-cluster-state={state}"), "--initial-cluster-token=uid-1", "--cert-file=/tls/tls.crt",
            ]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name(serial)}}]}});
        self.pods().create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.server.client(), "default")
    }

    /// Deletes a pod, and waits until it is gone.
    async fn stop(&self, serial: u32) {
        self.pods().delete(&name(serial), &DeleteParams::default()).await.unwrap();
        self.pass(2).await;
    }

    /// How a pod does: `ready`, `not ready`, or the exit code and message of its process.
    async fn state(&self, serial: u32) -> String {
        let pod = self.pods().get(&name(serial)).await.unwrap();
        let status = &pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0];
        let ended = status.last_state.as_ref().and_then(|last| last.terminated.as_ref());
        match ended {
            _ if status.ready => "ready".to_owned(),
            Some(ended) if status.state.as_ref().is_some_and(|state| state.waiting.is_some()) => {
                format!("exit {}: {}", ended.exit_code, ended.message.clone().unwrap_or_default())
            }
            _ => "not ready".to_owned(),
        }
    }

    async fn pass(&self, seconds: u64) {
        let _ = timeout(Duration::from_secs(seconds), std::future::pending::<()>()).await;
    }

    async fn dial(&self, serial: u32) -> Arc<dyn Endpoint> {
        self.try_dial(serial).await.unwrap()
    }

    async fn try_dial(&self, serial: u32) -> Result<Arc<dyn Endpoint>, EtcdError> {
        self.etcd.dial().dial(&url(serial), Some(&Tls::new("ca", "cert", "key")), DEADLINE).await
    }

    async fn id(&self, serial: u32) -> MemberId {
        self.dial(serial).await.status().await.unwrap().member
    }

    /// `db-1 Voter, db-2 Learner`.
    async fn list(&self, asked: u32) -> String {
        let members = self.dial(asked).await.members(Consistency::Linearizable).await.unwrap().members;
        let line = |member: &etcd_api::Member| format!("{} {:?}", member.name, member.role);
        let lines: BTreeSet<String> = members.iter().map(line).collect();
        lines.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn leader(&self, asked: u32) -> Option<u32> {
        let leader = self.etcd.leader(&url(asked))?;
        (1..9).find(|serial| url(*serial) == leader)
    }
}

fn name(serial: u32) -> String {
    format!("db-{serial}")
}

fn peer_url(serial: u32) -> String {
    format!("https://db-{serial}-0.db-peer.default.svc:2380")
}

fn url(serial: u32) -> String {
    format!("https://db-{serial}-0.db-peer.default.svc:2379")
}

fn refused<T: fmt::Debug>(answer: Result<T, EtcdError>) -> Refusal {
    answer.unwrap_err().refusal().unwrap()
}
