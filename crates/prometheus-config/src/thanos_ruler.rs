//! The remote-write file of a ThanosRuler: Prometheus' section, cut down to what the version of Thanos knows.

use prometheus_types::ThanosRuler;
use prometheus_types::remote_write::RemoteWriteSpec;
use rendering::{Assets, Gate, Map, Tree, Version, VersionError, since, until};

use crate::context::Scope;
use crate::gates::Known;
use crate::validate::Rejected;
use crate::validate::references::{References, TlsFiles};
use crate::validate::remote_write;
use crate::validate::workload::check_remote_write_references;

/// The version of Thanos that is deployed when a resource names none.
pub const DEFAULT_VERSION: &str = "v0.42.4";

/// A field of remote write, how it is taken out, and the versions of Thanos that have it.
struct Gated {
    field: &'static str,
    gate: Gate,
    clear: fn(&mut RemoteWriteSpec),
}

/// No version of Thanos has it.
const NEVER: Gate = until("0.0.0");

/// What Thanos lacks of Prometheus' remote write. Source: the Prometheus that each release of Thanos is built with.
const OPTIONS: &[Gated] = &[
    Gated {
        field: "azureAd.workloadIdentity",
        gate: NEVER,
        clear: |spec| spec.azure_ad.iter_mut().for_each(|azure| azure.workload_identity = None),
    },
    Gated {
        field: "azureAd.scope",
        gate: NEVER,
        clear: |spec| spec.azure_ad.iter_mut().for_each(|azure| azure.scope = None),
    },
    Gated {
        field: "sigv4.externalId",
        gate: NEVER,
        clear: |spec| spec.sigv4.iter_mut().for_each(|sigv4| sigv4.external_id.clear()),
    },
    Gated { field: "roundRobinDNS", gate: since("0.38.0"), clear: |spec| spec.round_robin_dns = None },
    Gated { field: "messageVersion", gate: since("0.37.0"), clear: |spec| spec.message_version = None },
    Gated {
        field: "azureAd.sdk",
        gate: since("0.36.0"),
        clear: |spec| spec.azure_ad.iter_mut().for_each(|azure| azure.sdk = None),
    },
    Gated {
        field: "queueConfig.sampleAgeLimit",
        gate: since("0.32.0"),
        clear: |spec| spec.queue_config.iter_mut().for_each(|queue| queue.sample_age_limit = None),
    },
    Gated { field: "noProxy", gate: since("0.32.0"), clear: |spec| spec.proxy.no_proxy = None },
    Gated {
        field: "proxyFromEnvironment",
        gate: since("0.32.0"),
        clear: |spec| spec.proxy.proxy_from_environment = None,
    },
    Gated {
        field: "proxyConnectHeader",
        gate: since("0.32.0"),
        clear: |spec| spec.proxy.proxy_connect_header.clear(),
    },
    Gated {
        field: "azureAd.oauth",
        gate: AZURE_AD,
        clear: |spec| spec.azure_ad.iter_mut().for_each(|azure| azure.oauth = None),
    },
    Gated {
        field: "tlsConfig.maxVersion",
        gate: since("0.30.0"),
        clear: |spec| spec.tls_config.iter_mut().for_each(|tls| tls.safe.max_version = None),
    },
    Gated {
        field: "sendNativeHistograms",
        gate: since("0.30.0"),
        clear: |spec| spec.send_native_histograms = None,
    },
    Gated {
        field: "tlsConfig.minVersion",
        gate: since("0.28.0"),
        clear: |spec| spec.tls_config.iter_mut().for_each(|tls| tls.safe.min_version = None),
    },
];

/// Thanos knows Azure's credentials since this release.
const AZURE_AD: Gate = since("0.31.0");
/// Thanos writes to remote systems since this release.
const REMOTE_WRITE: Gate = since("0.24.0");
/// Since this release a managed identity need not be named.
const DEFAULT_IDENTITY: Gate = since("0.40.0");

/// Why there is no remote-write file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulerError {
    #[error("spec.version: {0}")]
    Version(#[from] VersionError),
    #[error("spec.{0}")]
    Invalid(#[from] Rejected),
}

/// The file `remote-write.yaml`, and the TLS files that it refers to.
pub fn remote_write_file(ruler: &ThanosRuler, assets: &Assets) -> Result<(String, TlsFiles), RulerError> {
    let version = Version::parse(if ruler.spec.pod.version.is_empty() {
        DEFAULT_VERSION
    } else {
        &ruler.spec.pod.version
    })?;
    let namespace = ruler.metadata.namespace.as_deref().unwrap_or_default();
    let specs = &ruler.spec.remote_write;
    if !specs.is_empty() && !REMOTE_WRITE.admits(&version) {
        return Err(Rejected::new(
            "remoteWrite",
            format!("it needs Thanos 0.24.0, not {version}; raise spec.version"),
        )
        .into());
    }
    let known = Known::everything();
    let scope = Scope::ungated(&known, assets, namespace);
    let mut references = References::new(assets, namespace);
    let mut written = Vec::with_capacity(specs.len());
    for (at, spec) in specs.iter().enumerate() {
        let mut spec = cut_down(spec, &version);
        check(&spec, &version, &known)
            .and_then(|()| check_remote_write_references(&mut references, &spec))
            .map_err(|error| error.within(&format!("remoteWrite[{at}]")))?;
        // Dropped as a whole only after the check: an incomplete block is refused by every version.
        spec.azure_ad = spec.azure_ad.filter(|_| AZURE_AD.admits(&version));
        written.push(Tree::from(scope.remote_write(&spec)));
    }
    let file = Map::new().with("remote_write", written).to_yaml();
    Ok((file, references.into_files()))
}

/// The names of the fields that a version of Thanos ignores in an entry.
pub fn ignored(spec: &RemoteWriteSpec, version: &Version) -> Vec<&'static str> {
    let missing = OPTIONS.iter().filter(|option| !option.gate.admits(version));
    missing
        .filter(|option| {
            let mut without = spec.clone();
            (option.clear)(&mut without);
            without != *spec
        })
        .map(|option| option.field)
        .collect()
}

fn cut_down(spec: &RemoteWriteSpec, version: &Version) -> RemoteWriteSpec {
    let mut spec = spec.clone();
    for option in OPTIONS.iter().filter(|option| !option.gate.admits(version)) {
        (option.clear)(&mut spec);
    }
    spec
}

fn check(spec: &RemoteWriteSpec, version: &Version, known: &Known) -> Result<(), Rejected> {
    if let Some(identity) = spec.azure_ad.as_ref().and_then(|azure| azure.managed_identity.as_ref())
        && identity.client_id.as_deref().unwrap_or_default().is_empty()
        && !DEFAULT_IDENTITY.admits(version)
    {
        return Err(Rejected::new(
            "azureAd.managedIdentity.clientId",
            format!("Thanos {version} needs it; give it or use 0.40.0"),
        ));
    }
    remote_write::check(spec, known)
}
