//! YAML documents, compared as trees.

use serde_json::Value;

use super::tree::{Rules, differences};

pub(super) fn compare(wanted: &str, got: &str) -> Vec<String> {
    match (parse(wanted), parse(got)) {
        (Ok(wanted), Ok(got)) => differences(&wanted, &got, Rules::EXACT),
        (Err(error), _) => vec![format!("the case's own document does not parse: {error}")],
        (_, Err(error)) => vec![format!("our document does not parse: {error}")],
    }
}

/// A mapping or list in `text`; other strings (templates, certificates) are no documents.
pub(super) fn document(text: &str) -> Option<Value> {
    parse(text).ok().filter(|value| value.is_object() || value.is_array())
}

/// As readers of YAML 1.1 see it (`yes` is true): what only a reader of 1.2 takes for a string must be quoted. Duplicate keys are
/// errors. The data are our own: no budget.
fn parse(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { budget: None };
    serde_saphyr::from_str_with_options::<Value>(text, options).map_err(|error| error.to_string())
}
