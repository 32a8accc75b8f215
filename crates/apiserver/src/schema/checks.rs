//! The keywords that check a value: enumerations, bounds, lengths, patterns, formats, and the logical junctors.

use std::sync::Arc;

use regex::Regex;
use serde_json::{Number, Value, json};

use super::cause::{NO_FIELD, Path, invalid, not_supported, too_long, too_many, type_invalid};
use super::{Schema, format, validate};
use crate::Cause;

#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) one_of_values: Vec<Value>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Regex>,
    pub(crate) format: Option<String>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Arc<Schema>>,
    pub(crate) any_of: Vec<Arc<Schema>>,
    pub(crate) one_of: Vec<Arc<Schema>>,
    pub(crate) not: Option<Arc<Schema>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) limit: Number,
    pub(crate) exclusive: bool,
}

impl Checks {
    pub(super) fn run(&self, value: &Value, path: Path, causes: &mut Vec<Cause>) {
        self.junctors(value, path, causes);
        match value {
            Value::String(text) => self.string(text, value, path, causes),
            Value::Number(number) => self.number(number, value, path, causes),
            Value::Array(elements) => self.array(elements.len(), path, causes),
            Value::Object(fields) => self.object(fields.len(), path, causes),
            Value::Null | Value::Bool(_) => {}
        }
        if !self.one_of_values.is_empty() && !self.one_of_values.iter().any(|v| same(v, value)) {
            causes.push(not_supported(path, value, &self.one_of_values));
        }
    }

    fn string(&self, text: &str, value: &Value, path: Path, causes: &mut Vec<Cause>) {
        let length = text.chars().count() as u64;
        if let Some(max) = self.max_length
            && length > max
        {
            causes.push(too_long(path, max));
        }
        if let Some(min) = self.min_length
            && length < min
        {
            causes.push(invalid(
                path,
                value,
                format_args!("{path} in body should be at least {min} chars long"),
            ));
        }
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(text)
        {
            causes.push(invalid(path, value, format_args!("{path} in body should match '{pattern}'")));
        }
        if let Some(name) = &self.format
            && !format::admits(name, text)
        {
            causes.push(type_invalid(
                path,
                value,
                format_args!("{path} in body must be of type {name}: {value}"),
            ));
        }
    }

    fn number(&self, number: &Number, value: &Value, path: Path, causes: &mut Vec<Cause>) {
        let Some(n) = number.as_f64() else { return };
        if let Some(Bound { limit, exclusive }) = &self.maximum
            && let Some(max) = limit.as_f64()
            && (n > max || (*exclusive && n >= max))
        {
            let what = if *exclusive { "less than" } else { "less than or equal to" };
            let limit = go_float(max);
            causes.push(invalid(path, value, format_args!("{path} in body should be {what} {limit}")));
        }
        if let Some(Bound { limit, exclusive }) = &self.minimum
            && let Some(min) = limit.as_f64()
            && (n < min || (*exclusive && n <= min))
        {
            let what = if *exclusive { "greater than" } else { "greater than or equal to" };
            let limit = go_float(min);
            causes.push(invalid(path, value, format_args!("{path} in body should be {what} {limit}")));
        }
        if let Some(factor) = self.multiple_of.as_ref().and_then(Number::as_f64)
            && ((n / factor) - (n / factor).round()).abs() > 1e-9
        {
            let factor = go_float(factor);
            causes.push(invalid(
                path,
                value,
                format_args!("{path} in body should be a multiple of {factor}"),
            ));
        }
        if let Some(name @ ("int32" | "int64")) = self.format.as_deref() {
            let fits = match name {
                "int32" => number.as_i64().is_some_and(|i| i32::try_from(i).is_ok()),
                _ => number.as_i64().is_some(),
            };
            // A float without fraction is an integer that the parser could not keep as one.
            if !fits && n.fract() == 0.0 && !(name == "int32" && n.abs() < 2_147_483_648.0) {
                let why = format_args!("Checked value must be of type integer with format {name} in {path}");
                causes.push(invalid(NO_FIELD, &json!(""), why));
            }
        }
    }

    fn array(&self, length: usize, path: Path, causes: &mut Vec<Cause>) {
        if let Some(max) = self.max_items
            && length as u64 > max
        {
            causes.push(too_many(path, length, max));
        }
        if let Some(min) = self.min_items
            && (length as u64) < min
        {
            let why = format_args!("{path} in body should have at least {min} items");
            causes.push(invalid(path, &json!(length), why));
        }
    }

    fn object(&self, length: usize, path: Path, causes: &mut Vec<Cause>) {
        if let Some(max) = self.max_properties
            && length as u64 > max
        {
            causes.push(too_many(path, length, max));
        }
        if let Some(min) = self.min_properties
            && (length as u64) < min
        {
            let why = format_args!("{path} in body should have at least {min} properties");
            causes.push(invalid(path, &json!(length), why));
        }
    }

    fn junctors(&self, value: &Value, path: Path, causes: &mut Vec<Cause>) {
        let fault = |why: String| invalid(NO_FIELD, &json!(""), why);
        let faults_of = |schema: &Schema| {
            let mut faults = Vec::new();
            validate::node(schema, value, None, path, &mut faults);
            faults
        };
        if !self.any_of.is_empty() {
            let mut tries: Vec<Vec<Cause>> = self.any_of.iter().map(|s| faults_of(s)).collect();
            if tries.iter().all(|faults| !faults.is_empty()) {
                causes.push(fault(format!("\"{path}\" must validate at least one schema (anyOf)")));
                causes.append(&mut tries.swap_remove(0));
            }
        }
        if !self.one_of.is_empty() {
            let mut tries: Vec<Vec<Cause>> = self.one_of.iter().map(|s| faults_of(s)).collect();
            match tries.iter().filter(|faults| faults.is_empty()).count() {
                1 => {}
                0 => {
                    let why =
                        format!("\"{path}\" must validate one and only one schema (oneOf). Found none valid");
                    causes.push(fault(why));
                    causes.append(&mut tries.swap_remove(0));
                }
                n => causes.push(fault(format!(
                    "\"{path}\" must validate one and only one schema (oneOf). Found {n} valid alternatives"
                ))),
            }
        }
        let mut all = Vec::new();
        let failed = self.all_of.iter().filter(|s| {
            let faults = faults_of(s);
            let bad = !faults.is_empty();
            all.extend(faults);
            bad
        });
        let failed = failed.count();
        if failed > 0 {
            causes.append(&mut all);
            let none = if failed == self.all_of.len() { ". None validated" } else { "" };
            causes.push(fault(format!("\"{path}\" must validate all the schemas (allOf){none}")));
        }
        if let Some(not) = &self.not
            && faults_of(not).is_empty()
        {
            causes.push(fault(format!("\"{path}\" must not validate the schema (not)")));
        }
    }
}

/// 1 and 1.0 are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// A bound as Go's `%v` prints it: `3`, `0.5`, `1e+06`.
fn go_float(f: f64) -> String {
    let scientific = format!("{f:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..6) | Err(_) => f.to_string(),
        Ok(e) => format!("{mantissa}e{}{:02}", if e < 0 { '-' } else { '+' }, e.abs()),
    }
}
