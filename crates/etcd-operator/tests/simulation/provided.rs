//! Certificates that users or cert-manager provide, and a CA that changes under running members.

use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

use crate::{
    surroundings::condition,
    world::{NAME, NAMESPACE, Stage, clusters, create, edit, healthy, lose_pod, play},
};

/// A CA that the operator knows nothing of.
struct Company {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Company {
    fn found(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// What a Secret holds: a new certificate that is good for every role.
    fn sign(&self) -> Value {
        let key = KeyPair::generate().unwrap();
        let names = ["*.db-peer.default.svc", "*.db-peer.default.svc.cluster.local", "db-client.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned)).unwrap();
        params.distinguished_name.push(DnType::CommonName, "etcd-peer");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        json!({"ca.crt": self.certificate, "tls.crt": certificate, "tls.key": key.serialize_pem()})
    }
}

fn secrets(client: &kube::Client) -> Api<Secret> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// Writes new certificates of this CA to all of these Secrets.
async fn provide(client: &kube::Client, company: &Company, names: &[&str]) -> kube::Result<()> {
    for name in names {
        let api = secrets(client);
        let data = company.sign();
        if api.get_opt(name).await?.is_some() {
            let patch = Patch::Merge(json!({ "stringData": data }));
            api.patch(name, &PatchParams::default(), &patch).await?;
        } else {
            let secret = json!({"metadata": {"name": name}, "stringData": data});
            let secret: Secret = serde_json::from_value(secret).unwrap();
            api.create(&PostParams::default(), &secret).await?;
        }
    }
    Ok(())
}

async fn part(client: &kube::Client, secret: &str, part: &str) -> kube::Result<String> {
    let data = secrets(client).get(secret).await?.data.unwrap();
    Ok(String::from_utf8(data[part].0.clone()).unwrap())
}

const COPIES: [&str; 4] = ["db-server-tls", "db-peer-tls", "db-client-tls", "db-operator-tls"];

async fn delete_copies(client: &kube::Client) -> kube::Result<()> {
    for copy in COPIES {
        secrets(client).delete(copy, &DeleteParams::default()).await?;
    }
    Ok(())
}

async fn reason(client: &kube::Client) -> kube::Result<String> {
    let status = clusters(client.clone()).get(NAME).await?.status.unwrap_or_default();
    let found = status.conditions.into_iter().flatten().find(|condition| condition.type_ == "TLSValid");
    Ok(found.map(|condition| condition.reason).unwrap_or_default())
}

/// All provided Secrets are replaced by those of a new CA under running members. Then the old CA signs again.
fn another_ca_is_held(name: &'static str, tls: Value, provided: &'static [&'static str], rekeyed: Value) {
    let stage = Stage::default();
    let (preparing, replacing, renewing) = (stage.clone(), stage.clone(), stage.clone());
    let companies = std::sync::Arc::new([Company::found("old CA"), Company::found("new CA")]);
    let (first, second, third) = (companies.clone(), companies.clone(), companies);
    let scenario = stage
        .scenario(name)
        .step("create three", move |client| {
            let (stage, companies, tls) = (preparing.clone(), first.clone(), tls.clone());
            async move {
                let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
                let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
                let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": {"name": "certificates.cert-manager.io"},
                    "spec": {"group": "cert-manager.io", "scope": "Namespaced", "versions": [version],
                        "names": {"kind": "Certificate", "plural": "certificates", "singular": "certificate"}}});
                stage.server().install(definition).unwrap();
                create(client.clone(), json!({"size": 3, "version": "3.6.16", "tls": tls})).await?;
                stage.wait().await;
                let (truth, told) = condition(&client, "TLSValid").await?;
                assert!(truth == "False" && told.contains(provided[0]), "{told}");
                provide(&client, &companies[0], provided).await
            }
        })
        .step("a new CA in all of them, and a pod is lost", move |client| {
            let (stage, companies, rekeyed) = (replacing.clone(), second.clone(), rekeyed.clone());
            async move {
                assert_eq!(condition(&client, "TLSValid").await?.0, "True");
                edit(client.clone(), rekeyed).await?;
                provide(&client, &companies[1], provided).await?;
                stage.wait().await;
                let (truth, told) = condition(&client, "TLSValid").await?;
                assert_eq!((&*truth, &*reason(&client).await?), ("False", "CertificateHeld"));
                for word in [provided, &["CN=old CA", "CN=new CA", "SHA-256", "since 20"]].concat() {
                    assert!(told.contains(word), "no {word}: {told}");
                }
                assert!(!told.contains("PRIVATE"), "{told}");
                for copy in COPIES {
                    assert_eq!(part(&client, copy, "ca.crt").await?, companies[0].certificate, "{copy}");
                }
                // New connections in every direction: of the operator, and of a member.
                let status = clusters(client.clone()).get(NAME).await?.status.unwrap();
                assert_eq!(status.ready_members, Some(3));
                lose_pod(client.clone(), "db-2").await?;
                stage.wait().await;
                let status = clusters(client.clone()).get(NAME).await?.status.unwrap();
                assert_eq!(status.ready_members, Some(3), "{status:#?}");
                assert_eq!(condition(&client, "Available").await?.0, "True");
                // It keeps nothing else from being done.
                edit(client.clone(), json!({"size": 1})).await
            }
        })
        .step("the old CA signs again", move |client| {
            let (stage, companies) = (renewing.clone(), third.clone());
            async move {
                provide(&client, &companies[0], provided).await?;
                stage.wait().await;
                assert_eq!(condition(&client, "TLSValid").await?.0, "True");
                let shown = part(&client, "db-peer-tls", "tls.crt").await?;
                let mut given = Vec::new();
                for name in provided {
                    given.push(part(&client, name, "tls.crt").await?);
                }
                assert!(given.contains(&shown), "the renewal is used");
                Ok(())
            }
        });
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.etcd.len(), 1, "one founding");
}

#[test]
fn a_new_ca_in_the_secrets_of_a_user_is_held_and_explained() {
    let secrets = json!({"peer": "own-peer", "server": "own-server", "operator": "own-operator"});
    let tls = json!({"mode": "Secrets", "secrets": secrets});
    another_ca_is_held("new-ca-in-secrets", tls, &["own-server", "own-peer", "own-operator"], json!({}));
}

#[test]
fn an_issuer_with_a_new_key_is_held_and_explained() {
    let tls = json!({"mode": "CertManager", "certManager": {"issuerRef": {"name": "ca"}}});
    let issued =
        &["db-server-tls-issued", "db-peer-tls-issued", "db-client-tls-issued", "db-operator-tls-issued"];
    let other = json!({"tls": {"certManager": {"issuerRef": {"name": "another"}}}});
    another_ca_is_held("new-issuer", tls, issued, other);
}

/// The operator's copies are made again from what is provided, as long as that is of the CA that members trust.
#[test]
fn copies_that_somebody_deletes_are_made_again() {
    let stage = Stage::default();
    let losing = stage.clone();
    let companies = std::sync::Arc::new([Company::found("old CA"), Company::found("new CA")]);
    let first = companies.clone();
    let secrets_named = json!({"peer": "own", "server": "own", "operator": "own"});
    let spec = json!({"size": 3, "version": "3.6.16", "tls": {"mode": "Secrets", "secrets": secrets_named}});
    let scenario = stage
        .scenario("copies-lost")
        .step("create three", move |client| {
            let (companies, spec) = (first.clone(), spec.clone());
            async move {
                provide(&client, &companies[0], &["own"]).await?;
                create(client, spec).await
            }
        })
        .step("delete all copies, with and without a new CA", move |client| {
            let (stage, companies) = (losing.clone(), companies.clone());
            async move {
                delete_copies(&client).await?;
                stage.wait().await;
                assert_eq!(part(&client, "db-peer-tls", "ca.crt").await?, companies[0].certificate);
                assert_eq!(condition(&client, "TLSValid").await?.0, "True");
                delete_copies(&client).await?;
                provide(&client, &companies[1], &["own"]).await?;
                stage.wait().await;
                let (truth, told) = condition(&client, "TLSValid").await?;
                assert_eq!(truth, "False");
                assert!(
                    secrets(&client).get_opt("db-peer-tls").await?.is_none(),
                    "another CA was taken: {told}"
                );
                provide(&client, &companies[0], &["own"]).await?;
                stage.wait().await;
                assert_eq!(condition(&client, "TLSValid").await?.0, "True");
                Ok(())
            }
        });
    let run = play(&scenario);
    healthy(&run);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    for member in ["db-1", "db-2", "db-3"] {
        assert_eq!(run.comings_and_goings[&format!("pods default/{member}-0")], (1, 0));
    }
}
