//! Discovery of targets in Kubernetes for monitors and Alertmanagers.

use prometheus_types::scrape::{NamespaceSelector, ServiceDiscoveryRole};
use rendering::{Map, Tree};

use crate::context::{Context, Scope};
use crate::gates::Field;
use crate::values::list;

/// The kinds of Kubernetes objects that targets are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Endpoints,
    EndpointSlice,
    Pod,
    Ingress,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints",
            Self::EndpointSlice => "endpointslice",
            Self::Pod => "pod",
            Self::Ingress => "ingress",
        }
    }
}

/// One entry of `kubernetes_sd_configs`, as a monitor asks for it.
pub(crate) struct Discovery<'a> {
    pub(crate) role: Role,
    /// The namespace that is searched where none is named.
    pub(crate) home: &'a str,
    pub(crate) namespaces: &'a NamespaceSelector,
    /// Whether targets carry the metadata of their node, where the monitor or its class says so.
    pub(crate) attach_node: Option<bool>,
    /// A label selector for the API server, with the roles that it is given for.
    pub(crate) selectors: Option<(String, &'a [&'static str])>,
}

impl Context<'_> {
    /// Where targets of Services are read from.
    pub(crate) fn endpoints_role(&self, wanted: Option<&ServiceDiscoveryRole>) -> Role {
        let slices = wanted.is_some_and(|role| **role == *"EndpointSlice");
        if slices && self.options.endpoint_slices && self.known.has(Field::EndpointSliceRole) {
            Role::EndpointSlice
        } else {
            Role::Endpoints
        }
    }

    pub(crate) fn default_endpoints_role(&self) -> Role {
        self.endpoints_role(self.common.service_discovery_role.as_ref())
    }

    /// Whether node metadata is attached: as asked for, and always where zones are read from nodes.
    pub(crate) fn attach_node(&self, asked: Option<bool>) -> Option<bool> {
        if self.needs_node_metadata() { Some(true) } else { asked }
    }

    pub(crate) fn kubernetes_sd(&self, scope: Scope<'_>, discovery: &Discovery<'_>) -> Tree {
        let mut sd = Map::new().with("role", discovery.role.name());
        let namespaces = self.searched_namespaces(discovery.namespaces, discovery.home);
        if namespaces.as_list().is_some_and(|names| !names.is_empty()) {
            sd.set("namespaces", Map::new().with("names", namespaces));
        }
        sd.extend(self.api_server_settings(scope));
        let attach = if discovery.role == Role::Pod {
            Field::PodAttachMetadata
        } else {
            Field::EndpointsAttachMetadata
        };
        self.known.put_some(&mut sd, attach, discovery.attach_node.map(|node| Map::new().with("node", node)));
        let selectors = self.selectors(discovery);
        if !selectors.is_empty() {
            sd.set("selectors", selectors);
        }
        vec![sd].into()
    }

    /// The discovery of what the workload's `apiserverConfig` leads to, without anything of a monitor.
    pub(crate) fn api_server(&self) -> Map {
        self.api_server_settings(self.scope(self.namespace)).with("role", Role::Endpoints.name())
    }

    fn api_server_settings(&self, scope: Scope<'_>) -> Map {
        let mut sd = Map::new();
        let Some(server) = &self.common.apiserver_config else { return sd };
        sd.set("api_server", Tree::text(&server.host));
        scope.put_basic_auth(&mut sd, server.basic_auth.as_ref());
        sd.set_text("bearer_token", &server.bearer_token)
            .set_text("bearer_token_file", &server.bearer_token_file);
        scope.put_authorization(&mut sd, server.authorization.as_ref());
        scope.put_tls(&mut sd, server.tls_config.as_ref());
        scope.put_proxy(&mut sd, &server.proxy);
        sd
    }

    fn searched_namespaces(&self, selector: &NamespaceSelector, own: &str) -> Tree {
        if self.common.ignore_namespace_selectors || (!selector.any && selector.match_names.is_empty()) {
            list(&[own.to_owned()])
        } else if selector.any {
            Tree::List(Vec::new())
        } else {
            list(&selector.match_names)
        }
    }

    fn selectors(&self, discovery: &Discovery<'_>) -> Vec<Map> {
        let own_node = Map::new().with("role", "pod").with("field", "spec.nodeName=$(NODE_NAME)");
        let mut selectors: Vec<Map> = self.options.daemon_set.then_some(own_node).into_iter().collect();
        if let Some((label, roles)) = &discovery.selectors {
            selectors.extend(
                roles.iter().map(|role| Map::new().with("role", *role).with("label", Tree::text(label))),
            );
        }
        selectors
    }
}
