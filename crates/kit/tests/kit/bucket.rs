//! Buckets, against an S3 server in this process.

use std::{fs, net::SocketAddr};

use clap::Parser as _;
use expect_test::expect;
use kit::bucket::{Bucket, StoreError, Target, key_at};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    target: Target,
}

/// An S3 server with the bucket `backups`.
struct Store {
    root: tempfile::TempDir,
    address: SocketAddr,
}

impl Store {
    async fn start() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("backups")).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, _) = s3::serve(root.path().to_owned(), any, "key", "secret").await.unwrap();
        Self { root, address }
    }

    fn bucket(&self, name: &str, access_key: &str, secret: &str) -> Result<Bucket, StoreError> {
        open(&format!("http://{}", self.address), name, access_key, secret)
    }

    fn backups(&self) -> Bucket {
        self.bucket("backups", "key", "secret").unwrap()
    }

    /// What a failure is, and what it says.
    fn told(&self, failure: &StoreError) -> String {
        let kind = match failure {
            StoreError::Missing(_) => "missing",
            StoreError::Refused(_) => "refused",
            StoreError::Usage(_) => "usage",
            StoreError::Again(_) => "again",
        };
        format!("{kind}: {failure}").replace(&self.address.to_string(), "s3.example")
    }
}

fn open(host: &str, bucket: &str, access_key: &str, secret: &str) -> Result<Bucket, StoreError> {
    let flags = ["--host", host, "--bucket", bucket, "--access-key-id", access_key];
    let line = ["app"].into_iter().chain(flags).chain(["--secret-access-key", secret]);
    Line::try_parse_from(line).unwrap_or_else(|error| panic!("{error}")).target.open()
}

#[tokio::test]
async fn what_is_written_is_read_back_also_when_it_goes_in_parts() {
    let store = Store::start().await;
    let bucket = store.backups();
    let large = b"1234567\n".repeat(6 << 17);
    for (key, bytes) in
        [("shop/small", b"one loaf".to_vec()), ("shop/empty", Vec::new()), ("shop/large", large)]
    {
        bucket.put(key, &bytes).await.unwrap();
        assert!(bucket.get(key).await.unwrap() == bytes, "{key} came back as something else");
        assert!(
            fs::read(store.root.path().join("backups").join(key)).unwrap() == bytes,
            "{key} is one object"
        );
    }
    assert_eq!(bucket.keys("shop", "l").await.unwrap(), ["shop/small"]);
    assert_eq!(bucket.keys("shop", "").await.unwrap(), ["shop/empty", "shop/large", "shop/small"]);
}

#[tokio::test]
async fn names_sort_by_time_and_latest_is_the_greatest_of_its_own() {
    let store = Store::start().await;
    let bucket = store.backups();
    let [older, newer] = ["2025-11-16T03:15:00Z", "2026-11-16T03:15:00Z"]
        .map(|now| key_at("default/shop/", now.parse().unwrap(), ".notes"));
    assert_eq!(newer, "default/shop/20261116T031500Z.notes");
    let others = ["default/shop/zzz.txt", "default/shop-2/20991116T031500Z.notes"];
    for key in [newer.as_str(), older.as_str()].into_iter().chain(others) {
        bucket.put(key, key.as_bytes()).await.unwrap();
    }
    let (key, bytes) = bucket.find("latest", "default/shop/", ".notes").await.unwrap();
    assert_eq!((key.as_str(), bytes.as_slice()), (newer.as_str(), newer.as_bytes()));
    assert_eq!(bucket.find(&older, "", ".notes").await.unwrap().0, older);
}

#[tokio::test]
async fn a_store_that_refuses_is_told_from_one_that_has_nothing_and_one_that_does_not_answer() {
    let store = Store::start().await;
    store.backups().put("shop/a.notes", b"a").await.unwrap();
    let put = async |name: &str, key: &str, secret: &str| {
        let bucket = store.bucket(name, key, secret).unwrap();
        store.told(&bucket.put("b.notes", b"b").await.unwrap_err())
    };
    let find = async |name: &str, secret: &str, wanted: &str, prefix: &str| {
        let bucket = store.bucket(name, "key", secret).unwrap();
        store.told(&bucket.find(wanted, prefix, ".notes").await.unwrap_err())
    };
    expect!["refused: bucket backups at http://s3.example: SignatureDoesNotMatch; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&put("backups", "key", "wrong").await);
    expect!["refused: bucket backups at http://s3.example: NotSignedUp; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&put("backups", "nobody", "secret").await);
    expect!["refused: bucket missing at http://s3.example: NoSuchBucket; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&put("missing", "key", "secret").await);
    expect!["refused: bucket missing at http://s3.example: NoSuchBucket; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&find("missing", "secret", "shop/a.notes", "").await);
    expect!["refused: bucket missing at http://s3.example: NoSuchBucket; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&find("missing", "secret", "latest", "shop/").await);
    expect!["refused: bucket backups at http://s3.example: SignatureDoesNotMatch; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&find("backups", "wrong", "latest", "shop/").await);
    expect!["missing: bucket backups at http://s3.example: there is no backup below nobody/"]
        .assert_eq(&find("backups", "secret", "latest", "nobody/").await);
    expect!["missing: bucket backups at http://s3.example: there is no shop/b.notes; the newest backups are shop/a.notes"].assert_eq(&find("backups", "secret", "shop/b.notes", "shop/").await);
    expect![[r#"missing: bucket backups at http://s3.example: there is no b.notes, nor any other backup below "nobody/""#]]
        .assert_eq(&find("backups", "secret", "b.notes", "nobody/").await);
    assert!(!store.root.path().join("missing").exists(), "the store does not make buckets up");

    // A port that was just free, and that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = open(&format!("http://{free}"), "backups", "key", "secret").unwrap();
    let failures = [silent.put("b.notes", b"b").await.unwrap_err(), silent.get("b.notes").await.unwrap_err()];
    for failure in failures {
        assert!(matches!(failure, StoreError::Again(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_asked_for_is_told_before_anything_is_asked() {
    let store = Store::start().await;
    let refused = |it: Result<Bucket, StoreError>| store.told(&it.unwrap_err());
    expect!["usage: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set, for example from a Secret"]
        .assert_eq(&refused(store.bucket("backups", "key", "")));
    let failure = store.backups().put("a//b", b"").await.unwrap_err();
    assert!(matches!(failure, StoreError::Usage(_)), "{failure:?}");
}
