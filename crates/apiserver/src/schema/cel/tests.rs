//! Rules, as sentences.

use serde_json::{Value, json};

use crate::Cause;
use crate::schema::Schema;

fn told(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

/// Everything that rules like to speak about, under `spec`.
fn with_rules(rules: &Value) -> Result<Schema, Vec<Cause>> {
    Schema::parse(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-validations": rules,
                "properties": {
                    "name": {"type": "string"},
                    "replicas": {"type": "integer"},
                    "max": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "on": {"type": "boolean"},
                    "percent": {"x-kubernetes-int-or-string": true},
                    "since": {"type": "string", "format": "date-time"},
                    "wait": {"type": "string", "format": "duration"},
                    "key": {"type": "string", "format": "byte"},
                    "namespace": {"type": "string"},
                    "dash-ed": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "numbers": {"type": "array", "items": {"type": "integer"}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "maybe": {"type": "string", "nullable": true},
                    "inner": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                },
            },
        },
    }))
}

fn rule(rule: &str) -> Schema {
    with_rules(&json!([{"rule": rule}])).unwrap_or_else(|causes| panic!("{rule}: {:?}", told(&causes)))
}

/// The world that the rules below are true or false in.
fn world() -> Value {
    json!({"spec": {
        "name": "größe", "replicas": 3, "max": 5, "ratio": 2, "on": true, "percent": "25%",
        "since": "2026-01-02T03:04:05Z", "wait": "1h30m", "key": "aGk=", "namespace": "ns", "dash-ed": "d",
        "tags": ["a", "b", "c"], "numbers": [3, 1, 2], "labels": {"x.y/z": "1", "b": "2"}, "maybe": null, "inner": {"a": "q"},
    }})
}

