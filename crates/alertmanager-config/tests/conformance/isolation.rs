//! One object cannot take the others down: the inputs on which upstream gives up on all of them.

use alertmanager_config::{Request, provision};
use prometheus_types::{Alertmanager, AlertmanagerConfig};
use rendering::Assets;
use serde_json::{Value, json};

/// Cases of a file of the data that are about whole configurations. `None` without the data.
pub(crate) fn cases(file: &str) -> Option<Vec<Value>> {
    let data = conformance::data(env!("CARGO_MANIFEST_DIR"))?;
    let text = std::fs::read_to_string(data.join("prometheus").join(file)).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(cases.filter(|case| case["area"] == "alertmanager-config").collect())
}

/// Inputs on which upstream is wrong, as the data's authors found them.
fn defects() -> Option<Vec<Value>> {
    cases("upstream-defects.jsonl")
}

pub(crate) struct World {
    pub(crate) alertmanager: Alertmanager,
    pub(crate) configs: Vec<AlertmanagerConfig>,
    pub(crate) assets: Assets,
}

/// The case's objects, with its base configuration in the Secret where an Alertmanager looks for it.
pub(crate) fn world(case: &Value) -> World {
    let input = &case["input"];
    let objects = |kind: &'static str| {
        input["resources"].as_array().unwrap().iter().filter(move |object| object["kind"] == kind).cloned()
    };
    let mut alertmanager = objects("Alertmanager").next().unwrap();
    alertmanager["spec"]["alertmanagerConfigSelector"] = json!({});
    let meta = &alertmanager["metadata"];
    let mut assets =
        Assets::from_objects(input["secrets"].as_array().unwrap(), input["configmaps"].as_array().unwrap());
    let base = input["options"]["baseConfig"].as_str().unwrap();
    let name = format!("alertmanager-{}", meta["name"].as_str().unwrap());
    assets.add_secret(
        meta["namespace"].as_str().unwrap(),
        &name,
        [("alertmanager.yaml".to_owned(), base.into())],
    );
    World {
        alertmanager: serde_json::from_value(alertmanager.clone()).unwrap(),
        configs: objects("AlertmanagerConfig")
            .map(|object| serde_json::from_value(object).unwrap())
            .collect(),
        assets,
    }
}

#[test]
fn an_object_that_would_break_the_configuration_is_left_out_and_named() {
    let Some(defects) = defects() else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    for case in defects {
        let world = world(&case);
        let made = provision(&Request {
            alertmanager: &world.alertmanager,
            configs: &world.configs,
            assets: &world.assets,
        })
        .unwrap_or_else(|error| panic!("{}: {error}", case["case"]));
        assert!(!made.rejected.is_empty(), "{}: nothing was left out", case["case"]);
        for config in &world.configs {
            let (namespace, name) =
                (config.metadata.namespace.as_deref().unwrap(), config.metadata.name.as_deref().unwrap());
            let rejected = made.rejected.iter().any(|gone| gone.namespace == namespace && gone.name == name);
            let there = made.configuration.contains(&format!("{namespace}/{name}/"));
            assert_eq!(there, !rejected, "{}: {namespace}/{name}", case["case"]);
        }
    }
}

#[test]
fn the_order_of_objects_makes_no_difference() {
    let Some(defects) = defects() else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    for case in defects {
        let mut world = world(&case);
        let mut made = || {
            let request =
                Request { alertmanager: &world.alertmanager, configs: &world.configs, assets: &world.assets };
            let configuration = provision(&request).unwrap().configuration;
            world.configs.reverse();
            configuration
        };
        assert_eq!(made(), made());
    }
}
