//! The `global` and `runtime` sections.

use std::collections::BTreeMap;

use prometheus_types::prometheus::PrometheusSpec;
use prometheus_types::scrape::{NameEscapingScheme, NameValidationScheme};
use rendering::{Map, Tree};

use crate::context::Context;
use crate::gates::Field;
use crate::values::{string_map, text};

/// Where a log file without a directory lies: on a volume of its own.
const LOGS: &str = "/var/log/prometheus";

/// How names with other characters are asked for, in Prometheus' words.
const ESCAPING: &[(&str, &str)] =
    &[("AllowUTF8", "allow-utf-8"), ("Underscores", "underscores"), ("Dots", "dots"), ("Values", "values")];

impl Context<'_> {
    /// What servers and agents have in common.
    pub(crate) fn global(&self) -> Map {
        let common = self.common;
        let mut global = Map::new().with("scrape_interval", Tree::text(&common.scrape_interval));
        global.set_text("scrape_timeout", &common.scrape_timeout);
        self.put_protocols(&mut global, &common.scrape_protocols);
        global.set("external_labels", self.external_labels());
        self.put_global_limits(&mut global);
        let log = common.scrape_failure_log_file.as_deref().map(log_file);
        self.known.put_some(&mut global, Field::ScrapeFailureLogFile, log);
        self.put_name_schemes(
            &mut global,
            common.name_validation_scheme.as_ref(),
            common.name_escaping_scheme.as_ref(),
        );
        self.known.put_some(
            &mut global,
            Field::GlobalConvertClassicHistograms,
            common.convert_classic_histograms_to_nhcb,
        );
        self.known.put_some(
            &mut global,
            Field::GlobalScrapeClassicHistograms,
            common.scrape_classic_histograms,
        );
        self.known.put_some(&mut global, Field::ScrapeNativeHistograms, common.scrape_native_histograms);
        global
    }

    /// What servers have besides.
    pub(crate) fn server_global(&self, spec: &PrometheusSpec) -> Map {
        let mut global = self.global();
        global.set("evaluation_interval", Tree::text(&spec.evaluation_interval));
        self.known.put_some(&mut global, Field::RuleQueryOffset, text(spec.rule_query_offset.as_ref()));
        if !spec.query_log_file.is_empty() {
            self.known.put(&mut global, Field::QueryLogFile, log_file(&spec.query_log_file));
        }
        global
    }

    pub(crate) fn put_name_schemes(
        &self,
        map: &mut Map,
        validation: Option<&NameValidationScheme>,
        escaping: Option<&NameEscapingScheme>,
    ) {
        self.known.put_some(
            map,
            Field::NameValidationScheme,
            validation.map(|scheme| scheme.to_ascii_lowercase()),
        );
        let escaping = escaping.and_then(|scheme| ESCAPING.iter().find(|(name, _)| **scheme == **name));
        self.known.put_some(map, Field::NameEscapingScheme, escaping.map(|(_, scheme)| *scheme));
    }

    pub(crate) fn put_runtime(&self, document: &mut Map) {
        let runtime = self.common.runtime.as_ref().map(|runtime| Map::new().with_some("gogc", runtime.go_gc));
        self.known.put_some(document, Field::Runtime, runtime);
    }

    /// The name of the label that tells replicas apart; none when empty.
    pub(crate) fn replica_label(&self) -> &str {
        self.common.replica_external_label_name.as_deref().unwrap_or("prometheus_replica")
    }

    /// The labels that identify this Prometheus, which users' labels cannot replace.
    fn external_labels(&self) -> Map {
        let mut labels = BTreeMap::new();
        let own = self.common.prometheus_external_label_name.as_deref().unwrap_or("prometheus");
        let zone = self.topology().map(|topology| topology.external_label_name.as_deref().unwrap_or("zone"));
        for (label, value) in [
            (own, format!("{}/{}", self.namespace, self.name)),
            (self.replica_label(), "$(POD_NAME)".to_owned()),
            (zone.unwrap_or_default(), "$(TOPOLOGY_ZONE)".to_owned()),
        ] {
            if !label.is_empty() {
                labels.insert(label.to_owned(), value);
            }
        }
        for (label, value) in &self.common.external_labels {
            labels.entry(label.clone()).or_insert_with(|| value.clone());
        }
        string_map(&labels)
    }

    /// The limits of jobs that state none of their own.
    fn put_global_limits(&self, global: &mut Map) {
        let (limits, enforced) = (&self.common.limits, &self.common.enforced);
        let enforced_size = Some(&enforced.enforced_body_size_limit).filter(|size| !size.is_empty());
        self.known.put_some(
            global,
            Field::GlobalBodySizeLimit,
            text(limits.body_size_limit.as_ref().or(enforced_size)),
        );
        for (field, own, most) in [
            (Field::GlobalSampleLimit, limits.sample_limit, enforced.enforced_sample_limit),
            (Field::GlobalTargetLimit, limits.target_limit, enforced.enforced_target_limit),
            (Field::GlobalLabelLimit, limits.label_limit, enforced.enforced_label_limit),
            (
                Field::GlobalLabelNameLengthLimit,
                limits.label_name_length_limit,
                enforced.enforced_label_name_length_limit,
            ),
            (
                Field::GlobalLabelValueLengthLimit,
                limits.label_value_length_limit,
                enforced.enforced_label_value_length_limit,
            ),
            (
                Field::GlobalKeepDroppedTargets,
                limits.keep_dropped_targets,
                enforced.enforced_keep_dropped_targets,
            ),
        ] {
            let set = [own, most].into_iter().flatten().filter(|limit| *limit > 0);
            self.known.put_some(global, field, set.min());
        }
    }
}

fn log_file(file: &str) -> String {
    if file.is_empty() || file.contains('/') { file.to_owned() } else { format!("{LOGS}/{file}") }
}
