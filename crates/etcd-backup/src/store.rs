//! Where backups are: an object store, or a directory. Opened from plain settings; every error names the place.
//!
//! Credentials come from files (a mounted Secret), never from arguments or the environment of our making. With files the environment is not
//! asked at all: half of one identity and half of another is none. Without files the store's own chain of workload identity is followed:
//! variables of its tools, a token that the platform mounts, or the machine's metadata service.

use std::{
    fs, io,
    path::{Path as File, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{
    BackoffConfig, Certificate, ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutPayload, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    local::LocalFileSystem,
    path::Path,
};

use crate::{
    Error, Result, Sha256,
    error::of_store,
    manifest::{self, Manifest},
    wal,
};

/// Directories that are listed at once.
const LISTED_AT_ONCE: usize = 8;

/// A place, as a resource or a command line describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` (or `az://container@account/prefix`), or `file:///directory`.
    pub url: String,
    /// Another server than that of AWS, Google, or the account at Azure: a store that speaks S3, a private endpoint, another cloud.
    pub endpoint: Option<String>,
    pub region: Option<String>,
    /// Bucket in the host's name instead of the path. AWS wants it, most others do not.
    pub virtual_host_style: bool,
    /// Server-side encryption: `AES256`, or `aws:kms` with a key.
    pub server_side_encryption: Option<String>,
    pub kms_key: Option<String>,
    /// A file with the authorities of the store's certificate, in PEM.
    pub ca_file: Option<PathBuf>,
    /// A directory with one file per credential, as a Secret is mounted; see [`CREDENTIALS`].
    pub credentials: Option<PathBuf>,
}

/// The keys of a Secret with credentials, by kind of store. Those with `true` must be there when a Secret is given.
pub const CREDENTIALS: &[(Kind, &str, bool)] = &[
    (Kind::S3, "accessKeyID", true),
    (Kind::S3, "secretAccessKey", true),
    (Kind::S3, "sessionToken", false),
    (Kind::Gcs, "serviceAccount", true),
    (Kind::Azure, "accountName", true),
    (Kind::Azure, "accountKey", true),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    S3,
    Gcs,
    Azure,
    Directory,
}

/// The schemes, in the order in which an error names them.
const SCHEMES: &[(&str, Kind)] =
    &[("s3://", Kind::S3), ("gs://", Kind::Gcs), ("az://", Kind::Azure), ("file://", Kind::Directory)];

/// An open place.
#[derive(Debug, Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    location: String,
}

/// What is below a place: directories of backups, with the names of their objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub id: String,
    pub objects: Vec<String>,
    pub newest: jiff::Timestamp,
}

