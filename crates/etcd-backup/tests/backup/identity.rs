//! Whoever has no credentials of a Secret has those of the platform. They come by the environment, so the work is done by a process of its own: this
//! test program again.

use std::{env, fs, net::SocketAddr, path::Path};

use etcd_backup::Target;
use s3::Conduct;

use super::{
    listed,
    places::bucket_with,
    platform::{Question, Service, pod, said},
    save_whole, small,
    tls_front::{identity, in_front_of},
};

const WORK: &str = "ETCD_BACKUP_TEST_POD";
/// The test that does the work of a pod when [`WORK`] is set.
const CARRIER: &str = "identity::the_environment_of_the_stores_own_tools_is_enough";
const ROLE: &str = "arn:aws:iam::111122223333:role/backup";

/// What a pod does: takes a backup, and lists it.
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
async fn work_of_a_pod(work: &str) {
    let [endpoint, ca_file, credentials] = work.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let path = |text: &str| (text != "-").then(|| text.into());
    let target = Target {
        url: "s3://backups/of/db".to_owned(),
        endpoint: (endpoint != "-").then(|| endpoint.to_owned()),
        ca_file: path(ca_file),
        credentials: path(credentials),
        ..Target::default()
    };
    let store = target.open().unwrap();
    match save_whole(&store, "a", None, &small()).await {
        Ok(_) => println!("stored {:?}", listed(&store).await),
        Err(error) => println!("failed: {error} (transient: {})", error.is_transient()),
    }
}

async fn play(work: &str, environment: &[(&str, &str)]) -> String {
    let environment: Vec<_> = environment.iter().copied().chain([(WORK, work)]).collect();
    let me = env::current_exe().unwrap();
    let output = pod(&me, &["--exact", CARRIER, "--nocapture"], &environment).await;
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

fn address(target: &Target) -> SocketAddr {
    target.endpoint.as_deref().unwrap().trim_start_matches("http://").parse().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// AWS' answer to AssumeRoleWithWebIdentity, with the key pair of the bucket.
fn assumed(question: &Question) -> (u16, String) {
    let right = question.text.contains("WebIdentityToken=a.token.of.the.platform");
    match right {
        true => (
            200,
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
             <AccessKeyId>key</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>\
             <SessionToken>for-an-hour</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>\
             </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
                .to_owned(),
        ),
        false => (
            403,
            "<ErrorResponse><Error><Code>AccessDenied</Code>\
             <Message>Not authorized to perform sts:AssumeRoleWithWebIdentity</Message></Error></ErrorResponse>"
                .to_owned(),
        ),
    }
}

#[tokio::test]
async fn an_account_of_kubernetes_becomes_a_role_of_aws() {
    let conduct = Conduct::watched();
    let (target, directory) = bucket_with(conduct.clone()).await;
    let sts = Service::answering(assumed).await;
    let ours = identity();
    let token = directory.path().join("token");
    fs::write(&token, "a.token.of.the.platform").unwrap();
    let (ca, _) = ours.keep(directory.path());
    // Role and token go over TLS only, whatever the store does.
    let sts_url = format!("https://localhost:{}", in_front_of(sts.address, ours.acceptor.clone()).await);
    let store = format!("https://localhost:{}", in_front_of(address(&target), ours.acceptor).await);
    let environment = [
        ("AWS_ROLE_ARN", ROLE),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", text(&token)),
        ("AWS_ENDPOINT_URL_STS", sts_url.as_str()),
        ("AWS_REGION", "eu-central-1"),
    ];
    let work = format!("{store} {} -", ca.display());
    let told = play(&work, &environment).await;
    assert!(told.contains("stored [\"a 8192\"]"), "{told}");

    let asked = sts.asked();
    assert_eq!(asked.len(), 1, "once for all requests");
    assert!(asked[0].text.contains("Action=AssumeRoleWithWebIdentity"), "{}", asked[0].text);
    assert!(asked[0].text.contains("role%2Fbackup"), "{}", asked[0].text);
    for request in conduct.asked() {
        assert_eq!(request.header("x-amz-security-token"), Some("for-an-hour"), "{request:?}");
        // The region that EKS tells was once replaced by us-east-1.
        assert!(request.header("authorization").unwrap().contains("/eu-central-1/s3/"), "{request:?}");
    }

    // A store without TLS does not mean that nobody has it.
    let mut trusting = environment.to_vec();
    trusting.push(("SSL_CERT_FILE", text(&ca)));
    let told = play(&format!("http://{} - -", address(&target)), &trusting).await;
    assert!(told.contains("stored [\"a 8192\"]"), "{told}");

    fs::write(&token, "another").unwrap();
    let told = play(&work, &environment).await;
    assert!(told.contains("failed: ") && told.contains("HTTP status 403 (AccessDenied)"), "{told}");
    assert!(told.contains("refuses this identity") && told.contains("(transient: false)"), "{told}");
}

#[tokio::test]
async fn a_pod_identity_of_eks_is_taken() {
    let conduct = Conduct::watched();
    let (target, directory) = bucket_with(conduct.clone()).await;
    let agent = Service::answering(|question| match question.header("authorization") {
        "a.token.of.the.platform" => (
            200,
            r#"{"AccessKeyId":"key","SecretAccessKey":"secret","Token":"for-an-hour","Expiration":"2100-01-01T00:00:00Z"}"#
                .to_owned(),
        ),
        _ => (401, String::new()),
    })
    .await;
    let token = directory.path().join("token");
    fs::write(&token, "a.token.of.the.platform").unwrap();
    let url = format!("http://{}/v1/credentials", agent.address);
    let environment = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text(&token)),
    ];
    let told = play(&format!("http://{} - -", address(&target)), &environment).await;
    assert!(told.contains("stored [\"a 8192\"]"), "{told}");
    assert!(conduct.asked().iter().all(|it| it.header("x-amz-security-token") == Some("for-an-hour")));
}

/// What AWS' own tools read, endpoint and all. A server without TLS was once refused if it came this way.
#[expect(clippy::disallowed_methods, reason = "how this program tells itself what to do")]
#[tokio::test]
async fn the_environment_of_the_stores_own_tools_is_enough() {
    if let Ok(work) = env::var(WORK) {
        return work_of_a_pod(&work).await;
    }
    let (target, _directory) = bucket_with(Conduct::default()).await;
    let environment = [
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_ENDPOINT_URL", target.endpoint.as_deref().unwrap()),
    ];
    let told = play("- - -", &environment).await;
    assert!(told.contains("stored [\"a 8192\"]"), "{told}");
}

/// Half of an identity from the environment once went with the other half from the files.
#[tokio::test]
async fn with_credentials_in_files_the_environment_is_not_asked() {
    let conduct = Conduct::watched();
    let (target, _directory) = bucket_with(conduct.clone()).await;
    let environment = [
        ("AWS_SESSION_TOKEN", "of-somebody-else"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
        ("AWS_REGION", "eu-central-1"),
    ];
    let work = format!("http://{} - {}", address(&target), target.credentials.as_ref().unwrap().display());
    let told = play(&work, &environment).await;
    assert!(told.contains("stored [\"a 8192\"]"), "{told}");
    assert!(conduct.asked().iter().all(|it| it.header("x-amz-security-token").is_none()));
}
