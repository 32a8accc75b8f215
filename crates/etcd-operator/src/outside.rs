//! Objects of kinds that may not exist here: cert-manager's Certificates, the Prometheus operator's monitors and rules.
//!
//! They are not watched (a kind that does not exist cannot be), but applied once for each change of the EtcdCluster, and after
//! each start of the operator. Kubernetes removes them with the EtcdCluster, which owns them.
//!
//! Invariant: one that is no longer wanted is deleted, however often that fails; nobody is asked about those that never were.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Debug,
    marker::PhantomData,
    sync::{Mutex, PoisonError},
};

use etcd_types::{EtcdCluster, TlsMode};
use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kit::{
    Context, Error, Key, KindId, Result,
    access::{Access, Reach, Verb},
};
use kube::{Api, Resource, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    build, monitoring, names,
    report::RECONCILED,
    tls::{self, Role},
};

/// A kind of somebody else's.
pub(crate) trait Outside: Clone + Debug + Send + Sync + 'static {
    const GROUP: &'static str;
    const KIND: &'static str;
    const PLURAL: &'static str;
    /// The field that asks for it.
    const FIELD: &'static str;
    /// Where the kind does not exist, what to do: what it comes with, and how to do without.
    const REMEDY: &'static str;
}

#[derive(Debug, Clone)]
pub(crate) struct Certificate;
#[derive(Debug, Clone)]
pub(crate) struct PodMonitor;
#[derive(Debug, Clone)]
pub(crate) struct PrometheusRule;

impl Outside for Certificate {
    const GROUP: &'static str = "cert-manager.io";
    const KIND: &'static str = "Certificate";
    const PLURAL: &'static str = "certificates";
    const FIELD: &'static str = "spec.tls.certManager";
    const REMEDY: &'static str =
        "install cert-manager, or create the EtcdCluster anew with another spec.tls.mode";
}

impl Outside for PodMonitor {
    const GROUP: &'static str = "monitoring.coreos.com";
    const KIND: &'static str = "PodMonitor";
    const PLURAL: &'static str = "podmonitors";
    const FIELD: &'static str = "spec.monitoring.podMonitor";
    const REMEDY: &'static str = "install the Prometheus operator, or set it to false";
}

impl Outside for PrometheusRule {
    const GROUP: &'static str = "monitoring.coreos.com";
    const KIND: &'static str = "PrometheusRule";
    const PLURAL: &'static str = "prometheusrules";
    const FIELD: &'static str = "spec.monitoring.prometheusRule";
    const REMEDY: &'static str = "install the Prometheus operator, or set it to false";
}

/// An object of such a kind: what we want of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Object<O> {
    metadata: ObjectMeta,
    spec: Value,
    #[serde(skip)]
    kind: PhantomData<O>,
}

impl<O: Outside> Resource for Object<O> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        O::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        O::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        O::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// What they take of the API server.
pub(crate) fn access() -> Vec<Access> {
    let to = |group: &'static str, plural: &'static str| {
        Access::new(group, plural, [Verb::Get, Verb::Create, Verb::Patch, Verb::Delete], Reach::Watched)
    };
    vec![
        to(Certificate::GROUP, Certificate::PLURAL),
        to(PodMonitor::GROUP, PodMonitor::PLURAL),
        to(PrometheusRule::GROUP, PrometheusRule::PLURAL),
    ]
}

/// Why an object of such a kind is not as it should be.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{field}: there is no kind {kind} here; {remedy}")]
    NoKind { field: &'static str, kind: &'static str, remedy: &'static str },
    #[error("{field}")]
    Failed {
        field: &'static str,
        #[source]
        source: Error,
    },
}

/// What a failure about one of kind `O` means to users.
fn told<O: Outside>(error: Error) -> Error {
    match error {
        Error::Api { .. } if error.is_of_terminating_namespace() => error,
        Error::Api { .. } if error.code() == Some(404) => {
            Error::other(Trouble::NoKind { field: O::FIELD, kind: O::KIND, remedy: O::REMEDY })
        }
        Error::Api { .. } => Error::other(Trouble::Failed { field: O::FIELD, source: error }),
        error => error,
    }
}

/// What has been done about them.
#[derive(Debug, Default)]
pub(crate) struct Done {
    certificates: Marks,
    monitors: Marks,
}

/// For which generation of which EtcdCluster something has been done.
#[derive(Debug, Default)]
struct Marks(Mutex<BTreeMap<Key, Generation>>);

/// An EtcdCluster's UID and generation.
type Generation = (Option<String>, Option<i64>);

