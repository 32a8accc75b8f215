//! Prometheus' own word on what we generate: `promtool check rules` of the version it was generated for.
//!
//! `CAPSTAN_PROMTOOL` names the programs (`3.15.0=/path/promtool,…`); without it nothing is tested, aloud. Both directions are
//! tried: what we write is loaded, and what we leave out would not have been.

use std::path::PathBuf;

use conformance::{Tool, tools};
use prometheus_rules::{
    Enforcement, Finding, Settings, TEMPLATE_FUNCTIONS, Target, promql_options, render, render_unjudged,
};
use prometheus_types::PrometheusRule;
use promql::{FUNCTIONS, Function, Last, ValueType};
use rendering::{Gate, Version, since};
use serde_json::{Value, json};

/// Features, and the promtools that can be told of them: the server learned of some much earlier.
const FEATURES: &[(&str, Gate)] = &[
    ("promql-experimental-functions", since("3.5.0")),
    ("promql-duration-expr", since("3.10.0")),
    ("promql-extended-range-selectors", since("3.10.0")),
    ("promql-binop-fill-modifiers", since("3.14.0")),
];

/// What the language has besides functions, each in the least that shows it.
const EXPRESSIONS: &[&str] = &[
    // Numbers, texts, durations.
    "1e3 + 0x1F + .5 + Inf",
    "a > 1_000",
    "a > 0x_1F",
    "'a'",
    "`a`",
    "a > 5m",
    "a > 0s",
    // Selectors.
    "a{b=\"c\",d!=\"e\",f=~\"g|h\",i!~\"j.+\"}",
    "a{b=\"c\",}",
    "{__name__=~\"a.*\"}",
    "{\"a\"}",
    "{\"a.b\",\"c.d\"=\"e\"}",
    "a{b=~\"(?P<c>d)\"}",
    "a{b=~\"(?<c>d)\"}",
    "a{b=~\"\\xff\"}",
    "a{b=~\"\\xff|c\"}",
    "anchored + smoothed",
    "step + range + fill + limitk + max_of + start + end + info",
    // Ranges and subqueries.
    "sum_over_time(a[5m])",
    "sum_over_time(a[ 5m ])",
    "sum_over_time(a[300])",
    "sum_over_time(a[+5m])",
    "sum_over_time(a[5m*2])",
    "sum_over_time(a[(5m)])",
    "sum_over_time(a[step()])",
    "sum_over_time(a[range()])",
    "sum_over_time(a[max_of(1m, 2m)])",
    "sum_over_time(a[5m:1m])",
    "sum_over_time(a[5m:])",
    "sum_over_time(a[5m:60])",
    "sum_over_time((a + b)[5m : 1m])",
    "sum_over_time(a @ start()[5m])",
    "sum_over_time(a offset step()[5m])",
    "sum_over_time(a[5m] anchored)",
    "a smoothed",
    // Shifts.
    "a offset 5m",
    "a offset -5m",
    "a offset +5m",
    "a offset 0s",
    "a offset 300",
    "a offset -(5m)",
    "a offset (5m)",
    "a offset step()",
    "a offset 5m ^ 2",
    "a offset -5m ^ 2",
    "a @ 5",
    "a @ -5.5",
    "a @ 5m",
    "a @ start() offset 5m",
    "sum_over_time(a[5m:1m] @ end())",
    // Aggregations.
    "avg(a)",
    "bottomk(1, a)",
    "count(a)",
    "count_values(\"b\", a)",
    "group(a)",
    "limitk(1, a)",
    "limit_ratio(0.5, a)",
    "max(a)",
    "min(a)",
    "quantile(0.5, a)",
    "stddev(a)",
    "stdvar(a)",
    "sum(a)",
    "topk(1, a)",
    "SUM BY (b, c,) (a)",
    "sum(a) without (b)",
    "sum by (\"b\") (a)",
    "sum by (\"b.c\") (a)",
    "sum by (b:c) (a)",
    "sum by (on, bool, offset, step, fill, atan2, limitk) (a)",
    "sum by (anchored) (a)",
    // Operators.
    "-a ^ 2 * 3 / 4 % 5 + 6 - 7",
    "a atan2 b",
    "a == b != c <= d < e >= f > g",
    "a > bool 1",
    "a and b or c unless d",
    "a * on (b) group_left (c,) d",
    "a * ignoring (b) group_right d",
    "a * on (\"b\") group_left (\"c.d\") e",
    "a </ 1",
    "a >/ b",
    "a + fill (0) b",
    "a + on (b) group_left fill_left (0) fill_right (5m) c",
];

