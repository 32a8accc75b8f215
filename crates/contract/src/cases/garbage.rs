//! Garbage collection: what goes with its owner, what waits for whom, what stays.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    samples::{config_map, owned_by, rule},
};

/// A real cluster's collector learns of a new kind only when it looks at discovery again, every 30 seconds.
const UNTIL_THE_KIND_IS_KNOWN: Duration = Duration::from_secs(120);

const HOLD: &str = "capstan.dev/hold";

async fn owner(w: &World, name: &str) -> Result<Value, Failure> {
    w.config_maps().create(&config_map(name, json!({}))).await?.ok()
}

async fn child(w: &World, name: &str, owners: &[Value]) -> Result<Value, Failure> {
    let mut body = config_map(name, json!({}));
    body.set("metadata/ownerReferences", json!(owners));
    w.config_maps().create(&body).await?.ok()
}

fn blocking(mut owner: Value) -> Value {
    owner.set("blockOwnerDeletion", true);
    owner
}

async fn children_follow_their_owner(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    w.config_maps().delete("owner").await?.ok()?;
    check!(!w.config_maps().exists("owner").await?, "by default the owner goes first");
    w.config_maps().gone("child").await
}

async fn background_deletes_the_owner_first(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    let mut held = config_map("child", json!({}));
    held.set("metadata/ownerReferences", json!([blocking(owned_by(&owner))]));
    held.set("metadata/finalizers", json!([HOLD]));
    w.config_maps().create(&held).await?.ok()?;
    w.config_maps().delete_with("owner", &json!({"propagationPolicy": "Background"})).await?.ok()?;
    check!(!w.config_maps().exists("owner").await?, "the owner waits");
    w.config_maps().until("child", "dying", |child| child.has("metadata/deletionTimestamp")).await?;
    Ok(())
}

async fn grandchildren_follow_too(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    let middle = child(&w, "child", &[owned_by(&owner)]).await?;
    child(&w, "grandchild", &[owned_by(&middle)]).await?;
    w.config_maps().delete("owner").await?.ok()?;
    w.config_maps().gone("child").await?;
    w.config_maps().gone("grandchild").await
}

async fn foreground_deletes_the_children_first(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    let mut held = config_map("child", json!({}));
    held.set("metadata/ownerReferences", json!([blocking(owned_by(&owner))]));
    held.set("metadata/finalizers", json!([HOLD]));
    w.config_maps().create(&held).await?.ok()?;
    w.config_maps().delete_with("owner", &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    let dying = w.config_maps().get("owner").await?.is(200)?;
    equal!(dying.at("metadata/finalizers"), ["foregroundDeletion"]);
    check!(dying.has("metadata/deletionTimestamp"), "{dying}");
    w.config_maps().until("child", "dying", |child| child.has("metadata/deletionTimestamp")).await?;
    check!(w.config_maps().exists("owner").await?, "the owner did not wait");
    w.config_maps().merge("child", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    w.config_maps().gone("child").await?;
    w.config_maps().gone("owner").await
}

async fn foreground_does_not_wait_for_children_that_do_not_block(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    let mut held = config_map("child", json!({}));
    held.set("metadata/ownerReferences", json!([owned_by(&owner)]));
    held.set("metadata/finalizers", json!([HOLD]));
    w.config_maps().create(&held).await?.ok()?;
    w.config_maps().delete_with("owner", &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    w.config_maps().gone("owner").await?;
    w.config_maps().until("child", "dying", |child| child.has("metadata/deletionTimestamp")).await?;
    Ok(())
}

async fn foreground_of_an_owner_without_children_ends(w: World) -> Outcome {
    owner(&w, "owner").await?;
    w.config_maps().delete_with("owner", &json!({"propagationPolicy": "Foreground"})).await?.ok()?;
    w.config_maps().gone("owner").await
}

async fn orphan_leaves_the_children_without_an_owner(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    w.config_maps().delete_with("owner", &json!({"propagationPolicy": "Orphan"})).await?.ok()?;
    w.config_maps().gone("owner").await?;
    let child = w.config_maps().get("child").await?.is(200)?;
    check!(!child.has("metadata/ownerReferences") && !child.has("metadata/deletionTimestamp"), "{child}");
    Ok(())
}

async fn the_policy_can_be_a_query_parameter(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    w.config_maps().with("propagationPolicy", "Orphan").delete("owner").await?.ok()?;
    w.config_maps().until("child", "an orphan", |child| !child.has("metadata/ownerReferences")).await?;
    w.config_maps().gone("owner").await
}

async fn a_child_of_two_stays_until_both_are_gone(w: World) -> Outcome {
    let (one, two) = (owner(&w, "one").await?, owner(&w, "two").await?);
    child(&w, "child", &[owned_by(&one), owned_by(&two)]).await?;
    w.config_maps().delete("one").await?.ok()?;
    let only = |child: &Value| child.list("metadata/ownerReferences").len() == 1;
    let child = w.config_maps().until("child", "one owner left", only).await?;
    equal!(child.text("metadata/ownerReferences/0/name"), "two");
    check!(!child.has("metadata/deletionTimestamp"), "{child}");
    w.config_maps().delete("two").await?.ok()?;
    w.config_maps().gone("child").await
}

async fn a_child_of_an_owner_that_never_was_is_collected(w: World) -> Outcome {
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "11111111-1111-1111-1111-111111111111",
    });
    child(&w, "child", &[owner]).await?;
    w.config_maps().gone("child").await
}

async fn an_owner_of_the_same_name_but_another_uid_is_no_owner(w: World) -> Outcome {
    let mut reference = owned_by(&owner(&w, "owner").await?);
    reference.set("uid", "11111111-1111-1111-1111-111111111111");
    child(&w, "child", &[reference]).await?;
    w.config_maps().gone("child").await?;
    check!(w.config_maps().exists("owner").await?, "the owner is gone");
    Ok(())
}

async fn an_owner_in_another_namespace_is_no_owner(w: World) -> Outcome {
    let other = w.another_namespace().await?;
    let elsewhere =
        w.config_maps().in_namespace(&other).create(&config_map("owner", json!({}))).await?.ok()?;
    child(&w, "child", &[owned_by(&elsewhere)]).await?;
    w.config_maps().gone("child").await
}

async fn a_cluster_scoped_owner_may_have_children_in_a_namespace(w: World) -> Outcome {
    let name = w.unique("owner");
    let body = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [rule(&[""], &["pods"], &["get"])],
    });
    let owner = w.create_cluster("rbac.authorization.k8s.io/v1", "clusterroles", &body).await?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    w.cluster("rbac.authorization.k8s.io/v1", "clusterroles").delete(&name).await?.ok()?;
    w.config_maps().gone("child").await
}

