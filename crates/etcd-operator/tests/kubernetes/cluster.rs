//! One EtcdCluster of a scenario, and what its user sees: the object, its pods, its data.

use std::{collections::BTreeSet, time::Duration};

use etcd_api::Tls;
use etcd_types::{EtcdCluster, EtcdClusterStatus, Phase};
use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, Pod, Secret},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    load::{Load, Place},
    patience::{PATIENCE, until, when},
    truth::{self, Expected, Member},
    world::World,
};

pub(crate) struct Cluster<'w> {
    pub(crate) world: &'w World,
    pub(crate) name: String,
}

/// Clusters of a scenario's world.
pub(crate) trait Clusters {
    fn cluster(&self, name: &str) -> Cluster<'_>;
}

impl Clusters for World {
    fn cluster(&self, name: &str) -> Cluster<'_> {
        Cluster { world: self, name: name.to_owned() }
    }
}

/// A spec that fits many times into a lab.
pub(crate) fn spec(size: i32, version: &str) -> Value {
    json!({
        "size": size, "version": version, "storage": {"size": "256Mi"},
        "pod": {"resources": {"requests": {"cpu": "20m", "memory": "48Mi"}}},
    })
}

impl Cluster<'_> {
    pub(crate) fn api(&self) -> Api<EtcdCluster> {
        self.world.api()
    }

    pub(crate) async fn create(&self, spec: Value) {
        let object = json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": self.name}, "spec": spec,
        });
        let object: EtcdCluster = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates it, and waits until it is well.
    pub(crate) async fn run(&self, size: i32, version: &str) -> Vec<Member> {
        self.create(spec(size, version)).await;
        self.is_well(size, version, PATIENCE).await
    }

    /// Merges into spec; `Err` with the server's words when it refuses.
    pub(crate) async fn try_patch(&self, spec: Value) -> Result<EtcdCluster, String> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let done = self.api().patch(&self.name, &PatchParams::default(), &patch).await;
        done.map_err(|error| error.to_string())
    }

    pub(crate) async fn patch(&self, spec: Value) {
        self.try_patch(spec).await.unwrap();
    }

    pub(crate) async fn delete(&self) {
        self.api().delete(&self.name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until the object and all its pods are gone.
    pub(crate) async fn is_gone(&self) {
        until(&format!("{} is gone", self.name), PATIENCE, async || {
            let there = self.api().get_opt(&self.name).await.map_err(|error| error.to_string())?;
            let pods = truth::pods(self.world, &self.labels()).await?.len();
            when(there.is_none() && pods == 0, (there.map(|it| it.metadata), pods))
        })
        .await;
    }

    pub(crate) async fn object(&self) -> EtcdCluster {
        self.api().get(&self.name).await.unwrap()
    }

    pub(crate) async fn status(&self) -> EtcdClusterStatus {
        self.object().await.status.unwrap_or_default()
    }

    /// Waits until the object is as wished, and gives it.
    pub(crate) async fn until(
        &self,
        what: &str,
        limit: Duration,
        is: impl Fn(&EtcdCluster, &EtcdClusterStatus) -> bool,
    ) -> EtcdCluster {
        until(&format!("{}: {what}", self.name), limit, async || {
            // The API server may be away for a moment, too.
            let object = self.api().get(&self.name).await.map_err(|error| error.to_string())?;
            let status = object.status.clone().unwrap_or_default();
            if is(&object, &status) { Ok(object) } else { Err(json!(status).to_string()) }
        })
        .await
    }

    /// Waits until its status says that it is well and nothing is under way, and every member says so, too.
    pub(crate) async fn is_well(&self, size: i32, version: &str, limit: Duration) -> Vec<Member> {
        until(&format!("{}: {size} healthy members of {version}", self.name), limit, async || {
            let object = self.api().get(&self.name).await.map_err(|error| error.to_string())?;
            let status = object.status.clone().unwrap_or_default();
            let well = is_current(&object)
                && status.phase == Some(Phase::Healthy)
                && status.ready_members == Some(size)
                && status.operation.is_none()
                && status.version.as_ref().is_some_and(|it| it.current.as_deref() == Some(version))
                && ["Available", "AllMembersHealthy", "UpToDate"].iter().all(|kind| is_true(&object, kind));
            if !well {
                return Err(json!(status).to_string());
            }
            let place = self.place().await?;
            let cluster = status.cluster_id.clone();
            let size = usize::try_from(size).unwrap();
            let expected = Expected { size, version: Some(version), cluster: cluster.as_deref() };
            let members = truth::look(self.world, &place, expected).await;
            members.map_err(|error| format!("status says Healthy, but: {error}"))
        })
        .await
    }

    /// Where its members are, with the credentials that its status names.
    pub(crate) async fn place(&self) -> Result<Place, String> {
        let status = self.api().get(&self.name).await.map_err(|error| error.to_string())?.status;
        let connection = status.and_then(|status| status.connection).ok_or("status names no connection")?;
        let tls = match connection.secret_name {
            None => None,
            Some(name) => Some(self.credentials(&name).await?),
        };
        Ok(Place { tls, ..self.labels() })
    }

    /// The same without credentials.
    pub(crate) fn labels(&self) -> Place {
        // Pods of backups carry the cluster's name, too.
        let labels = format!("app.kubernetes.io/name=etcd,etcd.capstan.dev/cluster={}", self.name);
        let cluster = Some(self.name.clone());
        Place { labels, service: format!("{}-peer", self.name), tls: None, cluster }
    }

    pub(crate) async fn credentials(&self, secret: &str) -> Result<Tls, String> {
        let secret = self.world.api::<Secret>().get(secret).await.map_err(|error| error.to_string())?;
        let data = secret.data.unwrap_or_default();
        let part =
            |name: &str| data.get(name).map(|it| it.0.clone()).ok_or(format!("no {name} in the Secret"));
        Ok(Tls::new(part("ca.crt")?, part("tls.crt")?, part("tls.key")?))
    }

    pub(crate) async fn load(&self) -> Load {
        Load::on(self.world, self.place().await.unwrap()).await
    }

    /// Every member has the same data, and nobody else is in the list.
    pub(crate) async fn members_agree(&self) {
        truth::members_agree(self.world, &self.place().await.unwrap()).await;
    }

    pub(crate) async fn leader(&self) -> Pod {
        truth::leader(self.world, &self.place().await.unwrap()).await
    }

    pub(crate) async fn follower(&self) -> Pod {
        truth::follower(self.world, &self.place().await.unwrap()).await
    }

    /// Its pods that are not on their way out.
    pub(crate) async fn pods(&self) -> Vec<Pod> {
        let pods = truth::pods(self.world, &self.labels()).await.unwrap();
        pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect()
    }

    /// Who they are and how often their containers were started: equal when no pod was touched.
    pub(crate) async fn incarnations(&self) -> BTreeSet<(String, i32)> {
        self.pods().await.iter().map(|pod| (pod.uid().unwrap(), restarts(pod))).collect()
    }

    /// Its claims, also those of members that left.
    pub(crate) async fn claims(&self) -> Vec<PersistentVolumeClaim> {
        self.world.list(&self.labels().labels).await
    }

    pub(crate) async fn claim_names(&self) -> BTreeSet<String> {
        self.claims().await.iter().map(ResourceExt::name_any).collect()
    }

    pub(crate) async fn delete_pod(&self, pod: &Pod) {
        self.world.api::<Pod>().delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    }

    /// Waits for a condition with this reason that is about the present spec; gives its message.
    pub(crate) async fn says(&self, reason: &str, limit: Duration) -> String {
        let found = |object: &EtcdCluster| conditions(object).into_iter().find(|it| it.reason == reason);
        let object = self
            .until(&format!("says {reason}"), limit, |object, _| {
                found(object).is_some_and(|it| it.observed_generation == object.metadata.generation)
            })
            .await;
        found(&object).unwrap().message
    }
}

/// The name of the member in a pod.
pub(crate) fn member_of(pod: &Pod) -> String {
    pod.labels()
        .get("etcd.capstan.dev/member")
        .cloned()
        .unwrap_or_else(|| panic!("{} has no member", pod.name_any()))
}

pub(crate) fn restarts(pod: &Pod) -> i32 {
    let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
    status.map_or(0, |status| status.restart_count)
}

pub(crate) fn is_current(object: &EtcdCluster) -> bool {
    object.status.as_ref().and_then(|status| status.observed_generation) == object.metadata.generation
}

pub(crate) fn conditions(object: &EtcdCluster) -> Vec<Condition> {
    object.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default()
}

pub(crate) fn is_true(object: &EtcdCluster, kind: &str) -> bool {
    conditions(object).iter().any(|it| it.type_ == kind && it.status == "True")
}

/// Whether those that take long are wanted as well.
#[expect(clippy::disallowed_methods, reason = "how `make campaign` asks for all of them")]
pub(crate) fn in_campaign() -> bool {
    std::env::var_os("CAPSTAN_CAMPAIGN").is_some()
}

/// The same, for a test that runs in the campaign only: reports it as skipped elsewhere, in the form that xtask counts.
pub(crate) fn campaign_or_skipped() -> bool {
    let wanted = in_campaign();
    if !wanted {
        let test = std::thread::current();
        println!("SKIPPED {}: it runs in `make campaign` only", test.name().unwrap_or("a test"));
    }
    wanted
}