impl Target {
    /// What kind of store it is, and bucket and prefix.
    fn parts(&self) -> Result<(Kind, &str, &str)> {
        let found = SCHEMES.iter().find_map(|(scheme, kind)| Some((*kind, self.url.strip_prefix(scheme)?)));
        let Some((kind, rest)) = found else {
            let schemes: Vec<&str> = SCHEMES.iter().map(|(scheme, _)| *scheme).collect();
            return Err(self.wrong(
                "it is none of the stores that are known",
                &format!("It must begin with one of {}", schemes.join(", ")),
            ));
        };
        if kind == Kind::Directory {
            return match rest.starts_with('/') {
                true => Ok((kind, rest, "")),
                false => Err(self
                    .wrong("the directory is not absolute", "Write file:///directory, with three slashes")),
            };
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        match bucket.is_empty() {
            true => Err(self.wrong("it names no bucket", "Write the bucket's name after the scheme")),
            false => Ok((kind, bucket, prefix)),
        }
    }

    pub fn open(&self) -> Result<Store> {
        let (kind, bucket, prefix) = self.parts()?;
        let prefix = Path::parse(prefix.trim_matches('/'))
            .map_err(|error| self.wrong(&format!("its path is not valid ({error})"), "Use plain names"))?;
        if kind != Kind::S3 && (self.server_side_encryption.is_some() || self.kms_key.is_some()) {
            return Err(self.wrong(
                "only a store that speaks S3 can be asked to encrypt",
                "Google and Azure do it unasked, with the key that the bucket or account is set to",
            ));
        }
        let built = match kind {
            Kind::S3 => self.s3(bucket),
            Kind::Gcs => self.gcs(bucket),
            Kind::Azure => self.azure(bucket),
            Kind::Directory => self.directory(bucket),
        };
        Ok(Store { objects: built?, prefix, location: self.url.clone() })
    }

    fn s3(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut builder = match self.credentials {
            None => AmazonS3Builder::from_env(),
            Some(_) => AmazonS3Builder::new()
                .with_access_key_id(self.credential("accessKeyID")?)
                .with_secret_access_key(self.credential("secretAccessKey")?),
        };
        if let Some(token) = self.optional("sessionToken")? {
            builder = builder.with_token(token);
        }
        // Not without one: EKS tells a pod its region in the environment.
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if self.virtual_host_style {
            builder = builder.with_virtual_hosted_style_request(true);
        }
        let given = self.endpoint.as_deref().map(|endpoint| match self.virtual_host_style {
            true => with_host_of(bucket, endpoint),
            false => endpoint.to_owned(),
        });
        if let Some(endpoint) = &given {
            // The second is what a variable of the environment would otherwise win with.
            builder =
                builder.with_endpoint(endpoint).with_config(AmazonS3ConfigKey::S3Endpoint, endpoint.clone());
        }
        let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
        let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
        for (key, value) in self.encryption()? {
            let key = key.parse::<AmazonS3ConfigKey>();
            let key = key.map_err(|error| self.wrong(&error.to_string(), "This is a mistake of Capstan"))?;
            builder = builder.with_config(key, value);
        }
        let builder = builder
            .with_bucket_name(bucket)
            .with_retry(retry())
            .with_client_options(self.client(endpoint.as_deref())?);
        Ok(Arc::new(builder.build().map_err(|error| self.unusable(&error))?))
    }

    /// What S3 is asked to encrypt with. A key alone means its key service; another way with it would be a contradiction.
    fn encryption(&self) -> Result<Vec<(&'static str, &str)>> {
        let how = self.server_side_encryption.as_deref().or(self.kms_key.as_ref().map(|_| "aws:kms"));
        if let (Some(how), Some(_)) = (how, &self.kms_key)
            && !how.starts_with("aws:kms")
        {
            return Err(self.wrong(
                &format!("a key of the store's key service does not go with the encryption {how}"),
                "Ask for aws:kms, or name no key",
            ));
        }
        let how = how.map(|how| ("aws_server_side_encryption", how));
        let key = self.kms_key.as_deref().map(|key| ("aws_sse_kms_key_id", key));
        Ok(how.into_iter().chain(key).collect())
    }

    fn gcs(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut builder = match self.credentials {
            None => GoogleCloudStorageBuilder::from_env(),
            Some(_) => {
                GoogleCloudStorageBuilder::new().with_service_account_key(self.credential("serviceAccount")?)
            }
        };
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_base_url(endpoint.trim_end_matches('/'));
        }
        let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
        let builder = builder
            .with_bucket_name(bucket)
            .with_retry(retry())
            .with_client_options(self.client(endpoint.as_deref())?);
        Ok(Arc::new(builder.build().map_err(|error| self.unusable(&error))?))
    }

