//! What an API server would say to an object, for the tests of every kind.

use kube::{CustomResourceExt, core::ResourceExt as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The schema of a kind, as the server has it.
pub(crate) fn schema<K: CustomResourceExt>() -> Value {
    let crd = serde_json::to_value(K::crd()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// What the server would say to an object with this spec, after it has filled in the defaults.
pub(crate) fn refused<K: CustomResourceExt + Serialize + DeserializeOwned>(
    spec: Value,
    old: Option<Value>,
) -> Vec<String> {
    let crd = K::crd();
    let filled = |spec: Value| -> Value {
        let object = json!({
            "apiVersion": format!("{}/{}", crd.spec.group, crd.spec.versions[0].name), "kind": crd.spec.names.kind,
            "metadata": {"name": "db"}, "spec": spec,
        });
        serde_json::to_value(serde_json::from_value::<K>(object).unwrap()).unwrap()
    };
    let answer = kube_cel::Validator::new().validate(&schema::<K>(), &filled(spec), old.map(filled).as_ref());
    answer.err().into_iter().flatten().map(|error| error.message).collect()
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
