//! Under which names members are called, by clients and by each other.
//!
//! Members come and go, so their names are wildcards: one certificate serves all that ever will be. etcd looks up the name of
//! a peer that connects (`checkCertSAN`), and gets the long form; clients use the short one: both are there.
//! Certificates of clients carry no name at all: then etcd has none to look up.

use rcgen::{CertificateParams, SanType};

use super::{Material, Role};

/// What a cluster's names are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) cluster: String,
    pub(crate) namespace: String,
    /// The cluster domain, usually `cluster.local`.
    pub(crate) domain: String,
}

impl Names {
    /// The names in a certificate of `role`.
    pub(super) fn of(&self, role: Role) -> Vec<String> {
        let Self { cluster, namespace, domain } = self;
        let service = |service: &str| {
            [
                format!("{cluster}-{service}.{namespace}.svc"),
                format!("{cluster}-{service}.{namespace}.svc.{domain}"),
            ]
        };
        let members = service("peer").map(|service| format!("*.{service}"));
        match role {
            Role::Peer => members.into(),
            Role::Server => {
                let short = [format!("{cluster}-client.{namespace}"), format!("{cluster}-client")];
                let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
                members.into_iter().chain(service("client")).chain(short).chain(own).collect()
            }
            Role::Client | Role::Operator => Vec::new(),
        }
    }

    /// Names that somebody will call: a certificate that is not good for them is of no use.
    pub(super) fn called(&self, role: Role) -> Vec<String> {
        let Self { cluster, namespace, .. } = self;
        let member = format!("{cluster}-0-0.{cluster}-peer.{namespace}.svc");
        match role {
            Role::Peer => vec![member],
            Role::Server => vec![member, format!("{cluster}-client.{namespace}.svc")],
            Role::Client | Role::Operator => Vec::new(),
        }
    }

    /// Whether a certificate of ours has all names that we would give it today.
    pub(super) fn are_covered(&self, role: Role, leaf: &Material) -> bool {
        let has = leaf.names();
        self.of(role).iter().all(|name| has.contains(name))
    }

    pub(super) fn sans(&self, role: Role) -> Result<Vec<SanType>, rcgen::Error> {
        Ok(CertificateParams::new(self.of(role))?.subject_alt_names)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(role: Role, expected: Expect) {
        let names = Names { cluster: "db".into(), namespace: "prod".into(), domain: "cluster.local".into() };
        expected.assert_eq(&names.of(role).join("\n"));
    }

    #[test]
    fn every_name_that_is_called_is_in_the_certificate() {
        check(
            Role::Server,
            expect![[r#"
                *.db-peer.prod.svc
                *.db-peer.prod.svc.cluster.local
                db-client.prod.svc
                db-client.prod.svc.cluster.local
                db-client.prod
                db-client
                localhost
                127.0.0.1
                ::1"#]],
        );
        check(
            Role::Peer,
            expect![[r#"
                *.db-peer.prod.svc
                *.db-peer.prod.svc.cluster.local"#]],
        );
        check(Role::Client, expect![""]);
    }
}