#[test]
fn rules_that_hold() {
    for expression in [
        "self.replicas <= self.max",
        "self.replicas + 2 == self.max && self.max % 2 == 1 && self.max / 2 == 2 && -self.max < 0",
        "self.ratio == 2.0 && self.ratio < self.max",
        "self.name.size() == 5 && size(self.name) == 5",
        "self.name.startsWith('gr') && self.name.contains('ö') && self.name.endsWith('e')",
        "self.name.matches('^gr.+e$')",
        "self.tags.all(t, t in ['a', 'b', 'c']) && self.tags.exists(t, t == 'b') && self.tags.exists_one(t, t == 'c')",
        "self.tags.map(t, t + '!') == ['a!', 'b!', 'c!'] && self.tags.filter(t, t != 'b').size() == 2",
        "self.numbers.map(n, n > 1, n * 2) == [6, 4]",
        "self.numbers.isSorted() == false && self.numbers.sum() == 6 && self.numbers.min() == 1 && self.numbers.max() == 3",
        "self.labels.all(k, k.size() > 0) && 'b' in self.labels && self.labels['x.y/z'] == '1' && self.labels.size() == 2",
        "has(self.inner.a) && !has(self.inner.b)",
        "!has(self.maybe)",
        "self.__namespace__ == 'ns' && self.dash__dash__ed == 'd'",
        "self.since < timestamp('2027-01-01T00:00:00Z') && self.since.getFullYear() == 2026",
        "self.wait > duration('1h') && self.wait == duration('90m')",
        "self.key == b'hi' && size(self.key) == 2",
        "self.on ? self.replicas == 3 : false",
        "self.tags[0] == 'a' && self.tags.indexOf('c') == 2 && self.tags.join(',') == 'a,b,c'",
        "quantity('1Gi').isGreaterThan(quantity('500Mi')) && isQuantity('2k')",
        "isURL('https://a.b/c') && url('https://a.b:80/c').getHost() == 'a.b:80'",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
        "isSemver('1.2.3') && semver('1.2.3').isLessThan(semver('1.10.0'))",
        "sets.contains(self.tags, ['a']) && math.greatest(self.replicas, self.max) == 5",
        "'%s-%d'.format([self.__namespace__, self.replicas]) == 'ns-3'",
        "cel.bind(n, self.replicas * 2, n == 6 && n > self.max)",
        "self.tags.all(i, t, i < 3 && t.size() == 1) && self.labels.exists(k, v, k == 'b' && v == '2')",
        "self.tags.transformList(i, t, i) == [0, 1, 2] && self.labels.transformMap(k, v, v + '!')['b'] == '2!'",
        "self.numbers.sortBy(n, -n) == [3, 2, 1]",
        "self.?inner.?a.orValue('none') == 'q' && self.?inner.?b.orValue(7) == 7",
        "self.?maybe.hasValue() == false && self.labels[?'none'].orValue('x') == 'x'",
        "self.?inner.?a.optMap(a, a + '!').orValue('') == 'q!'",
        "[1, 2] + [3] == [1, 2, 3] && {'a': 1} == {'a': 1} && [1, 2] != [2, 1]",
        "self.tags.exists(t, int(t) > 0) || true",
        "self.numbers.exists(n, 6 / (n - 3) > 0 || n == 1)",
        "!(self.numbers.all(n, 6 / (n - 3) > 0 && n > 5))",
        "1 / 0 > 1 || self.on",
        "string(self.replicas) == '3' && int('3') == 3 && double(self.replicas) == 3.0",
        "self == self",
    ] {
        let schema = rule(expression);
        assert_eq!(told(&schema.validate(&world(), None)), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn rules_that_fail_say_so() {
    for (expression, wanted) in [
        (
            "self.replicas > self.max",
            r#"spec: Invalid value: "object": failed rule: self.replicas > self.max"#,
        ),
        (
            "self.inner.b > 0",
            r#"spec: Invalid value: "object": no such key: b evaluating rule: self.inner.b > 0"#,
        ),
        (
            "self.tags[7] == ''",
            r#"spec: Invalid value: "object": index out of bounds: 7 evaluating rule: self.tags[7] == ''"#,
        ),
        (
            "self.replicas / 0 > 1",
            r#"spec: Invalid value: "object": division by zero evaluating rule: self.replicas / 0 > 1"#,
        ),
        (
            "self.labels['none'] == ''",
            r#"spec: Invalid value: "object": no such key: none evaluating rule: self.labels['none'] == ''"#,
        ),
        (
            "self.percent > 5",
            r#"spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.percent > 5"#,
        ),
    ] {
        assert_eq!(told(&rule(expression).validate(&world(), None)), [wanted]);
    }
}

#[test]
fn a_rule_says_what_its_author_wrote_where_its_author_pointed() {
    for (rule, wanted) in [
        (json!({"rule": "false", "message": "never"}), r#"spec: Invalid value: "object": never"#),
        (
            json!({"rule": "false", "message": "never", "messageExpression": "'replicas ' + string(self.replicas)"}),
            r#"spec: Invalid value: "object": replicas 3"#,
        ),
        (
            json!({"rule": "false", "message": "never", "messageExpression": "self.inner.b > 0 ? 'a' : 'b'"}),
            r#"spec: Invalid value: "object": never"#,
        ),
        (
            json!({"rule": "false", "message": "no", "fieldPath": ".inner.a"}),
            r#"spec.inner.a: Invalid value: "object": no"#,
        ),
        (
            json!({"rule": "false", "message": "no", "fieldPath": ".labels['a.b']"}),
            r#"spec.labels[a.b]: Invalid value: "object": no"#,
        ),
        (json!({"rule": "false", "message": "no", "reason": "FieldValueForbidden"}), "spec: Forbidden: no"),
        (
            json!({"rule": "false", "message": "no", "reason": "FieldValueRequired"}),
            "spec: Required value: no",
        ),
        (
            json!({"rule": "false", "message": "no", "reason": "FieldValueDuplicate"}),
            r#"spec: Duplicate value: "object""#,
        ),
    ] {
        let schema = with_rules(&json!([rule])).unwrap();
        assert_eq!(told(&schema.validate(&world(), None)), [wanted]);
    }
}

#[test]
fn a_rule_that_cannot_be_right_refuses_the_schema() {
    for (rule, field, why) in [
        (json!({"rule": "self.replica > 0"}), "rule", "undefined field 'replica'"),
        (json!({"rule": "self.inner.c == ''"}), "rule", "undefined field 'c'"),
        (json!({"rule": "self.open.anything == 1"}), "rule", "undefined field 'anything'"),
        (json!({"rule": "self.tags.all(t, t.length() > 0)"}), "rule", "undeclared reference to 'length'"),
        (json!({"rule": "other.replicas > 0"}), "rule", "undeclared reference to 'other'"),
        (
            json!({"rule": "self.replicas > 'a'"}),
            "rule",
            "found no matching overload for '_>_' applied to '(int, string)'",
        ),
        (
            json!({"rule": "self.name == 1"}),
            "rule",
            "found no matching overload for '_==_' applied to '(string, int)'",
        ),
        (json!({"rule": "self.name.a"}), "rule", "type 'string' does not support field selection"),
        (json!({"rule": "self.replicas.all(x, true)"}), "rule", "cannot be range of a comprehension"),
        (json!({"rule": "self.replicas"}), "rule", "cel expression must evaluate to a bool"),
        (json!({"rule": "self.replicas >"}), "rule", "compilation failed: ERROR"),
        (json!({"rule": "Foo{a: 1} == self"}), "rule", "undeclared reference to 'Foo'"),
        (json!({"rule": ""}), "rule", "rule is not specified"),
        (
            json!({"rule": "true", "messageExpression": "self.replicas"}),
            "messageExpression",
            "messageExpression must evaluate to a string",
        ),
        (json!({"rule": "true", "messageExpression": "self."}), "messageExpression", "compilation failed"),
        (json!({"rule": "true", "fieldPath": ".none"}), "fieldPath", "does not refer to a valid field"),
        (json!({"rule": "true", "fieldPath": "spec"}), "fieldPath", "expected [ or ."),
        (json!({"rule": "true", "reason": "Because"}), "reason", "Unsupported value"),
        (
            json!({"rule": "true\n&& true"}),
            "message",
            "message must be specified if rule contains line breaks",
        ),
        (json!({"rule": "true", "optionalOldSelf": true}), "optionalOldSelf", "oldSelf is not used"),
    ] {
        let causes = with_rules(&json!([{"rule": "true"}, rule])).expect_err(&format!("{rule} is refused"));
        assert_eq!(
            causes[0].field,
            format!("properties[spec].x-kubernetes-validations[1].{field}"),
            "{rule}"
        );
        assert!(causes[0].message.contains(why), "{rule}: {}", causes[0].message);
    }
}

/// `spec.items` is a list of objects, told apart by `name` or not at all.
fn list_with_transition(list_type: &Value) -> Result<Schema, Vec<Cause>> {
    let mut items = json!({
        "type": "array",
        "items": {
            "type": "object", "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "may not shrink"}]},
            },
        },
    });
    items.as_object_mut().unwrap().extend(list_type.as_object().unwrap().clone());
    Schema::parse(&json!({"type": "object", "properties": {"items": items}}))
}

#[test]
fn a_transition_rule_runs_where_the_old_value_is_known() {
    let schema = list_with_transition(
        &json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    )
    .unwrap();
    let object = |items: Value| json!({"items": items});
    let old = object(json!([{"name": "a", "size": 5}, {"name": "b", "size": 1}]));
    let check = |new: Value, old: Option<&Value>| told(&schema.validate(&object(new), old));

    let none: [&str; 0] = [];
    assert_eq!(check(json!([{"name": "a", "size": 1}]), None), none, "a new object has no past");
    assert_eq!(check(json!([{"name": "b", "size": 1}, {"name": "a", "size": 6}]), Some(&old)), none);
    assert_eq!(
        check(
            json!([{"name": "b", "size": 2}, {"name": "a", "size": 4}, {"name": "new", "size": 0}]),
            Some(&old)
        ),
        [r#"items[1].size: Invalid value: "integer": may not shrink"#]
    );
}

#[test]
fn a_transition_rule_below_a_list_without_keys_is_refused() {
    let causes = list_with_transition(&json!({})).unwrap_err();
    assert_eq!(causes.len(), 1);
    assert!(causes[0].message.contains(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within properties[items]"
    ));
}

#[test]
fn an_optional_old_self_is_asked_on_creation_too() {
    let schema = with_rules(&json!([{
        "rule": "!oldSelf.hasValue() || self.replicas >= oldSelf.value().replicas", "optionalOldSelf": true, "message": "may not shrink",
    }]))
    .unwrap();
    let object = |replicas: i64| json!({"spec": {"replicas": replicas}});
    assert_eq!(told(&schema.validate(&object(1), None)), Vec::<String>::new());
    assert_eq!(told(&schema.validate(&object(2), Some(&object(1)))), Vec::<String>::new());
    assert_eq!(
        told(&schema.validate(&object(0), Some(&object(1)))),
        [r#"spec: Invalid value: "object": may not shrink"#]
    );

    let only_created_once =
        with_rules(&json!([{"rule": "oldSelf.hasValue()", "optionalOldSelf": true}])).unwrap();
    assert_eq!(only_created_once.validate(&object(1), None).len(), 1);
}

#[test]
fn immutability_by_rule_is_judged_even_when_nothing_else_changed() {
    let schema =
        with_rules(&json!([{"rule": "self.name == oldSelf.name", "message": "name is immutable"}])).unwrap();
    let object = |name: &str| json!({"spec": {"name": name}});
    assert_eq!(told(&schema.validate(&object("a"), Some(&object("a")))), Vec::<String>::new());
    assert_eq!(
        told(&schema.validate(&object("b"), Some(&object("a")))),
        [r#"spec: Invalid value: "object": name is immutable"#]
    );
}

#[test]
fn a_rule_that_an_unchanged_part_breaks_is_tolerated() {
    let schema = with_rules(&json!([{"rule": "self.replicas > 10"}])).unwrap();
    let object = |replicas: i64, label: &str| json!({"metadata": {"labels": {"l": label}}, "spec": {"replicas": replicas}});
    assert_eq!(schema.validate(&object(3, "new"), Some(&object(3, "old"))), []);
    assert_eq!(schema.validate(&object(4, "new"), Some(&object(3, "old"))).len(), 1);
}

#[test]
fn rules_at_the_root_and_on_values_of_maps_know_their_place() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name.startsWith('x')", "message": "must start with x"},
            {"rule": "self.kind != '' && self.apiVersion != ''"},
        ],
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "message": "positive"}]}}},
    }))
    .unwrap();
    let object =
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "y", "labels": {}}, "m": {"k": 0}});
    assert_eq!(
        told(&schema.validate(&object, None)),
        [
            r#"<nil>: Invalid value: "object": must start with x"#,
            r#"m[k]: Invalid value: "integer": positive"#
        ]
    );
    let labels = Schema::parse(&json!({
        "type": "object", "x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}],
    }));
    assert!(
        labels.unwrap_err()[0].message.contains("undefined field 'labels'"),
        "of metadata only the names are seen"
    );
}

