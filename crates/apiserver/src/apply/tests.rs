//! Server-side apply and tracking: a small world in which managers write to one object, and who owns what is told in lines.

mod lists;
mod properties;
mod refusals;
mod rules;
mod tracking;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ApplyError, Manager, fieldset::FieldSet, path::Step};
use crate::schema::Schema;

/// Every kind of list and map that a schema can ask for.
fn schema() -> Schema {
    let string = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let ports = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object", "required": ["port"],
            "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": string},
        },
    });
    let env = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object", "required": ["name"],
            "properties": {"name": string, "value": string, "from": object(json!({"key": string}))},
        },
    });
    let spec = object(json!({
        "replicas": {"type": "integer"},
        "size": {"type": "number"},
        "paused": {"type": "boolean"},
        "image": string,
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": string},
        "limits": {"type": "object", "additionalProperties": object(json!({"cpu": string, "memory": string}))},
        "strategy": object(json!({"type": string, "surge": {"type": "integer"}})),
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": string},
        "args": {"type": "array", "x-kubernetes-list-type": "atomic", "items": string},
        "ports": ports,
        "env": env,
        "config": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }));
    let status = object(json!({"phase": string, "ready": {"type": "integer"}}));
    Schema::parse(&object(json!({"spec": spec, "status": status}))).unwrap()
}

/// One object and the managers that write to it, one second apart.
struct World {
    schema: Schema,
    live: Option<Value>,
    seconds: i64,
}

fn world() -> World {
    World { schema: schema(), live: None, seconds: 0 }
}

/// `fields` as an object that can be sent.
fn object(fields: &Value) -> Value {
    let mut object = json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "ns"}});
    for (name, value) in fields.as_object().unwrap() {
        if name == "metadata" {
            object["metadata"].as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        } else {
            object[name] = value.clone();
        }
    }
    object
}

impl World {
    fn manager<'a>(&self, name: &'a str) -> Manager<'a> {
        let (name, subresource) = name.split_once('/').unwrap_or((name, ""));
        let reset: &[&str] = if subresource == "status" { &["spec"] } else { &["status"] };
        let time = Timestamp::from_second(self.seconds).unwrap();
        Manager { name, subresource, api_version: "example.org/v1", time, reset }
    }

    fn try_apply(&self, manager: &str, intent: &Value, force: bool) -> Result<Value, ApplyError> {
        super::apply(self.live.as_ref(), &object(intent), &self.manager(manager), force, &self.schema)
    }

    fn tick(mut self, live: Value) -> Self {
        self.live = Some(live);
        self.seconds += 1;
        self
    }

    #[track_caller]
    fn applies(self, manager: &str, intent: &Value) -> Self {
        let live = self.try_apply(manager, intent, false).unwrap();
        self.tick(live)
    }

    #[track_caller]
    fn forces(self, manager: &str, intent: &Value) -> Self {
        let live = self.try_apply(manager, intent, true).unwrap();
        self.tick(live)
    }

    /// Replaces the object, as PUT would with an object that carries no managedFields.
    fn updates(self, manager: &str, fields: &Value) -> Self {
        let mut new = object(fields);
        super::track(self.live.as_ref(), &mut new, &self.manager(manager), &self.schema);
        self.tick(new)
    }

    fn refused(&self, manager: &str, intent: &Value) -> String {
        self.try_apply(manager, intent, false).unwrap_err().to_string()
    }

    fn live(&self) -> &Value {
        self.live.as_ref().unwrap()
    }

    fn spec(&self) -> Value {
        self.live().get("spec").cloned().unwrap_or_default()
    }

    /// One line for each entry: who, when, and every field.
    fn owners(&self) -> String {
        owners(self.live())
    }
}

fn owners(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mut told = String::new();
    for entry in &entries {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        told += &format!("{} {}", text("operation"), text("manager"));
        if !text("subresource").is_empty() {
            told += &format!("/{}", text("subresource"));
        }
        let time: Option<Timestamp> = text("time").parse().ok();
        told += &time.map_or(" (no time):".into(), |time| format!(" ({}):", time.as_second()));
        for path in FieldSet::decode(&entry["fieldsV1"]).paths() {
            told += " ";
            told.extend(path.iter().map(Step::to_string));
        }
        told += "\n";
    }
    told
}