    /// `container`, or `container@account`: a pod that has an identity from its platform is told no account.
    fn azure(&self, container: &str) -> Result<Arc<dyn ObjectStore>> {
        let (container, account) = match container.split_once('@') {
            Some((container, account)) => (container, Some(account)),
            None => (container, None),
        };
        let mut builder = match self.credentials {
            None => MicrosoftAzureBuilder::from_env(),
            Some(_) => MicrosoftAzureBuilder::new()
                .with_account(self.credential("accountName")?)
                .with_access_key(self.credential("accountKey")?),
        };
        if let Some(account) = account {
            builder = builder.with_account(account);
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
        }
        let emulator = builder.get_config_value(&AzureConfigKey::UseEmulator);
        let named = builder.get_config_value(&AzureConfigKey::AccountName).is_some();
        if !named && emulator.as_deref() != Some("true") {
            return Err(self.wrong(
                "it names no account",
                "Write az://container@account/prefix, or give a Secret that has the account's name and key",
            ));
        }
        let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
        let builder = builder
            .with_container_name(container)
            .with_retry(retry())
            .with_client_options(self.client(endpoint.as_deref())?);
        Ok(Arc::new(builder.build().map_err(|error| self.unusable(&error))?))
    }

    fn directory(&self, directory: &str) -> Result<Arc<dyn ObjectStore>> {
        let missing = |error: object_store::Error| {
            self.wrong(&format!("the directory cannot be used ({error})"), "Is the volume mounted there?")
        };
        Ok(Arc::new(LocalFileSystem::new_with_prefix(directory).map_err(missing)?.with_fsync(true)))
    }

    /// How the server at `endpoint` is spoken to.
    fn client(&self, endpoint: Option<&str>) -> Result<ClientOptions> {
        let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let mut options = ClientOptions::new()
            .with_allow_http(plain)
            // A machine may have no certificates of authorities; without TLS none are missed. Who has no credentials may have to ask for
            // some, of a service that has TLS.
            .with_no_system_certificates(self.ca_file.is_some() || (plain && self.credentials.is_some()))
            .with_connect_timeout(Duration::from_secs(5))
            .with_read_timeout(Duration::from_secs(30))
            .with_timeout(Duration::from_secs(300));
        if let Some(file) = &self.ca_file {
            let text = self.read(file)?;
            let certificates = Certificate::from_pem_bundle(&text).map_err(|error| self.unusable(&error))?;
            options = certificates.into_iter().fold(options, ClientOptions::with_root_certificate);
        }
        Ok(options)
    }

    fn credential(&self, key: &'static str) -> Result<String> {
        self.optional(key)?.ok_or_else(|| {
            self.wrong(
                &format!("the Secret with its credentials has no key {key}"),
                "Add it, or give no Secret to use the workload's identity",
            )
        })
    }

    fn optional(&self, key: &str) -> Result<Option<String>> {
        let Some(file) = self.credentials.as_ref().map(|directory| directory.join(key)) else {
            return Ok(None);
        };
        match fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(self
                    .wrong(&format!("{} cannot be read ({error})", file.display()), "Is the Secret mounted?"))
            }
        }
    }

    fn read(&self, file: &File) -> Result<Vec<u8>> {
        fs::read(file).map_err(|error| {
            self.wrong(&format!("{} cannot be read ({error})", file.display()), "Is it mounted?")
        })
    }

    fn wrong(&self, what: &str, todo: &str) -> Error {
        Error::Target { location: self.url.clone(), what: what.to_owned(), todo: todo.to_owned() }
    }

    fn unusable(&self, error: &object_store::Error) -> Error {
        // What the client says when it finds no authority at all to believe.
        let todo = match error.to_string().contains("builder error") {
            true => "For https, name the file with the authorities' certificates",
            false => "Check the credentials and the settings of the store",
        };
        self.wrong(&format!("its settings cannot be used ({error})"), todo)
    }
}

/// The bucket as a part of the server's name.
fn with_host_of(bucket: &str, endpoint: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, rest)) if !rest.starts_with(&format!("{bucket}.")) => {
            format!("{scheme}://{bucket}.{rest}")
        }
        _ => endpoint.to_owned(),
    }
}

