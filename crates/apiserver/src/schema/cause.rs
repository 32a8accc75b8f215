//! What is wrong with a field, in kube-apiserver's words.

use std::fmt;

use serde_json::Value;

use crate::Cause;

/// Where in an object: a chain on the stack, written out only when something is wrong there.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
    /// A key of a map: `spec.limits[cpu]`.
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    pub(crate) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Path::Root, name) => write!(f, "{name}"),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}

/// The field of a cause that belongs to no field: Go prints its nil path so.
pub(crate) const NO_FIELD: &str = "<nil>";

pub(crate) fn invalid(path: impl fmt::Display, value: &Value, detail: impl fmt::Display) -> Cause {
    Cause::new("FieldValueInvalid", path.to_string(), format!("Invalid value: {}: {detail}", shown(value)))
}

pub(crate) fn type_invalid(path: impl fmt::Display, value: &Value, detail: impl fmt::Display) -> Cause {
    Cause::new(
        "FieldValueTypeInvalid",
        path.to_string(),
        format!("Invalid value: {}: {detail}", shown(value)),
    )
}

/// `detail` may be empty.
pub(crate) fn required(path: impl fmt::Display, detail: &str) -> Cause {
    Cause::new("FieldValueRequired", path.to_string(), with_detail("Required value", detail))
}

pub(crate) fn forbidden(path: impl fmt::Display, detail: &str) -> Cause {
    Cause::new("FieldValueForbidden", path.to_string(), with_detail("Forbidden", detail))
}

pub(crate) fn duplicate(path: impl fmt::Display, value: &Value) -> Cause {
    Cause::new("FieldValueDuplicate", path.to_string(), format!("Duplicate value: {}", shown(value)))
}

pub(crate) fn not_supported<'a>(
    path: impl fmt::Display,
    value: &Value,
    supported: impl IntoIterator<Item = &'a Value>,
) -> Cause {
    let supported: Vec<String> = supported
        .into_iter()
        .map(|v| match v {
            Value::String(s) => format!("{s:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let list = supported.join(", ");
    Cause::new(
        "FieldValueNotSupported",
        path.to_string(),
        format!("Unsupported value: {}: supported values: {list}", shown(value)),
    )
}

pub(crate) fn too_long(path: impl fmt::Display, max: u64) -> Cause {
    let unit = if max == 1 { "byte" } else { "bytes" };
    Cause::new("FieldValueTooLong", path.to_string(), format!("Too long: may not be more than {max} {unit}"))
}

pub(crate) fn too_many(path: impl fmt::Display, actual: usize, max: u64) -> Cause {
    let unit = if max == 1 { "item" } else { "items" };
    Cause::new(
        "FieldValueTooMany",
        path.to_string(),
        format!("Too many: {actual}: must have at most {max} {unit}"),
    )
}

fn with_detail(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_owned() } else { format!("{what}: {detail}") }
}

/// Null is shown in quotes, everything else as JSON.
fn shown(value: &Value) -> String {
    if value.is_null() { "\"null\"".into() } else { value.to_string() }
}
