//! Our kinds and their schemas: what the API server would say to an object.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use apiserver::Schema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use prometheus_types::crd::{Descriptions, Versions, crds};
use serde_json::{Map, Value};

use super::read::text;
use crate::manifests;

/// A field and what is wrong with it.
pub(super) type Said = (String, String);

pub(super) struct Kinds {
    /// By group, then by kind and version.
    schemas: BTreeMap<String, BTreeMap<(String, String), Schema>>,
}

impl Kinds {
    pub(super) fn ours() -> Result<Self> {
        let mut schemas: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        for definition in manifests::definitions().into_iter().chain(crds(Descriptions::Slim, Versions::All)?)
        {
            let CustomResourceDefinition { spec, .. } = definition;
            let group = schemas.entry(spec.group).or_default();
            for version in spec.versions {
                let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
                let schema = serde_json::to_value(schema)?;
                let parsed =
                    Schema::parse(&schema).map_err(|causes| anyhow!("our own schema: {causes:?}"))?;
                group.insert((spec.names.kind.clone(), version.name), parsed);
            }
        }
        Ok(Self { schemas })
    }

    /// An object of ours with the defaults that an API server would store with it.
    pub(super) fn defaulted(&self, object: &Value) -> Value {
        let mut object = object.clone();
        let group = text(&object, "/apiVersion").split_once('/');
        let schema = group.and_then(|(group, version)| {
            self.schemas.get(group)?.get(&(text(&object, "/kind").to_owned(), version.to_owned()))
        });
        if let Some(schema) = schema {
            schema.default(&mut object);
        }
        object
    }

    /// What is wrong with an object by its schema. Kinds of others are not ours to judge.
    pub(super) fn check(&self, object: &Value) -> Vec<Said> {
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        if api_version.is_empty() || kind.is_empty() {
            let message = "must be set: without it nobody knows what this document is";
            let field = if kind.is_empty() { "kind" } else { "apiVersion" };
            return vec![(field.to_owned(), message.to_owned())];
        }
        let Some((group, version)) = api_version.split_once('/') else { return Vec::new() };
        let Some(ours) = self.schemas.get(group) else { return Vec::new() };
        match ours.get(&(kind.to_owned(), version.to_owned())) {
            Some(schema) => by_schema(object, schema),
            None => {
                let of_kind = |(known, version): &(String, String)| (known == kind).then(|| version.clone());
                let versions: Vec<String> = ours.keys().filter_map(of_kind).collect();
                vec![if versions.is_empty() {
                    let mut kinds: Vec<&str> = ours.keys().map(|(kind, _)| kind.as_str()).collect();
                    kinds.dedup();
                    ("kind".to_owned(), format!("{group} has no {kind}; it has {}", kinds.join(", ")))
                } else {
                    (
                        "apiVersion".to_owned(),
                        format!("{kind} has no {version}; use {group}/{}", versions.join(" or ")),
                    )
                }]
            }
        }
    }
}

fn by_schema(object: &Value, schema: &Schema) -> Vec<Said> {
    let mut object = object.clone();
    // An API server gives every object these; a file need not.
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|_, value| !value.is_null());
    } else if let Some(fields) = object.as_object_mut() {
        fields.insert("metadata".to_owned(), Value::Object(Map::new()));
    }
    let unknown = schema.prune(&mut object).into_iter();
    let mut said: Vec<Said> = unknown
        .map(|field| (field, "is unknown and would be dropped; correct or remove it".to_owned()))
        .collect();
    schema.default(&mut object);
    // An API server adds that it stopped there, without a field.
    let causes = schema.validate(&object, None).into_iter().filter(|cause| cause.field != "<nil>");
    said.extend(causes.map(|cause| (cause.field, cause.message)));
    if text(&object, "/metadata/name").is_empty() && text(&object, "/metadata/generateName").is_empty() {
        said.push(("metadata.name".to_owned(), "must be set".to_owned()));
    }
    said
}