/// A store that is down for seconds is waited for; a Job that is tried again waits for longer.
fn retry() -> RetryConfig {
    RetryConfig {
        max_retries: 5,
        retry_timeout: Duration::from_secs(60),
        backoff: BackoffConfig { max_backoff: Duration::from_secs(5), ..BackoffConfig::default() },
    }
}

impl Store {
    /// Any store, below a prefix; for tests with one that fails.
    pub fn over(objects: Arc<dyn ObjectStore>, prefix: &str, location: &str) -> Self {
        Self { objects, prefix: Path::from(prefix), location: location.to_owned() }
    }

    pub fn location(&self) -> &str {
        &self.location
    }

    pub(crate) fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    pub(crate) fn path(&self, id: &str, object: &str) -> Path {
        self.prefix.clone().join(id).join(object)
    }

    /// A path of the store's own layout.
    pub(crate) fn below(&self, parts: &[&str]) -> Path {
        parts.iter().fold(self.prefix.clone(), |path, part| path.join(*part))
    }

    pub(crate) fn failed(
        &self,
        action: &'static str,
        object: &Path,
    ) -> impl FnOnce(object_store::Error) -> Error {
        let (location, object) = (self.location.clone(), object.to_string());
        move |error| of_store(&location, action, &object, &error)
    }

