//! CEL rules in schemas.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, cause, check, equal},
    resource::Resource,
};

/// Widgets whose `spec` has these properties and this rule.
async fn ruled(w: &World, properties: Value, rule: Value) -> Result<Resource, Failure> {
    Crd::new(w, spec(properties, rule)).install(w).await
}

fn spec(properties: Value, rule: Value) -> Value {
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]})
}

fn bounds() -> Value {
    json!({"min": {"type": "integer"}, "max": {"type": "integer"}})
}

/// Refused when the CRD is created, with a cause in the rules.
async fn refused_at_creation(w: &World, rule: Value) -> Outcome {
    let crd = Crd::new(w, spec(bounds(), rule));
    let status = w.crds().create(&crd.body).await?.refused(422, "Invalid")?;
    let at_rules = |c: &Value| c.text("field").contains("x-kubernetes-validations");
    check!(status.list("details/causes").iter().any(at_rules), "{status}");
    Ok(())
}

async fn a_rule_that_holds_passes(w: World) -> Outcome {
    let widgets = ruled(&w, bounds(), json!({"rule": "self.min <= self.max"})).await?;
    widgets.create(&widget(&w, "a", json!({"min": 1, "max": 2}))).await?.is(201)?;
    Ok(())
}

async fn a_rule_that_fails_refuses_with_its_message(w: World) -> Outcome {
    let rule = json!({"rule": "self.min <= self.max", "message": "min must not exceed max"});
    let widgets = ruled(&w, bounds(), rule).await?;
    let body = widget(&w, "a", json!({"min": 3, "max": 2}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    let cause = cause(&status, "spec");
    equal!(cause.text("reason"), "FieldValueInvalid");
    check!(cause.text("message").contains("min must not exceed max"), "{status}");
    Ok(())
}

async fn without_a_message_the_rule_is_told(w: World) -> Outcome {
    let widgets = ruled(&w, bounds(), json!({"rule": "self.min <= self.max"})).await?;
    let body = widget(&w, "a", json!({"min": 3, "max": 2}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    check!(status.text("message").contains("failed rule: self.min <= self.max"), "{status}");
    Ok(())
}

async fn a_message_can_be_computed(w: World) -> Outcome {
    let message = "'there is no ' + self.colour";
    let rule = json!({"rule": "self.colour == 'red'", "message": "static", "messageExpression": message});
    let widgets = ruled(&w, json!({"colour": {"type": "string", "maxLength": 10}}), rule).await?;
    let status =
        widgets.create(&widget(&w, "a", json!({"colour": "green"}))).await?.refused(422, "Invalid")?;
    check!(status.text("message").contains("there is no green"), "{status}");
    Ok(())
}

async fn a_rule_can_point_at_a_field(w: World) -> Outcome {
    let rule = json!({"rule": "self.min <= self.max", "fieldPath": ".min"});
    let widgets = ruled(&w, bounds(), rule).await?;
    let body = widget(&w, "a", json!({"min": 3, "max": 2}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.min").is_null(), "{status}");
    Ok(())
}

async fn a_rule_can_give_its_reason(w: World) -> Outcome {
    let rule = json!({"rule": "self.min <= self.max", "reason": "FieldValueForbidden"});
    let widgets = ruled(&w, bounds(), rule).await?;
    let body = widget(&w, "a", json!({"min": 3, "max": 2}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "spec").text("reason"), "FieldValueForbidden");
    Ok(())
}

async fn an_absent_field_must_be_asked_for(w: World) -> Outcome {
    let widgets = ruled(&w, bounds(), json!({"rule": "!has(self.min) || self.min > 0"})).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.is(201)?;
    widgets.create(&widget(&w, "b", json!({"min": 0}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn reading_an_absent_field_refuses(w: World) -> Outcome {
    let widgets = ruled(&w, bounds(), json!({"rule": "self.min > 0"})).await?;
    let status = widgets.create(&widget(&w, "a", json!({}))).await?.refused(422, "Invalid")?;
    check!(status.text("message").contains("no such key"), "{status}");
    Ok(())
}

async fn rules_see_defaults(w: World) -> Outcome {
    let properties = json!({"min": {"type": "integer", "default": 5}, "max": {"type": "integer"}});
    let widgets = ruled(&w, properties, json!({"rule": "self.min <= self.max"})).await?;
    widgets.create(&widget(&w, "a", json!({"max": 6}))).await?.is(201)?;
    widgets.create(&widget(&w, "b", json!({"max": 4}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_transition_rule_compares_with_what_was(w: World) -> Outcome {
    let widgets =
        ruled(&w, bounds(), json!({"rule": "self.min >= oldSelf.min", "message": "min may only grow"}))
            .await?;
    widgets.create(&widget(&w, "a", json!({"min": 3}))).await?.is(201)?;
    widgets.merge("a", &json!({"spec": {"min": 4}})).await?.is(200)?;
    let status = widgets.merge("a", &json!({"spec": {"min": 2}})).await?.refused(422, "Invalid")?;
    check!(status.text("message").contains("min may only grow"), "{status}");
    Ok(())
}

async fn a_transition_rule_on_a_field_makes_it_immutable(w: World) -> Outcome {
    let fixed = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    let properties = json!({"fixed": fixed, "free": {"type": "string"}});
    let widgets = Crd::new(&w, json!({"type": "object", "properties": properties})).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"fixed": "x", "free": "x"}))).await?.is(201)?;
    widgets.merge("a", &json!({"spec": {"free": "y"}})).await?.is(200)?;
    let status = widgets.merge("a", &json!({"spec": {"fixed": "y"}})).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.fixed").is_null(), "{status}");
    Ok(())
}

async fn a_transition_rule_does_not_see_a_field_come_or_go(w: World) -> Outcome {
    let fixed = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    let widgets = Crd::new(&w, json!({"type": "object", "properties": {"fixed": fixed}})).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.is(201)?;
    widgets.merge("a", &json!({"spec": {"fixed": "x"}})).await?.is(200)?;
    widgets.merge("a", &json!({"spec": {"fixed": null}})).await?.is(200)?;
    Ok(())
}

async fn an_optional_old_self_is_checked_on_create_too(w: World) -> Outcome {
    let rule = json!({"rule": "oldSelf.hasValue() || self.min == 0", "optionalOldSelf": true});
    let widgets = ruled(&w, bounds(), rule).await?;
    widgets.create(&widget(&w, "a", json!({"min": 1}))).await?.refused(422, "Invalid")?;
    widgets.create(&widget(&w, "a", json!({"min": 0}))).await?.is(201)?;
    widgets.merge("a", &json!({"spec": {"min": 1}})).await?.is(200)?;
    Ok(())
}

async fn items_of_a_keyed_list_are_compared_by_key(w: World) -> Outcome {
    let rules = json!([{"rule": "self.size >= oldSelf.size", "message": "disks do not shrink"}]);
    let item = json!({
        "type": "object", "required": ["name", "size"], "x-kubernetes-validations": rules,
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    });
    let disks = json!({
        "type": "array", "items": item, "maxItems": 10,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let widgets = Crd::new(&w, json!({"type": "object", "properties": {"disks": disks}})).install(&w).await?;
    let disk = |name: &str, size: i32| json!({"name": name, "size": size});
    widgets.create(&widget(&w, "a", json!({"disks": [disk("x", 5), disk("y", 1)]}))).await?.is(201)?;
    let swapped = json!({"spec": {"disks": [disk("y", 1), disk("x", 6), disk("z", 1)]}});
    widgets.merge("a", &swapped).await?.is(200)?;
    let smaller = json!({"spec": {"disks": [disk("y", 1), disk("x", 4)]}});
    let status = widgets.merge("a", &smaller).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.disks[1]").is_null(), "{status}");
    Ok(())
}

async fn rules_of_items_point_at_the_item(w: World) -> Outcome {
    let item =
        json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": "self != 'bad'"}]});
    let list = json!({"type": "array", "maxItems": 10, "items": item});
    let widgets = Crd::new(&w, json!({"type": "object", "properties": {"list": list}})).install(&w).await?;
    let body = widget(&w, "a", json!({"list": ["good", "bad"]}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.list[1]").is_null(), "{status}");
    Ok(())
}

async fn rules_of_map_values_point_at_the_key(w: World) -> Outcome {
    let value = json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]});
    let map = json!({"type": "object", "maxProperties": 10, "additionalProperties": value});
    let widgets = Crd::new(&w, json!({"type": "object", "properties": {"map": map}})).install(&w).await?;
    let body = widget(&w, "a", json!({"map": {"fine": 1, "wrong": 0}}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    equal!(status.list("details/causes").len(), 1);
    let field = status.text("details/causes/0/field");
    check!(field == "spec.map.wrong" || field == "spec.map[wrong]", "{field}");
    Ok(())
}

async fn rules_can_go_over_lists_and_maps(w: World) -> Outcome {
    let text = json!({"type": "string", "maxLength": 10});
    let properties = json!({
        "list": {"type": "array", "maxItems": 10, "items": text},
        "map": {"type": "object", "maxProperties": 10, "additionalProperties": text},
    });
    let rule = json!({"rule": "self.list.all(k, k in self.map) && self.map.exists(k, self.map[k] == 'x')"});
    let widgets = ruled(&w, properties, rule).await?;
    widgets.create(&widget(&w, "a", json!({"list": ["k"], "map": {"k": "x", "l": "y"}}))).await?.is(201)?;
    let wrong = widget(&w, "b", json!({"list": ["m"], "map": {"k": "x"}}));
    widgets.create(&wrong).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn rules_at_the_root_see_the_name(w: World) -> Outcome {
    let schema = json!({
        "type": "object", "properties": {"spec": {"type": "object"}},
        "x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('good')"}],
    });
    let widgets = Crd::with_schema(&w, schema).install(&w).await?;
    widgets.create(&widget(&w, "good", json!({}))).await?.is(201)?;
    widgets.create(&widget(&w, "bad", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn rules_have_the_libraries_of_kubernetes(w: World) -> Outcome {
    let text = json!({"type": "string", "maxLength": 64});
    let properties = json!({"url": text, "size": text, "ip": text, "words": text, "version": text});
    let rule = json!({"rule": "isURL(self.url) && url(self.url).getScheme() == 'https' \
        && quantity(self.size).isGreaterThan(quantity('1Gi')) && isIP(self.ip) \
        && self.words.matches('^[a-z ]+$') && self.words.split(' ').size() == 2"});
    let widgets = ruled(&w, properties, rule).await?;
    let good = json!({"url": "https://example.test", "size": "2Gi", "ip": "10.0.0.1", "words": "two words"});
    widgets.create(&widget(&w, "a", good.clone())).await?.is(201)?;
    for (field, wrong) in [("url", "http://x"), ("size", "1Mi"), ("ip", "ten"), ("words", "one")] {
        let mut bad = good.clone();
        bad.set(field, wrong);
        widgets.create(&widget(&w, "b", bad)).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

async fn rules_apply_to_status_too(w: World) -> Outcome {
    let status = spec(bounds(), json!({"rule": "self.min <= self.max"}));
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object"}, "status": status}});
    let widgets = Crd::with_schema(&w, schema).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.is(201)?;
    let patch = |min: i32| json!({"status": {"min": min, "max": 2}});
    widgets.status().merge("a", &patch(3)).await?.refused(422, "Invalid")?;
    widgets.status().merge("a", &patch(1)).await?.is(200)?;
    Ok(())
}

async fn every_rule_that_fails_is_told(w: World) -> Outcome {
    let rules = json!([
        {"rule": "self.min > 0", "message": "min must be positive"},
        {"rule": "self.max > 0", "message": "max must be positive"},
    ]);
    let schema = json!({"type": "object", "properties": bounds(), "x-kubernetes-validations": rules});
    let widgets = Crd::new(&w, schema).install(&w).await?;
    let body = widget(&w, "a", json!({"min": 0, "max": 0}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    for message in ["min must be positive", "max must be positive"] {
        check!(status.text("message").contains(message), "{status}");
    }
    Ok(())
}

async fn a_rule_that_does_not_parse_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.min <= "})).await
}

async fn a_rule_about_an_unknown_field_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.never > 0"})).await
}

async fn a_rule_that_is_not_a_condition_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.min + 1"})).await
}

async fn a_rule_that_mixes_types_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.min == 'x'"})).await
}

async fn an_empty_rule_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": ""})).await
}

async fn a_message_that_is_no_text_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.min > 0", "messageExpression": "self.min"})).await
}

async fn a_field_path_to_nowhere_is_refused_with_the_crd(w: World) -> Outcome {
    refused_at_creation(&w, json!({"rule": "self.min > 0", "fieldPath": ".never"})).await
}

cases! { "cel":
    a_rule_that_holds_passes,
    a_rule_that_fails_refuses_with_its_message,
    without_a_message_the_rule_is_told,
    a_message_can_be_computed,
    a_rule_can_point_at_a_field,
    a_rule_can_give_its_reason,
    an_absent_field_must_be_asked_for,
    reading_an_absent_field_refuses,
    rules_see_defaults,
    a_transition_rule_compares_with_what_was,
    a_transition_rule_on_a_field_makes_it_immutable,
    a_transition_rule_does_not_see_a_field_come_or_go,
    an_optional_old_self_is_checked_on_create_too,
    items_of_a_keyed_list_are_compared_by_key,
    rules_of_items_point_at_the_item,
    rules_of_map_values_point_at_the_key,
    rules_can_go_over_lists_and_maps,
    rules_at_the_root_see_the_name,
    rules_have_the_libraries_of_kubernetes,
    rules_apply_to_status_too,
    every_rule_that_fails_is_told,
    a_rule_that_does_not_parse_is_refused_with_the_crd,
    a_rule_about_an_unknown_field_is_refused_with_the_crd,
    a_rule_that_is_not_a_condition_is_refused_with_the_crd,
    a_rule_that_mixes_types_is_refused_with_the_crd,
    an_empty_rule_is_refused_with_the_crd,
    a_message_that_is_no_text_is_refused_with_the_crd,
    a_field_path_to_nowhere_is_refused_with_the_crd,
}
