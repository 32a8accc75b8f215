//! A hash that means the same in every process and every version of the operator (FNV-1a, 64 bit): what is kept on objects
//! must not depend on a seed or on the order of a map. It guards against mistakes, not against attackers.

use std::hash::Hasher;

use serde_json::{Map, Value};

/// The fingerprint of what is written into it.
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn of(bytes: &[u8]) -> u64 {
        let mut fingerprint = Self::new();
        fingerprint.write(bytes);
        fingerprint.finish()
    }

    /// Adds a JSON value: maps by sorted keys, every value with its type, so that `1`, `"1"` and `[1]` differ.
    pub(crate) fn json(&mut self, value: &Value) {
        match value {
            Value::Null => self.write(b"n"),
            Value::Bool(true) => self.write(b"t"),
            Value::Bool(false) => self.write(b"f"),
            Value::Number(number) => self.text('d', &number.to_string()),
            Value::String(text) => self.text('s', text),
            Value::Array(items) => {
                self.text('a', &items.len().to_string());
                items.iter().for_each(|item| self.json(item));
            }
            Value::Object(fields) => self.json_map(fields),
        }
    }

    /// Adds the fields of a JSON object.
    pub(crate) fn json_map(&mut self, fields: &Map<String, Value>) {
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        self.text('o', &fields.len().to_string());
        for (name, field) in fields {
            self.text('k', name);
            self.json(field);
        }
    }

    fn text(&mut self, tag: char, text: &str) {
        self.write(&[tag as u8]);
        self.write(&text.len().to_le_bytes());
        self.write(text.as_bytes());
    }
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_fnv_1a() {
        assert_eq!(Fingerprint::of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Fingerprint::of(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Fingerprint::of(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn values_that_print_alike_differ() {
        let of = |text: &str| {
            let mut fingerprint = Fingerprint::new();
            fingerprint.json(&serde_json::from_str(text).unwrap());
            fingerprint.finish()
        };
        let different =
            ["1", "\"1\"", "[1]", "[[1]]", "{\"a\":1}", "{\"a\":{}}", "null", "true", "[1,2]", "[12]"];
        let all: std::collections::BTreeSet<u64> = different.iter().map(|text| of(text)).collect();
        assert_eq!(all.len(), different.len());
        assert_eq!(of("{\"a\":1,\"b\":2}"), of("{\"b\":2,\"a\":1}"));
    }
}
