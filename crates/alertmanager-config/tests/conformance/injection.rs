//! What a tenant writes stays in its own leaf: rendering a hostile text gives what rendering a harmless one gives, with the
//! one text in place of the other, and nothing else.
//!
//! The object is made from the CRD, so that a field added there is tried here.

use std::collections::BTreeSet;

use alertmanager_config::{Request, provision};
use prometheus_types::crd::{Descriptions, Versions, crds};
use prometheus_types::{Alertmanager, AlertmanagerConfig};
use rendering::{Assets, Map, Tree};
use serde_json::{Value, json};

const HARMLESS: &str = "harmless0text";

/// Texts that YAML, Go templates, matchers or line-based tools might take for something else.
const HOSTILE: &[&str] = &[
    "\nreceivers: []",
    "x\n- name: evil\n  webhook_configs: []",
    ": ",
    " # comment",
    "'\"\\",
    "{a: b}",
    "[a, b]",
    "&anchor",
    "*alias",
    "!!binary aGk=",
    "|\n  block",
    "--- \n%YAML 1.1",
    "\t\r\n",
    "\u{85}\u{2028}\u{feff}",
    "\u{0}\u{7}",
    "yes",
    "~",
    "0x1F",
    "12:30",
    "<<",
    "\",namespace=\"other",
    "\"} or {namespace=~\".*",
    "",
];

/// Fields that cannot stand beside others; each set makes one object.
pub(crate) const VARIANTS: &[&[&str]] = &[
    &[
        "authorization",
        "oauth2",
        "bearerTokenSecret",
        "botTokenFile",
        "targetARN",
        "phoneNumber",
        "urlSecret",
    ],
    &["basicAuth", "oauth2", "bearerTokenSecret", "botToken", "topicARN", "phoneNumber"],
    &["authorization", "basicAuth", "bearerTokenSecret", "botTokenFile", "topicARN", "targetARN"],
    &["authorization", "basicAuth", "oauth2", "botTokenFile", "targetARN", "phoneNumber", "proxyURL"],
];

#[test]
fn a_hostile_text_changes_its_own_leaf_and_no_other() {
    let (mut tried, mut refused, mut seen) = (0, BTreeSet::new(), BTreeSet::new());
    let objects = VARIANTS.iter().flat_map(|without| one_sort_each(&object(without)));
    for object in objects {
        let mut leaves = Vec::new();
        strings(&object["spec"], "/spec".into(), &mut leaves);
        for leaf in leaves {
            // The client is the same in all receivers: it is tried in one of them.
            let again = leaf.contains("/httpConfig/") && !leaf.contains("/webhookConfigs/");
            if again || seen.contains(&leaf) {
                continue;
            }
            let original = object.pointer(&leaf).and_then(Value::as_str).unwrap().to_owned();
            // The whole text where anything may stand, its end where its form is prescribed.
            let prefix = match rendered(&with(&object, &leaf, HARMLESS)) {
                Some(_) => String::new(),
                None => original,
            };
            let Some(harmless) = rendered(&with(&object, &leaf, &format!("{prefix}{HARMLESS}"))) else {
                refused.insert(leaf);
                continue;
            };
            seen.insert(leaf.clone());
            for text in HOSTILE {
                let Some(hostile) = rendered(&with(&object, &leaf, &format!("{prefix}{text}"))) else {
                    continue;
                };
                tried += 1;
                // Without a text there may be no leaf; all others are as before.
                if format!("{prefix}{text}").is_empty() {
                    let known = &paths(&harmless) | &paths(&replaced(&harmless, ""));
                    assert!(paths(&hostile).is_subset(&known), "{leaf} with nothing in it adds something");
                } else {
                    assert_eq!(hostile, replaced(&harmless, text), "{leaf} with {text:?}");
                }
            }
        }
    }
    let prescribed: BTreeSet<&str> =
        refused.difference(&seen).filter_map(|leaf| leaf.rsplit('/').next()).collect();
    println!(
        "{} fields, {tried} hostile texts rendered; forms prescribed: {}",
        seen.len(),
        Vec::from_iter(prescribed).join(" ")
    );
    assert!(seen.len() > 150, "only {} fields were tried", seen.len());
    assert!(tried > 3_000, "only {tried} texts were rendered");
}

