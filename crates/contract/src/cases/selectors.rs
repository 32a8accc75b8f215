//! Label and field selectors.

use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal, names},
    samples::{config_map, labelled, pod},
};

/// Three ConfigMaps; only they carry the label `set`, so that others in the namespace do not matter.
async fn three(w: &World) -> Outcome {
    for (name, labels) in [
        ("a", json!({"set": "1", "tier": "web", "env": "prod"})),
        ("b", json!({"set": "1", "tier": "db", "env": "prod"})),
        ("c", json!({"set": "1", "env": "test"})),
    ] {
        w.config_maps().create(&labelled(name, labels)).await?.ok()?;
    }
    Ok(())
}

/// The names that each selector finds.
async fn expect(w: &World, selectors: &[(&str, &[&str])]) -> Result<(), Failure> {
    three(w).await?;
    for (selector, expected) in selectors {
        let selector = format!("set,{selector}");
        let list = w.config_maps().with("labelSelector", &selector).list().await?.is(200)?;
        if names(&list) != *expected {
            return Err(Failure::new(format!("{selector}: expected {expected:?}, got {:?}", names(&list))));
        }
    }
    Ok(())
}

async fn equality_is_one_or_two_equal_signs(w: World) -> Outcome {
    expect(&w, &[("tier=web", &["a"]), ("tier==db", &["b"]), ("tier=none", &[])]).await
}

async fn inequality_finds_objects_without_the_label(w: World) -> Outcome {
    expect(&w, &[("tier!=web", &["b", "c"])]).await
}

async fn sets_name_several_values(w: World) -> Outcome {
    expect(&w, &[("tier in (web,db)", &["a", "b"]), ("env in (test)", &["c"])]).await
}

async fn sets_exclude_several_values(w: World) -> Outcome {
    expect(&w, &[("tier notin (web)", &["b", "c"]), ("env notin (prod, test)", &[])]).await
}

async fn a_key_alone_asks_whether_it_is_there(w: World) -> Outcome {
    expect(&w, &[("tier", &["a", "b"]), ("!tier", &["c"])]).await
}

async fn requirements_are_joined_by_and(w: World) -> Outcome {
    expect(&w, &[("tier,env=prod,tier!=db", &["a"]), ("tier=web,tier=db", &[])]).await
}

async fn an_empty_selector_finds_all(w: World) -> Outcome {
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    equal!(names(&w.secrets().with("labelSelector", "").list().await?.ok()?), ["a"]);
    equal!(names(&w.secrets().with("fieldSelector", "").list().await?.ok()?), ["a"]);
    Ok(())
}

async fn an_empty_value_is_a_value(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"x": ""}))).await?.ok()?;
    w.config_maps().create(&labelled("b", json!({"x": "1"}))).await?.ok()?;
    equal!(names(&w.config_maps().with("labelSelector", "x=").list().await?.ok()?), ["a"]);
    Ok(())
}

async fn a_label_with_a_domain_can_be_selected(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"capstan.dev/x": "1"}))).await?.ok()?;
    equal!(names(&w.config_maps().with("labelSelector", "capstan.dev/x=1").list().await?.ok()?), ["a"]);
    Ok(())
}

async fn a_selector_that_does_not_parse_is_a_bad_request(w: World) -> Outcome {
    for wrong in ["tier in web", "=x", "tier in (", "a b"] {
        w.config_maps().with("labelSelector", wrong).list().await?.refused(400, "BadRequest")?;
    }
    w.config_maps().with("fieldSelector", "metadata.name").list().await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_object_can_be_selected_by_name(w: World) -> Outcome {
    three(&w).await?;
    equal!(names(&w.config_maps().with("fieldSelector", "metadata.name=b").list().await?.ok()?), ["b"]);
    equal!(names(&w.config_maps().with("fieldSelector", "metadata.name==b").list().await?.ok()?), ["b"]);
    let others = w.config_maps().with("fieldSelector", "metadata.name!=b").with("labelSelector", "set");
    equal!(names(&others.list().await?.ok()?), ["a", "c"]);
    Ok(())
}

async fn objects_can_be_selected_by_namespace(w: World) -> Outcome {
    three(&w).await?;
    let all = w.config_maps().in_all_namespaces().with("labelSelector", "set");
    let here = all.with("fieldSelector", format!("metadata.namespace={},metadata.name!=a", w.namespace()));
    equal!(names(&here.list().await?.ok()?), ["b", "c"]);
    Ok(())
}

async fn an_unknown_field_is_a_bad_request(w: World) -> Outcome {
    let status =
        w.config_maps().with("fieldSelector", "data.k=v").list().await?.refused(400, "BadRequest")?;
    check!(status.text("message").contains("data.k"), "{status}");
    Ok(())
}

async fn pods_can_be_selected_by_node_and_phase(w: World) -> Outcome {
    let pods = w.pods().await?;
    let mut on_node = pod("a");
    on_node.set("spec/nodeName", "no-such-node");
    pods.create(&on_node).await?.ok()?;
    pods.create(&pod("b")).await?.ok()?;
    let select = |selector: &str| pods.with("fieldSelector", selector);
    equal!(names(&select("spec.nodeName=no-such-node").list().await?.ok()?), ["a"]);
    equal!(names(&select("spec.nodeName=").list().await?.ok()?), ["b"]);
    equal!(names(&select("status.phase=Pending").list().await?.ok()?), ["a", "b"]);
    equal!(names(&select("status.phase!=Pending").list().await?.ok()?).len(), 0);
    Ok(())
}

async fn secrets_can_be_selected_by_type(w: World) -> Outcome {
    let secret = |name: &str, kind: &str| json!({"metadata": {"name": name}, "type": kind});
    w.secrets().create(&secret("a", "Opaque")).await?.ok()?;
    w.secrets().create(&secret("b", "capstan.dev/other")).await?.ok()?;
    equal!(names(&w.secrets().with("fieldSelector", "type=capstan.dev/other").list().await?.ok()?), ["b"]);
    Ok(())
}

async fn custom_objects_can_be_selected_by_label_and_name(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    for name in ["a", "b"] {
        let mut body = widget(&w, name, json!({}));
        body.set("metadata/labels/x", name);
        widgets.create(&body).await?.ok()?;
    }
    equal!(names(&widgets.with("labelSelector", "x in (b)").list().await?.ok()?), ["b"]);
    equal!(names(&widgets.with("fieldSelector", "metadata.name=a").list().await?.ok()?), ["a"]);
    Ok(())
}

async fn a_changed_label_is_found_at_once(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?;
    equal!(names(&w.config_maps().with("labelSelector", "x=1").list().await?.ok()?), ["a"]);
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": null}}})).await?.ok()?;
    equal!(names(&w.config_maps().with("labelSelector", "x=1").list().await?.ok()?).len(), 0);
    Ok(())
}

cases! { "selectors":
    equality_is_one_or_two_equal_signs,
    inequality_finds_objects_without_the_label,
    sets_name_several_values,
    sets_exclude_several_values,
    a_key_alone_asks_whether_it_is_there,
    requirements_are_joined_by_and,
    an_empty_selector_finds_all,
    an_empty_value_is_a_value,
    a_label_with_a_domain_can_be_selected,
    a_selector_that_does_not_parse_is_a_bad_request,
    an_object_can_be_selected_by_name,
    objects_can_be_selected_by_namespace,
    an_unknown_field_is_a_bad_request,
    pods_can_be_selected_by_node_and_phase,
    secrets_can_be_selected_by_type,
    custom_objects_can_be_selected_by_label_and_name,
    a_changed_label_is_found_at_once,
}