    /// The manifest of a backup; `None` when there is none, which means that there is no backup.
    pub async fn manifest(&self, id: &str) -> Result<Option<Manifest>> {
        let path = self.path(id, manifest::OBJECT);
        let found = match self.objects.get(&path).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.failed("read", &path)(error)),
        };
        if found.meta.size > manifest::LONGEST {
            let why = format!("its manifest.json has {} bytes", found.meta.size);
            return Err(Error::NotOurs { id: id.to_owned(), why });
        }
        let text = found.bytes().await.map_err(self.failed("read", &path))?;
        Manifest::parse(id, &text).map(Some)
    }

    /// Makes a backup of what was stored. Never over another one: `false` if there is one. A manifest that the store does not give back as it
    /// was written is none.
    pub(crate) async fn write_manifest(&self, manifest: &Manifest) -> Result<bool> {
        let path = self.path(&manifest.id, manifest::OBJECT);
        let text = Bytes::from(manifest.text());
        let only_new = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.objects.put_opts(&path, PutPayload::from_bytes(text.clone()), only_new).await {
            Ok(_) => {}
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(self.failed("write", &path)(error)),
        }
        let kept = match self.objects.get(&path).await {
            Ok(found) => found.bytes().await,
            Err(object_store::Error::NotFound { .. }) => return Err(self.forgot(&path)),
            Err(error) => Err(error),
        };
        let kept = kept.map_err(self.failed("read back", &path))?;
        match kept == text {
            true => Ok(true),
            false => {
                self.remove_object(&manifest.id, manifest::OBJECT).await?;
                Err(self.lied(&path, Sha256::of(&text), Sha256::of(&kept)))
            }
        }
    }

    /// The object is not there, although the store has said that it has it.
    pub(crate) fn forgot(&self, object: &Path) -> Error {
        Error::Forgot { location: self.location.clone(), object: object.to_string() }
    }

    /// The object is another one than was written.
    pub(crate) fn lied(&self, object: &Path, written: Sha256, read: Sha256) -> Error {
        Error::Lied { location: self.location.clone(), object: object.to_string(), written, read }
    }

    /// Every directory below the place, in the order of their names; not what is captured between backups, which may be very much.
    pub async fn found(&self) -> Result<Vec<Found>> {
        let listed = self.objects.list_with_delimiter(Some(&self.prefix)).await;
        let listed = listed.map_err(self.failed("list", &self.prefix))?;
        let mut names: Vec<String> = listed
            .common_prefixes
            .iter()
            .map(|path| self.directly_below(&self.prefix, path))
            .collect::<Result<_>>()?;
        names.retain(|name| name != wal::shelf::ROOT);
        let look = |name: String| async move { self.found_one(&name).await };
        let found: Vec<Option<Found>> =
            stream::iter(names.into_iter().map(look)).buffered(LISTED_AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// One directory; `None` if there is nothing in it.
    pub async fn found_one(&self, id: &str) -> Result<Option<Found>> {
        let path = self.below(&[id]);
        let listed = match self.objects.list_with_delimiter(Some(&path)).await {
            Ok(listed) => listed,
            // Names that the client cannot handle, such as one with an empty part: none of ours is like that.
            Err(object_store::Error::InvalidPath { .. }) => return Ok(None),
            Err(error) => return Err(self.failed("list", &path)(error)),
        };
        for path_below in &listed.common_prefixes {
            self.directly_below(&path, path_below)?;
        }
        let time = |meta: &ObjectMeta| {
            jiff::Timestamp::from_second(meta.last_modified.timestamp()).unwrap_or_default()
        };
        let Some(newest) = listed.objects.iter().map(time).max() else { return Ok(None) };
        let objects = listed.objects.iter().map(|meta| self.directly_below(&path, &meta.location));
        Ok(Some(Found { id: id.to_owned(), objects: objects.collect::<Result<_>>()?, newest }))
    }

    /// The name of `path` in the directory that was listed. A store that answers for another place is not believed at all.
    fn directly_below(&self, listed: &Path, path: &Path) -> Result<String> {
        let mut parts = path.prefix_match(listed).into_iter().flatten();
        match (parts.next(), parts.next()) {
            (Some(name), None) => Ok(name.as_ref().to_owned()),
            _ => Err(Error::Misdirected { location: self.location.clone(), asked: listed.to_string() }),
        }
    }

    pub(crate) async fn remove_object(&self, id: &str, object: &str) -> Result<()> {
        let path = self.path(id, object);
        match self.objects.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed("delete", &path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        Target { url: url.to_owned(), ..Target::default() }.open().unwrap_err().to_string()
    }

    #[test]
    fn a_place_that_cannot_be_is_refused_with_what_to_write() {
        assert!(refused("ftp://backups").contains("one of s3://, gs://, az://, file://"));
        assert!(refused("s3:///prefix").contains("names no bucket"));
        assert!(refused("file://backups").contains("three slashes"));
        assert!(refused("file:///nowhere/at/all").contains("Is the volume mounted"));
    }

    #[test]
    fn a_secret_without_the_key_is_named() {
        let empty = tempfile::tempdir().unwrap();
        let target = Target {
            url: "s3://bucket/prefix".to_owned(),
            endpoint: Some("http://127.0.0.1:9".to_owned()),
            credentials: Some(empty.path().to_owned()),
            ..Target::default()
        };
        assert!(target.open().unwrap_err().to_string().contains("has no key accessKeyID"));
    }

    #[test]
    fn credentials_that_are_none_are_told_without_being_shown() {
        for (url, keys) in [
            ("gs://bucket", &[("serviceAccount", "hunter2")][..]),
            ("az://container", &[("accountName", "backup"), ("accountKey", "hunter2!")]),
        ] {
            let files = tempfile::tempdir().unwrap();
            for (key, value) in keys {
                fs::write(files.path().join(key), value).unwrap();
            }
            let target = Target {
                url: url.to_owned(),
                endpoint: Some("http://127.0.0.1:9".to_owned()),
                credentials: Some(files.path().to_owned()),
                ..Target::default()
            };
            let said = target.open().unwrap_err().to_string();
            assert!(said.ends_with("Check the credentials and the settings of the store"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn a_bucket_in_the_hosts_name_is_put_there_once() {
        for (endpoint, becomes) in [
            ("https://s3.example.com", "https://backups.s3.example.com"),
            ("http://s3.example.com:9000/", "http://backups.s3.example.com:9000/"),
            ("https://backups.s3.example.com", "https://backups.s3.example.com"),
        ] {
            assert_eq!(with_host_of("backups", endpoint), becomes);
        }
    }
}
