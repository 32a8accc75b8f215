//! An S3 server on a directory, for tests and the demo: s3s-fs, with the refusals that real stores have.
//!
//! A bucket is a directory below the root, an object is a file in it. Requests must be signed with the one key pair.
//!
//! For tests of what stands on a store it can be made to lie, and tells what it was asked ([`Conduct`]).

mod conduct;
mod files;

use std::{net::SocketAddr, path::PathBuf, sync::Mutex};

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use s3s::{
    S3Result,
    access::{S3Access, S3AccessContext},
    auth::SimpleAuth,
    s3_error,
    service::{S3Service, S3ServiceBuilder},
};
use s3s_fs::FileSystem;
use tokio::{net::TcpListener, task::JoinHandle};

pub use conduct::{Asked, Conduct, Lie};
use files::Files;

/// Serves the buckets below `root`. The address is the one that it listens on; the task goes on until it is aborted.
pub async fn serve(
    root: PathBuf,
    listen: SocketAddr,
    access_key: &str,
    secret_key: &str,
) -> Result<(SocketAddr, JoinHandle<()>)> {
    serve_with(Conduct::default(), root, listen, access_key, secret_key).await
}

/// The same, with a conduct that can be changed while it serves.
pub async fn serve_with(
    conduct: Conduct,
    root: PathBuf,
    listen: SocketAddr,
    access_key: &str,
    secret_key: &str,
) -> Result<(SocketAddr, JoinHandle<()>)> {
    let files = FileSystem::new(&root)
        .map_err(|error| anyhow::anyhow!("{error:?}"))
        .with_context(|| format!("{} cannot be served", root.display()))?;
    let mut service = S3ServiceBuilder::new(Files {
        files,
        root: root.clone(),
        conduct: conduct.clone(),
        parts: Mutex::default(),
    });
    service.set_auth(SimpleAuth::from_single(access_key, secret_key));
    service.set_access(Signed { root, conduct });
    let listener = TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    Ok((address, tokio::spawn(accept(listener, service.build()))))
}

async fn accept(listener: TcpListener, service: S3Service) {
    loop {
        // An error here is one of the connection (reset, out of descriptors); the next one may work.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(async move {
            // How a connection ends is its client's business.
            let _ = connection.await;
        });
    }
}

/// Who may do what: everything, signed, in a bucket that exists. s3s-fs alone would create the bucket on the first write.
struct Signed {
    root: PathBuf,
    conduct: Conduct,
}

#[async_trait::async_trait]
impl S3Access for Signed {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        self.conduct.note(request);
        if request.credentials().is_none() {
            return Err(s3_error!(AccessDenied, "Signature is required"));
        }
        if self.conduct.refuses(request.s3_op().name()) {
            return Err(s3_error!(AccessDenied));
        }
        let bucket = request.s3_path().get_bucket_name();
        let exists = |bucket: &str| self.root.join(bucket).is_dir();
        match bucket.is_some_and(|bucket| !exists(bucket)) && request.s3_op().name() != "CreateBucket" {
            true => Err(s3_error!(NoSuchBucket)),
            false => Ok(()),
        }
    }
}