#[test]
fn rules_are_not_asked_about_an_object_that_has_the_wrong_shape() {
    let schema = with_rules(&json!([{"rule": "self.replicas > 0"}])).unwrap();
    assert_eq!(
        told(&schema.validate(&json!({"spec": {"replicas": "x"}}), None)),
        [
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#,
            r#"<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"#,
        ]
    );
}

#[test]
fn a_runaway_rule_is_stopped() {
    let nested = "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, self.numbers.all(d, a + b + c + d >= 0))))";
    let schema = with_rules(&json!([{"rule": nested}, {"rule": "false"}])).unwrap();
    let numbers: Vec<i64> = (0..200).collect();
    let faults = told(&schema.validate(&json!({"spec": {"numbers": numbers}}), None));
    assert_eq!(faults.len(), 1, "nothing is run after it: {faults:?}");
    assert!(
        faults[0].contains("no further validation rules will be run due to call cost exceeds limit"),
        "{}",
        faults[0]
    );

    let doubling = (0..40).fold("x == ''".to_owned(), |body, _| format!("cel.bind(x, x + x, {body})"));
    let schema = rule(&format!("cel.bind(x, self.name, {doubling})"));
    let faults = told(&schema.validate(&world(), None));
    assert!(faults[0].contains("call cost exceeds limit"), "{}", faults[0]);
}
