//! What people see of findings.

#![allow(clippy::unwrap_used, reason = "tests")]

use expect_test::{Expect, expect};

use super::*;

fn lint(text: &str, flags: &[&str]) -> Vec<Finding> {
    use clap::Parser as _;
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        lint: Lint,
    }
    let directory = std::env::temp_dir().join(format!("capstan-lint-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join(format!("{:x}.yaml", text.len() * 31 + flags.len()));
    std::fs::write(&file, text).unwrap();
    let words = ["lint"].iter().chain(flags).map(|word| (*word).to_owned());
    let line = Line::try_parse_from(words.chain([file.display().to_string()])).unwrap();
    let mut found = findings(&line.lint).unwrap();
    std::fs::remove_file(&file).unwrap();
    found.iter_mut().for_each(|finding| finding.file = "f.yaml".to_owned());
    found
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(&lint(text, &[]), None).unwrap());
}

#[test]
fn every_finding_is_one_line_with_file_object_field_and_what_to_do() {
    check(
        r#"
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: alerts, namespace: shop}
spec:
  groups:
  - name: g
    rules:
    - alert: Down
      expr: "up == "
      for: 5m
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: more, namespace: shop}
spec:
  groups:
  - name: g
    evaluationInterval: 1m
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-ours}
"#,
        expect![[r#"
            f.yaml: PrometheusRule shop/alerts: spec.groups[0].rules[0].expr: is not PromQL: 1:7: unexpected end of input
            f.yaml: PrometheusRule shop/more: spec.groups[0].evaluationInterval: is unknown and would be dropped; correct or remove it
        "#]],
    );
}

#[test]
fn good_objects_of_all_kinds_pass() {
    check(
        r#"
apiVersion: v1
kind: List
items:
- apiVersion: monitoring.coreos.com/v1
  kind: ServiceMonitor
  metadata: {name: web, namespace: shop}
  spec:
    selector: {matchLabels: {app: web}}
    endpoints:
    - port: http
      basicAuth: {username: {name: secret, key: user}, password: {name: secret, key: password}}
- apiVersion: monitoring.coreos.com/v1
  kind: Prometheus
  metadata: {name: k8s, namespace: monitoring}
  spec: {version: v3.14.0, replicas: 2}
- apiVersion: example.com/v1
  kind: OfOthers
  metadata: {name: whatever}
  spec: {anything: true}
"#,
        expect![""],
    );
}

#[test]
fn what_the_operators_refuse_is_found_too() {
    let found = lint(
        r#"
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}
  endpoints:
  - port: http
    relabelings:
    - {action: replace, regex: "(", targetLabel: a}
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata: {name: team, namespace: shop}
spec:
  route: {receiver: nobody}
  receivers: [{name: somebody}]
---
apiVersion: monitoring.coreos.com/v1
kind: AlertmanagerConfig
metadata: {name: team, namespace: shop}
---
metadata: {name: what}
"#,
        &[],
    );
    let places: Vec<_> =
        found.iter().map(|finding| (finding.object.as_str(), finding.field.as_str())).collect();
    assert_eq!(
        places,
        [
            ("ServiceMonitor shop/web", "spec.endpoints[0].relabelings[0].regex"),
            ("AlertmanagerConfig shop/team", "spec.route.receiver"),
            ("AlertmanagerConfig shop/team", "apiVersion"),
            ("what", "kind"),
        ],
        "{found:?}"
    );
}

