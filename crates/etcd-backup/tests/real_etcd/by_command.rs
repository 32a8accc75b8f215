//! `capstan backup` on Google's and Azure's stores, as people and pods call it: credentials in files, in the environment, or from the platform.

use std::{env, fs, path::PathBuf};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use etcd_backup::Target;

use super::{
    azure, gcs,
    platform::{Question, Service, pod, said},
    process::{Etcd, now},
    stores::Server,
    tls_front::{identity, in_front_of},
    write,
};

/// Beside the directory of this test's program; xtask has it compiled before.
pub(crate) fn capstan() -> PathBuf {
    let me = env::current_exe().unwrap();
    let program = me.parent().unwrap().with_file_name("capstan");
    assert!(program.is_file(), "no {}: cargo build --workspace --bin capstan", program.display());
    program
}

/// `capstan backup` with this place, and what it said.
async fn backup(
    command: &str,
    place: &Target,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<String, String> {
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let flags = [
        ("--server", place.endpoint.clone()),
        ("--credentials", place.credentials.as_ref().map(text)),
        ("--ca-file", place.ca_file.as_ref().map(text)),
    ];
    let flags: Vec<String> =
        flags.into_iter().flat_map(|(flag, value)| value.map(|it| [flag.to_owned(), it])).flatten().collect();
    let mut all = vec!["backup", command, &place.url];
    all.extend(arguments);
    all.extend(flags.iter().map(String::as_str));
    let output = pod(&capstan(), &all, environment).await;
    if output.status.success() { Ok(said(&output)) } else { Err(said(&output)) }
}

/// Taken, listed, shown, verified and removed.
async fn every_command(server: &Server) {
    let etcd = Etcd::start("3.6.16", &server.directory.path().join("data")).await;
    write(&etcd.client().await, 20).await;
    let place = &server.target;
    let url = etcd.url();
    let take = ["--id", "today", "--cluster-uid", "db", "--endpoints", url.as_str()];
    backup("take", place, &take, &[]).await.unwrap();
    for (command, arguments) in [("ls", &[][..]), ("show", &["today"]), ("verify", &["today"])] {
        let told = backup(command, place, arguments, &[]).await.unwrap();
        assert!(told.contains("today"), "{command}: {told}");
    }
    let elsewhere = Target { url: server.elsewhere.clone(), ..place.clone() };
    let told = backup("ls", &elsewhere, &[], &[]).await.unwrap_err();
    assert!(told.contains("Is the bucket right, and does it exist?"), "{told}");
    let stranger = Target { credentials: Some(server.wrong.clone()), ..place.clone() };
    let told = backup("ls", &stranger, &[], &[]).await.unwrap_err();
    assert!(told.contains("The credentials are wrong or missing"), "{told}");
}

async fn removed(place: &Target, environment: &[(&str, &str)]) {
    backup("rm", place, &["today"], environment).await.unwrap();
    let told = backup("ls", place, &[], environment).await.unwrap();
    assert!(!told.contains("today"), "{told}");
}

#[tokio::test]
async fn googles_store_with_files_the_environment_and_the_metadata_service() {
    let server = gcs::start().await;
    every_command(&server).await;

    let account = server.target.credentials.as_ref().unwrap().join("serviceAccount");
    let place = Target { credentials: None, ..server.target.clone() };
    let here = Target { endpoint: None, ..place.clone() };
    let url = place.endpoint.as_deref().unwrap();
    let environment =
        [("GOOGLE_APPLICATION_CREDENTIALS", account.to_str().unwrap()), ("GOOGLE_BASE_URL", url)];
    let told = backup("ls", &here, &[], &environment).await.unwrap();
    assert!(told.contains("today"), "{told}");

    // GKE's workload identity: the metadata service of the node gives a token for the pod's account.
    let metadata = Service::answering(|question| match question.header("metadata-flavor") {
        "Google" => (200, format!(r#"{{"access_token":"{}","expires_in":3600}}"#, gcs::TOKEN)),
        _ => (403, String::new()),
    })
    .await;
    let host = metadata.address.to_string();
    removed(&place, &[("GCE_METADATA_HOST", &host)]).await;
    let asked = metadata.asked();
    assert!(asked[0].text.starts_with("/computeMetadata/v1/instance/service-accounts/default/token"));
}

#[tokio::test]
async fn azures_store_with_files_and_the_environment() {
    let server = azure::start().await;
    every_command(&server).await;
    let key = server.target.credentials.as_ref().unwrap().join("accountKey");
    let key = fs::read_to_string(key).unwrap();
    let place = Target { credentials: None, endpoint: None, ..server.target.clone() };
    let environment = [
        ("AZURE_STORAGE_ACCOUNT_NAME", azure::ACCOUNT),
        ("AZURE_STORAGE_ACCOUNT_KEY", &key),
        ("AZURE_STORAGE_ENDPOINT", server.target.endpoint.as_deref().unwrap()),
    ];
    removed(&place, &environment).await;
    let told = backup("ls", &place, &[], &[]).await.unwrap_err();
    assert!(told.contains("az://container@account/prefix"), "{told}");
}

/// AKS' workload identity: a token that Kubernetes has signed is exchanged for one of Entra ID.
#[tokio::test]
async fn azures_store_with_a_workload_identity() {
    let ours = identity();
    let server = azure::start_for_identities(&ours).await;
    let entra = Service::answering(|question| exchanged(question, now().as_second())).await;
    let authority = format!("https://localhost:{}", in_front_of(entra.address, ours.acceptor.clone()).await);
    let token = server.directory.path().join("token");
    fs::write(&token, "a.token.of.the.platform").unwrap();
    let environment = [
        ("AZURE_CLIENT_ID", "the-client"),
        ("AZURE_TENANT_ID", "the-tenant"),
        ("AZURE_FEDERATED_TOKEN_FILE", token.to_str().unwrap()),
        ("AZURE_AUTHORITY_HOST", authority.as_str()),
    ];
    backup("ls", &server.target, &[], &environment).await.unwrap();
    let asked = entra.asked();
    assert!(asked[0].text.starts_with("/the-tenant/oauth2/v2.0/token"), "{}", asked[0].text);
    assert!(asked[0].text.contains("client_id=the-client"), "{}", asked[0].text);

    fs::write(&token, "another").unwrap();
    let told = backup("ls", &server.target, &[], &environment).await.unwrap_err();
    assert!(told.contains("AADSTS700211") && told.contains("refuses this identity"), "{told}");
}

fn exchanged(question: &Question, now: i64) -> (u16, String) {
    if !question.text.contains("client_assertion=a.token.of.the.platform") {
        let refused = r#"{"error":"invalid_request","error_description":"AADSTS700211: No matching federated identity record found"}"#;
        return (401, refused.to_owned());
    }
    let claims = serde_json::json!({
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/the-tenant/",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": now + 3600,
    });
    let encoded = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let token =
        [encoded(r#"{"alg":"none","typ":"JWT"}"#), encoded(&claims.to_string()), encoded("nobody")].join(".");
    (200, format!(r#"{{"access_token":"{token}","expires_in":3600}}"#))
}
