//! The schemas of built-in types: k8s-openapi's, with what OpenAPI does not tell from our own tables.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::{defaults, lists, storage};
use crate::schema::{Checks, Native, Schema, Type};

/// Types without a fixed shape, and the one that contains itself: everything below is kept as it is.
const OPAQUE: &[&str] = &[
    "FieldsV1",
    "JSON",
    "JSONSchemaProps",
    "JSONSchemaPropsOrArray",
    "JSONSchemaPropsOrBool",
    "JSONSchemaPropsOrStringArray",
];

/// `ObjectMeta`, shared by all kinds, custom ones too.
pub(crate) fn object_meta() -> &'static Arc<Schema> {
    static META: OnceLock<Arc<Schema>> = OnceLock::new();
    META.get_or_init(|| {
        let mut definitions = Definitions::default();
        let name = definitions.add::<ObjectMeta>();
        let definition = definitions.definition(&name);
        Arc::new(definitions.type_of("ObjectMeta", &definition))
    })
}

/// Collects types, then builds their trees; a type that several kinds use is built once.
#[derive(Default)]
pub(super) struct Definitions {
    generator: Generator,
    built: HashMap<String, Arc<Schema>>,
}

struct Generator(SchemaGenerator);

impl Default for Generator {
    fn default() -> Self {
        Self(SchemaSettings::draft2020_12().into_generator())
    }
}

impl Definitions {
    /// The name to build the type by.
    pub(super) fn add<T: JsonSchema>(&mut self) -> String {
        self.generator.0.subschema_for::<T>();
        T::schema_name().into_owned()
    }

    pub(super) fn build(&mut self, name: &str) -> Arc<Schema> {
        let short = name.rsplit('.').next().unwrap_or(name);
        if OPAQUE.contains(&short) {
            return Arc::new(Schema::any());
        }
        if short == "ObjectMeta" {
            return object_meta().clone();
        }
        if let Some(built) = self.built.get(name) {
            return built.clone();
        }
        let definition = self.definition(name);
        let built = Arc::new(self.type_of(short, &definition));
        self.built.insert(name.to_owned(), built.clone());
        built
    }

    fn definition(&self, name: &str) -> Value {
        self.generator.0.definitions().get(name).cloned().unwrap_or_default()
    }

    fn type_of(&mut self, short: &str, definition: &Value) -> Schema {
        let mut schema = self.node(definition);
        schema.resource =
            schema.properties.contains_key("apiVersion") && schema.properties.contains_key("metadata");
        let native = Native {
            name: short.to_owned(),
            quantity: short == "Quantity",
            fill: defaults::computed(short),
            ..Native::default()
        };
        schema.native = Some(native);
        schema.atomic_map |= lists::is_atomic(short);
        for (name, property) in &mut schema.properties {
            let required = schema.required.contains(name);
            field(short, name, required, Arc::make_mut(property));
        }
        schema.required.retain(|field| storage::is_required(short, field));
        schema
    }

    fn node(&mut self, s: &Value) -> Schema {
        if let Some(reference) = s.get("$ref").and_then(Value::as_str) {
            let name = reference.trim_start_matches("#/$defs/").to_owned();
            return self.build(&name).as_ref().clone();
        }
        let flag = |key: &str| s.get(key) == Some(&Value::Bool(true));
        let text = |key: &str| s.get(key).and_then(Value::as_str);
        let kind = text("type").and_then(Type::parse);
        let properties = s.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let properties = properties.iter().map(|(name, s)| (name.clone(), self.child(s))).collect();
        let required = s.get("required").and_then(Value::as_array).into_iter().flatten();
        Schema {
            kind,
            properties,
            additional: s.get("additionalProperties").map(|s| self.child(s)),
            items: s.get("items").map(|s| self.child(s)),
            required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
            int_or_string: flag("x-kubernetes-int-or-string"),
            checks: Checks { format: text("format").map(str::to_owned), ..Checks::default() },
            native: Some(Native::default()),
            ..Schema::empty()
        }
    }

    fn child(&mut self, s: &Value) -> Arc<Schema> {
        match s.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.build(reference.trim_start_matches("#/$defs/")),
            None => Arc::new(self.node(s)),
        }
    }
}

/// What the tables say of one field.
fn field(type_name: &str, name: &str, required: bool, schema: &mut Schema) {
    schema.list_type = lists::list_type(type_name, name);
    schema.merge = lists::merge_strategy(type_name, name);
    schema.atomic_map |= lists::is_atomic_field(type_name, name);
    if (type_name, name) == lists::GRANULAR {
        schema.atomic_map = false;
    }
    schema.default = defaults::constant(type_name, name);
    let (omit_empty, zero) =
        (storage::omits_empty(type_name, name, required, schema), storage::zero(type_name, name, schema));
    let native = schema.native.get_or_insert_default();
    native.omit_empty = omit_empty;
    native.zero = zero;
}
