//! What an API server would say to an object, for the tests of every kind.

use kube::{CustomResourceExt, core::ResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The schema of a kind, as the server has it.
pub(crate) fn schema<K: CustomResourceExt>() -> Value {
    let crd = serde_json::to_value(K::crd()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// What the server would say to an object with this spec, in the place of one with that.
pub(crate) fn refused<K: CustomResourceExt + Serialize + DeserializeOwned>(
    spec: Value,
    old: Option<Value>,
) -> Vec<String> {
    let object = |spec: Value| json!({ "spec": spec });
    replaced::<K>(object(spec), old.map(object))
}

/// The same of whole objects, but for what all of a kind have in common. Defaults are filled in first.
pub(crate) fn replaced<K: CustomResourceExt + Serialize + DeserializeOwned>(
    new: Value,
    old: Option<Value>,
) -> Vec<String> {
    let crd = K::crd();
    let filled = |mut object: Value| -> Value {
        object["apiVersion"] = json!(format!("{}/{}", crd.spec.group, crd.spec.versions[0].name));
        object["kind"] = json!(crd.spec.names.kind);
        object["metadata"] = json!({ "name": "db" });
        let mut object = serde_json::to_value(serde_json::from_value::<K>(object).unwrap()).unwrap();
        without_nulls(&mut object);
        object
    };
    judge(&schema::<K>(), &filled(new), old.map(filled).as_ref())
}

/// Whether a text is as the pattern has it.
pub(crate) fn matches(pattern: &str, text: &Value) -> bool {
    judge(&json!({ "type": "string", "pattern": pattern }), text, None).is_empty()
}

/// The rules are kube-cel's to judge, and patterns, which it leaves alone, are made rules.
fn judge(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut schema = schema.clone();
    patterns_as_rules("", &mut schema);
    let answer = kube_cel::Validator::new().validate(&schema, new, old);
    answer.err().into_iter().flatten().map(|error| error.message).collect()
}

fn patterns_as_rules(path: &str, schema: &mut Value) {
    if let Some(pattern) = schema["pattern"].as_str().map(str::to_owned) {
        let rule = json!({ "rule": format!("self.matches(r'{pattern}')"), "message": format!("{path} should match {pattern}") });
        schema["x-kubernetes-validations"] = json!([rule]);
    }
    for (name, field) in schema["properties"].as_object_mut().into_iter().flatten() {
        patterns_as_rules(&if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, field);
    }
}

/// As the operator writes objects: what is not there is not named.
fn without_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(without_nulls);
    }
}

/// The fields of a schema that do not say what they do.
fn silent(path: &str, schema: &Value) -> Vec<String> {
    let fields = schema["properties"].as_object().into_iter().flatten().flat_map(|(name, field)| {
        let path = format!("{path}.{name}");
        let says_nothing = field["description"].as_str().is_none_or(|text| text.len() < 5);
        let below = silent(&path, field);
        says_nothing.then_some(path).into_iter().chain(below)
    });
    let items = schema.get("items").map(|items| silent(path, items)).unwrap_or_default();
    fields.chain(items).collect()
}

#[test]
fn every_field_of_every_kind_says_what_it_does() {
    for crd in crate::definitions() {
        let kind = crd.spec.names.kind.clone();
        let crd = serde_json::to_value(crd).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        for part in ["spec", "status"] {
            let path = format!("{kind}.{part}");
            assert_eq!(silent(&path, &schema["properties"][part]), Vec::<String>::new());
        }
    }
}

#[test]
fn every_kind_is_of_our_category_and_namespaced() {
    for crd in crate::definitions() {
        assert_eq!(
            crd.spec.names.categories.as_deref(),
            Some(&["capstan".to_owned()][..]),
            "{}",
            crd.name_any()
        );
        assert_eq!(crd.spec.scope, "Namespaced");
    }
}
