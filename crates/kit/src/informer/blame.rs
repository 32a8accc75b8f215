//! Which field of an object could not be read, and what was expected there; never what it holds.
//!
//! serde_json says where in the text it stopped and repeats the value that it stumbled on, which may be a password. From the place
//! comes the field's path, from the message only what the type itself says.

/// `spec.copies: a string, expected u8`, for people.
pub(super) fn explain(json: &[u8], error: &serde_json::Error) -> String {
    let place = offset(json, error).map(|offset| path(json, offset)).unwrap_or_default();
    let place = if place.is_empty() { "the object" } else { &*place };
    format!("{place}: {}", without_values(&error.to_string()))
}

/// What of serde's message comes from the type, not from the object.
fn without_values(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or_default();
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    let found = |rest: &str| match rest.split([' ', ',']).next().unwrap_or_default() {
        "floating" => "a floating point number",
        "integer" => "an integer",
        "string" => "a string",
        "boolean" => "a boolean",
        "map" => "a map",
        "sequence" => "a list",
        "null" => "null",
        _ => "something else",
    };
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("the field {field} is missing");
    }
    match (message.split_once(": "), expected) {
        (Some(("invalid type" | "invalid value", rest)), Some(expected)) => {
            format!("{}, expected {expected}", found(rest))
        }
        (_, Some(expected)) if message.starts_with("unknown variant ") => {
            format!("an unknown value, expected {expected}")
        }
        _ => "its value is not valid".to_owned(),
    }
}

/// How many bytes serde_json had read when it stopped.
fn offset(json: &[u8], error: &serde_json::Error) -> Option<usize> {
    let lines_before = error.line().checked_sub(1)?;
    let before: usize = json.split(|byte| *byte == b'\n').take(lines_before).map(|line| line.len() + 1).sum();
    Some(before + error.column())
}

/// The path of the innermost value that begins before `offset` and does not end before it.
fn path(json: &[u8], offset: usize) -> String {
    let mut walk = Walk { json, at: 0, offset, here: Vec::new() };
    walk.value();
    walk.here.iter().enumerate().fold(String::new(), |path, (depth, step)| match step {
        Step::Field(name) if depth == 0 => name.clone(),
        Step::Field(name) => format!("{path}.{name}"),
        Step::Item(number) => format!("{path}[{number}]"),
    })
}

enum Step {
    Field(String),
    Item(usize),
}

/// A walk over JSON that is well-formed at least up to `offset`, where it ends with the path in `here`.
struct Walk<'a> {
    json: &'a [u8],
    at: usize,
    offset: usize,
    here: Vec<Step>,
}

impl Walk<'_> {
    /// Walks over one value; true when `offset` is within it, or the text ends.
    fn value(&mut self) -> bool {
        match self.peek() {
            Some(b'{') => self.entries(b'}'),
            Some(b'[') => self.entries(b']'),
            Some(b'"') => {
                self.string();
                self.at >= self.offset
            }
            Some(_) => {
                // One at least, so that what is no JSON is walked to its end, too.
                self.at += 1;
                while self.json.get(self.at).is_some_and(|byte| !b",]} \t\r\n".contains(byte)) {
                    self.at += 1;
                }
                self.at >= self.offset
            }
            None => true,
        }
    }

    fn entries(&mut self, end: u8) -> bool {
        self.at += 1;
        for number in 0.. {
            match self.peek() {
                _ if self.at >= self.offset => return true,
                None => return true,
                Some(byte) if byte == end => break,
                Some(b',') => self.at += 1,
                Some(_) => {}
            }
            let step = match end {
                b'}' => {
                    self.peek();
                    let name = self.string();
                    self.peek();
                    self.at += 1;
                    Step::Field(name)
                }
                _ => Step::Item(number),
            };
            self.here.push(step);
            if self.value() {
                return true;
            }
            self.here.pop();
        }
        self.at += 1;
        self.at >= self.offset
    }

    /// Walks over a string, and returns what is between its quotes as it is written.
    fn string(&mut self) -> String {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.json.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let text = self.json.get(start..self.at).unwrap_or_default();
        self.at += 1;
        String::from_utf8_lossy(text).into_owned()
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while self.json.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.json.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only read")]
    struct Sample {
        metadata: serde_json::Value,
        spec: Spec,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only read")]
    struct Spec {
        copies: u8,
        #[serde(default)]
        mode: Mode,
        #[serde(default)]
        users: Vec<User>,
    }

    #[derive(Debug, Default, Deserialize)]
    enum Mode {
        #[default]
        Fast,
        Safe,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct User {
        name: String,
    }

    fn check(json: &str, expected: &str) {
        let error = crate::slim::without_managed_fields::<Sample>(json.as_bytes()).unwrap_err();
        let told = explain(json.as_bytes(), &error);
        assert_eq!(told, expected, "{error}");
        assert!(!told.contains("hunter2"));
    }

    #[test]
    fn the_field_is_named_and_its_value_is_not() {
        let with =
            |spec: &str| format!(r#"{{"metadata":{{"name":"x","managedFields":[{{}}]}},"spec":{spec}}}"#);
        check(&with(r#"{"copies":"hunter2"}"#), "spec.copies: a string, expected u8");
        check(&with(r#"{"copies":300}"#), "spec.copies: an integer, expected u8");
        check(&with(r#"{"copies":-1}"#), "spec.copies: an integer, expected u8");
        check(&with(r#"{"copies":1.5}"#), "spec.copies: a floating point number, expected u8");
        check(&with(r#"{"copies":{"a":"hunter2"}}"#), "spec.copies: a map, expected u8");
        check(&with(r#"{"copies":["hunter2"]}"#), "spec.copies: a list, expected u8");
        check(&with(r#"{"copies":null}"#), "spec.copies: null, expected u8");
        check(&with(r#"{"mode":"Safe"}"#), "spec: the field `copies` is missing");
        check(
            &with(r#"{"copies":1,"mode":"hunter2"}"#),
            "spec.mode: an unknown value, expected `Fast` or `Safe`",
        );
        check(
            &with(r#"{"copies":1,"users":[{"name":"a"},{"name":["hunter2"]}]}"#),
            "spec.users[1].name: a list, expected a string",
        );
        check(
            &with(r#"{"copies":1,"users":[{"name":"a"},{"Name":"hunter2"}]}"#),
            "spec.users[1]: the field `name` is missing",
        );
        check(&with(r#"{"copies":1,"users":{}}"#), "spec.users: a map, expected a sequence");
        check(r#"{"metadata":{"name":"x"}}"#, "the object: the field `spec` is missing");
        check(
            "{\n  \"metadata\": {},\n  \"spec\": {\n    \"copies\": \"a, expected hunter2 \\\" x\"\n  }\n}",
            "spec.copies: a string, expected u8",
        );
    }

    #[test]
    fn messages_of_a_types_own_are_not_repeated() {
        let json = r#"{"metadata":{"creationTimestamp":"hunter2"}}"#;
        let error = crate::slim::without_managed_fields::<Pod>(json.as_bytes()).unwrap_err();
        let told = explain(json.as_bytes(), &error);
        assert!(told.starts_with("metadata.creationTimestamp: ") && !told.contains("hunter2"), "{told}");
    }

    proptest! {
        #[test]
        fn any_text_and_any_place_is_walked_to_an_end(json in "[\\[\\]{}\",:\\\\a1 \n]{0,40}", offset in 0usize..50) {
            path(json.as_bytes(), offset);
        }
    }
}
