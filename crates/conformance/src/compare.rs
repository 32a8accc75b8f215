//! The rules by which an answer equals what upstream said: those of the data's README, in its order.

mod quantity;
mod tree;
mod yaml;

use serde_json::Value;

use crate::answer::Answer;
use crate::case::Expect;
use tree::{Rules, differences, show};

/// `Err` says what differs, one line each. `answer` is `Err` when our code panicked.
pub fn compare(area: &str, expect: &Expect, answer: &Result<Answer, String>) -> Result<(), Vec<String>> {
    let answer = answer.as_ref().map_err(|panic| vec![format!("panicked: {panic}")])?;
    let found = match (expect, answer) {
        (Expect::Error(_), Err(_)) | (Expect::Accepted(true), Ok(_)) => Vec::new(),
        (Expect::Error(text), Ok(value)) => {
            vec![format!("upstream refuses ({text}), we answer {}", show(value))]
        }
        (Expect::Accepted(false), _) => {
            vec!["the case expects accepted: false, which the format does not have".to_owned()]
        }
        (_, Err(refusal)) => vec![format!("upstream accepts, we refuse: {refusal}")],
        (Expect::Yaml(wanted), Ok(value)) => match value.get("yaml").and_then(Value::as_str) {
            Some(got) => yaml::compare(wanted, got),
            None => vec![format!("expected a yaml document, got {}", show(value))],
        },
        (Expect::Object(wanted), Ok(value)) => match value.get("object") {
            Some(got) => differences(wanted, got, Rules::of(area)),
            None => vec![format!("expected an object, got {}", show(value))],
        },
    };
    if found.is_empty() { Ok(()) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(area: &str, wanted: Value, got: Value) -> Vec<String> {
        compare(area, &Expect::Object(wanted), &Ok(Ok(json!({ "object": got })))).err().unwrap_or_default()
    }

    fn yaml(wanted: &str, got: &str) -> Vec<String> {
        compare("rules", &Expect::Yaml(wanted.to_owned()), &Ok(Ok(json!({ "yaml": got }))))
            .err()
            .unwrap_or_default()
    }

    const EQUAL: Vec<String> = Vec::new();

    #[test]
    fn only_that_there_is_an_error_counts() {
        let refused = Expect::Error("in upstream's words".to_owned());
        assert!(compare("rules", &refused, &Ok(Err("in ours".to_owned()))).is_ok());
        assert!(compare("rules", &refused, &Ok(Ok(json!({"accepted": true})))).is_err());
        assert!(
            compare("rules", &refused, &Err("index out of bounds".to_owned())).is_err(),
            "a panic is no refusal"
        );
        assert!(compare("rules", &Expect::Accepted(true), &Ok(Err("no".to_owned()))).is_err());
    }

    #[test]
    fn the_order_of_maps_and_quoting_do_not_matter_but_order_of_lists_and_types_do() {
        assert_eq!(yaml("a: '1'\nb: [x, z]\n", "b:\n- x\n- \"z\"\na: \"1\"\n"), EQUAL);
        assert_eq!(yaml("a: '1'", "a: 1"), ["a: expected \"1\", got 1"]);
        assert_eq!(yaml("a: [x, z]", "a: [z, x]").len(), 2);
        assert_eq!(yaml("a: 30s", "a: '30s'"), EQUAL);
        assert_eq!(yaml("a: true", "a: 'true'"), ["a: expected true, got \"true\""]);
        assert_eq!(yaml("a: 'yes'", "a: yes").len(), 1, "a YAML 1.1 reader takes yes for true");
    }

    #[test]
    fn an_absent_key_is_not_a_null_one() {
        assert_eq!(yaml("a: 1\nb:\n", "a: 1"), ["b: expected null, absent"]);
        assert_eq!(yaml("a: 1", "a: 1\nb: 2"), ["b: unexpected 2"]);
    }

    #[test]
    fn an_empty_document_equals_an_empty_document() {
        assert_eq!(yaml("", "\n"), EQUAL);
        assert_eq!(yaml("", "{}").len(), 1);
    }

    #[test]
    fn one_missing_element_does_not_make_all_that_follow_differ() {
        assert_eq!(yaml("[a, b, c, d]", "[a, c, d]"), ["[1]: expected \"b\", absent"]);
    }

    #[test]
    fn what_is_copied_from_the_resource_may_leave_zeros_out() {
        let area = "statefulset-prometheus";
        let pod = |pod: Value| json!({"spec": {"template": {"spec": pod}}});
        assert_eq!(
            object(
                area,
                pod(json!({"dnsConfig": {}, "n": 0})),
                pod(json!({"hostNetwork": false, "x": null}))
            ),
            EQUAL
        );
        assert_eq!(object(area, pod(json!({"n": 1})), pod(json!({}))).len(), 1);
        assert_eq!(
            object(area, json!({"spec": {"updateStrategy": {}}}), json!({"spec": {}})).len(),
            1,
            "not verbatim"
        );
    }

    #[test]
    fn quantities_are_equal_when_their_amounts_are() {
        let containers =
            |memory: &str| json!({"containers": [{"resources": {"limits": {"memory": memory}}}]});
        assert_eq!(object("container-merge", containers("1Gi"), containers("1024Mi")), EQUAL);
        assert_eq!(object("container-merge", containers("1Gi"), containers("1G")).len(), 1);
        let named = |image: &str| json!({"containers": [{"image": image}]});
        assert_eq!(
            object("container-merge", named("1Gi"), named("1024Mi")).len(),
            1,
            "an image is no quantity"
        );
    }

    #[test]
    fn files_are_compared_as_yaml() {
        assert_eq!(
            object("web-config", json!({"file": "a: 1\nb: 2\n"}), json!({"file": "b: 2\na: 1"})),
            EQUAL
        );
        let files = |text: &str| json!({"files": {"alertmanager.yaml": text, "t.tmpl": "{{ x }}"}});
        assert_eq!(object("alertmanager-provision", files("{a: 1}"), files("a: 1")), EQUAL);
        assert_eq!(
            object("alertmanager-provision", files("a: 1"), files("a: 2")),
            ["files.alertmanager.yaml.a: expected 1, got 2"]
        );
    }

    #[test]
    fn a_patch_is_a_set_and_texts_of_admission_are_informative() {
        let review = |patch: Value, message: &str| {
            json!({"response": {"response": {"patch": patch, "status": {"code": 422, "message": message,
                "details": {"causes": [{"message": message}]}}}}})
        };
        let (a, b) = (json!({"op": "add", "path": "/a"}), json!({"op": "add", "path": "/b"}));
        assert_eq!(object("admission", review(json!([a, b]), "x"), review(json!([b, a]), "y")), EQUAL);
        assert_eq!(object("admission", review(json!([a]), "x"), review(json!([b]), "x")).len(), 1);
    }
}
