//! A CRD of the case's own: kind `Widget` in a group that no other case uses.

use serde_json::{Value, json};

use crate::{Failure, World, json::Json, resource::Resource};

/// The description of a CRD; `install` makes it live.
#[derive(Clone)]
pub(crate) struct Crd {
    pub body: Value,
}

impl Crd {
    /// Namespaced `Widget`s, version v1, with this schema for `spec` and none for `status`.
    pub(crate) fn new(world: &World, spec: Value) -> Self {
        Self::with_schema(world, json!({"type": "object", "properties": {"spec": spec}}))
    }

    /// With this schema for the whole object.
    pub(crate) fn with_schema(world: &World, schema: Value) -> Self {
        let group = world.group();
        Self {
            body: json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("widgets.{group}")},
                "spec": {
                    "group": group,
                    "scope": "Namespaced",
                    "names": {"plural": "widgets", "kind": "Widget"},
                    "versions": [{
                        "name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": schema},
                    }],
                },
            }),
        }
    }

    /// Anything goes in `spec` and `status`.
    pub(crate) fn open(world: &World) -> Self {
        Self::with_schema(world, json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
    }

    pub(crate) fn status(mut self) -> Self {
        self.body.set("spec/versions/0/subresources/status", json!({}));
        self
    }

    pub(crate) fn set(mut self, pointer: &str, value: Value) -> Self {
        self.body.set(pointer, value);
        self
    }

    /// A version more, with the schema of the first.
    pub(crate) fn version(mut self, name: &str, served: bool) -> Self {
        let mut version = self.body.at("spec/versions/0").clone();
        version.set("name", name);
        version.set("served", served);
        version.set("storage", false);
        if let Some(versions) = self.body.pointer_mut("/spec/versions").and_then(Value::as_array_mut) {
            versions.push(version);
        }
        self
    }

    pub(crate) fn name(&self) -> &str {
        self.body.name()
    }

    /// Creates it and waits until it is served: the collection of its objects.
    pub(crate) async fn install(&self, world: &World) -> Result<Resource, Failure> {
        world.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", &self.body).await?;
        world.crds().until(self.name(), "established", |crd| condition(crd, "Established") == "True").await?;
        let api_version = format!("{}/v1", self.body.text("spec/group"));
        let widgets = match self.body.text("spec/scope") {
            "Cluster" => world.cluster(&api_version, "widgets"),
            _ => world.resource(&api_version, "widgets"),
        };
        let served = async || Ok((widgets.list().await?.code == 200).then_some(()));
        world.eventually("the new kind is served", served).await?;
        Ok(widgets)
    }
}

/// The status of a condition; empty when there is none.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    object.list("status/conditions").iter().find(|c| c.text("type") == kind).map_or("", |c| c.text("status"))
}

/// A `Widget` of the case's group.
pub(crate) fn widget(world: &World, name: &str, spec: Value) -> Value {
    let api_version = format!("{}/v1", world.group());
    json!({"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}
