//! What things are called: objects in Kubernetes, members and their URLs in etcd.

use etcd_types::TlsMode;

use crate::{Serial, Version};

/// How labels and annotations of this operator begin.
pub(crate) const OWN: &str = "etcd.capstan.dev/";
/// What a client connects to.
pub const CLIENT_PORT: u16 = 2379;
/// What members connect to among each other.
pub const PEER_PORT: u16 = 2380;
/// Health and metrics, without TLS.
pub const METRICS_PORT: u16 = 2381;

/// The names of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The name of the EtcdCluster.
    pub cluster: &'a str,
    /// Whether members speak TLS.
    pub tls: TlsMode,
}

impl Names<'_> {
    /// A member: its StatefulSet, its claim, its `--name` in etcd.
    pub fn member(&self, serial: Serial) -> String {
        format!("{}-{serial}", self.cluster)
    }

    /// Its pod, which is also the pod's hostname.
    pub fn pod(&self, serial: Serial) -> String {
        format!("{}-{serial}-0", self.cluster)
    }

    /// The Service for clients.
    pub fn client_service(&self) -> String {
        format!("{}-client", self.cluster)
    }

    /// The headless Service that gives each member its name.
    pub fn peer_service(&self) -> String {
        format!("{}-peer", self.cluster)
    }

    /// The ConfigMap that remembers the cluster's identity when the status is gone.
    pub fn latch(&self) -> String {
        format!("{}-identity", self.cluster)
    }

    /// The Secret with a client's credentials.
    pub fn client_secret(&self) -> String {
        format!("{}-client-tls", self.cluster)
    }

    /// The EtcdBackup that is taken before members move to `version`. Without dots: names of Jobs and pods are derived from it.
    pub fn backup_before(&self, version: Version) -> String {
        format!("{}-before-{}", self.cluster, version.to_string().replace('.', "-"))
    }

    /// A member's host name.
    pub fn host(&self, serial: Serial) -> String {
        format!("{}.{}.{}.svc", self.pod(serial), self.peer_service(), self.namespace)
    }

    /// What other members know a member by. It is the one thing that a live member list says from the beginning.
    pub fn peer_url(&self, serial: Serial) -> String {
        format!("{}://{}:{PEER_PORT}", self.scheme(), self.host(serial))
    }

    /// Where clients reach one member.
    pub fn client_url(&self, serial: Serial) -> String {
        format!("{}://{}:{CLIENT_PORT}", self.scheme(), self.host(serial))
    }

    /// Where clients reach whichever member is ready.
    pub fn service_url(&self) -> String {
        format!("{}://{}.{}.svc:{CLIENT_PORT}", self.scheme(), self.client_service(), self.namespace)
    }

    /// Whose peer URL this is; nothing if it is not of this cluster's form. The scheme is not compared: it says nothing about who.
    pub fn serial_of(&self, peer_url: &str) -> Option<Serial> {
        let (_, rest) = peer_url.split_once("://")?;
        let digits = rest.strip_prefix(self.cluster)?.strip_prefix('-')?;
        let (digits, rest) = digits.split_once("-0.")?;
        let expected = format!("{}.{}.svc:{PEER_PORT}", self.peer_service(), self.namespace);
        let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        (rest == expected && canonical).then(|| digits.parse().ok().map(Serial))?
    }

    /// Which member a StatefulSet, claim or member name belongs to.
    pub fn serial_of_name(&self, name: &str) -> Option<Serial> {
        let digits = name.strip_prefix(self.cluster)?.strip_prefix('-')?;
        let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        canonical.then(|| digits.parse().ok().map(Serial))?
    }

    fn scheme(&self) -> &'static str {
        match self.tls {
            TlsMode::Off => "http",
            TlsMode::SelfManaged | TlsMode::Secrets | TlsMode::CertManager => "https",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'_> = Names { namespace: "default", cluster: "db-1", tls: TlsMode::SelfManaged };

    #[test]
    fn a_peer_url_says_whose_it_is() {
        let cases = [
            ("https://db-1-3-0.db-1-peer.default.svc:2380", Some(3)),
            ("http://db-1-3-0.db-1-peer.default.svc:2380", Some(3)),
            ("https://db-1-03-0.db-1-peer.default.svc:2380", None),
            ("https://db-1-3-0.db-1-peer.other.svc:2380", None),
            ("https://db-1-3-0.db-1-peer.default.svc:2379", None),
            ("https://db-3-0.db-peer.default.svc:2380", None),
            ("https://10.0.0.1:2380", None),
        ];
        for (url, serial) in cases {
            assert_eq!(NAMES.serial_of(url), serial.map(Serial), "{url}");
        }
        assert_eq!(NAMES.serial_of(&NAMES.peer_url(Serial(12))), Some(Serial(12)));
    }

    #[test]
    fn a_name_says_whose_it_is() {
        assert_eq!(NAMES.serial_of_name("db-1-7"), Some(Serial(7)));
        assert_eq!(NAMES.serial_of_name("db-1-client"), None);
        assert_eq!(NAMES.serial_of_name("db-1-07"), None);
    }
}