#[test]
fn a_hostile_secret_changes_its_own_leaf_and_no_other() {
    let object = object(VARIANTS[1]);
    let harmless = rendered_with(&object, HARMLESS).expect("harmless Secrets are rendered");
    for text in HOSTILE.iter().filter(|text| !text.is_empty()) {
        if let Some(hostile) = rendered_with(&object, text) {
            assert_eq!(hostile, replaced(&harmless, text), "{text:?}");
        }
    }
}

/// The tree of the configuration that an object makes; nothing, when it is refused.
fn rendered(object: &Value) -> Option<Tree> {
    rendered_with(object, "value")
}

fn rendered_with(object: &Value, secret: &str) -> Option<Tree> {
    let alertmanager: Alertmanager = serde_json::from_value(json!({
        "metadata": {"name": "main", "namespace": "ns"},
        "spec": {"alertmanagerConfigSelector": {}},
    }))
    .unwrap();
    let config: AlertmanagerConfig = serde_json::from_value(object.clone()).unwrap();
    let made =
        provision(&Request { alertmanager: &alertmanager, configs: &[config], assets: &assets(secret) })
            .expect("a base is there");
    made.rejected.is_empty().then(|| Tree::parse(&made.configuration).expect("what is written can be read"))
}

/// What the references of the objects lead to.
pub(crate) fn assets(secret: &str) -> Assets {
    let mut assets = Assets::new();
    let data = |key: &str, value: &str| (key.to_owned(), value.as_bytes().to_vec());
    assets.add_secret("ns", "s", [data("text", secret), data("url", "https://secret.example.com/")]);
    assets.add_config_map("ns", "c", [data("text", secret)]);
    assets
}

/// The tree with a text in place of the harmless one, in keys and values. Inside of a matcher's quotes it is escaped.
fn replaced(tree: &Tree, text: &str) -> Tree {
    let put = |old: &str, quoted: bool| {
        let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
        old.replace(HARMLESS, if quoted { &escaped } else { text })
    };
    match tree {
        Tree::Str(old) => {
            let in_quotes = old.contains("=\"") || old.contains("~\"");
            let before = old.split('"').next().is_some_and(|name| name.contains(HARMLESS));
            put(old, in_quotes && !before).into()
        }
        Tree::List(items) => items.iter().map(|item| replaced(item, text)).collect(),
        Tree::Map(map) => Tree::Map(sorted(
            map.iter().map(|(key, value)| (put(key, false), replaced(value, text))).collect(),
        )),
        other => other.clone(),
    }
}

/// Maps that come from lists of pairs are written in order of their keys, which a new key may change.
fn sorted(pairs: Vec<(String, Tree)>) -> Map {
    pairs.into_iter().collect()
}

fn paths(tree: &Tree) -> BTreeSet<String> {
    fn walk(tree: &Tree, path: String, out: &mut BTreeSet<String>) {
        match tree {
            Tree::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, format!("{path}[{index}]"), out);
                }
            }
            Tree::Map(map) => map.iter().for_each(|(key, value)| walk(value, format!("{path}.{key}"), out)),
            _ => drop(out.insert(path)),
        }
    }
    let mut out = BTreeSet::new();
    walk(tree, String::new(), &mut out);
    out
}

/// Names, and where they are referred to.
const REFERENCES: &[(&str, &[&str])] = &[
    ("/spec/receivers/0/name", &["/spec/route/receiver", "/spec/route/routes/0/receiver"]),
    (
        "/spec/muteTimeIntervals/0/name",
        &["/spec/route/muteTimeIntervals/0", "/spec/route/activeTimeIntervals/0"],
    ),
];

