//! The receiver of email.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::object::object;
use crate::receivers::KeyValue;
use crate::text::text;
use crate::tls::SafeTlsConfig;

text! {
    /// Which mails of a group make a thread: those of a day, or all.
    pub struct ThreadByDate {
        "enum": ["Daily", "None"]
    }
}

object! {
    /// A mail. The mail server is the global one where nothing is given.
    pub struct EmailConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Addresses of the recipients.
            #[schemars(length(min = 1))]
            pub to: Option<String>,
            /// Sender of the mail.
            #[schemars(length(min = 1))]
            pub from: Option<String>,
            /// Name given to the mail server.
            #[schemars(length(min = 1))]
            pub hello: Option<String>,
            /// Host and port of the mail server.
            #[schemars(length(min = 1))]
            pub smarthost: Option<String>,
            /// User name at the mail server.
            #[schemars(length(min = 1))]
            pub auth_username: Option<String>,
            /// The key of a Secret that holds the password.
            pub auth_password: Option<SecretKeySelector>,
            /// The key of a Secret that holds the secret for CRAM-MD5.
            pub auth_secret: Option<SecretKeySelector>,
            /// Identity for PLAIN.
            #[schemars(length(min = 1))]
            pub auth_identity: Option<String>,
            /// Headers of the mail; the ones given win over the usual ones.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub headers: Vec<KeyValue>,
            /// Body of the mail in HTML.
            pub html: Option<String>,
            /// Body of the mail in plain text.
            #[schemars(length(min = 1))]
            pub text: Option<String>,
            /// Whether STARTTLS is insisted on.
            #[serde(rename = "requireTLS")]
            pub require_tls: Option<bool>,
            /// TLS towards the mail server.
            pub tls_config: Option<SafeTlsConfig>,
            /// Whether TLS begins with the connection instead of STARTTLS. Needs Alertmanager 0.31.
            #[serde(rename = "forceImplicitTLS")]
            pub force_implicit_tls: Option<bool>,
            /// Whether mails of a group make a thread. Needs Alertmanager 0.30.
            pub threading: Option<EmailThreadingConfig>,
        }
    }
}

object! {
    /// How mails make threads.
    pub struct EmailThreadingConfig {
        required {
            /// Which mails of a group make a thread.
            pub thread_by_date: ThreadByDate,
        }
    }
}
