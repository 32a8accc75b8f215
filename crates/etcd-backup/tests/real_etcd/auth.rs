//! etcd's authentication is on: everything works with a certificate of its user root, and with no other.

use std::{fs, path::Path, process::Command};

use etcd_api::{Client, Endpoint as _, Tls};
use etcd_backup::{
    ranking::Load,
    restored::{self, By},
    source::Source,
    wal::{Point, point, replay},
};
use futures::StreamExt as _;
use lab::versions::Operand;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::{
    by_command::capstan,
    hash,
    platform::{pod, said},
    point_in_time::{capture_from, restored, take_as},
    process::{Etcd, credentials, program},
    store, write,
};

/// A CA that signs for this machine.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate of a user, good for a server, too, in a directory.
    fn sign(&self, user: &str, directory: &Path) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, user);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        fs::create_dir_all(directory).unwrap();
        let files = [
            ("ca.crt", self.certificate.clone()),
            ("tls.crt", certificate),
            ("tls.key", key.serialize_pem()),
        ];
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
    }
}

/// What etcd's documentation says: a user root with the role root, then `auth enable`.
fn switch_on(version: &str, url: &str, tls: &Path) {
    let ctl = |arguments: &[&str]| {
        let mut etcdctl = Command::new(program(version, "etcdctl"));
        etcdctl.args(["--endpoints", url]);
        for (flag, file) in [("--cacert", "ca.crt"), ("--cert", "tls.crt"), ("--key", "tls.key")] {
            etcdctl.arg(flag).arg(tls.join(file));
        }
        let output = etcdctl.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    };
    ctl(&["user", "add", "root", "--no-password"]);
    ctl(&["user", "grant-role", "root", "root"]);
    ctl(&["auth", "enable"]);
}

/// Why no snapshot can be had.
async fn refused(url: String, tls: Tls) -> String {
    let giver = match (Source { endpoints: vec![url], tls: Some(tls) }).giver(Load::Snapshot).await {
        Err(error) => return error.to_string(),
        Ok(giver) => giver,
    };
    match giver.snapshot().await {
        Err(error) => error,
        Ok(stream) => Box::pin(stream).next().await.unwrap().unwrap_err(),
    }
}

#[tokio::test]
async fn backup_verification_capture_and_replay_work_as_root() {
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let (root, other) = (dir.path().join("root"), dir.path().join("other"));
        let authority = Authority::new();
        authority.sign("root", &root);
        authority.sign("etcd-client", &other);
        let etcd = Etcd::start_with(version, &dir.path().join("data"), Some(&root)).await;
        switch_on(version, &etcd.url(), &root);
        let client = etcd.client().await;
        assert_eq!(client.auth_enabled().await, Ok(true), "{version}");
        let why = refused(etcd.url(), credentials(&other)).await;
        // In the words of etcd: which of its checks comes first depends on the version.
        assert!(["etcdserver: ", "auth: "].iter().any(|etcd| why.contains(etcd)), "{version}: {why}");

        write(&client, 100).await;
        let store = store(&dir.path().join("store"));
        let taken = etcd.source().giver(Load::Snapshot).await.unwrap().hash().await.unwrap();
        let mut manifest = take_as(&etcd, &store, "a", None).await;
        manifest.hash = Some(taken);
        let mut capture = capture_from(&store, etcd.source(), None);
        write(&client, 50).await;
        let end = client.status().await.unwrap().revision;
        capture.stored(end).await;
        capture.stop().await;

        // Its users come with the backup.
        let data = restored(version, &store, &manifest, None, &dir.path().join("again"), 0).await;
        let again = Etcd::start_with(version, &data, Some(&root)).await;
        let copy: Client = again.client().await;
        assert_eq!(copy.auth_enabled().await, Ok(true), "{version}");
        assert_eq!(restored::judge(&copy, &manifest).await.unwrap().by, By::HashKv, "{version}");
        let plan = point::plan(&store, &manifest, Point::Revision(end), None).await.unwrap();
        let done = replay::replay(&store, &plan, &copy, 0, None, |_| ()).await.unwrap();
        assert_eq!((done.revision, done.etcd_revision), (end, end), "{version}");
        assert_eq!(hash(&copy, end).await.hash, hash(&client, end).await.hash, "{version}");
    }
}

#[tokio::test]
async fn verify_by_restore_compares_hashes_of_a_database_with_users() {
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        Authority::new().sign("root", &root);
        let etcd = Etcd::start_with(version, &dir.path().join("data"), Some(&root)).await;
        switch_on(version, &etcd.url(), &root);
        write(&etcd.client().await, 50).await;
        let place = format!("file://{}", dir.path().join("store").display());
        fs::create_dir_all(dir.path().join("store")).unwrap();
        let (url, tls) = (etcd.url(), root.display().to_string());
        let etcd_bin = program(version, "etcd").parent().unwrap().display().to_string();
        let work = dir.path().display().to_string();
        let take = [
            "take",
            &place,
            "--id",
            "a",
            "--cluster-uid",
            "db",
            "--endpoints",
            &url,
            "--tls",
            &tls,
            "--hash",
        ];
        let verify = ["verify", &place, "a", "--by-restore", "--etcd-bin", &etcd_bin, "--work", &work];
        for arguments in [&take[..], &verify] {
            let output = pod(&capstan(), &[&["backup"], arguments].concat(), &[]).await;
            assert!(output.status.success(), "{version} {arguments:?}: {}", said(&output));
            if arguments == verify {
                assert!(said(&output).contains("checked by HashKV"), "{version}: {}", said(&output));
            }
        }
    }
}
