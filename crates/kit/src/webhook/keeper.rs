//! The certificates in a Secret that all replicas share.
//!
//! Any replica may renew: the Secret is created only if it is not there and changed only at the resourceVersion that the
//! decision was based on, so one of them wins and the others take what it made. It works without being the leader, for
//! standbys serve webhooks, too: give it a client that is not fenced.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use tokio_util::sync::CancellationToken;

use super::{
    certs::{self, Bundle, CertError, Decision, Parts},
    inject::{self, Target},
    slot::CertSlot,
};
use crate::{
    Clock,
    access::{Access, Reach, Verb},
};

/// A Secret that somebody deletes or edits is noticed within this time.
const LOOK_EVERY: SignedDuration = SignedDuration::from_hours(1);
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// More conflicts in a row than replicas: something else is fighting over the Secret.
const ATTEMPTS: usize = 5;

/// Keeps certificate and trust in order.
#[derive(Clone)]
pub struct Keeper {
    client: Client,
    namespace: String,
    secret: String,
    names: Vec<String>,
    targets: Vec<Target>,
    clock: Clock,
}

/// Why the certificates are not in order.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The API server did not do it.
    #[error("cannot {verb} {what}")]
    Api {
        /// What was tried.
        verb: &'static str,
        /// On what.
        what: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// A certificate could not be made.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// Somebody changes the object as fast as we do.
    #[error("{0} changed under every attempt")]
    Contended(String),
}

impl Keeper {
    /// Certificates for `names` (see [`service_names`](super::service_names)), in the Secret `namespace/secret`.
    pub fn new(client: Client, namespace: &str, secret: &str, names: Vec<String>, clock: Clock) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            names,
            targets: Vec::new(),
            clock,
        }
    }

    /// Makes `target` trust these certificates.
    pub fn trusted_by(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// What this needs to be allowed to do.
    pub fn access(&self) -> Vec<Access> {
        let mut access = vec![
            Access::new("", "secrets", [Verb::Create], Reach::Home),
            Access::new("", "secrets", [Verb::Get, Verb::Update], Reach::Home).named([self.secret.clone()]),
        ];
        for target in &self.targets {
            let (group, resource, name) = target.resource();
            let patch = Access::new(group, resource, [Verb::Get, Verb::Patch], Reach::Cluster);
            access.push(patch.named([name.to_owned()]));
        }
        access
    }

    /// Keeps `slot` filled and the targets informed, until `stop`. Failures are logged and tried again.
    pub async fn run(self, slot: CertSlot, stop: CancellationToken) {
        loop {
            let wait = match stop.run_until_cancelled(self.once(&slot)).await {
                None => return,
                Some(Ok(wait)) => wait,
                Some(Err(error)) => {
                    tracing::warn!(
                        "the webhook's certificates are not in order: {}",
                        crate::telemetry::chain(&error)
                    );
                    RETRY_AFTER
                }
            };
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return;
            }
        }
    }

    /// Reads or makes the certificates, serves them, and makes them trusted. Returns for how long that is good.
    pub async fn once(&self, slot: &CertSlot) -> Result<Duration, KeepError> {
        let (bundle, look_again) = self.bundle().await?;
        slot.put(bundle.certified()?, bundle.valid_until());
        for target in &self.targets {
            inject::trust(&self.client, target, &bundle.trust()).await?;
        }
        let now = self.clock.now();
        Ok(look_again.duration_since(now).clamp(SignedDuration::from_secs(1), LOOK_EVERY).unsigned_abs())
    }

    async fn bundle(&self) -> Result<(Bundle, Timestamp), KeepError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        for _ in 0..ATTEMPTS {
            let now = self.clock.now();
            let found = secrets.get_opt(&self.secret).await.map_err(|error| self.failed("read", error))?;
            let (bundle, why) = match found.as_ref().map(read) {
                None => (Bundle::new(&self.names, now)?, "there was none".to_owned()),
                Some(Err(unusable)) => (Bundle::new(&self.names, now)?, unusable.to_string()),
                Some(Ok(bundle)) => match certs::decide(now, &bundle, &self.names) {
                    Decision::Keep { look_again } => return Ok((bundle, look_again)),
                    decision => match certs::carry_out(&decision, &bundle, &self.names, now)? {
                        Some(renewed) => (renewed, format!("{decision:?}")),
                        None => (bundle, String::new()),
                    },
                },
            };
            let secret = self.to_secret(&bundle, found.as_ref().map(|secret| &secret.metadata));
            let written = match &found {
                None => secrets.create(&PostParams::default(), &secret).await,
                Some(_) => secrets.replace(&self.secret, &PostParams::default(), &secret).await,
            };
            match written {
                Ok(_) => tracing::info!(secret = %self.key(), "new certificate for the webhooks: {why}"),
                // Another replica was quicker: what it wrote is as good. A deleted Secret is made anew.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(self.failed("write", error)),
            }
        }
        Err(KeepError::Contended(format!("Secret {}", self.key())))
    }

    /// Keeps what others put on the Secret, and pins the version that was read.
    fn to_secret(&self, bundle: &Bundle, found: Option<&ObjectMeta>) -> Secret {
        let metadata = ObjectMeta {
            name: Some(self.secret.clone()),
            namespace: Some(self.namespace.clone()),
            resource_version: found.and_then(|meta| meta.resource_version.clone()),
            uid: found.and_then(|meta| meta.uid.clone()),
            labels: found.and_then(|meta| meta.labels.clone()),
            annotations: found.and_then(|meta| meta.annotations.clone()),
            owner_references: found.and_then(|meta| meta.owner_references.clone()),
            ..ObjectMeta::default()
        };
        let parts = [
            (CA, Some(bundle.authority.pem.as_str())),
            (CA_KEY, Some(bundle.authority_key.pem())),
            (PREVIOUS_CA, bundle.previous.as_ref().map(|ca| ca.pem.as_str())),
            (LEAF, Some(bundle.leaf.pem.as_str())),
            (LEAF_KEY, Some(bundle.leaf_key.pem())),
        ];
        let data: BTreeMap<_, _> = parts
            .into_iter()
            .filter_map(|(name, pem)| Some((name.to_owned(), ByteString(pem?.as_bytes().to_vec()))))
            .collect();
        Secret { metadata, data: Some(data), ..Secret::default() }
    }

    fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.secret)
    }

    fn failed(&self, verb: &'static str, source: kube::Error) -> KeepError {
        KeepError::Api { verb, what: format!("Secret {}", self.key()), source: Box::new(source) }
    }
}

const CA: &str = "ca.crt";
const CA_KEY: &str = "ca.key";
const PREVIOUS_CA: &str = "ca-previous.crt";
const LEAF: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";

fn read(secret: &Secret) -> Result<Bundle, CertError> {
    let part = |name: &'static str| {
        let bytes = &secret.data.as_ref().and_then(|data| data.get(name))?.0;
        std::str::from_utf8(bytes).ok()
    };
    let need = |name| part(name).ok_or_else(|| CertError::Read { what: name, why: "it is missing".into() });
    Bundle::parse(&Parts {
        authority: need(CA)?,
        authority_key: need(CA_KEY)?,
        previous: part(PREVIOUS_CA),
        leaf: need(LEAF)?,
        leaf_key: need(LEAF_KEY)?,
    })
}