fn with(object: &Value, pointer: &str, text: &str) -> Value {
    let mut changed = object.clone();
    let references =
        REFERENCES.iter().filter(|(name, _)| *name == pointer).flat_map(|(_, references)| *references);
    for pointer in references.chain([&pointer]) {
        if let Some(place) = changed.pointer_mut(pointer) {
            *place = text.into();
        }
    }
    changed
}

/// The object once without receivers' settings, and once for each sort of receiver with nothing else: small objects, for
/// there are many texts to try.
pub(crate) fn one_sort_each(object: &Value) -> Vec<Value> {
    let receiver = object["spec"]["receivers"][0].as_object().unwrap();
    let mut all = vec![object.clone()];
    all[0]["spec"]["receivers"] = json!([{"name": "text"}]);
    for sort in receiver.keys().filter(|sort| *sort != "name") {
        let spec =
            json!({"route": {"receiver": "text"}, "receivers": [{"name": "text", sort: receiver[sort]}]});
        all.push(json!({"metadata": object["metadata"], "spec": spec}));
    }
    all
}

/// Pointers to all texts but those that refer to Secrets and ConfigMaps.
fn strings(value: &Value, pointer: String, out: &mut Vec<String>) {
    match value {
        Value::String(_) => out.push(pointer),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, format!("{pointer}/{index}"), out);
            }
        }
        Value::Object(map) if map.contains_key("name") && map.contains_key("key") => {}
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| strings(value, format!("{pointer}/{key}"), out));
        }
        _ => {}
    }
}

/// An AlertmanagerConfig with every field of the CRD, but for some.
pub(crate) fn object(without: &[&str]) -> Value {
    let crds = crds(Descriptions::Slim, Versions::Default).unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == "AlertmanagerConfig").unwrap();
    let schema = serde_json::to_value(crd).unwrap();
    let spec = schema.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    let mut spec = example("", spec, without);
    spec["route"]["routes"] =
        json!([{"receiver": "text", "matchers": [{"name": "text", "value": "text", "matchType": "=~"}]}]);
    json!({"metadata": {"name": "cfg", "namespace": "ns"}, "spec": spec})
}

fn example(name: &str, schema: &Value, without: &[&str]) -> Value {
    match schema["type"].as_str() {
        Some("object")
            if schema["properties"]["key"].is_object() && schema["properties"]["name"].is_object() =>
        {
            let url = ["apiURL", "urlSecret", "webhookUrl", "webhookURL"].contains(&name);
            json!({"name": if name == "configMap" { "c" } else { "s" }, "key": if url { "url" } else { "text" }})
        }
        // Certificates must be such; they are no texts of the configuration.
        Some("object") if ["ca", "cert"].contains(&name) => json!({}),
        Some("object") => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => properties
                .iter()
                .filter(|(name, _)| {
                    !without.contains(&name.as_str()) && *name != "keySecret" && *name != "configMap"
                })
                .map(|(name, schema)| (name.clone(), example(name, schema, without)))
                .collect(),
            None => json!({"text": example("", &schema["additionalProperties"], without)}),
        },
        Some("array") => json!([example(name, &schema["items"], without)]),
        Some("boolean") => json!(false),
        Some("integer") => json!(1),
        _ => text(name, schema).into(),
    }
}

/// A text that the field's form allows.
fn text(name: &str, schema: &Value) -> String {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    if let Some(word) = schema["enum"][0].as_str() {
        return if name == "matchType" { "=".into() } else { word.into() };
    }
    match name {
        "startTime" => "08:00".into(),
        "endTime" => "17:00".into(),
        "weekdays" => "monday".into(),
        "months" => "january".into(),
        "years" => "2026".into(),
        "smarthost" => "smtp.example.com:25".into(),
        _ if pattern.contains("ms)") => "1m".into(),
        _ if pattern.contains("http")
            || name.to_lowercase().ends_with("url")
            || name == "href"
            || name == "url" =>
        {
            "https://example.com/".into()
        }
        _ => "text".into(),
    }
}
