//! A job per endpoint of a ServiceMonitor.

use prometheus_types::ServiceMonitor;
use prometheus_types::scrape::ScrapeClass;
use prometheus_types::service_monitor::Endpoint;
use rendering::{Map, Tree};

use crate::auth::authorization_with_class;
use crate::context::{Context, Scope};
use crate::gates::Field;
use crate::kubernetes_sd::{Discovery, Role};
use crate::limits::limits_of;
use crate::relabel::{copy, copy_present, fixed, keep};
use crate::scrape::{
    container_port_step, filters_by_relabeling, job_name_step, port_text, push_user_steps, running_step,
};
use crate::selector;
use crate::transport::tls_with_class;
use crate::values::{labels, list_map, sanitized};

impl Context<'_> {
    pub(crate) fn service_monitor_jobs<'a>(
        &'a self,
        monitor: &'a ServiceMonitor,
    ) -> impl Iterator<Item = Map> + 'a {
        monitor
            .spec
            .endpoints
            .iter()
            .enumerate()
            .map(|(at, endpoint)| self.service_monitor_job(monitor, endpoint, at))
    }

    fn service_monitor_job(&self, monitor: &ServiceMonitor, endpoint: &Endpoint, at: usize) -> Map {
        let spec = &monitor.spec;
        let namespace = monitor.metadata.namespace.as_deref().unwrap_or_default();
        let name = monitor.metadata.name.as_deref().unwrap_or_default();
        let class = self.class(spec.scrape_class.as_deref());
        let scope = self.scope(namespace);
        let role = match &spec.service_discovery_role {
            Some(role) => self.endpoints_role(Some(role)),
            None => self.default_endpoints_role(),
        };

        let mut job = Map::with_capacity(16);
        job.set("job_name", format!("serviceMonitor/{namespace}/{name}/{at}"));
        self.put_honor_labels(&mut job, endpoint.honor_labels);
        self.put_honor_timestamps(&mut job, endpoint.honor_timestamps);
        self.known.put_some(&mut job, Field::TrackTimestampsStaleness, endpoint.track_timestamps_staleness);
        job.set("kubernetes_sd_configs", self.service_discovery(scope, monitor, role, class));
        self.put_endpoint(&mut job, scope, endpoint, class);

        let enforced = self.enforcement().step_for("servicemonitors", namespace, name);
        let mut relabelings = self.service_steps(monitor, endpoint, role);
        push_user_steps(&mut relabelings, class, &endpoint.relabelings, enforced.as_ref());
        self.shard(&mut relabelings, "__address__");
        job.set("relabel_configs", relabelings);

        self.put_limits(&mut job, &limits_of!(spec));
        self.put_histograms(&mut job, &spec.histograms);
        self.put_protocols(&mut job, &spec.scrape_protocols);
        self.put_fallback_protocol(
            &mut job,
            spec.fallback_scrape_protocol.as_ref(),
            class.fallback_scrape_protocol.as_ref(),
        );
        self.put_body_size_limit(&mut job, spec.body_size_limit.as_ref());
        self.put_metric_relabelings(&mut job, class, &endpoint.metric_relabelings, enforced.as_ref());
        job
    }

    fn service_discovery(
        &self,
        scope: Scope<'_>,
        monitor: &ServiceMonitor,
        role: Role,
        class: &ScrapeClass,
    ) -> Tree {
        let spec = &monitor.spec;
        let attach = spec.attach_metadata.as_ref().or(class.attach_metadata.as_ref());
        let by_role = (!filters_by_relabeling(spec.selector_mechanism.as_ref()))
            .then(|| selector::to_query(&spec.selector));
        let home = monitor.metadata.namespace.as_deref().unwrap_or_default();
        let roles = [role.name(), "service"];
        let discovery = Discovery {
            home,
            role,
            namespaces: &spec.namespace_selector,
            attach_node: self.attach_node(attach.map(|attach| attach.node == Some(true))),
            selectors: by_role.map(|query| (query, &roles[..])),
        };
        self.kubernetes_sd(scope, &discovery)
    }

    fn put_endpoint(&self, job: &mut Map, scope: Scope<'_>, endpoint: &Endpoint, class: &ScrapeClass) {
        job.set_text("scrape_interval", &endpoint.interval);
        job.set_text("scrape_timeout", &endpoint.scrape_timeout);
        job.set_text("metrics_path", &endpoint.path);
        if !endpoint.params.is_empty() {
            job.set("params", list_map(&endpoint.params));
        }
        job.set_some("scheme", endpoint.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
        self.known.put_some(job, Field::FollowRedirects, endpoint.http.follow_redirects);
        self.known.put_some(job, Field::EnableHttp2, endpoint.http.enable_http2);
        scope.put_proxy(job, &endpoint.proxy);
        scope.put_oauth2(job, endpoint.http.oauth2.as_ref());
        scope.put_tls(job, tls_with_class(endpoint.tls_config.as_ref(), class).as_deref());
        job.set_text("bearer_token_file", &endpoint.bearer_token_file);
        let token = endpoint.http.bearer_token_secret.as_ref().filter(|token| !token.name.is_empty());
        job.set_some("bearer_token", token.and_then(|token| scope.secret(token).ok()));
        scope.put_basic_auth(job, endpoint.http.basic_auth.as_ref());
        scope.put_authorization(
            job,
            authorization_with_class(endpoint.http.authorization.as_ref(), class).as_deref(),
        );
    }

    /// The steps that turn what discovery found into the targets of the endpoint, before users' own steps.
    fn service_steps(&self, monitor: &ServiceMonitor, endpoint: &Endpoint, role: Role) -> Vec<Tree> {
        let spec = &monitor.spec;
        let mut steps = Vec::with_capacity(24);
        steps.push(job_name_step());
        if filters_by_relabeling(spec.selector_mechanism.as_ref()) {
            selector::relabelings(&spec.selector, "service", &mut steps);
        }
        if !endpoint.port.is_empty() {
            let port_name = match role {
                Role::EndpointSlice => "__meta_kubernetes_endpointslice_port_name",
                _ => "__meta_kubernetes_endpoint_port_name",
            };
            steps.push(keep([port_name.into()], Tree::text(&endpoint.port)).into());
        } else {
            steps.extend(endpoint.target_port.as_ref().and_then(container_port_step));
        }
        steps.push(of_kind(role, "Node;(.*)", "node"));
        steps.push(of_kind(role, "Pod;(.*)", "pod"));
        for (source, target) in [
            ("__meta_kubernetes_namespace", "namespace"),
            ("__meta_kubernetes_service_name", "service"),
            ("__meta_kubernetes_pod_name", "pod"),
            ("__meta_kubernetes_pod_container_name", "container"),
        ] {
            steps.push(copy(source, target).into());
        }
        if endpoint.filter_running.unwrap_or(true) {
            steps.push(running_step());
        }
        steps.extend(spec.target_labels.iter().map(|label| target_label_step("service", label)));
        steps.extend(
            spec.pod_target_labels
                .iter()
                .chain(&self.common.pod_target_labels)
                .map(|label| target_label_step("pod", label)),
        );
        steps.push(copy("__meta_kubernetes_service_name", "job").with("replacement", "${1}").into());
        if !spec.job_label.is_empty() {
            let label = format!("__meta_kubernetes_service_label_{}", sanitized(&spec.job_label));
            steps.push(copy_present(label, "job").into());
        }
        let shown = if endpoint.port.is_empty() {
            endpoint.target_port.as_ref().map(port_text)
        } else {
            Some(endpoint.port.clone())
        };
        steps.extend(shown.filter(|port| !port.is_empty()).map(|port| Tree::from(fixed("endpoint", &port))));
        steps
    }
}

/// Copies a label of the Service or pod onto the target.
pub(super) fn target_label_step(object: &str, label: &str) -> Tree {
    let label = sanitized(label);
    copy_present(format!("__meta_kubernetes_{object}_label_{label}"), Tree::text(&label)).into()
}

/// Names the object behind an address, where it is of the kind that the expression asks for.
fn of_kind(role: Role, regex: &'static str, target: &'static str) -> Tree {
    let sources = match role {
        Role::EndpointSlice => [
            "__meta_kubernetes_endpointslice_address_target_kind",
            "__meta_kubernetes_endpointslice_address_target_name",
        ],
        _ => [
            "__meta_kubernetes_endpoint_address_target_kind",
            "__meta_kubernetes_endpoint_address_target_name",
        ],
    };
    Map::new()
        .with("source_labels", labels(sources.map(Into::into)))
        .with("separator", ";")
        .with("regex", regex)
        .with("replacement", "${1}")
        .with("target_label", target)
        .into()
}
