//! Credentials of HTTP clients: basic authentication, the Authorization header, OAuth 2.0, AWS signatures.

use std::borrow::Cow;

use prometheus_types::auth::{Authorization, BasicAuth, OAuth2, SafeAuthorization, SigV4};
use prometheus_types::scrape::ScrapeClass;
use rendering::{Map, Tree};

use crate::context::Scope;
use crate::gates::Field;
use crate::values::{list, string_map};

impl Scope<'_> {
    pub(crate) fn basic_auth(&self, auth: &BasicAuth) -> Map {
        Map::new()
            .with("username", self.secret_or_empty(&auth.username))
            .with("password", self.secret_or_empty(&auth.password))
    }

    pub(crate) fn put_basic_auth(&self, map: &mut Map, auth: Option<&BasicAuth>) {
        map.set_some("basic_auth", auth.map(|auth| self.basic_auth(auth)));
    }

    fn safe_authorization(&self, authorization: &SafeAuthorization) -> Map {
        let scheme = authorization.r#type.trim();
        let scheme = if authorization.r#type.is_empty() { "Bearer" } else { scheme };
        let credentials =
            authorization.credentials.as_ref().and_then(|credentials| self.secret(credentials).ok());
        Map::new().with("type", Tree::text(scheme)).with_some("credentials", credentials)
    }

    pub(crate) fn put_safe_authorization(&self, map: &mut Map, authorization: Option<&SafeAuthorization>) {
        let authorization = authorization.map(|authorization| self.safe_authorization(authorization));
        self.known.put_some(map, Field::Authorization, authorization);
    }

    pub(crate) fn put_authorization(&self, map: &mut Map, authorization: Option<&Authorization>) {
        if let Some(authorization) = authorization {
            let mut header = self.safe_authorization(&authorization.safe);
            header.set_text("credentials_file", &authorization.credentials_file);
            self.known.put(map, Field::Authorization, header);
        }
    }

    /// Left out when a reference cannot be resolved: a request without a token fails visibly, a wrong one confusingly.
    pub(crate) fn put_oauth2(&self, map: &mut Map, oauth2: Option<&OAuth2>) {
        let Some(oauth2) = oauth2 else { return };
        let (Ok(id), Ok(secret)) =
            (self.secret_or_config_map(&oauth2.client_id), self.secret(&oauth2.client_secret))
        else {
            return;
        };
        let mut token = Map::new()
            .with("client_id", id)
            .with("client_secret", secret)
            .with("token_url", Tree::text(&oauth2.token_url));
        if !oauth2.scopes.is_empty() {
            token.set("scopes", list(&oauth2.scopes));
        }
        if !oauth2.endpoint_params.is_empty() {
            token.set("endpoint_params", string_map(&oauth2.endpoint_params));
        }
        if self.has(Field::OAuth2Transport) {
            self.put_proxy(&mut token, &oauth2.proxy);
            token.set_some("tls_config", oauth2.tls_config.as_ref().map(|tls| self.safe_tls(tls)));
        }
        self.known.put(map, Field::OAuth2, token);
    }

    pub(crate) fn sigv4(&self, sigv4: &SigV4) -> Map {
        let mut map = Map::new();
        map.set_text("region", &sigv4.region);
        if let (Some(access), Some(secret)) = (&sigv4.access_key, &sigv4.secret_key) {
            let (access, secret) = (self.secret_or_empty(access), self.secret_or_empty(secret));
            if !access.is_empty() && !secret.is_empty() {
                map.set("access_key", access).set("secret_key", secret);
            }
        }
        map.set_text("profile", &sigv4.profile).set_text("role_arn", &sigv4.role_arn);
        if !sigv4.external_id.is_empty() {
            self.known.put(&mut map, Field::SigV4ExternalId, Tree::text(&sigv4.external_id));
        }
        self.known.put_some(&mut map, Field::SigV4FipsEndpoint, sigv4.use_fips_sts_endpoint);
        map
    }
}

/// A monitor's header, with what its class adds.
pub(crate) fn authorization_with_class<'a>(
    own: Option<&SafeAuthorization>,
    class: &'a ScrapeClass,
) -> Option<Cow<'a, Authorization>> {
    let Some(own) = own.filter(|own| **own != SafeAuthorization::default()) else {
        return class.authorization.as_ref().map(Cow::Borrowed);
    };
    let mut merged = Authorization { safe: own.clone(), ..Authorization::default() };
    if let Some(default) = &class.authorization
        && merged.safe.credentials.is_none()
    {
        merged.safe.credentials.clone_from(&default.safe.credentials);
        if merged.safe.credentials.is_none() {
            merged.credentials_file.clone_from(&default.credentials_file);
        }
    }
    Some(Cow::Owned(merged))
}
