//! Certificates and kubeconfigs of a lab: one CA, EC P-256 keys, a certificate for each who talks to the API server.

use std::{
    fs,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};

use crate::{
    addresses::{Addresses, KUBERNETES_SERVICE, Node},
    error::{At as _, Error, Result},
};

/// Who has a kubeconfig, beside the nodes: file name, common name, organisation.
const USERS: &[(&str, &str, Option<&str>)] = &[
    ("admin", "admin", Some("system:masters")),
    ("controllers", "system:kube-controller-manager", None),
    ("scheduler", "system:kube-scheduler", None),
    ("proxy", "system:kube-proxy", None),
];

/// Where the files are.
#[derive(Debug, Clone)]
pub(crate) struct Pki {
    directory: PathBuf,
}

impl Pki {
    pub(crate) fn at(state: &Path) -> Self {
        Self { directory: state.join("pki") }
    }

    pub(crate) fn cert(&self, name: &str) -> String {
        self.directory.join(format!("{name}.crt")).display().to_string()
    }

    pub(crate) fn key(&self, name: &str) -> String {
        self.directory.join(format!("{name}.key")).display().to_string()
    }

    pub(crate) fn service_account_public_key(&self) -> String {
        self.directory.join("service-account.pub").display().to_string()
    }

    pub(crate) fn kubeconfig(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.kubeconfig"))
    }

    /// Makes them all.
    pub(crate) fn create(&self, lab: &str, addresses: Addresses, nodes: &[Node]) -> Result<()> {
        fs::create_dir_all(&self.directory).at("make", &self.directory)?;
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = named("capstan-lab-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let ca = params.self_signed(&key).map_err(failed)?.pem();
        write(self.cert("ca"), &ca)?;
        write(self.key("ca"), &key.serialize_pem())?;
        let issuer = Issuer::new(params, key);

        let service_accounts = KeyPair::generate().map_err(failed)?;
        write(self.key("service-account"), &service_accounts.serialize_pem())?;
        write(self.service_account_public_key(), &service_accounts.public_key_pem())?;

        let mut server = named("kube-apiserver", None);
        server.subject_alt_names = server_names(addresses)?;
        self.issue("apiserver", server, &issuer)?;
        self.issue("kubelet-client", named("apiserver-kubelet-client", Some("system:masters")), &issuer)?;
        self.issue("front-proxy", named("front-proxy", None), &issuer)?;

        let of_nodes = nodes
            .iter()
            .map(|node| (node.name.clone(), format!("system:node:{}", node.name), Some("system:nodes")));
        let users = USERS.iter().map(|(file, name, group)| ((*file).to_owned(), (*name).to_owned(), *group));
        for (file, name, group) in users.chain(of_nodes) {
            self.issue(&file, named(&name, group), &issuer)?;
            let read = |path: String| fs::read_to_string(&path).at("read", path);
            let user = User { name: &file, cert: &read(self.cert(&file))?, key: &read(self.key(&file))? };
            write(self.kubeconfig(&file), &kubeconfig(lab, &addresses.api(), &ca, &user))?;
        }
        Ok(())
    }

    fn issue(&self, file: &str, mut params: CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<()> {
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let cert = params.signed_by(&key, issuer).map_err(failed)?;
        write(self.cert(file), &cert.pem())?;
        write(self.key(file), &key.serialize_pem())
    }
}

fn named(common_name: &str, organisation: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    params
}

fn server_names(addresses: Addresses) -> Result<Vec<SanType>> {
    let names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
    ];
    let ips = [[127, 0, 0, 1].into(), addresses.host_ip(), KUBERNETES_SERVICE];
    let mut all: Vec<SanType> = ips.map(|ip| SanType::IpAddress(IpAddr::V4(ip))).into();
    for name in names {
        all.push(SanType::DnsName(name.try_into().map_err(failed)?));
    }
    Ok(all)
}

struct User<'a> {
    name: &'a str,
    cert: &'a str,
    key: &'a str,
}

/// A kubeconfig that stands alone: it can be copied away, and names no other file. JSON is YAML, too.
fn kubeconfig(lab: &str, server: &str, ca: &str, user: &User<'_>) -> String {
    let context = format!("lab-{lab}");
    let value = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": context, "cluster": {"server": server, "certificate-authority-data": STANDARD.encode(ca)}}],
        "users": [{"name": user.name, "user": {
            "client-certificate-data": STANDARD.encode(user.cert),
            "client-key-data": STANDARD.encode(user.key),
        }}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": user.name}}],
        "current-context": context,
    });
    format!("{value:#}\n")
}

/// Readable by root only: some of them are keys.
fn write(path: impl AsRef<Path>, text: &str) -> Result<()> {
    use std::io::Write as _;
    let path = path.as_ref();
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .at("write", path)?;
    file.write_all(text.as_bytes()).at("write", path)
}

fn failed(error: rcgen::Error) -> Error {
    Error::Refused(format!("cannot make a certificate of the lab: {error}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_kubeconfig_stands_alone() {
        let user = User { name: "admin", cert: "c", key: "ke" };
        expect![[r#"
            {
              "apiVersion": "v1",
              "clusters": [
                {
                  "cluster": {
                    "certificate-authority-data": "Y2E=",
                    "server": "https://10.79.0.1:6443"
                  },
                  "name": "lab-capstan"
                }
              ],
              "contexts": [
                {
                  "context": {
                    "cluster": "lab-capstan",
                    "user": "admin"
                  },
                  "name": "lab-capstan"
                }
              ],
              "current-context": "lab-capstan",
              "kind": "Config",
              "users": [
                {
                  "name": "admin",
                  "user": {
                    "client-certificate-data": "Yw==",
                    "client-key-data": "a2U="
                  }
                }
              ]
            }
        "#]]
        .assert_eq(&kubeconfig("capstan", &Addresses { slot: 0 }.api(), "ca", &user));
    }

    #[test]
    fn the_servers_certificate_has_every_name_by_which_it_is_called() {
        let names = server_names(Addresses { slot: 3 }).unwrap();
        assert!(names.contains(&SanType::IpAddress([10, 79, 3, 1].into())));
        assert!(names.contains(&SanType::IpAddress([10, 96, 0, 1].into())));
        assert!(names.contains(&SanType::DnsName("kubernetes.default.svc".try_into().unwrap())));
    }
}
