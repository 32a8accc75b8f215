//! The object store, and what its refusals mean to us.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use futures::TryStreamExt as _;
use object_store::{
    BackoffConfig, ClientOptions, GetResult, ObjectStore, ObjectStoreExt as _, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    client::HttpError,
    path::Path,
};

use super::failure::Failure;

/// Every backup's name ends so.
const SUFFIX: &str = ".notes";

/// Where backups are, as the command line says it.
#[derive(clap::Args)]
pub struct Target {
    /// The S3 server; https unless the scheme is given.
    #[arg(long)]
    host: String,
    #[arg(long)]
    bucket: String,
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1")]
    region: String,
    #[arg(long, env = "AWS_ACCESS_KEY_ID", hide_env_values = true, default_value = "")]
    access_key_id: String,
    #[arg(long, env = "AWS_SECRET_ACCESS_KEY", hide_env_values = true, default_value = "")]
    secret_access_key: String,
}

/// A bucket. Every error names it.
#[derive(Debug)]
pub(super) struct Bucket {
    store: Arc<AmazonS3>,
    name: String,
}

impl Target {
    pub(super) fn open(&self) -> Result<Bucket, Failure> {
        if self.access_key_id.is_empty() || self.secret_access_key.is_empty() {
            let what = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set, for example from a Secret";
            return Err(Failure::Usage(what.to_owned()));
        }
        let endpoint = match self.host.contains("://") {
            true => self.host.clone(),
            false => format!("https://{}", self.host),
        };
        let plain = endpoint.starts_with("http://");
        let name = format!("bucket {} at {}", self.bucket, self.host);
        let store = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_virtual_hosted_style_request(false)
            .with_bucket_name(&self.bucket)
            .with_region(&self.region)
            .with_access_key_id(&self.access_key_id)
            .with_secret_access_key(&self.secret_access_key)
            .with_retry(RetryConfig {
                max_retries: 3,
                retry_timeout: Duration::from_secs(30),
                backoff: BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() },
            })
            .with_client_options(
                ClientOptions::new()
                    .with_allow_http(plain)
                    // Our image has no certificates of authorities; without TLS none are missed.
                    .with_no_system_certificates(plain)
                    .with_connect_timeout(Duration::from_secs(5))
                    .with_read_timeout(Duration::from_secs(30))
                    .with_timeout(Duration::from_secs(300)),
            )
            .build()
            // What is checked above leaves one cause: a container without certificates of authorities.
            .map_err(|error| {
                let todo =
                    "for https, mount the authorities' certificates and name the file in SSL_CERT_FILE";
                Failure::Usage(format!("{name}: {}; {todo}", short(&error)))
            })?;
        Ok(Bucket { store: Arc::new(store), name })
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Bucket {
    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    pub(super) async fn get(&self, key: &str) -> Result<GetResult, object_store::Error> {
        self.store.get(&path(key).map_err(|source| object_store::Error::InvalidPath { source })?).await
    }

    pub(super) async fn size(&self, key: &Path) -> Result<u64, Failure> {
        self.store.head(key).await.map(|meta| meta.size).map_err(|error| self.failure(&error))
    }

    /// The backups below `prefix`, oldest first: their names sort by time.
    pub(super) async fn backups(&self, prefix: &str) -> Result<Vec<String>, Failure> {
        let prefix = Path::from(prefix);
        let objects: Vec<_> =
            self.store.list(Some(&prefix)).try_collect().await.map_err(|error| self.failure(&error))?;
        let mut keys: Vec<_> = objects.into_iter().map(|object| object.location.to_string()).collect();
        keys.retain(|key| key.ends_with(SUFFIX));
        keys.sort_unstable();
        Ok(keys)
    }

    /// Did the store say no, or nothing that helps?
    pub(super) fn failure(&self, error: &object_store::Error) -> Failure {
        use object_store::Error as E;
        let said = format!("{self}: {}", short(error));
        match error {
            E::PermissionDenied { .. } | E::Unauthenticated { .. } | E::NotFound { .. } => refused(&said),
            E::InvalidPath { .. } => Failure::Usage(said),
            _ if is_refusal(error) => refused(&said),
            _ => Failure::Again(said),
        }
    }
}

fn refused(said: &str) -> Failure {
    Failure::Refused(format!(
        "{said}; check the bucket, the access key and its secret, and what the key may do"
    ))
}

/// The key of a backup made at `now` below `prefix`.
pub(super) fn key_at(prefix: &str, now: jiff::Timestamp) -> String {
    format!("{}/{}{SUFFIX}", prefix.trim_end_matches('/'), now.strftime("%Y%m%dT%H%M%SZ"))
}

pub(super) fn path(key: &str) -> Result<Path, object_store::path::Error> {
    Path::parse(key)
}

/// A list that the store refuses comes as a generic error, and its status is not in the type (object_store 0.14): it is the
/// one that no transport error caused and whose text has a status of the 400s.
fn is_refusal(error: &object_store::Error) -> bool {
    !causes(error).any(<dyn Error>::is::<HttpError>) && error.to_string().contains("status code: 4")
}

/// What people need of an error: the store's own word for it, or what is at the bottom of it.
fn short(error: &object_store::Error) -> String {
    let text = error.to_string();
    let code = |text: &str| Some(text.split_once("<Code>")?.1.split_once("</Code>")?.0.to_owned());
    code(&text).unwrap_or_else(|| causes(error).last().map_or(text, ToString::to_string))
}

fn causes(error: &object_store::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}
