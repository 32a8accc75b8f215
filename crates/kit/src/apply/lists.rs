//! What Kubernetes' own types say about fields: how list elements are told apart, and which values the server leaves out.
//!
//! Source: `listMapKeys` and `listType` in Kubernetes' OpenAPI 1.37, and the `omitempty` tags of its Go types.

/// How the elements of a list are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// By these fields; others may own further elements.
    Map(&'static [KeyField]),
    /// By their value; others may own further elements.
    Set,
    /// Only as a whole: same length, same order.
    Atomic,
}

/// A field that identifies an element, and what it is when it is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyField {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
}

const fn key(name: &'static str) -> KeyField {
    KeyField { name, default: "" }
}

const NAME: &[KeyField] = &[key("name")];
const PROTOCOL: KeyField = KeyField { name: "protocol", default: "TCP" };

/// The lists of objects, by the name of their field.
const MAPS: &[(&str, &[KeyField])] = &[
    ("containers", NAME),
    ("initContainers", NAME),
    ("ephemeralContainers", NAME),
    ("volumes", NAME),
    ("env", NAME),
    ("imagePullSecrets", NAME),
    ("secrets", NAME),
    ("resourceClaims", NAME),
    ("webhooks", NAME),
    ("variables", NAME),
    ("claims", NAME),
    ("matchConditions", NAME),
    ("ports", &[key("containerPort"), PROTOCOL]),
    ("ports", &[key("port"), PROTOCOL]),
    ("volumeMounts", &[key("mountPath")]),
    ("volumeDevices", &[key("devicePath")]),
    ("hostAliases", &[key("ip")]),
    ("topologySpreadConstraints", &[key("topologyKey"), key("whenUnsatisfiable")]),
    ("conditions", &[key("type")]),
    ("ownerReferences", &[key("uid")]),
];

/// The lists of scalars to which others may add.
const SETS: &[&str] = &["finalizers"];

/// How the list `field`, which begins with `first`, tells its elements apart.
pub(super) fn list(field: &str, first: &serde_json::Value) -> List {
    if SETS.contains(&field) {
        return List::Set;
    }
    MAPS.iter()
        .filter(|(name, _)| *name == field)
        .find(|(_, keys)| keys.first().is_some_and(|key| first.get(key.name).is_some()))
        .map_or(List::Atomic, |(_, keys)| List::Map(keys))
}

/// Maps that are owned as a whole, and to which the server adds nothing: a label that somebody added to a selector selects
/// something else.
const EXACT: &[&str] = &[
    "labelSelector",
    "matchLabels",
    "namespaceSelector",
    "nodeSelector",
    "objectSelector",
    "podSelector",
    "selector",
];

/// Whether the map `field` may hold nothing that is not asked for.
pub(super) fn is_exact(field: &str) -> bool {
    EXACT.contains(&field)
}

/// Maps of quantities, and fields that are one.
const QUANTITIES: &[&str] =
    &["requests", "limits", "capacity", "storage", "sizeLimit", "divisor", "maxLimitRequestRatio"];

/// Whether the value of `field`, or everything in it, is a quantity.
pub(super) fn holds_quantities(field: &str) -> bool {
    QUANTITIES.contains(&field)
}

/// Objects that mean something even when they are empty: `podSelector: {}` selects every Pod, and none when it is not there.
const MEANT_WHEN_EMPTY: &[&str] = &[
    "emptyDir",
    "podSelector",
    "namespaceSelector",
    "labelSelector",
    "objectSelector",
    "selector",
    "status",
    "scale",
];

/// Whether `field: {}` differs from no `field`.
pub(super) fn meant_when_empty(field: &str) -> bool {
    MEANT_WHEN_EMPTY.contains(&field)
}

/// Fields that the server leaves out when they are `false`, `0` or `""`, because that is what their absence means.
const LEFT_OUT_WHEN_ZERO: &[&str] = &[
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "initialDelaySeconds",
    "medium",
    "minReadySeconds",
    "paused",
    "publishNotReadyAddresses",
    "readOnly",
    "stdin",
    "stdinOnce",
    "subPath",
    "subPathExpr",
    "tty",
    "value",
];

/// Whether `field` at its zero value is the same as no `field`.
pub(super) fn left_out_when_zero(field: &str) -> bool {
    LEFT_OUT_WHEN_ZERO.contains(&field)
}

#[cfg(test)]
mod tests {
    use apiserver::{ListType, Schema, builtins};
    use serde_json::{Value, json};

    use super::*;

    const POD: &str = "spec.template.spec";
    const CONTAINER: &str = "spec.template.spec.containers";

    /// Down a path of fields; lists are entered by themselves.
    fn at<'a>(schema: &'a Schema, path: &str) -> &'a Schema {
        path.split('.').filter(|field| !field.is_empty()).fold(schema, |schema, field| {
            let schema = schema.items().unwrap_or(schema);
            schema.field(field).unwrap_or_else(|| panic!("{field} of {path}"))
        })
    }

    #[test]
    fn the_tables_say_what_the_schemas_of_kubernetes_say() {
        let cases = [
            ("StatefulSet", "metadata", "ownerReferences"),
            ("StatefulSet", "metadata", "finalizers"),
            ("StatefulSet", "status", "conditions"),
            ("StatefulSet", "spec", "volumeClaimTemplates"),
            ("StatefulSet", POD, "containers"),
            ("StatefulSet", POD, "initContainers"),
            ("StatefulSet", POD, "volumes"),
            ("StatefulSet", POD, "imagePullSecrets"),
            ("StatefulSet", POD, "hostAliases"),
            ("StatefulSet", POD, "topologySpreadConstraints"),
            ("StatefulSet", POD, "tolerations"),
            ("StatefulSet", CONTAINER, "env"),
            ("StatefulSet", CONTAINER, "envFrom"),
            ("StatefulSet", CONTAINER, "ports"),
            ("StatefulSet", CONTAINER, "volumeMounts"),
            ("StatefulSet", CONTAINER, "volumeDevices"),
            ("StatefulSet", CONTAINER, "args"),
            ("Service", "spec", "ports"),
            ("Service", "spec", "externalIPs"),
        ];
        for (kind, parent, field) in cases {
            let kind = builtins().iter().find(|known| known.kind == kind).expect("a built-in");
            let schema = at(at(&kind.schema, parent).items().unwrap_or(at(&kind.schema, parent)), field);
            let wanted = schema.list_type();
            // An element that has all the keys of the schema.
            let element: Value = match wanted {
                ListType::Map(keys) => keys.iter().map(|key| (key.clone(), json!("x"))).collect(),
                ListType::Set | ListType::Atomic => json!("x"),
            };
            let ours = match list(field, &element) {
                List::Map(keys) => ListType::Map(keys.iter().map(|key| key.name.to_owned()).collect()),
                List::Set => ListType::Set,
                List::Atomic => ListType::Atomic,
            };
            assert_eq!(ours, *wanted, "{parent}.{field}");
        }
    }
}
