//! References to Secrets and ConfigMaps: each must resolve, and TLS material must be what it claims to be.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretKeySelector;
use prometheus_types::auth::{Authorization, AzureAd, BasicAuth, OAuth2, SafeAuthorization, SigV4};
use prometheus_types::http::ProxyConfig;
use prometheus_types::tls::{SafeTlsConfig, TlsConfig};
use prometheus_types::validity::client::{
    check_authorization, check_oauth2, check_proxy, check_safe_authorization,
};
use rendering::Assets;
use tls_assets::TlsAssets;

use super::Rejected;

/// The TLS files that a checked resource needs: name below the directory of assets, content.
pub type TlsFiles = BTreeMap<String, Vec<u8>>;

/// Resolves the references of one object.
pub(crate) struct References<'a> {
    assets: &'a Assets,
    namespace: &'a str,
    files: TlsAssets,
}

impl<'a> References<'a> {
    pub(crate) fn new(assets: &'a Assets, namespace: &'a str) -> Self {
        Self { assets, namespace, files: TlsAssets::default() }
    }

    pub(crate) fn into_files(self) -> TlsFiles {
        self.files.into_files()
    }

    pub(crate) fn secret(&self, field: &str, selector: &SecretKeySelector) -> Result<(), Rejected> {
        self.assets
            .secret(self.namespace, &selector.name, &selector.key)
            .map(|_| ())
            .map_err(|missing| Rejected::new(field, missing))
    }

    pub(crate) fn optional_secret(
        &self,
        field: &str,
        selector: Option<&SecretKeySelector>,
    ) -> Result<(), Rejected> {
        selector.map_or(Ok(()), |selector| self.secret(field, selector))
    }

    pub(crate) fn basic_auth(&self, auth: Option<&BasicAuth>) -> Result<(), Rejected> {
        let Some(auth) = auth else { return Ok(()) };
        self.secret("basicAuth.username", &auth.username)?;
        self.secret("basicAuth.password", &auth.password)
    }

    pub(crate) fn safe_authorization(
        &self,
        authorization: Option<&SafeAuthorization>,
    ) -> Result<(), Rejected> {
        let Some((authorization, credentials)) =
            authorization.and_then(|auth| Some((auth, auth.credentials.as_ref()?)))
        else {
            return Ok(());
        };
        check_safe_authorization(authorization)?;
        if credentials.name.is_empty() {
            Ok(())
        } else {
            self.secret("authorization.credentials", credentials)
        }
    }

    pub(crate) fn authorization(&self, authorization: Option<&Authorization>) -> Result<(), Rejected> {
        let Some((authorization, credentials)) =
            authorization.and_then(|auth| Some((auth, auth.safe.credentials.as_ref()?)))
        else {
            return Ok(());
        };
        check_authorization(authorization)?;
        if credentials.name.is_empty() {
            Ok(())
        } else {
            self.secret("authorization.credentials", credentials)
        }
    }

    pub(crate) fn oauth2(&mut self, oauth2: Option<&OAuth2>) -> Result<(), Rejected> {
        let Some(oauth2) = oauth2 else { return Ok(()) };
        check_oauth2(oauth2)?;
        if let Some(id) = &oauth2.client_id.secret {
            self.secret("oauth2.clientId", id)?;
        } else if let Some(id) = &oauth2.client_id.config_map {
            let found = self.assets.config_map(self.namespace, &id.name, &id.key);
            found.map_err(|missing| Rejected::new("oauth2.clientId", missing))?;
        }
        self.secret("oauth2.clientSecret", &oauth2.client_secret)?;
        self.proxy_headers(&oauth2.proxy).map_err(|error| error.within("oauth2"))?;
        self.safe_tls(oauth2.tls_config.as_ref()).map_err(|error| error.within("oauth2"))
    }

    pub(crate) fn safe_tls(&mut self, tls: Option<&SafeTlsConfig>) -> Result<(), Rejected> {
        let Some(tls) = tls else { return Ok(()) };
        self.files
            .add_safe(self.assets, self.namespace, tls)
            .map_err(|error| Rejected::new("tlsConfig", error))
    }

    pub(crate) fn tls(&mut self, tls: Option<&TlsConfig>) -> Result<(), Rejected> {
        let Some(tls) = tls else { return Ok(()) };
        self.files.add(self.assets, self.namespace, tls).map_err(|error| Rejected::new("tlsConfig", error))
    }

    pub(crate) fn proxy(&self, proxy: &ProxyConfig) -> Result<(), Rejected> {
        check_proxy(proxy)?;
        self.proxy_headers(proxy)
    }

    pub(crate) fn proxy_headers(&self, proxy: &ProxyConfig) -> Result<(), Rejected> {
        for (header, values) in &proxy.proxy_connect_header {
            for value in values {
                self.secret(&format!("proxyConnectHeader[{header}]"), value)?;
            }
        }
        Ok(())
    }

    pub(crate) fn sigv4(&self, sigv4: Option<&SigV4>) -> Result<(), Rejected> {
        match sigv4.map(|sigv4| (&sigv4.access_key, &sigv4.secret_key)) {
            None | Some((None, None)) => Ok(()),
            Some((Some(access), Some(secret))) => {
                self.secret("sigv4.accessKey", access)?;
                self.secret("sigv4.secretKey", secret)
            }
            Some(_) => Err(Rejected::new("sigv4", "accessKey and secretKey go together; give both or none")),
        }
    }

    pub(crate) fn azure_ad(&self, azure: Option<&AzureAd>) -> Result<(), Rejected> {
        let secret = azure.and_then(|azure| azure.oauth.as_ref()).map(|oauth| &oauth.client_secret);
        self.optional_secret("azureAd.oauth.clientSecret", secret)
    }
}
