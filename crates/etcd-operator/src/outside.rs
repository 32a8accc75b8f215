//! Objects of kinds that may not exist here: cert-manager's Certificates, the Prometheus operator's monitors and rules.
//!
//! They are not watched (a kind that does not exist cannot be), but applied once for each change of the EtcdCluster, and after
//! each start of the operator. Kubernetes removes them with the EtcdCluster, which owns them.

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
    tls::{self, Role},
};

/// A kind of somebody else's.
pub(crate) trait Outside: Clone + Debug + Send + Sync + 'static {
    const GROUP: &'static str;
    const KIND: &'static str;
    const PLURAL: &'static str;
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
}

impl Outside for PodMonitor {
    const GROUP: &'static str = "monitoring.coreos.com";
    const KIND: &'static str = "PodMonitor";
    const PLURAL: &'static str = "podmonitors";
}

impl Outside for PrometheusRule {
    const GROUP: &'static str = "monitoring.coreos.com";
    const KIND: &'static str = "PrometheusRule";
    const PLURAL: &'static str = "prometheusrules";
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

/// For which generation of which EtcdCluster they have been applied.
#[derive(Debug, Default)]
pub(crate) struct Done(Mutex<BTreeMap<Key, Generation>>);

/// An EtcdCluster's UID and generation.
type Generation = (Option<String>, Option<i64>);

impl Done {
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Applies what the cluster wants of them, and deletes what it no longer wants, unless that has been done.
    pub(crate) async fn ensure(&self, cx: &Context, cluster: &EtcdCluster) -> Result<()> {
        let (key, now) = (Key::of(cluster), (cluster.uid(), cluster.meta().generation));
        let wanted = wanted(cluster);
        let reported = cluster.status.as_ref().and_then(|status| status.observed_generation);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) == Some(&now);
        if known || wanted.is_nothing() && (reported == now.1 || now.1 == Some(1)) {
            return Ok(());
        }
        // What is made for an EtcdCluster that is gone is removed again; but what others make of it, such as the Secrets of
        // Certificates, would stay.
        cx.confirm(cluster).await?;
        for certificate in &wanted.certificates {
            cx.apply(certificate, None).await?;
        }
        have(cx, cluster, wanted.monitor.as_ref()).await?;
        have(cx, cluster, wanted.rule.as_ref()).await?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, now);
        Ok(())
    }
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

impl Wanted {
    fn is_nothing(&self) -> bool {
        self.certificates.is_empty() && self.monitor.is_none() && self.rule.is_none()
    }
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

/// The same certificate that we would sign ourselves, in the Secret that we would make.
fn certificate(cluster: &EtcdCluster, role: Role) -> Option<Object<Certificate>> {
    let issuer = &cluster.spec.tls.cert_manager.as_ref()?.issuer_ref;
    let name = names::leaf(&cluster.name_any(), role);
    let request = tls::request(role, &names::of_certificates(cluster));
    let spec = json!({
        "secretName": name,
        // By our labels the Secret is seen.
        "secretTemplate": {"labels": names::labels(&cluster.name_any())},
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
            secretName: db-peer-tls
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
        assert!(self::wanted(&cluster(json!({"version": "3.6.16"}))).is_nothing());
    }
}
