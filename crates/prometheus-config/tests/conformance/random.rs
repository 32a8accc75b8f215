//! Objects with many fields at once, drawn from the CRDs: right values, and such as a schema lets pass and Prometheus does not.

use serde_json::{Map, Value, json};

use crate::samples::{fields, schema, text};

/// Fields of which an object has one or two: the ways to find targets, and large lists that are tried by themselves.
const FEW: &str = "SDConfigs";

/// Left alone: pods and volumes are not part of the configuration, and these have rules that the API server enforces.
const PASSED_OVER: &[&str] = &[
    "cert",
    "keySecret",
    "certFile",
    "keyFile",
    "otlp",
    "version",
    "web",
    "thanos",
    "containers",
    "initContainers",
    "volumes",
    "volumeMounts",
    "affinity",
    "topologySpreadConstraints",
    "storage",
    "securityContext",
    "dnsConfig",
    "hostAliases",
    "tolerations",
    "resources",
    "podMetadata",
    "env",
    "evaluationInterval",
    "scrapeInterval",
];

/// Values that are drawn for fields of these names, besides what their schema asks for. The first is right nearly everywhere.
const VALUES: &[(&str, &[&str])] = &[
    ("accessKey", &["SCWXXXXXXXXXXXXXXXXX", "x"]),
    ("projectID", &["00000000-a12b-3c4d-e5f6-000000000000", "x"]),
    ("zone", &["fr-par-1", "paris", ""]),
    ("apiURL", &["https://example.com", "https://example.com/"]),
    ("server", &["https://example.com/", "example.com:8080", " "]),
    ("url", &["https://example.com/", "http:///x", "example.com"]),
    ("host", &["unix:///var/run/docker.sock", "tcp://a:b:c"]),
    ("apiServer", &["https://example.com/", ""]),
    ("proxyUrl", &["http://proxy:3128", "http://a b"]),
    ("files", &["/a/*.json", "/a/*/b.yaml", "/a/b.txt", "b.YML"]),
    ("regex", &["(.*)", "a|b", "(", "x", ""]),
    ("targetLabel", &["x", "a-b", "$1", "a_${1}", "a-$1", "1x", ""]),
    ("replacement", &["$1", "x", "a-$1", ""]),
    ("separator", &[";", ","]),
    ("sourceLabels", &["a", "a-b", "__x"]),
    ("field", &["spec.nodeName=a", "a", ""]),
    ("label", &["a=b", "a in (b,c)", "a=,=", ""]),
    ("type", &["Bearer", "basic", "A"]),
    ("scrapeProtocols", &["PrometheusProto", "PrometheusText1.0.0", "OpenMetricsText1.0.0"]),
    ("port", &["web", "w(b"]),
    ("static", &["https://example.com/x", "a:80"]),
];

const MAP_KEYS: &[&str] = &["a", "a-b", "Host", "x"];
const NUMBERS: &[i64] = &[0, 1, 2, 50, 9090, -1];
const DURATIONS: &[&str] = &["30s", "1m", "5s", "0s", ""];
const SECRET_KEYS: &[&str] = &["text", "text", "text", "uuid", "empty"];

/// Draws the same objects in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn spec(&mut self, kind: &str) -> Value {
        let schema = schema(kind);
        let few: Vec<&String> =
            fields(schema).map(|(name, _)| name).filter(|name| name.ends_with(FEW)).collect();
        let chosen = (!few.is_empty()).then(|| few[self.below(few.len())].clone());
        let mut spec = Map::new();
        for (name, below) in fields(schema) {
            let wanted = match name.ends_with(FEW) {
                true => Some(name) == chosen.as_ref(),
                false => self.one_in(6) || required(schema, name),
            };
            if wanted && !PASSED_OVER.contains(&name.as_str()) {
                spec.insert(name.clone(), self.value(name, below));
            }
        }
        Value::Object(spec)
    }

    fn value(&mut self, name: &str, schema: &Value) -> Value {
        let properties = &schema["properties"];
        if properties["key"].is_object() && properties["name"].is_object() {
            return json!({"name": "s", "key": self.pick(SECRET_KEYS)});
        }
        if name == "ca" {
            return json!({"secret": {"name": "s", "key": "ca.crt"}});
        }
        match schema["type"].as_str() {
            _ if schema["x-kubernetes-int-or-string"] == true => json!(self.pick(&[1, 9090])),
            Some("object") if properties["secret"].is_object() => {
                json!({"secret": {"name": "s", "key": self.pick(SECRET_KEYS)}})
            }
            Some("object") if properties.is_object() => {
                let mut object = Map::new();
                for (name, below) in fields(schema) {
                    if (self.one_in(4) || required(schema, name)) && !PASSED_OVER.contains(&name.as_str()) {
                        object.insert(name.clone(), self.value(name, below));
                    }
                }
                Value::Object(object)
            }
            Some("object") => {
                let key = *self.pick(MAP_KEYS);
                json!({key: self.value("", &schema["additionalProperties"])})
            }
            Some("array") => {
                let most = schema["maxItems"].as_u64().map_or(2, |most| most.min(2));
                let count = if self.one_in(3) { most } else { 1 };
                (0..count).map(|_| self.value(name, &schema["items"])).collect()
            }
            Some("boolean") => json!(self.one_in(2)),
            Some("integer" | "number") => {
                let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
                json!((*self.pick(NUMBERS)).max(least))
            }
            _ => self.text(name, schema),
        }
    }

    fn text(&mut self, name: &str, schema: &Value) -> Value {
        if let Some(words) = schema["enum"].as_array() {
            return words[self.below(words.len())].clone();
        }
        if schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("ms)")) {
            return json!(if self.one_in(4) { self.pick(DURATIONS) } else { &DURATIONS[0] });
        }
        match VALUES.iter().find(|(field, _)| *field == name) {
            Some((_, values)) if self.one_in(4) => json!(self.pick(values)),
            Some((_, values)) => json!(values[0]),
            None => json!(text(name, schema)),
        }
    }

    fn pick<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().into_iter().flatten().any(|required| required == name)
}
