//! The 23 discoveries of ScrapeConfig, each a function from its entry to the map that Prometheus reads, in files by
//! where they look.

pub(crate) mod clouds;
pub(crate) mod containers;
pub(crate) mod generic;
pub(crate) mod hosting;
pub(crate) mod registries;

use k8s_openapi::api::core::v1::SecretKeySelector;
use prometheus_types::discovery::{Auth, Filter, Transport};
use rendering::{Map, Missing};

use crate::context::Scope;
use crate::values::list;

impl Scope<'_> {
    fn put_auth(&self, map: &mut Map, auth: &Auth) {
        self.put_basic_auth(map, auth.basic_auth.as_ref());
        self.put_safe_authorization(map, auth.authorization.as_ref());
        self.put_oauth2(map, auth.oauth2.as_ref());
    }

    fn put_transport(&self, map: &mut Map, transport: &Transport) {
        self.put_proxy(map, &transport.proxy);
        self.put_safe_tls(map, transport.tls_config.as_ref());
        map.set_some("follow_redirects", transport.follow_redirects);
        map.set_some("enable_http2", transport.enable_http2);
    }

    /// A pair of AWS keys; one without the other is not used.
    fn put_keys(
        &self,
        map: &mut Map,
        access: Option<&SecretKeySelector>,
        secret: Option<&SecretKeySelector>,
    ) -> Result<(), Missing> {
        if let (Some(access), Some(secret)) = (access, secret) {
            map.set("access_key", self.secret(access)?).set("secret_key", self.secret(secret)?);
        }
        Ok(())
    }

    fn put_secret(
        &self,
        map: &mut Map,
        key: &'static str,
        selector: Option<&SecretKeySelector>,
    ) -> Result<(), Missing> {
        if let Some(selector) = selector {
            map.set(key, self.secret(selector)?);
        }
        Ok(())
    }
}

/// Filters in the order of their names, so that the order in which they are written does not matter.
fn filters(filters: &[Filter]) -> Option<Vec<Map>> {
    let mut sorted: Vec<&Filter> = filters.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let filters: Vec<Map> = sorted
        .into_iter()
        .map(|filter| Map::new().with("name", &filter.name).with("values", list(&filter.values)))
        .collect();
    (!filters.is_empty()).then_some(filters)
}
