//! A bucket of an S3 store, for backups: written and read back, and its refusals told from its silence.

use std::{error::Error, fmt, iter, time::Duration};

use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore as _, ObjectStoreExt as _, RetryConfig, WriteMultipart,
    aws::{AmazonS3, AmazonS3Builder},
    client::HttpError,
    path::Path,
};

/// What is uploaded at once; more goes in parts of this size, which is the smallest that S3 allows.
const PART: usize = 5 << 20;

/// Which bucket, as a command line says it; the credentials may be in the environment, from a Secret.
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

/// Where a Job puts a backup, as its command line says it.
#[derive(clap::Args)]
pub struct Save {
    #[command(flatten)]
    target: Target,
    /// The object.
    #[arg(long, required_unless_present = "prefix", conflicts_with = "prefix")]
    key: Option<String>,
    /// The object is named by the time, below this.
    #[arg(long)]
    prefix: Option<String>,
}

/// Which backup a Job takes, as its command line says it.
#[derive(clap::Args)]
pub struct Load {
    /// The bucket.
    #[command(flatten)]
    pub target: Target,
    /// The object, or `latest`.
    #[arg(long)]
    key: String,
    /// Where to look for the latest.
    #[arg(long, default_value = "")]
    prefix: String,
}

/// What a store made of a request. Every message names the bucket.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such object.
    #[error("{0}")]
    Missing(String),
    /// The store answers, and says no. Trying again is useless.
    #[error("{0}")]
    Refused(String),
    /// What was asked for cannot be asked for.
    #[error("{0}")]
    Usage(String),
    /// The store does not answer, or answers nonsense. Later it may.
    #[error("{0}")]
    Again(String),
}

/// A bucket.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    name: String,
}

impl Target {
    /// Opens the bucket, without a request.
    pub fn open(&self) -> Result<Bucket, StoreError> {
        if self.access_key_id.is_empty() || self.secret_access_key.is_empty() {
            let what = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set, for example from a Secret";
            return Err(StoreError::Usage(what.to_owned()));
        }
        let endpoint = match self.host.contains("://") {
            true => self.host.clone(),
            false => format!("https://{}", self.host),
        };
        let plain = endpoint.starts_with("http://");
        let name = self.to_string();
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
                StoreError::Usage(format!("{name}: {}; {todo}", short(&error)))
            })?;
        Ok(Bucket { store, name })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {} at {}", self.bucket, self.host)
    }
}

impl Save {
    /// Writes the backup, and says where it is. The names of backups end with `suffix`.
    pub async fn put(&self, bytes: &[u8], suffix: &str, now: Timestamp) -> Result<String, StoreError> {
        let named = || key_at(self.prefix.as_deref().unwrap_or_default(), now, suffix);
        let key = self.key.clone().unwrap_or_else(named);
        self.target.open()?.put(&key, bytes).await.map(|()| key)
    }
}

impl Load {
    /// Reads the backup, and says which it is. The names of backups end with `suffix`.
    pub async fn get(&self, suffix: &str) -> Result<(String, Vec<u8>), StoreError> {
        self.target.open()?.find(&self.key, &self.prefix, suffix).await
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Bucket {
    /// Writes an object, and reads it back before it says that it is there. A large one goes in parts; they appear all at once.
    pub async fn put(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(key)?;
        let upload = async {
            if bytes.len() <= PART {
                return self.store.put(&path, bytes.to_vec().into()).await.map(drop);
            }
            let mut parts = WriteMultipart::new_with_chunk_size(self.store.put_multipart(&path).await?, PART);
            parts.write(bytes);
            // When this fails, the parts that were sent are taken back.
            parts.finish().await.map(drop)
        };
        upload.await.map_err(|error| self.failure(&error))?;
        match self.get(key).await? == bytes {
            true => Ok(()),
            false => Err(StoreError::Again(format!("{self}: {key} is not what was written"))),
        }
    }

    /// A backup: its key and what it holds. `wanted` is a key, or `latest`: the last of those below `prefix` that end with
    /// `suffix`, whose names sort by time. When there is none, the error says what there is instead.
    pub async fn find(
        &self,
        wanted: &str,
        prefix: &str,
        suffix: &str,
    ) -> Result<(String, Vec<u8>), StoreError> {
        let mut key = wanted.to_owned();
        if wanted == "latest" {
            let none = || StoreError::Missing(format!("{self}: there is no backup below {prefix}"));
            key = self.keys(prefix, suffix).await?.pop().ok_or_else(none)?;
        }
        let missing = match self.get(&key).await {
            Err(StoreError::Missing(missing)) => missing,
            read => return Ok((key, read?)),
        };
        let newest: Vec<_> = self.keys(prefix, suffix).await?.into_iter().rev().take(5).collect();
        Err(StoreError::Missing(match newest.is_empty() {
            true => format!("{missing}, nor any other backup below {prefix:?}"),
            false => format!("{missing}; the newest backups are {}", newest.join(", ")),
        }))
    }

    /// What an object holds.
    pub async fn get(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.path(key)?;
        let read = async { self.store.get(&path).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(bytes.into()),
            // A bucket that is missing says so by a word of its own.
            Err(error @ object_store::Error::NotFound { .. }) if short(&error) != "NoSuchBucket" => {
                Err(StoreError::Missing(format!("{self}: there is no {key}")))
            }
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// The keys below `prefix` that end with `suffix`, in their order.
    pub async fn keys(&self, prefix: &str, suffix: &str) -> Result<Vec<String>, StoreError> {
        let prefix = Path::from(prefix);
        let objects: Vec<_> =
            self.store.list(Some(&prefix)).try_collect().await.map_err(|error| self.failure(&error))?;
        let mut keys: Vec<_> = objects.into_iter().map(|object| object.location.to_string()).collect();
        keys.retain(|key| key.ends_with(suffix));
        keys.sort_unstable();
        Ok(keys)
    }

    fn path(&self, key: &str) -> Result<Path, StoreError> {
        Path::parse(key).map_err(|error| StoreError::Usage(format!("{self}: {error}")))
    }

    /// Did the store say no, or nothing that helps?
    fn failure(&self, error: &object_store::Error) -> StoreError {
        use object_store::Error as E;
        let said = format!("{self}: {}", short(error));
        match error {
            E::PermissionDenied { .. } | E::Unauthenticated { .. } | E::NotFound { .. } => refused(&said),
            _ if is_refusal(error) => refused(&said),
            _ => StoreError::Again(said),
        }
    }
}

/// The key of a backup made at `now` below `prefix`: names sort by time.
pub fn key_at(prefix: &str, now: Timestamp, suffix: &str) -> String {
    format!("{}/{}{suffix}", prefix.trim_end_matches('/'), now.strftime("%Y%m%dT%H%M%SZ"))
}

fn refused(said: &str) -> StoreError {
    StoreError::Refused(format!(
        "{said}; check the bucket, the access key and its secret, and what the key may do"
    ))
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
    iter::successors(error.source(), |&cause| cause.source())
}
