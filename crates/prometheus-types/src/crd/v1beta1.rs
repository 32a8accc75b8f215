//! The schema of AlertmanagerConfig v1beta1: that of the shared types, with this version's own rules.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use serde_json::{Value, json};

use super::{definition, edit};
use crate::alertmanager_config::v1beta1::{AlertmanagerConfig, AlertmanagerConfigSpec};
use crate::schema::drop_descriptions;
use crate::status::ConfigResourceStatus;

/// Fields of receivers that refer to Secrets by a type of this version: name and key must not be empty, and nothing is
/// optional. All other references are those of v1alpha1.
const STRICT_SECRETS: &[(&str, &[&str])] = &[
    ("emailConfigs", &["authPassword", "authSecret"]),
    ("opsgenieConfigs", &["apiKey"]),
    ("pagerdutyConfigs", &["routingKey", "serviceKey"]),
    ("pushoverConfigs", &["token", "userKey"]),
    ("slackConfigs", &["apiURL"]),
    ("telegramConfigs", &["botToken"]),
    ("victoropsConfigs", &["apiKey"]),
    ("webhookConfigs", &["urlSecret"]),
    ("wechatConfigs", &["apiSecret"]),
];

/// The lists of receivers that this version declares as atomic; of all others it says nothing.
const ATOMIC_LISTS: &[(&str, &[&str])] = &[
    ("pagerdutyConfigs", &["details", "pagerDutyImageConfigs", "pagerDutyLinkConfigs"]),
    ("slackConfigs", &["actions", "fields", "mrkdwnIn"]),
    ("victoropsConfigs", &["customFields"]),
];

pub(super) fn version() -> serde_json::Result<Option<CustomResourceDefinitionVersion>> {
    let crd = definition::<AlertmanagerConfig, AlertmanagerConfigSpec, ConfigResourceStatus>()?;
    let Some(mut version) = crd.spec.versions.into_iter().next() else { return Ok(None) };
    // v1alpha1 is what is stored.
    version.storage = false;
    edit(&mut version, |schema| {
        if let Some(spec) = schema.pointer_mut("/properties/spec") {
            forget_lists(spec);
        }
        each_receiver(schema, adapt);
    })?;
    Ok(Some(version))
}

pub(super) fn drop_descriptions_of_http_clients(schema: &mut Value) {
    each_receiver(schema, |_, fields| {
        let parts = fields.pointer_mut("/httpConfig/properties").and_then(Value::as_object_mut);
        parts.into_iter().flat_map(|parts| parts.values_mut()).for_each(drop_descriptions);
    });
}

/// Calls `change` with the name and the fields of each sort of receiver.
fn each_receiver(schema: &mut Value, change: impl Fn(&str, &mut Value)) {
    let receivers = schema.pointer_mut("/properties/spec/properties/receivers/items/properties");
    for (name, receiver) in receivers.and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(fields) = receiver.pointer_mut("/items/properties") {
            change(name, fields);
        }
    }
}

fn forget_lists(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("x-kubernetes-list-type");
            map.remove("x-kubernetes-list-map-keys");
            map.values_mut().for_each(forget_lists);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_lists),
        _ => {}
    }
}

/// Gives the fields of the receiver `name` what this version says about them.
fn adapt(name: &str, fields: &mut Value) {
    for field in listed(STRICT_SECRETS, name) {
        make_strict(fields.get_mut(field));
    }
    make_strict(fields.pointer_mut("/httpConfig/properties/bearerTokenSecret"));
    for field in listed(ATOMIC_LISTS, name) {
        if let Some(Value::Object(list)) = fields.get_mut(field) {
            list.insert("x-kubernetes-list-type".into(), json!("atomic"));
        }
    }
    let Value::Object(fields) = fields else { return };
    match name {
        "opsgenieConfigs" => {
            fields.remove("updateAlerts");
        }
        "pushoverConfigs" => {
            for file in ["tokenFile", "userKeyFile"] {
                fields.get_mut(file).and_then(Value::as_object_mut).map(|file| file.remove("minLength"));
            }
        }
        _ => {}
    }
}

fn listed(table: &'static [(&str, &[&str])], name: &str) -> impl Iterator<Item = &'static &'static str> {
    table.iter().filter(move |row| row.0 == name).flat_map(|row| row.1)
}

fn make_strict(reference: Option<&mut Value>) {
    let Some(reference) = reference else { return };
    let description = reference.get("description").cloned().unwrap_or_default();
    *reference = json!({
        "type": "object",
        "description": description,
        "required": ["key", "name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Name of the Secret, in the namespace of the object."},
            "key": {"type": "string", "minLength": 1, "description": "Key in the Secret."},
        },
    });
}
