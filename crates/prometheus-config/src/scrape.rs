//! Scrape jobs: one file per kind of monitor, and the discoveries of ScrapeConfig below [`scrape_config`].

pub(crate) mod discovery;
pub(crate) mod pod_monitor;
pub(crate) mod probe;
pub(crate) mod scrape_config;
pub(crate) mod service_monitor;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::relabel::RelabelConfig;
use prometheus_types::scrape::{ScrapeClass, SelectorMechanism};
use rendering::{Map, Tree};

use crate::context::Context;
use crate::gates::Field;
use crate::relabel::{Enforcement, copy, drop, keep, step, steps};

/// The first step of every job: what Prometheus knows the job as.
fn job_name_step() -> Tree {
    copy("job", "__tmp_prometheus_job_name").into()
}

/// Pods that have ended have nothing to scrape.
fn running_step() -> Tree {
    drop(["__meta_kubernetes_pod_phase".into()], "(Failed|Succeeded)").into()
}

/// Whether targets are filtered by relabeling, and not by the API server.
fn filters_by_relabeling(mechanism: Option<&SelectorMechanism>) -> bool {
    mechanism.is_none_or(|mechanism| **mechanism == *"RelabelConfig")
}

/// Keeps the container port of a name or number; a number stays one.
fn container_port_step(port: &IntOrString) -> Option<Tree> {
    let step = match port {
        IntOrString::String(name) if !name.is_empty() => {
            keep(["__meta_kubernetes_pod_container_port_name".into()], Tree::text(name))
        }
        IntOrString::Int(number) if *number != 0 => {
            keep(["__meta_kubernetes_pod_container_port_number".into()], *number)
        }
        _ => return None,
    };
    Some(step.into())
}

/// A port as a label shows it.
fn port_text(port: &IntOrString) -> String {
    match port {
        IntOrString::String(name) => name.clone(),
        IntOrString::Int(number) => number.to_string(),
    }
}

impl Context<'_> {
    fn enforcement(&self) -> Enforcement<'_> {
        let enforced = &self.common.enforced;
        Enforcement::new(&enforced.enforced_namespace_label, &enforced.excluded_from_enforcement)
    }

    fn put_honor_labels(&self, job: &mut Map, asked: bool) {
        job.set("honor_labels", asked && !self.common.override_honor_labels);
    }

    fn put_honor_timestamps(&self, job: &mut Map, asked: Option<bool>) {
        let overruled = self.common.override_honor_timestamps;
        if asked.is_some() || overruled {
            self.known.put(job, Field::HonorTimestamps, asked == Some(true) && !overruled);
        }
    }

    /// The relabelings of samples: the class', the monitor's, the enforced label.
    fn put_metric_relabelings(
        &self,
        job: &mut Map,
        class: &ScrapeClass,
        own: &[RelabelConfig],
        enforced: Option<&RelabelConfig>,
    ) {
        let relabelings: Vec<Map> =
            steps(&class.metric_relabelings).chain(steps(own)).chain(enforced.map(step)).collect();
        if !relabelings.is_empty() {
            job.set("metric_relabel_configs", relabelings);
        }
    }
}

/// The relabelings of targets that users wrote: the class', the monitor's, the enforced label behind both.
fn push_user_steps(
    steps_so_far: &mut Vec<Tree>,
    class: &ScrapeClass,
    own: &[RelabelConfig],
    enforced: Option<&RelabelConfig>,
) {
    steps_so_far
        .extend(steps(&class.relabelings).chain(steps(own)).chain(enforced.map(step)).map(Tree::from));
}
