//! The cases of prometheus-operator, put to this crate: inputs read, answers written. Nothing is decided here.

use std::collections::BTreeMap;

use prometheus_types::PrometheusRule;
use prometheus_types::exclusion::ObjectReference;
use rendering::Version;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::enforce::Enforcement;
use crate::gates::Target;
use crate::pack::pack;
use crate::render::{Settings, render_unjudged};

pub const AREAS: &[&str] = &["rules", "rules-configmaps", "namespace-label-rules"];

#[derive(Deserialize)]
struct Case {
    resources: Vec<PrometheusRule>,
    options: Options,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    target: String,
    version: String,
    promql_options: PromqlOptions,
    enforced_namespace_label: String,
    excluded_from_enforcement: Vec<ObjectReference>,
    files: BTreeMap<String, String>,
    name_prefix: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: "Prometheus".to_owned(),
            version: "3.14.0".to_owned(),
            promql_options: PromqlOptions::default(),
            enforced_namespace_label: String::new(),
            excluded_from_enforcement: Vec::new(),
            files: BTreeMap::new(),
            name_prefix: String::new(),
        }
    }
}

/// The switches of PromQL as the cases name them.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromqlOptions {
    experimental_functions: bool,
    duration_expressions: bool,
    extended_range_selectors: bool,
    binop_fill_modifiers: bool,
}

impl From<PromqlOptions> for promql::Options {
    fn from(options: PromqlOptions) -> Self {
        Self {
            experimental_functions: options.experimental_functions,
            duration_expressions: options.duration_expressions,
            extended_range_selectors: options.extended_range_selectors,
            binop_fill_modifiers: options.binop_fill_modifiers,
            retired_functions: false,
        }
    }
}

const PARAMETERS: &str = "upstream leaves selectors in the parameter of an aggregation alone, so that a tenant sees \
                          other namespaces; we confine them, too";

/// Cases in which we do not follow upstream, and why: `area: case`.
pub const DEPARTURES: &[(&str, &str)] = &[
    ("namespace-label-rules: promql/aggregators/086", PARAMETERS),
    ("namespace-label-rules: promql/aggregators/087", PARAMETERS),
    ("namespace-label-rules: promql/aggregators/089", PARAMETERS),
];

/// The answer to a case of one of [`AREAS`].
pub fn answer(area: &str, input: &Value) -> Result<Value, String> {
    let mut case = Case::deserialize(input).map_err(|error| error.to_string())?;
    let options = &case.options;
    if area == "rules-configmaps" {
        let maps = pack(&options.name_prefix, &options.files);
        let maps: Vec<_> = maps.iter().map(|map| json!({"name": map.name, "data": map.files})).collect();
        return Ok(json!({"object": {"configmaps": maps}}));
    }
    let mut rule = case.resources.pop().ok_or("the case has no PrometheusRule")?;
    let enforcement = Enforcement {
        label: &options.enforced_namespace_label,
        excluded: &options.excluded_from_enforcement,
    };
    let promql = options.promql_options.into();
    if area == "namespace-label-rules" {
        enforcement.enforce(&mut rule, &promql).map_err(|findings| format!("{findings:?}"))?;
        return Ok(json!({"object": rule}));
    }
    let target = if options.target == "Thanos" { Target::Thanos } else { Target::Prometheus };
    let version = Version::parse(&options.version).map_err(|error| error.to_string())?;
    let rendered = render_unjudged(&rule, &Settings { target, version, promql, enforcement });
    match rendered.content {
        // Upstream has no verdict on a group: one bad group is an error.
        Some(content) if rendered.rejected.is_empty() => Ok(json!({"yaml": content})),
        _ => Err(format!("{:?}", rendered.rejected)),
    }
}
