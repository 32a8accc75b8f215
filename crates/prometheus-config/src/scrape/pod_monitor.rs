//! A job per endpoint of a PodMonitor.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::PodMonitor;
use prometheus_types::pod_monitor::PodMetricsEndpoint;
use prometheus_types::scrape::ScrapeClass;
use rendering::{Map, Tree};

use crate::auth::authorization_with_class;
use crate::context::{Context, Scope};
use crate::gates::Field;
use crate::kubernetes_sd::{Discovery, Role};
use crate::limits::limits_of;
use crate::relabel::{copy, copy_present, fixed, keep};
use crate::scrape::service_monitor::target_label_step;
use crate::scrape::{
    container_port_step, filters_by_relabeling, job_name_step, port_text, push_user_steps, running_step,
};
use crate::selector;
use crate::transport::safe_tls_with_class;
use crate::values::{list_map, sanitized};

impl Context<'_> {
    pub(crate) fn pod_monitor_jobs<'a>(&'a self, monitor: &'a PodMonitor) -> impl Iterator<Item = Map> + 'a {
        let endpoints = monitor.spec.pod_metrics_endpoints.iter().enumerate();
        endpoints.map(|(at, endpoint)| self.pod_monitor_job(monitor, endpoint, at))
    }

    fn pod_monitor_job(&self, monitor: &PodMonitor, endpoint: &PodMetricsEndpoint, at: usize) -> Map {
        let spec = &monitor.spec;
        let namespace = monitor.metadata.namespace.as_deref().unwrap_or_default();
        let name = monitor.metadata.name.as_deref().unwrap_or_default();
        let class = self.class(spec.scrape_class.as_deref());
        let scope = self.scope(namespace);

        let mut job = Map::with_capacity(16);
        job.set("job_name", format!("podMonitor/{namespace}/{name}/{at}"));
        self.put_honor_labels(&mut job, endpoint.honor_labels);
        self.put_honor_timestamps(&mut job, endpoint.honor_timestamps);
        self.known.put_some(&mut job, Field::TrackTimestampsStaleness, endpoint.track_timestamps_staleness);
        job.set("kubernetes_sd_configs", self.pod_discovery(scope, monitor, class));
        self.put_pod_endpoint(&mut job, scope, endpoint, class);

        let enforced = self.enforcement().step_for("podmonitors", namespace, name);
        let mut relabelings = self.pod_steps(monitor, endpoint, namespace, name);
        push_user_steps(&mut relabelings, class, &endpoint.relabelings, enforced.as_ref());
        // Each pod of a DaemonSet sees the pods of its node only: there is nothing to divide.
        if !self.options.daemon_set {
            self.shard(&mut relabelings, "__address__");
        }
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

    fn pod_discovery(&self, scope: Scope<'_>, monitor: &PodMonitor, class: &ScrapeClass) -> Tree {
        let spec = &monitor.spec;
        let attach = spec.attach_metadata.as_ref().or(class.attach_metadata.as_ref());
        let by_role = (!filters_by_relabeling(spec.selector_mechanism.as_ref()))
            .then(|| selector::to_query(&spec.selector));
        let home = monitor.metadata.namespace.as_deref().unwrap_or_default();
        let discovery = Discovery {
            home,
            role: Role::Pod,
            namespaces: &spec.namespace_selector,
            attach_node: self.attach_node(attach.map(|attach| attach.node == Some(true))),
            selectors: by_role.map(|query| (query, &["pod"][..])),
        };
        self.kubernetes_sd(scope, &discovery)
    }

    fn put_pod_endpoint(
        &self,
        job: &mut Map,
        scope: Scope<'_>,
        endpoint: &PodMetricsEndpoint,
        class: &ScrapeClass,
    ) {
        job.set_text("scrape_interval", &endpoint.interval);
        job.set_text("scrape_timeout", &endpoint.scrape_timeout);
        job.set_text("metrics_path", &endpoint.path);
        if !endpoint.params.is_empty() {
            job.set("params", list_map(&endpoint.params));
        }
        job.set_some("scheme", endpoint.scheme.as_ref().map(|scheme| scheme.to_ascii_lowercase()));
        self.known.put_some(job, Field::FollowRedirects, endpoint.http.follow_redirects);
        self.known.put_some(job, Field::EnableHttp2, endpoint.http.enable_http2);
        scope.put_tls(job, safe_tls_with_class(endpoint.tls_config.as_ref(), class).as_deref());
        let token = endpoint.http.bearer_token_secret.as_ref().filter(|token| !token.name.is_empty());
        job.set_some("bearer_token", token.and_then(|token| scope.secret(token).ok()));
        scope.put_basic_auth(job, endpoint.http.basic_auth.as_ref());
        scope.put_oauth2(job, endpoint.http.oauth2.as_ref());
        scope.put_proxy(job, &endpoint.proxy);
        scope.put_authorization(
            job,
            authorization_with_class(endpoint.http.authorization.as_ref(), class).as_deref(),
        );
    }

    fn pod_steps(
        &self,
        monitor: &PodMonitor,
        endpoint: &PodMetricsEndpoint,
        namespace: &str,
        name: &str,
    ) -> Vec<Tree> {
        let spec = &monitor.spec;
        let port = endpoint.port.as_deref().unwrap_or_default();
        let mut steps = Vec::with_capacity(20);
        steps.push(job_name_step());
        if endpoint.filter_running.unwrap_or(true) {
            steps.push(running_step());
        }
        if filters_by_relabeling(spec.selector_mechanism.as_ref()) {
            selector::relabelings(&spec.selector, "pod", &mut steps);
        }
        if !port.is_empty() {
            steps.push(keep(["__meta_kubernetes_pod_container_port_name".into()], Tree::text(port)).into());
        } else {
            let number = endpoint.port_number.filter(|number| *number != 0).map(IntOrString::Int);
            steps.extend(number.as_ref().or(endpoint.target_port.as_ref()).and_then(container_port_step));
        }
        for (source, target) in [
            ("__meta_kubernetes_namespace", "namespace"),
            ("__meta_kubernetes_pod_container_name", "container"),
            ("__meta_kubernetes_pod_name", "pod"),
        ] {
            steps.push(copy(source, target).into());
        }
        steps.extend(
            spec.pod_target_labels
                .iter()
                .chain(&self.common.pod_target_labels)
                .map(|label| target_label_step("pod", label)),
        );
        steps.push(fixed("job", &format!("{namespace}/{name}")).into());
        if !spec.job_label.is_empty() {
            let label = format!("__meta_kubernetes_pod_label_{}", sanitized(&spec.job_label));
            steps.push(copy_present(label, "job").into());
        }
        let shown = if port.is_empty() {
            endpoint.target_port.as_ref().map(port_text)
        } else {
            Some(port.to_owned())
        };
        steps.extend(shown.filter(|port| !port.is_empty()).map(|port| Tree::from(fixed("endpoint", &port))));
        steps
    }
}