impl Marks {
    fn has(&self, cluster: &EtcdCluster) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&Key::of(cluster))
            == Some(&generation(cluster))
    }

    fn set(&self, cluster: &EtcdCluster) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(Key::of(cluster), generation(cluster));
    }

    fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

fn generation(cluster: &EtcdCluster) -> Generation {
    (cluster.uid(), cluster.meta().generation)
}

impl Done {
    pub(crate) fn forget(&self, key: &Key) {
        self.certificates.forget(key);
        self.monitors.forget(key);
    }

    /// Asks cert-manager for certificates, if the cluster has them from there, unless that has been done.
    pub(crate) async fn certificates(&self, cx: &Context, cluster: &EtcdCluster) -> Result<()> {
        let wanted = wanted(cluster).certificates;
        if wanted.is_empty() || self.certificates.has(cluster) {
            return Ok(());
        }
        // What is made for an EtcdCluster that is gone is removed again; but what others make of it, such as the Secrets of
        // Certificates, would stay.
        cx.confirm(cluster).await?;
        for certificate in &wanted {
            cx.apply(certificate, None).await.map_err(told::<Certificate>)?;
        }
        self.certificates.set(cluster);
        Ok(())
    }

    /// Applies the monitor and the rule that the cluster wants, and deletes what it no longer wants, unless that has been done. One does
    /// not wait for the other.
    pub(crate) async fn monitors(&self, cx: &Context, cluster: &EtcdCluster) -> Result<()> {
        let Wanted { monitor, rule, .. } = wanted(cluster);
        let unwanted = monitor.is_none() && rule.is_none();
        if self.monitors.has(cluster) || unwanted && none_are_left(cluster) {
            return Ok(());
        }
        cx.confirm(cluster).await?;
        let monitored = have(cx, cluster, monitor.as_ref()).await.map_err(told::<PodMonitor>);
        let ruled = have(cx, cluster, rule.as_ref()).await.map_err(told::<PrometheusRule>);
        monitored.and(ruled)?;
        self.monitors.set(cluster);
        Ok(())
    }
}

/// Whether nothing is left of what an EtcdCluster that wants nothing may have wanted before: it never did, or all that was to be done for
/// the present spec is known to be done. That the spec was seen (`status.observedGeneration`) does not say so.
fn none_are_left(cluster: &EtcdCluster) -> bool {
    let generation = cluster.meta().generation;
    let mut conditions = cluster.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let carried_out = conditions
        .any(|it| it.type_ == RECONCILED && it.status == "True" && it.observed_generation == generation);
    generation == Some(1) || carried_out
}

/// The object of this kind that has the cluster's name is as `wanted`, or gone.
async fn have<O: Outside>(cx: &Context, cluster: &EtcdCluster, wanted: Option<&Object<O>>) -> Result<()> {
    if let Some(wanted) = wanted {
        return cx.apply(wanted, None).await.map(drop);
    }
    let (kind, key) = (KindId::of::<Object<O>>(), Key::of(cluster));
    let api: Api<Object<O>> = Api::namespaced(cx.client(), key.namespace());
    let found = match api.get(key.name()).await {
        Ok(found) => Some(found),
        // Where the kind is not installed the server says so without the words of its own API, which `get_opt` waits for.
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => return Err(Error::api("get", kind, key, error)),
    };
    match found.filter(|found| names::is_owned(cluster, found)) {
        Some(found) => cx.delete(&found).await.map(drop),
        None => Ok(()),
    }
}

/// What a cluster wants of them.
#[derive(Debug)]
struct Wanted {
    certificates: Vec<Object<Certificate>>,
    monitor: Option<Object<PodMonitor>>,
    rule: Option<Object<PrometheusRule>>,
}

fn wanted(cluster: &EtcdCluster) -> Wanted {
    let (name, namespace) = (cluster.name_any(), cluster.namespace().unwrap_or_default());
    let monitoring = &cluster.spec.monitoring;
    let of = monitoring::Of::One { namespace: &namespace, name: &name };
    let issued = cluster.spec.tls.mode == TlsMode::CertManager;
    Wanted {
        certificates: Role::ALL
            .into_iter()
            .filter(|_| issued)
            .filter_map(|role| certificate(cluster, role))
            .collect(),
        monitor: monitoring.pod_monitor.then(|| monitored(cluster, monitoring::pod_monitor(&name))),
        rule: monitoring.prometheus_rule.then(|| monitored(cluster, monitoring::rules(of))),
    }
}

fn object<O: Outside>(cluster: &EtcdCluster, name: String, spec: Value) -> Object<O> {
    build::owned(Object { metadata: names::meta(cluster, name), spec, kind: PhantomData }, cluster)
}

