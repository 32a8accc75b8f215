//! The Thanos sidecar of a Prometheus.

use k8s_openapi::api::core::v1::{ResourceRequirements, SecretKeySelector, VolumeMount};

use crate::object::object;
use crate::pod::{Argument, LogFormat, LogLevel};
use crate::text::Duration;
use crate::tls::GrpcServerTlsConfig;

object! {
    /// The Thanos sidecar of each Prometheus pod.
    pub struct ThanosSpec {
        optional {
            /// Image of the sidecar. Wins over `baseImage`, `tag` and `sha`; `version` is still needed for
            /// the right arguments.
            pub image: Option<String>,
            /// Version of Thanos; the operator's default when absent.
            pub version: Option<String>,
            /// Tag of the image. Deprecated: use `image`.
            pub tag: Option<String>,
            /// Digest of the image. Deprecated: use `image`.
            pub sha: Option<String>,
            /// Image without tag. Deprecated: use `image`.
            pub base_image: Option<String>,
            /// Resources of the sidecar.
            pub resources: ResourceRequirements,
            /// The key of a Secret that holds the object storage's configuration. With it, blocks are
            /// uploaded.
            pub object_storage_config: Option<SecretKeySelector>,
            /// Path of the object storage's configuration in the container. Wins over `objectStorageConfig`.
            pub object_storage_config_file: Option<String>,
            /// Whether the sidecar listens on the loopback address only. Deprecated: use `grpcListenLocal`
            /// and `httpListenLocal`.
            pub listen_local: bool,
            /// Whether gRPC is served on the loopback address only.
            pub grpc_listen_local: bool,
            /// Whether HTTP is served on the loopback address only.
            pub http_listen_local: bool,
            /// The key of a Secret that holds the tracing configuration.
            pub tracing_config: Option<SecretKeySelector>,
            /// Path of the tracing configuration in the container. Wins over `tracingConfig`.
            pub tracing_config_file: String,
            /// TLS of the gRPC server. Only files, not Secrets, are supported for the material.
            pub grpc_server_tls_config: Option<GrpcServerTlsConfig>,
            /// How much the sidecar writes to its log.
            pub log_level: LogLevel,
            /// How the sidecar writes its log.
            pub log_format: LogFormat,
            /// Oldest time that is served to queries, as a timestamp or relative to now. Excludes nothing
            /// from uploading.
            pub min_time: String,
            /// Length of Prometheus' blocks. Change it only for tests.
            #[schemars(extend("default" = "2h"))]
            pub block_size: Duration,
            /// How long Prometheus may take to become ready.
            pub ready_timeout: Duration,
            /// How often Prometheus' configuration is read.
            pub get_config_interval: Duration,
            /// How long reading Prometheus' configuration may take.
            pub get_config_timeout: Duration,
            /// Further mounts of the sidecar.
            pub volume_mounts: Vec<VolumeMount>,
            /// Further arguments of the sidecar. Those that the operator sets itself are refused.
            pub additional_args: Vec<Argument>,
        }
    }
}
