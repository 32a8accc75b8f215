//! What a store is told about encryption: seen on the server's side.

use etcd_backup::Target;
use s3::Conduct;

use super::{places::bucket_with, refusal, save_whole, small};

const HOW: &str = "x-amz-server-side-encryption";
const KEY: &str = "x-amz-server-side-encryption-aws-kms-key-id";

/// What was said with every request that makes an object: operation, how, key.
async fn told(how: Option<&str>, key: Option<&str>) -> Vec<(String, Option<String>, Option<String>)> {
    let conduct = Conduct::watched();
    let (target, _directory) = bucket_with(conduct.clone()).await;
    let target =
        Target { server_side_encryption: how.map(str::to_owned), kms_key: key.map(str::to_owned), ..target };
    save_whole(&target.open().unwrap(), "a", None, &small()).await.unwrap();
    let asked = conduct.asked();
    let making = asked.iter().filter(|it| ["CreateMultipartUpload", "PutObject"].contains(&&*it.operation));
    let header = |asked: &s3::Asked, name| asked.header(name).map(str::to_owned);
    making.map(|it| (it.operation.clone(), header(it, HOW), header(it, KEY))).collect()
}

#[tokio::test]
async fn both_the_snapshot_and_the_manifest_are_to_be_encrypted_as_was_said() {
    let key = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd";
    let cases = [
        ((None, None), (None, None)),
        ((Some("AES256"), None), (Some("AES256"), None)),
        ((Some("aws:kms"), None), (Some("aws:kms"), None)),
        ((Some("aws:kms"), Some(key)), (Some("aws:kms"), Some(key))),
        // The kind that was asked for was once replaced by plain aws:kms.
        ((Some("aws:kms:dsse"), Some(key)), (Some("aws:kms:dsse"), Some(key))),
        ((None, Some(key)), (Some("aws:kms"), Some(key))),
    ];
    for ((how, key), (said_how, said_key)) in cases {
        let line = |operation: &str| {
            (operation.to_owned(), said_how.map(str::to_owned), said_key.map(str::to_owned))
        };
        assert_eq!(
            told(how, key).await,
            [line("PutObject"), line("CreateMultipartUpload"), line("PutObject")],
            "{how:?} {key:?}"
        );
    }
}

#[tokio::test]
async fn encryption_that_nobody_would_do_is_refused() {
    let target = |url: &str, how: &str, key: Option<&str>| Target {
        url: url.to_owned(),
        server_side_encryption: Some(how.to_owned()),
        kms_key: key.map(str::to_owned),
        endpoint: Some("http://127.0.0.1:9".to_owned()),
        ..Target::default()
    };
    let said = refusal(target("s3://backups", "AES256", Some("a key")).open());
    assert!(said.contains("does not go with the encryption AES256"), "{said}");
    let said = refusal(target("s3://backups", "rot13", None).open());
    assert!(said.contains("rot13"), "{said}");
    for url in ["gs://backups", "az://backups"] {
        let said = refusal(target(url, "AES256", None).open());
        assert!(said.contains("only a store that speaks S3 can be asked to encrypt"), "{said}");
    }
}