#[test]
fn promtool_takes_what_is_kept_and_refuses_what_is_left_out() {
    let tools = tools("CAPSTAN_PROMTOOL");
    if tools.is_empty() {
        skipped::because("CAPSTAN_PROMTOOL names no program, such as 3.15.0=/path/promtool");
        return;
    }
    let mut objects = vec![("every field".to_owned(), every_field())];
    objects.extend(recorded());
    objects.extend(FUNCTIONS.iter().map(|function| of_expression(&call(function))));
    objects.extend(EXPRESSIONS.iter().map(|expression| of_expression(expression)));
    objects.extend(TEMPLATE_FUNCTIONS.iter().map(|function| of_template(function)));
    let mut wrong = Vec::new();
    for tool in tools {
        let version = Version::parse(&tool.version).unwrap();
        wrong.extend(check(&tool, &objects, &[]));
        let features = FEATURES.iter().filter(|(_, gate)| gate.admits(&version));
        let features: Vec<&str> = features.map(|(feature, _)| *feature).collect();
        if !features.is_empty() {
            wrong.extend(check(&tool, &objects, &features));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with what becomes of these objects for a Prometheus of the tool's version, with these features enabled.
fn check(tool: &Tool, objects: &[(String, PrometheusRule)], features: &[&str]) -> Vec<String> {
    let settings = Settings {
        target: Target::Prometheus,
        version: Version::parse(&tool.version).unwrap(),
        promql: promql_options(features),
        enforcement: Enforcement::NONE,
    };
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for (name, object) in objects {
        let rendered = render(object, &settings);
        kept.extend(rendered.content.map(|content| (name.clone(), content)));
        for rejected in rendered.rejected {
            let mut alone = object.clone();
            alone.spec.groups.retain(|group| group.name == rejected.name);
            let unjudged = render_unjudged(&alone, &settings);
            // What the newest Prometheus refuses, too, is none of this.
            if let Some(content) = unjudged.content.filter(|_| unjudged.rejected.is_empty()) {
                let why: Vec<String> = rejected.findings.iter().map(Finding::to_string).collect();
                left_out.push((format!("{name}: {}", why.join(", ")), content));
            }
        }
    }
    assert!(!kept.is_empty());
    let refused = refused(tool, &kept, features);
    let rightly = refused_names(tool, &left_out, features);
    let needlessly: Vec<_> = left_out.iter().filter(|(name, _)| !rightly.contains(name)).collect();
    println!(
        "promtool {} {features:?}: {} rule files, {} refused; {} groups left out, {} of them needlessly",
        tool.version,
        kept.len(),
        refused.len(),
        left_out.len(),
        needlessly.len()
    );
    let version = &tool.version;
    let refused = refused.iter().map(|(name, said)| format!("{version} refuses {name}: {said}"));
    let taken = needlessly.iter().map(|(name, _)| format!("{version} would have taken {name}"));
    refused.chain(taken).collect()
}

fn refused(tool: &Tool, texts: &[(String, String)], features: &[&str]) -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("rules-{}", tool.version));
    std::fs::create_dir_all(&directory).unwrap();
    let enabled = format!("--enable-feature={}", features.join(","));
    let mut arguments = vec!["check", "rules", "--lint=none"];
    arguments.extend((!features.is_empty()).then_some(enabled.as_str()));
    tool.refused(&arguments, texts, &directory)
}

fn refused_names(tool: &Tool, texts: &[(String, String)], features: &[&str]) -> Vec<String> {
    refused(tool, texts, features).into_iter().map(|(name, _)| name).collect()
}

/// Recorded rules for Prometheus, whatever features they need.
fn recorded() -> Vec<(String, PrometheusRule)> {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        println!("only the cases in this file: {}", conformance::NO_DATA);
        return Vec::new();
    };
    let cases = conformance::read(&data.join("prometheus")).unwrap().into_iter();
    cases
        .filter(|case| case.area == "rules" && case.note.is_none())
        .filter(|case| case.input["options"]["target"] == "Prometheus")
        .map(|case| (case.name, object(case.input["resources"][0].clone())))
        .collect()
}

/// The function with the fewest arguments that it takes.
fn call(function: &Function) -> String {
    let optional = usize::from(function.last != Last::Once);
    let least = function.arguments.len().saturating_sub(optional);
    let arguments = function.arguments.iter().take(least).map(|argument| match argument {
        ValueType::Scalar => "0.5",
        ValueType::Vector => "a",
        ValueType::Matrix => "a[5m]",
        ValueType::Text => "\"b\"",
    });
    format!("{}({})", function.name, arguments.collect::<Vec<_>>().join(", "))
}

fn of_expression(expression: &str) -> (String, PrometheusRule) {
    (expression.to_owned(), of_rule(&json!({"record": "r", "expr": expression})))
}

fn of_template(function: &str) -> (String, PrometheusRule) {
    let template = format!("{{{{ {function} }}}}");
    (template.clone(), of_rule(&json!({"alert": "A", "expr": "up", "annotations": {"a": template}})))
}

fn of_rule(rule: &Value) -> PrometheusRule {
    object(
        json!({"metadata": {"name": "r", "namespace": "ns"}, "spec": {"groups": [{"name": "g", "rules": [rule]}]}}),
    )
}

/// What an object may say, in words of every version.
fn every_field() -> PrometheusRule {
    let alert = json!({
        "alert": "Down", "expr": "up{job=~\"a|b\"} == 0 and on (instance) rate(x[5m]) > 1", "for": "5m", "keep_firing_for": "10m",
        "labels": {"severity": "page", "value": "{{ $value | humanize }}"},
        "annotations": {"summary": "{{ $labels.instance }} is down: \"{{ printf \"%.2f\" $value }}\""},
    });
    let record = json!({"record": "job:up:sum", "expr": "sum by (job) (up)", "labels": {"a": "yes"}});
    let group = json!({
        "name": "g: #1", "interval": "30s", "limit": 10, "query_offset": "1m", "partial_response_strategy": "warn",
        "labels": {"team": "0x1F"}, "rules": [alert, record, {"record": "one", "expr": 1}],
    });
    let metadata = json!({"name": "r", "namespace": "ns"});
    object(json!({"metadata": metadata, "spec": {"groups": [group, {"name": "empty"}]}}))
}

fn object(value: Value) -> PrometheusRule {
    serde_json::from_value(value).unwrap()
}
