//! Our answers to upstream's recorded cases. Only an adapter: the product's functions do the work.

use prometheus_types::alertmanager_config::v1beta1;
use prometheus_types::{Alertmanager, AlertmanagerConfig};
use rendering::{Assets, Map, Version};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::provision::{Request, namespace_of, provision, version};
use crate::references::References;
use crate::sanitize::sanitize;
use crate::shape::CONFIGURATION;
use crate::strategy::Strategy;
use crate::{load, merge, normal, select, validate};

pub const AREAS: &[&str] = &[
    "alertmanager-config",
    "alertmanager-config-global",
    "alertmanager-load",
    "alertmanager-sanitize",
    "alertmanager-provision",
    "selection-alertmanagerconfig",
    "validation-alertmanagerconfig",
];

/// Answers one case.
///
/// # Errors
/// Our refusal of the case's input.
pub fn answer(area: &str, input: &Value) -> Result<Value, String> {
    let option =
        |name: &str| input.pointer(&format!("/options/{name}")).and_then(Value::as_str).unwrap_or_default();
    match area {
        "alertmanager-config" => merged(input, option("baseConfig")),
        "alertmanager-config-global" => base(input),
        "alertmanager-load" => load(option("config")).map(yaml).map_err(text),
        "alertmanager-sanitize" => cut(option("config"), option("version")),
        "alertmanager-provision" => provisioned(input),
        "selection-alertmanagerconfig" => {
            let config = only::<AlertmanagerConfig>(input, "AlertmanagerConfig")?;
            let version = Version::parse(option("version")).map_err(text)?;
            select(&config, &version, &assets(input)).map(|()| accepted()).map_err(text)
        }
        "validation-alertmanagerconfig" => validated(input),
        _ => Err(format!("no area {area}")),
    }
}

/// Upstream gives up on all objects where one cannot be taken.
fn merged(input: &Value, raw: &str) -> Result<Value, String> {
    let alertmanager = only::<Alertmanager>(input, "Alertmanager")?;
    let configs = all::<AlertmanagerConfig>(input, "AlertmanagerConfig")?;
    let version = version(&alertmanager).map_err(text)?;
    let assets = assets(input);
    let base = load::read(raw).map_err(text)?;
    let strategy = Strategy::of(&alertmanager);
    let mut fragments = Vec::new();
    for config in merge::in_order(configs.iter()) {
        let (namespace, _) = merge::identity(config);
        let references = References { assets: &assets, namespace, version: &version, tls: None };
        fragments.push(merge::checked_fragment(config, &base, &strategy, &references).map_err(text)?);
    }
    let configuration = merge::assemble(base, fragments, &version).map_err(text)?;
    Ok(yaml(configuration.to_yaml()))
}

fn base(input: &Value) -> Result<Value, String> {
    let alertmanager = only::<Alertmanager>(input, "Alertmanager")?;
    let config = only::<AlertmanagerConfig>(input, "AlertmanagerConfig")?;
    let version = version(&alertmanager).map_err(text)?;
    let namespace = config.metadata.namespace.as_deref().unwrap_or_else(|| namespace_of(&alertmanager));
    let global =
        alertmanager.spec.alertmanager_configuration.as_ref().and_then(|named| named.global.as_ref());
    let references = References { assets: &assets(input), namespace, version: &version, tls: None };
    merge::base(&config, global, &references).map(|base| yaml(base.to_yaml())).map_err(text)
}

fn cut(raw: &str, version: &str) -> Result<Value, String> {
    let version = Version::parse(version).map_err(text)?;
    let given = load::unchecked(raw).map_err(text)?;
    let mut configuration = match given {
        Some(given) => given,
        None => normal::section(&CONFIGURATION, Map::new()).map_err(text)?,
    };
    sanitize(&CONFIGURATION, &mut configuration, &version).map_err(text)?;
    Ok(yaml(configuration.to_yaml()))
}

fn provisioned(input: &Value) -> Result<Value, String> {
    let alertmanager = only::<Alertmanager>(input, "Alertmanager")?;
    let configs = all::<AlertmanagerConfig>(input, "AlertmanagerConfig")?;
    let assets = assets(input);
    let secret = provision(&Request { alertmanager: &alertmanager, configs: &configs, assets: &assets })
        .map_err(text)?;
    let mut files = serde_json::Map::new();
    files.insert("alertmanager.yaml".into(), secret.configuration.into());
    for (key, content) in secret.others {
        files.insert(key, String::from_utf8_lossy(&content).into());
    }
    Ok(json!({"object": {"secretName": secret.secret_name, "files": files}}))
}

fn validated(input: &Value) -> Result<Value, String> {
    let object = objects(input, "AlertmanagerConfig").next().ok_or("no AlertmanagerConfig")?;
    let verdict = match object.get("apiVersion").and_then(Value::as_str) {
        Some("monitoring.coreos.com/v1beta1") => {
            validate::v1beta1(&read::<v1beta1::AlertmanagerConfig>(object)?.spec)
        }
        _ => validate::v1alpha1(&read::<AlertmanagerConfig>(object)?.spec),
    };
    verdict.map(|()| accepted()).map_err(text)
}

fn objects<'a>(input: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    let resources = input.get("resources").and_then(Value::as_array).into_iter().flatten();
    resources.filter(move |object| object.get("kind").and_then(Value::as_str) == Some(kind))
}

fn all<T: DeserializeOwned>(input: &Value, kind: &str) -> Result<Vec<T>, String> {
    objects(input, kind).map(read).collect()
}

fn only<T: DeserializeOwned>(input: &Value, kind: &str) -> Result<T, String> {
    objects(input, kind).next().ok_or_else(|| format!("no {kind}")).and_then(read)
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    serde_json::from_value(object.clone()).map_err(text)
}

fn assets(input: &Value) -> Assets {
    let list = |name: &str| input.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Assets::from_objects(list("secrets"), list("configmaps"))
}

fn yaml(text: String) -> Value {
    json!({ "yaml": text })
}

fn accepted() -> Value {
    json!({ "accepted": true })
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
