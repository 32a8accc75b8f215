//! Which objects a list, watch or deletion is about: label and field selectors of one kind.

use serde_json::{Map, Value};

use crate::{
    ApiError, Kind,
    handlers::Call,
    meta,
    select::{FieldSelector, LabelSelector},
};

/// Both selectors of a request, checked against the kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matcher {
    labels: Option<LabelSelector>,
    fields: Option<FieldSelector>,
    /// Selectable fields beyond name and namespace: label and path.
    paths: Vec<(String, Vec<String>)>,
}

impl Matcher {
    pub(crate) fn new(call: &Call<'_>) -> Result<Self, ApiError> {
        let parse = |what: &str, text: &str, error: String| {
            ApiError::bad_request(format!("unable to parse {what} selector \"{text}\": {error}"))
        };
        let labels = call.params.label_selector.as_deref();
        let labels =
            labels.map(|text| LabelSelector::parse(text).map_err(|e| parse("label", text, e))).transpose()?;
        let fields = call.params.field_selector.as_deref();
        let fields =
            fields.map(|text| FieldSelector::parse(text).map_err(|e| parse("field", text, e))).transpose()?;
        let paths = if fields.is_some() { paths(&call.kind) } else { Vec::new() };
        let matcher = Self { labels, fields, paths };
        matcher.check()?;
        Ok(matcher)
    }

    fn check(&self) -> Result<(), ApiError> {
        for (field, _, _) in self.fields.iter().flat_map(FieldSelector::requirements) {
            let known = matches!(field, "metadata.name" | "metadata.namespace")
                || self.paths.iter().any(|(label, _)| label == field);
            if !known {
                return Err(ApiError::bad_request(format!("field label not supported: {field}")));
            }
        }
        Ok(())
    }

    /// Nothing is selected away.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let by_labels = self.labels.as_ref().is_none_or(|selector| {
            static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
            selector.matches(meta::of(object).get("labels").and_then(Value::as_object).unwrap_or(&NONE))
        });
        by_labels
            && self.fields.as_ref().is_none_or(|selector| selector.matches(|field| self.value(object, field)))
    }

    fn value(&self, object: &Value, field: &str) -> Option<String> {
        match field {
            "metadata.name" => return Some(meta::name(object).to_owned()),
            "metadata.namespace" => return Some(meta::text(object, "namespace").to_owned()),
            _ => {}
        }
        let (_, path) = self.paths.iter().find(|(label, _)| label == field)?;
        let value = path.iter().try_fold(object, |value, key| value.get(key));
        Some(match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        })
    }
}

fn paths(kind: &Kind) -> Vec<(String, Vec<String>)> {
    let split = |path: &str| path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    kind.selectable.iter().map(|(label, path)| (label.clone(), split(path))).collect()
}
