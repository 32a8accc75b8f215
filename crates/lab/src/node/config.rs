//! The configuration of a node's daemons. Each line that is not obvious was paid for: see the comments.

use std::{fs, path::Path};

use crate::{
    addresses::{Addresses, DNS_SERVICE, Node},
    error::{At as _, Result},
    lab::Lab,
    pki::Pki,
};

pub(super) fn write(lab: &Lab, node: &Node) -> Result<()> {
    let directory = lab.node_directory(node);
    let cni = directory.join("cni");
    fs::create_dir_all(&cni).at("make", &cni)?;
    let files = [
        (directory.join("containerd.toml"), containerd(&lab.record().cni_plugins, &cni)),
        (cni.join("10-lab.conflist"), cni_network(node)),
        (directory.join("kubelet.yaml"), kubelet(node, &lab.pki())),
    ];
    files.iter().try_for_each(|(file, text)| fs::write(file, text).at("write", file))
}

/// containerd 1.6, Debian 12's.
fn containerd(plugins: &Path, conf: &Path) -> String {
    format!(
        r#"version = 2
# `opt` would make a directory below /opt of the host; the snapshotters only log that they cannot be used.
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "lab.local/pause:1"
# Root without CAP_SYS_RESOURCE may not lower oom_score_adj: every sandbox would fail.
restrict_oom_score_adj = true
disable_apparmor = true
disable_hugetlb_controller = true
tolerate_missing_hugetlb_controller = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{}"
conf_dir = "{}"
"#,
        plugins.display(),
        conf.display()
    )
}

/// A veth per pod and routes, no bridge: what a Service's address was translated to on the way in is translated back on
/// the way out whether or not the kernel shows bridged packets to netfilter.
fn cni_network(node: &Node) -> String {
    let network = serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "lab",
        "plugins": [
            {"type": "ptp", "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": node.pods.to_string()}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            }},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    format!("{network:#}\n")
}

fn kubelet(node: &Node, pki: &Pki) -> String {
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {ip}
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: "{ca}"}}
authorization: {{mode: Webhook}}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /{cgroup}
# 1.36 refuses cgroup v1 unless told otherwise.
failCgroupV1: false
failSwapOn: false
# Root without CAP_SYS_RESOURCE may not lower it.
oomScoreAdj: 0
makeIPTablesUtilChains: false
clusterDNS: ["{DNS_SERVICE}"]
clusterDomain: cluster.local
resolvConf: ""
# A lost node is noticed after seconds: see control.rs.
nodeStatusUpdateFrequency: 4s
nodeLeaseDurationSeconds: 8
# Images cannot be pulled again: none may be collected.
imageGCHighThresholdPercent: 100
evictionHard: {{memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}}
volumePluginDir: /var/lib/kubelet/volumeplugins
"#,
        ip = node.ip,
        ca = pki.cert("ca"),
        cgroup = node.cgroup,
    )
}

pub(super) fn kubelet_argv(lab: &Lab, node: &Node) -> Vec<String> {
    vec![
        lab.program("kubelet").display().to_string(),
        format!("--config={}", lab.node_directory(node).join("kubelet.yaml").display()),
        format!("--kubeconfig={}", lab.pki().kubeconfig(&node.name).display()),
        format!("--hostname-override={}", node.name),
        // The override would be the label's value, too; --node-labels replaces it, also when the kubelet restores its labels.
        format!("--node-labels=kubernetes.io/hostname={}", node.hostname()),
        format!("--node-ip={}", node.ip),
    ]
}

pub(super) fn proxy_argv(lab: &Lab, node: &Node) -> Vec<String> {
    let mut argv = vec![lab.program("kube-proxy").display().to_string()];
    argv.extend(proxy(lab.addresses(), node, &lab.pki()));
    argv
}

fn proxy(addresses: Addresses, node: &Node, pki: &Pki) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", pki.kubeconfig("proxy").display()),
        format!("--hostname-override={}", node.name),
        "--proxy-mode=nftables".into(),
        format!("--cluster-cidr={}", addresses.pods()),
        "--healthz-bind-address=127.0.0.1".into(),
        "--metrics-bind-address=127.0.0.1".into(),
        // These sysctls cannot be written in a network namespace.
        "--conntrack-max-per-core=0".into(),
        "--conntrack-tcp-timeout-established=0".into(),
        "--conntrack-tcp-timeout-close-wait=0".into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_listens_on_its_node_and_stays_in_its_cgroup() {
        let node = Addresses { slot: 2 }.node(3);
        let config = kubelet(&node, &Pki::at(Path::new("/state")));
        for line in ["address: 10.79.2.13", "cgroupRoot: /capstan2/node3", "clusterDNS: [\"10.96.0.10\"]"] {
            assert!(config.lines().any(|there| there == line), "{line} is not in\n{config}");
        }
        assert!(config.contains("clientCAFile: \"/state/pki/ca.crt\""), "{config}");
    }

    #[test]
    fn pods_of_a_node_have_addresses_of_its_subnet() {
        let network: serde_json::Value =
            serde_json::from_str(&cni_network(&Addresses { slot: 2 }.node(3))).unwrap();
        assert_eq!(network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"], "10.162.3.0/24");
        assert_eq!(network["cniVersion"], "0.4.0", "Debian's plugins know no newer");
    }

    #[test]
    fn containerd_finds_the_plugins_and_the_networks_configuration() {
        let config = containerd(Path::new("/usr/lib/cni"), Path::new("/state/node1/cni"));
        assert!(config.contains("bin_dir = \"/usr/lib/cni\"\nconf_dir = \"/state/node1/cni\"\n"), "{config}");
    }
}