#[test]
fn what_would_not_load_is_found_without_the_secrets() {
    check(
        r#"
apiVersion: monitoring.coreos.com/v1alpha1
kind: ScrapeConfig
metadata: {name: machines, namespace: shop}
spec:
  kubernetesSDConfigs:
  - role: Pod
    basicAuth: {username: {name: unseen, key: user}, password: {name: unseen, key: password}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web, namespace: shop}
spec:
  selector: {}
  endpoints:
  - {port: http, tlsConfig: {ca: {secret: {name: unseen, key: ca}}}}
  - {port: "ht(tp"}
---
apiVersion: monitoring.coreos.com/v1
kind: Probe
metadata: {name: pages, namespace: shop}
spec:
  prober: {url: "prober:9115"}
  targets: {staticConfig: {static: [example.com]}}
  oauth2: {clientId: {secret: {name: seen, key: id}}, clientSecret: {name: unseen, key: secret}, tokenUrl: "http://t"}
---
apiVersion: v1
kind: Secret
metadata: {name: seen, namespace: shop}
stringData: {other: key}
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: k8s, namespace: shop}
spec:
  remoteWrite:
  - {url: "http://r", queueConfig: {minBackoff: 10s}}
---
apiVersion: monitoring.coreos.com/v1alpha1
kind: AlertmanagerConfig
metadata: {name: team, namespace: shop}
spec:
  route: {receiver: chat}
  receivers:
  - name: chat
    slackConfigs: [{apiURL: {name: unseen, key: url}}]
    webexConfigs: [{roomID: room}]
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: {name: main, namespace: shop}
spec: {}
---
apiVersion: v1
kind: Secret
metadata: {name: alertmanager-main, namespace: shop}
stringData: {alertmanager.yaml: "route: {receiver: nobody}"}
"#,
        expect![[r#"
            f.yaml: ScrapeConfig shop/machines: spec.kubernetesSDConfigs[0].basicAuth: is for another API server; give apiServer, or remove it
            f.yaml: ServiceMonitor shop/web: spec.endpoints[1].relabelings: regex: invalid regular expression "^(?s:ht(tp)$": a group is not closed
            f.yaml: Probe shop/pages: spec.oauth2.clientId: Secret shop/seen has no key "id"; add it or correct the reference
            f.yaml: Prometheus shop/k8s: spec.remoteWrite[0].queueConfig.maxBackoff: 5000ms is below minBackoff, which is 10000ms; raise it
            f.yaml: AlertmanagerConfig shop/team: receivers[0].webex_configs[0].http_config.authorization: is needed: give the bot's access token
            f.yaml: Alertmanager shop/main: route.receiver of Secret alertmanager-main: there is no receiver "nobody"
        "#]],
    );
}

#[test]
fn what_is_no_yaml_is_a_finding() {
    let found = lint("a: [", &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].message.starts_with("is not valid YAML"), "{found:?}");
}

#[test]
fn features_are_off_unless_they_are_named() {
    let rule = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec: {groups: [{name: g, rules: [{record: a, expr: 'limitk(1, up)'}]}]}\n";
    assert_eq!(lint(rule, &[]).len(), 1);
    assert_eq!(lint(rule, &["--enable-feature", "promql-experimental-functions"]), []);
}

#[test]
fn rules_are_judged_by_the_prometheus_beside_them() {
    let rule = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec: {groups: [{name: g, rules: [{record: a, expr: 'up > 5m'}]}]}\n";
    let prometheus = "---\napiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: p}\nspec: {version: 2.53.4}\n";
    let ruler =
        "---\napiVersion: monitoring.coreos.com/v1\nkind: ThanosRuler\nmetadata: {name: t}\nspec: {}\n";
    assert_eq!(lint(rule, &[]), []);
    check(
        &format!("{rule}{prometheus}"),
        expect![[r#"
            f.yaml: PrometheusRule a: spec.groups[0].rules[0].expr: a duration as a number is known to Prometheus 2.54.0 and newer, this one is 2.53.4; rewrite the expression or upgrade
        "#]],
    );
    assert!(
        lint(&format!("{rule}{prometheus}{ruler}"), &[])
            .iter()
            .all(|finding| finding.field != "spec.groups[0].rules[0].expr")
    );
}

#[test]
fn for_programs_findings_are_data() {
    let found = lint("kind: PrometheusRule\n", &[]);
    assert_eq!(
        shown(&found, Some(Format::Json)).unwrap(),
        "[\n  {\n    \"file\": \"f.yaml\",\n    \"object\": \"PrometheusRule\",\n    \"field\": \"apiVersion\",\n    \"message\": \"must be set: without it nobody knows what this document is\"\n  }\n]\n"
    );
}