async fn children_of_custom_objects_follow_their_owner(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let owner = widgets.create(&widget(&w, "owner", json!({}))).await?.ok()?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    widgets.delete("owner").await?.ok()?;
    let gone = async || Ok((!w.config_maps().exists("child").await?).then_some(()));
    w.within(UNTIL_THE_KIND_IS_KNOWN, "child is gone", gone).await
}

async fn a_child_whose_owner_lives_is_left_alone(w: World) -> Outcome {
    let owner = owner(&w, "owner").await?;
    child(&w, "child", &[owned_by(&owner)]).await?;
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "11111111-1111-1111-1111-111111111111",
    });
    child(&w, "orphan", &[reference]).await?;
    // The orphan came later: when it is collected, the child has been looked at.
    w.config_maps().gone("orphan").await?;
    check!(w.config_maps().exists("child").await?, "the child is gone");
    Ok(())
}

async fn orphaning_and_a_policy_together_are_refused(w: World) -> Outcome {
    owner(&w, "owner").await?;
    let both = json!({"orphanDependents": true, "propagationPolicy": "Background"});
    w.config_maps().delete_with("owner", &both).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_unknown_policy_is_refused(w: World) -> Outcome {
    owner(&w, "owner").await?;
    let unknown = json!({"propagationPolicy": "Sideways"});
    w.config_maps().delete_with("owner", &unknown).await?.refused(422, "Invalid")?;
    check!(w.config_maps().exists("owner").await?, "it was deleted");
    Ok(())
}

async fn two_controllers_are_refused(w: World) -> Outcome {
    let controlling = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": true});
    let mut body = config_map("child", json!({}));
    body.set("metadata/ownerReferences", json!([controlling("x"), controlling("y")]));
    w.config_maps().create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_owner_reference_needs_kind_name_and_uid(w: World) -> Outcome {
    let whole = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"});
    for missing in ["apiVersion", "kind", "name", "uid"] {
        let mut reference = whole.clone();
        reference.set(missing, "");
        let mut body = config_map("child", json!({}));
        body.set("metadata/ownerReferences", json!([reference]));
        w.config_maps().create(&body).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

cases! { "garbage collection":
    children_follow_their_owner [GarbageCollector],
    background_deletes_the_owner_first [GarbageCollector],
    grandchildren_follow_too [GarbageCollector],
    foreground_deletes_the_children_first [GarbageCollector],
    foreground_does_not_wait_for_children_that_do_not_block [GarbageCollector],
    foreground_of_an_owner_without_children_ends [GarbageCollector],
    orphan_leaves_the_children_without_an_owner [GarbageCollector],
    the_policy_can_be_a_query_parameter [GarbageCollector],
    a_child_of_two_stays_until_both_are_gone [GarbageCollector],
    a_child_of_an_owner_that_never_was_is_collected [GarbageCollector],
    an_owner_of_the_same_name_but_another_uid_is_no_owner [GarbageCollector],
    an_owner_in_another_namespace_is_no_owner [GarbageCollector],
    a_cluster_scoped_owner_may_have_children_in_a_namespace [GarbageCollector],
    children_of_custom_objects_follow_their_owner [GarbageCollector],
    a_child_whose_owner_lives_is_left_alone [GarbageCollector],
    orphaning_and_a_policy_together_are_refused,
    an_unknown_policy_is_refused,
    two_controllers_are_refused,
    an_owner_reference_needs_kind_name_and_uid,
}
