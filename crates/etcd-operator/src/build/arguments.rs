//! The flags of etcd that are the operator's: who a member is, where it listens, whom it trusts, how it comes into its cluster.
//!
//! What users set is rendered in etcd-core, for each version; these come after it.

use std::collections::BTreeMap;

use etcd_core::{CLIENT_PORT, METRICS_PORT, Names, PEER_PORT, Serial, Start, Template};
use etcd_types::TlsMode;

use crate::tls::PEER_COMMON_NAME;

/// A directory below the volume's root, where a file system may have files of its own.
pub(super) const DATA_DIR: &str = "/var/lib/etcd/data";
pub(super) const SERVER: &str = "/etc/etcd/server";
pub(super) const PEER: &str = "/etc/etcd/peer";

/// All arguments of a member; `token` is the cluster's UID.
pub(super) fn arguments(names: &Names<'_>, serial: Serial, template: &Template, token: &str) -> Vec<String> {
    let scheme = if template.tls.mode == TlsMode::Off { "http" } else { "https" };
    let (state, members) = match &template.start {
        Start::Found { members } => ("new", members.clone()),
        Start::Join { members } => ("existing", members.clone()),
        Start::Started => ("existing", BTreeMap::from([(names.member(serial), names.peer_url(serial))])),
    };
    let members: Vec<String> = members.iter().map(|(name, url)| format!("{name}={url}")).collect();
    let own = [
        ("name", names.member(serial)),
        ("data-dir", DATA_DIR.to_owned()),
        ("listen-client-urls", format!("{scheme}://0.0.0.0:{CLIENT_PORT}")),
        ("advertise-client-urls", names.client_url(serial)),
        ("listen-peer-urls", format!("{scheme}://0.0.0.0:{PEER_PORT}")),
        ("initial-advertise-peer-urls", names.peer_url(serial)),
        ("listen-metrics-urls", format!("http://0.0.0.0:{METRICS_PORT}")),
        ("initial-cluster-token", token.to_owned()),
        ("initial-cluster-state", state.to_owned()),
        ("initial-cluster", members.join(",")),
    ];
    let own = own.into_iter().chain(certificates(template)).map(|(flag, value)| format!("--{flag}={value}"));
    template.args.iter().cloned().chain(own).collect()
}

fn certificates(template: &Template) -> Vec<(&'static str, String)> {
    if template.tls.mode == TlsMode::Off {
        return Vec::new();
    }
    let of = |directory: &str, file: &str| format!("{directory}/{file}");
    let mut flags = vec![
        ("cert-file", of(SERVER, "tls.crt")),
        ("key-file", of(SERVER, "tls.key")),
        ("trusted-ca-file", of(SERVER, "ca.crt")),
        ("client-cert-auth", "true".to_owned()),
        ("peer-cert-file", of(PEER, "tls.crt")),
        ("peer-key-file", of(PEER, "tls.key")),
        ("peer-trusted-ca-file", of(PEER, "ca.crt")),
        ("peer-client-cert-auth", "true".to_owned()),
    ];
    if matches!(template.tls.mode, TlsMode::SelfManaged | TlsMode::CertManager) {
        // One CA signs for clients and for peers, so a peer is known by its name. By that name, and not by what DNS says about
        // an address: a pod that has just got one would be refused until all caches of DNS have heard of it.
        let skip = match (template.version.minor.0, template.version.minor.1) {
            (3, ..=5) => "experimental-peer-skip-client-san-verification",
            _ => "peer-skip-client-san-verification",
        };
        flags.extend([("peer-cert-allowed-cn", PEER_COMMON_NAME.to_owned()), (skip, "true".to_owned())]);
    }
    flags
}
