//! HTTP clients, TLS and AWS signatures.

use super::Holds::{AlwaysSwitch, AlwaysText, Anything, Given, Section as One, Switch, Text, TextMap, Texts};
use super::{Rule, Section, checks, key};

pub(super) static HTTP: Section = Section {
    keys: &[
        key("authorization", One(&AUTHORIZATION)).refused_before("0.22.0"),
        key("basic_auth", One(&BASIC_AUTH)),
        key("oauth2", One(&OAUTH2)).refused_before("0.22.0"),
        key("bearer_token", Text),
        key("bearer_token_file", Text),
        key("tls_config", One(&TLS)),
        key("follow_redirects", Given).since("0.22.0"),
        key("enable_http2", Given).since("0.25.0"),
        key("http_headers", Given).since("0.28.0"),
        key("proxy_url", Text),
        key("no_proxy", Text).since("0.26.0"),
        key("proxy_from_environment", Switch).since("0.26.0"),
        key("proxy_connect_header", Anything).since("0.26.0"),
    ],
    before: &[Rule::Check(checks::headers_are_free)],
    after: &[Rule::Check(checks::proxy)],
};

static AUTHORIZATION: Section = Section {
    keys: &[key("type", Text), key("credentials", Text), key("credentials_file", Text)],
    before: &[],
    after: &[],
};

static BASIC_AUTH: Section = Section {
    keys: &[key("username", Text), key("password", Text), key("password_file", Text)],
    before: &[],
    after: &[],
};

static OAUTH2: Section = Section {
    keys: &[
        key("client_id", AlwaysText),
        key("client_secret", AlwaysText),
        key("client_secret_file", Text),
        key("scopes", Texts),
        key("token_url", AlwaysText),
        key("endpoint_params", TextMap),
        key("proxy_url", Text),
        key("no_proxy", Text),
        key("proxy_from_environment", Switch),
        key("proxy_connect_header", Anything),
        key("tls_config", One(&PLAIN_TLS)),
    ],
    before: &[Rule::Check(checks::oauth2_proxy)],
    after: &[],
};

static TLS: Section = Section {
    keys: &[
        key("ca_file", Text),
        key("cert_file", Text),
        key("key_file", Text),
        key("server_name", Text),
        key("insecure_skip_verify", AlwaysSwitch),
        key("min_version", Text).since("0.25.0"),
        key("max_version", Text).since("0.25.0"),
    ],
    before: &[],
    after: &[Rule::Check(checks::tls_versions)],
};

/// TLS of mail servers and token servers, whose versions upstream leaves alone.
pub(super) static PLAIN_TLS: Section = Section {
    keys: &[
        key("ca_file", Text),
        key("cert_file", Text),
        key("key_file", Text),
        key("server_name", Text),
        key("insecure_skip_verify", AlwaysSwitch),
        key("min_version", Text),
        key("max_version", Text),
    ],
    before: &[],
    after: &[],
};

pub(super) static SIGV4: Section = Section {
    keys: &[
        key("region", Text),
        key("access_key", Text),
        key("secret_key", Text),
        key("profile", Text),
        key("role_arn", Text),
        key("external_id", Text).since("0.34.0"),
        key("use_fips_sts_endpoint", Switch),
    ],
    before: &[Rule::Needs("role_arn", "external_id")],
    after: &[],
};
