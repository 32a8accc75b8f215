//! The `alerting` section: where alerts go, and what becomes of their labels on the way.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::prometheus::PrometheusSpec;
use prometheus_types::prometheus::query::AlertmanagerEndpoints;
use prometheus_types::scrape::NamespaceSelector;
use rendering::{Map, Tree};

use crate::additional::parse_list;
use crate::context::Context;
use crate::document::{Additional, ConfigError};
use crate::gates::Field;
use crate::kubernetes_sd::{Discovery, Role};
use crate::relabel::{keep, steps};
use crate::values::text;

impl Context<'_> {
    /// An empty additional Secret still makes the section, an absent one does not.
    pub(crate) fn put_alerting(
        &self,
        document: &mut Map,
        spec: &PrometheusSpec,
        additional: &Additional<'_>,
    ) -> Result<(), ConfigError> {
        let (relabelings, alertmanagers) =
            (additional.alert_relabel_configs, additional.alertmanager_configs);
        if spec.alerting.is_none() && relabelings.is_none() && alertmanagers.is_none() {
            return Ok(());
        }
        let mut alert_relabel_configs = Vec::new();
        if !self.replica_label().is_empty() {
            // Replicas raise the same alerts: without the label Alertmanager sees them as one.
            let quoted = quote_meta(self.replica_label());
            alert_relabel_configs.push(Map::new().with("action", "labeldrop").with("regex", quoted).into());
        }
        alert_relabel_configs.extend(parse_list("additionalAlertRelabelConfigs", relabelings)?);
        let endpoints = spec.alerting.iter().flat_map(|alerting| &alerting.alertmanagers);
        let mut targets: Vec<Tree> = endpoints.map(|endpoints| self.alertmanager(endpoints).into()).collect();
        targets.extend(parse_list("additionalAlertManagerConfigs", alertmanagers)?);
        document.set(
            "alerting",
            Map::new().with("alert_relabel_configs", alert_relabel_configs).with("alertmanagers", targets),
        );
        Ok(())
    }

    fn alertmanager(&self, endpoints: &AlertmanagerEndpoints) -> Map {
        let scope = self.scope(self.namespace);
        let role = self.default_endpoints_role();
        let mut map = Map::new();
        map.set_some("scheme", endpoints.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
        map.set_some("path_prefix", endpoints.path_prefix.as_ref());
        map.set_some("timeout", text(endpoints.timeout.as_ref()));
        self.known.put_some(&mut map, Field::EnableHttp2, endpoints.enable_http2);
        scope.put_tls(&mut map, endpoints.tls_config.as_ref());
        scope.put_proxy(&mut map, &endpoints.proxy);
        map.set("kubernetes_sd_configs", self.alertmanager_discovery(endpoints, role));
        map.set_text("bearer_token_file", &endpoints.bearer_token_file);
        let basic_auth = endpoints.basic_auth.as_ref().map(|auth| scope.basic_auth(auth));
        self.known.put_some(&mut map, Field::AlertmanagerBasicAuth, basic_auth);
        scope.put_safe_authorization(&mut map, endpoints.authorization.as_ref());
        self.known.put_some(
            &mut map,
            Field::AlertmanagerSigV4,
            endpoints.sigv4.as_ref().map(|sigv4| scope.sigv4(sigv4)),
        );
        let version = endpoints.api_version.as_ref().map(|version| version.to_ascii_lowercase());
        let version = version.filter(|version| {
            version == "v2" || (version == "v1" && self.known.has(Field::AlertmanagerApiVersion1))
        });
        self.known.put_some(&mut map, Field::AlertmanagerApiVersion, version);

        let mut relabelings =
            vec![keep(["__meta_kubernetes_service_name".into()], Tree::text(&endpoints.name))];
        relabelings.extend(port_step(&endpoints.port, role));
        relabelings.extend(steps(&endpoints.relabelings));
        map.set("relabel_configs", relabelings);
        if !endpoints.alert_relabelings.is_empty() {
            let relabelings: Tree = steps(&endpoints.alert_relabelings).collect();
            self.known.put(&mut map, Field::AlertRelabelConfigs, relabelings);
        }
        map
    }

    fn alertmanager_discovery(&self, endpoints: &AlertmanagerEndpoints, role: Role) -> Tree {
        let home = endpoints.namespace.as_deref().unwrap_or(self.namespace);
        let discovery = Discovery {
            role,
            home,
            namespaces: &NamespaceSelector::default(),
            attach_node: None,
            selectors: None,
        };
        self.kubernetes_sd(self.scope(self.namespace), &discovery)
    }
}

/// Keeps the port of a name, or of a number, which is written as text here.
fn port_step(port: &IntOrString, role: Role) -> Option<Map> {
    match port {
        IntOrString::String(name) if !name.is_empty() => {
            let label = match role {
                Role::EndpointSlice => "__meta_kubernetes_endpointslice_port_name",
                _ => "__meta_kubernetes_endpoint_port_name",
            };
            Some(keep([label.into()], Tree::text(name)))
        }
        IntOrString::Int(number) if *number != 0 => {
            Some(keep(["__meta_kubernetes_pod_container_port_number".into()], number.to_string()))
        }
        _ => None,
    }
}

/// The text as an expression that matches nothing but the text.
fn quote_meta(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_label_matches_itself_only() {
        assert_eq!(quote_meta("a.b$(c)"), r"a\.b\$\(c\)");
    }
}
