//! What is kept from the last rendering is never visible: the document equals one that was rendered from nothing.

use prometheus_config::{Additional, Options, Renderer, Selected, Workload};
use prometheus_types::{Prometheus, ServiceMonitor};
use rendering::Assets;
use serde_json::json;

fn prometheus(interval: &str) -> Prometheus {
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "d"}, "spec": {"scrapeInterval": interval, "evaluationInterval": "30s", "enforcedSampleLimit": 5}})).unwrap()
}

fn monitor(name: &str, version: Option<&str>, path: &str) -> ServiceMonitor {
    let basic_auth =
        json!({"username": {"name": "s", "key": "user"}, "password": {"name": "s", "key": "pass"}});
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "d", "uid": version.map(|_| name), "resourceVersion": version},
        "spec": {"selector": {}, "endpoints": [{"path": path, "basicAuth": basic_auth}]},
    }))
    .unwrap()
}

fn secrets(password: &str) -> Assets {
    let mut assets = Assets::new();
    assets.add_secret(
        "d",
        "s",
        [("user".to_owned(), b"u".to_vec()), ("pass".to_owned(), password.as_bytes().to_vec())],
    );
    assets
}

fn render(
    renderer: &mut Renderer,
    prometheus: &Prometheus,
    monitors: &[ServiceMonitor],
    assets: &Assets,
) -> String {
    let selected = Selected { service_monitors: monitors.iter().collect(), ..Selected::default() };
    renderer
        .render(Workload::Server(prometheus), Options::default(), &selected, assets, &Additional::default())
        .unwrap()
        .text()
}

#[test]
fn edits_of_monitors_secrets_and_workloads_are_all_seen() {
    let first = [monitor("a", Some("1"), "/a"), monitor("b", Some("1"), "/b"), monitor("c", None, "/c")];
    let edited = [monitor("a", Some("2"), "/x"), monitor("c", None, "/y")];
    let (one, other) = (secrets("one"), secrets("other"));
    let (slow, fast) = (prometheus("60s"), prometheus("5s"));
    let mut renderer = Renderer::new();
    for (prometheus, monitors, assets) in [
        (&slow, &first[..], &one),
        (&slow, &first[..], &one),
        (&slow, &edited[..], &one),
        (&slow, &edited[..], &other),
        (&fast, &first[..], &other),
        (&fast, &[], &other),
    ] {
        let kept = render(&mut renderer, prometheus, monitors, assets);
        assert_eq!(kept, render(&mut Renderer::new(), prometheus, monitors, assets));
    }
}

#[test]
fn monitors_stand_in_the_order_of_namespace_and_name_however_they_are_given() {
    let monitors = [monitor("b", None, "/b"), monitor("a", None, "/a"), monitor("a-b", None, "/c")];
    let text = render(&mut Renderer::new(), &prometheus("30s"), &monitors, &secrets("x"));
    let at = |path: &str| text.find(path).unwrap();
    assert!(
        at("metrics_path: /a") < at("metrics_path: /c") && at("metrics_path: /c") < at("metrics_path: /b")
    );
}