fn monitored<O: Outside>(cluster: &EtcdCluster, spec: Value) -> Object<O> {
    let mut object = object(cluster, cluster.name_any(), spec);
    let metadata: &mut ObjectMeta = object.meta_mut();
    metadata.labels.get_or_insert_default().extend(cluster.spec.monitoring.labels.clone());
    object
}

/// The same certificate that we would sign ourselves. cert-manager writes it to a Secret from which it is copied once it was checked.
fn certificate(cluster: &EtcdCluster, role: Role) -> Option<Object<Certificate>> {
    let issuer = &cluster.spec.tls.cert_manager.as_ref()?.issuer_ref;
    let name = names::leaf(&cluster.name_any(), role);
    // For people. By the cluster's label it would be one of our own Secrets.
    let mut labels = names::labels(&cluster.name_any());
    labels.remove(names::CLUSTER);
    let request = tls::request(role, &names::of_certificates(cluster));
    let spec = json!({
        "secretName": names::issued(&cluster.name_any(), role),
        "secretTemplate": {"labels": labels},
        "issuerRef": {"name": issuer.name, "kind": issuer.kind, "group": issuer.group},
        "commonName": request.common_name,
        "dnsNames": request.dns_names,
        "ipAddresses": request.addresses,
        "usages": request.usages,
        "duration": format!("{}h", request.life.as_hours()),
        "renewBefore": format!("{}h", request.life.as_hours() / 3),
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    });
    Some(object(cluster, name, spec))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn cluster(spec: Value) -> EtcdCluster {
        serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "db", "namespace": "prod", "uid": "u-1"}, "spec": spec,
        }))
        .unwrap()
    }

    #[test]
    fn cert_manager_is_asked_for_what_we_would_sign_ourselves() {
        let tls = json!({"mode": "CertManager", "certManager": {"issuerRef": {"name": "ca"}}});
        let wanted = wanted(&cluster(json!({"version": "3.6.16", "tls": tls})));
        let names: Vec<String> = wanted.certificates.iter().map(kube::ResourceExt::name_any).collect();
        assert_eq!(names, ["db-server-tls", "db-peer-tls", "db-client-tls", "db-operator-tls"]);
        let mut peer = wanted.certificates[1].spec.clone();
        peer.as_object_mut().unwrap().remove("secretTemplate");
        expect![[r#"
            commonName: etcd-peer
            dnsNames:
            - "*.db-peer.prod.svc"
            - "*.db-peer.prod.svc.cluster.local"
            duration: 8760h
            ipAddresses: []
            issuerRef:
              group: cert-manager.io
              kind: Issuer
              name: ca
            privateKey:
              algorithm: ECDSA
              rotationPolicy: Always
              size: 256
            renewBefore: 2920h
            secretName: db-peer-tls-issued
            usages:
            - digital signature
            - client auth
            - server auth
        "#]]
        .assert_eq(&serde_saphyr::to_string(&peer).unwrap());
    }

    #[test]
    fn monitors_carry_the_labels_by_which_a_prometheus_selects_them() {
        let monitoring = json!({"podMonitor": true, "labels": {"release": "kps"}});
        let wanted = wanted(&cluster(json!({"version": "3.6.16", "monitoring": monitoring})));
        assert!(wanted.rule.is_none() && wanted.certificates.is_empty());
        assert_eq!(wanted.monitor.unwrap().labels()["release"], "kps");
        let nothing = self::wanted(&cluster(json!({"version": "3.6.16"})));
        assert!(nothing.monitor.is_none() && nothing.rule.is_none() && nothing.certificates.is_empty());
    }

    #[test]
    fn nobody_is_asked_about_monitors_that_are_known_to_be_gone() {
        let cases = [
            ("it never wanted one", 1, json!(null), true),
            ("the spec has changed", 2, json!({"status": "True", "observedGeneration": 1}), false),
            ("it could not be carried out", 2, json!({"status": "False", "observedGeneration": 2}), false),
            ("it has been carried out", 2, json!({"status": "True", "observedGeneration": 2}), true),
            ("nothing was reported", 2, json!(null), false),
        ];
        for (name, generation, mut reported, expected) in cases {
            let mut cluster = cluster(json!({"version": "3.6.16"}));
            cluster.metadata.generation = Some(generation);
            if let Some(condition) = reported.as_object_mut() {
                let rest = json!({"type": "Reconciled", "reason": "R", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"});
                condition.extend(rest.as_object().unwrap().clone());
                let status = json!({"observedGeneration": generation, "conditions": [reported]});
                cluster.status = Some(serde_json::from_value(status).unwrap());
            }
            assert_eq!(none_are_left(&cluster), expected, "{name}");
        }
    }
}
