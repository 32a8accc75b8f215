//! What our code says to a case.

use serde_json::Value;

/// `Ok` holds `{"yaml": …}`, `{"object": …}` or `{"accepted": true}`; `Err` is a refusal, in our words.
pub type Answer = Result<Value, String>;

/// The areas of a crate, and its function from area and input to an answer.
pub type Answerer = (&'static [&'static str], fn(&str, &Value) -> Answer);
