//! The control plane: etcd, API server, controller-manager and scheduler, as processes of the host.

use std::path::Path;

use crate::{
    addresses::{API_PORT, Addresses, CONTROLLERS_PORT, ETCD_PEER_PORT, SCHEDULER_PORT, SERVICES},
    error::Result,
    lab::Lab,
    pki::Pki,
    process,
};

/// How quickly a lost node is noticed: tests wait for it. Kubernetes' own values are 5 s, 50 s, 300 s.
const MONITOR_PERIOD: &str = "2s";
const MONITOR_GRACE: &str = "16s";
const TOLERATION_SECONDS: &str = "10";

/// etcd and the API server: what everything else waits for.
pub(crate) fn start_api(lab: &Lab) -> Result<()> {
    start(lab, "etcd", etcd(lab.addresses(), &lab.directory().join("etcd")))?;
    start(lab, "kube-apiserver", api_server(lab.addresses(), &lab.pki()))
}

/// What needs the API server from its first moment.
pub(crate) fn start_controllers(lab: &Lab) -> Result<()> {
    start(lab, "kube-controller-manager", controllers(lab.addresses(), &lab.pki()))?;
    start(lab, "kube-scheduler", scheduler(lab.addresses(), &lab.pki()))
}

fn start(lab: &Lab, program: &str, flags: Vec<String>) -> Result<()> {
    let log = lab.log(program);
    let argv: Vec<String> =
        std::iter::once(lab.program(program).display().to_string()).chain(flags).collect();
    process::daemon(lab.cgroups(), &lab.addresses().control_cgroup(), &log, &[], &argv)
}

fn flags<const N: usize>(pairs: [(&str, String); N]) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn etcd(addresses: Addresses, data: &Path) -> Vec<String> {
    let peers = format!("http://{}:{ETCD_PEER_PORT}", addresses.loopback());
    flags([
        ("data-dir", data.display().to_string()),
        ("listen-client-urls", addresses.etcd()),
        ("advertise-client-urls", addresses.etcd()),
        ("listen-peer-urls", peers.clone()),
        ("initial-advertise-peer-urls", peers.clone()),
        ("initial-cluster", format!("default={peers}")),
        // A lab does not outlive the machine's power.
        ("unsafe-no-fsync", "true".into()),
    ])
}

fn api_server(addresses: Addresses, pki: &Pki) -> Vec<String> {
    flags([
        ("etcd-servers", addresses.etcd()),
        // Also the endpoint of the Service kubernetes.default, so it must be one that pods reach.
        ("bind-address", addresses.host_ip().to_string()),
        ("advertise-address", addresses.host_ip().to_string()),
        ("secure-port", API_PORT.to_string()),
        ("service-cluster-ip-range", SERVICES.into()),
        ("tls-cert-file", pki.cert("apiserver")),
        ("tls-private-key-file", pki.key("apiserver")),
        ("client-ca-file", pki.cert("ca")),
        ("service-account-key-file", pki.service_account_public_key()),
        ("service-account-signing-key-file", pki.key("service-account")),
        ("service-account-issuer", "https://kubernetes.default.svc".into()),
        ("authorization-mode", "Node,RBAC".into()),
        ("enable-admission-plugins", "NodeRestriction".into()),
        ("allow-privileged", "true".into()),
        ("kubelet-client-certificate", pki.cert("kubelet-client")),
        ("kubelet-client-key", pki.key("kubelet-client")),
        ("kubelet-preferred-address-types", "InternalIP".into()),
        ("requestheader-client-ca-file", pki.cert("ca")),
        ("requestheader-allowed-names", "front-proxy".into()),
        ("requestheader-username-headers", "X-Remote-User".into()),
        ("requestheader-group-headers", "X-Remote-Group".into()),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-".into()),
        ("proxy-client-cert-file", pki.cert("front-proxy")),
        ("proxy-client-key-file", pki.key("front-proxy")),
        // The host has no kube-proxy: webhooks given as a Service are dialled at the pod's address.
        ("enable-aggregator-routing", "true".into()),
        ("default-not-ready-toleration-seconds", TOLERATION_SECONDS.into()),
        ("default-unreachable-toleration-seconds", TOLERATION_SECONDS.into()),
    ])
}

fn controllers(addresses: Addresses, pki: &Pki) -> Vec<String> {
    let mut all = client_of_the_api(addresses, pki, "controllers", CONTROLLERS_PORT);
    all.extend(flags([
        ("use-service-account-credentials", "true".into()),
        ("service-account-private-key-file", pki.key("service-account")),
        ("root-ca-file", pki.cert("ca")),
        ("cluster-signing-cert-file", pki.cert("ca")),
        ("cluster-signing-key-file", pki.key("ca")),
        ("node-monitor-period", MONITOR_PERIOD.into()),
        ("node-monitor-grace-period", MONITOR_GRACE.into()),
        // Kubernetes' own 15 s are what a scenario with a HorizontalPodAutoscaler would wait.
        ("horizontal-pod-autoscaler-sync-period", "2s".into()),
    ]));
    all
}

fn scheduler(addresses: Addresses, pki: &Pki) -> Vec<String> {
    client_of_the_api(addresses, pki, "scheduler", SCHEDULER_PORT)
}

fn client_of_the_api(addresses: Addresses, pki: &Pki, user: &str, port: u16) -> Vec<String> {
    let kubeconfig = pki.kubeconfig(user).display().to_string();
    flags([
        ("kubeconfig", kubeconfig.clone()),
        ("authentication-kubeconfig", kubeconfig.clone()),
        ("authorization-kubeconfig", kubeconfig),
        ("bind-address", addresses.loopback().to_string()),
        ("secure-port", port.to_string()),
        // Kubernetes' own 20 a second cost the controller-manager 4 s before its first controller runs.
        ("kube-api-qps", "500".into()),
        ("kube-api-burst", "1000".into()),
        // There is one of each: no reason to wait for a lease.
        ("leader-elect", "false".into()),
    ])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn two_labs_listen_on_different_addresses() {
        let pki = Pki::at(Path::new("/state"));
        let listens = |slot| {
            let addresses = Addresses { slot };
            let all = [
                etcd(addresses, Path::new("/state/etcd")),
                api_server(addresses, &pki),
                controllers(addresses, &pki),
                scheduler(addresses, &pki),
            ];
            let names = ["--listen-", "--bind-address", "--secure-port"];
            let flags =
                all.concat().into_iter().filter(|flag| names.iter().any(|name| flag.starts_with(name)));
            flags.collect::<Vec<_>>().join("\n")
        };
        expect![[r"
            --listen-client-urls=http://127.79.1.1:12379
            --listen-peer-urls=http://127.79.1.1:12380
            --bind-address=10.79.1.1
            --secure-port=6443
            --bind-address=127.79.1.1
            --secure-port=12381
            --bind-address=127.79.1.1
            --secure-port=12382"]]
        .assert_eq(&listens(1));
    }

    #[test]
    fn webhooks_by_service_are_dialled_at_the_pod() {
        let flags = api_server(Addresses { slot: 0 }, &Pki::at(Path::new("/state")));
        assert!(flags.contains(&"--enable-aggregator-routing=true".to_owned()), "{flags:?}");
    }
}
