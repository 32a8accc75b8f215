//! Nobody gives away rights that he has not.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    json::{Json, cases, check},
    resource::Resource,
    samples::{role, role_binding, rule},
};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";

/// A user who may write roles and bindings, and has these rules besides; returned when his rights hold.
async fn clerk(w: &World, mut rules: Vec<Value>) -> Result<String, Failure> {
    let user = w.unique("clerk");
    rules.push(rule(&[GROUP], &["roles", "rolebindings"], &["list", "get", "create", "update", "patch"]));
    w.resource(RBAC, "roles").create(&role("clerk", json!(rules))).await?.ok()?;
    w.resource(RBAC, "rolebindings").create(&role_binding("clerk", "Role", "clerk", &user)).await?.ok()?;
    let mine = w.resource(RBAC, "roles").as_user(&user);
    let listed = async || Ok((mine.list().await?.code == 200).then_some(()));
    w.eventually("the clerk may list roles", listed).await?;
    Ok(user)
}

fn roles(w: &World, user: &str) -> Resource {
    w.resource(RBAC, "roles").as_user(user)
}

fn bindings(w: &World, user: &str) -> Resource {
    w.resource(RBAC, "rolebindings").as_user(user)
}

async fn a_role_with_more_rights_cannot_be_created(w: World) -> Outcome {
    let user = clerk(&w, vec![rule(&[""], &["configmaps"], &["get"])]).await?;
    let more = role("more", json!([rule(&[""], &["secrets"], &["get"])]));
    let status = roles(&w, &user).create(&more).await?.refused(403, "Forbidden")?;
    check!(
        status.text("message").contains("attempting to grant RBAC permissions not currently held"),
        "{status}"
    );
    Ok(())
}

async fn a_role_with_ones_own_rights_can_be_created(w: World) -> Outcome {
    let user = clerk(&w, vec![rule(&[""], &["configmaps"], &["get", "list"])]).await?;
    let same = role("same", json!([rule(&[""], &["configmaps"], &["get"])]));
    roles(&w, &user).create(&same).await?.is(201)?;
    Ok(())
}

async fn a_role_cannot_be_widened(w: World) -> Outcome {
    let user = clerk(&w, vec![rule(&[""], &["configmaps"], &["get"])]).await?;
    roles(&w, &user).create(&role("same", json!([rule(&[""], &["configmaps"], &["get"])]))).await?.is(201)?;
    let wider = json!({"rules": [rule(&[""], &["configmaps"], &["get", "delete"])]});
    roles(&w, &user).merge("same", &wider).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_role_with_more_rights_cannot_even_be_labelled(w: World) -> Outcome {
    let user = clerk(&w, Vec::new()).await?;
    w.resource(RBAC, "roles").create(&role("big", json!([rule(&["*"], &["*"], &["*"])]))).await?.ok()?;
    let labels = json!({"metadata": {"labels": {"x": "1"}}});
    roles(&w, &user).merge("big", &labels).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn escalate_lifts_the_bar(w: World) -> Outcome {
    let user = clerk(&w, vec![rule(&[GROUP], &["roles"], &["escalate"])]).await?;
    let more = role("more", json!([rule(&[""], &["secrets"], &["get"])]));
    roles(&w, &user).create(&more).await?.is(201)?;
    Ok(())
}

async fn a_role_with_more_rights_cannot_be_bound(w: World) -> Outcome {
    let user = clerk(&w, Vec::new()).await?;
    w.resource(RBAC, "roles")
        .create(&role("big", json!([rule(&[""], &["secrets"], &["get"])])))
        .await?
        .ok()?;
    let binding = role_binding("mine", "Role", "big", &user);
    bindings(&w, &user).create(&binding).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_role_with_ones_own_rights_can_be_bound(w: World) -> Outcome {
    let user = clerk(&w, vec![rule(&[""], &["configmaps"], &["get"])]).await?;
    w.resource(RBAC, "roles")
        .create(&role("same", json!([rule(&[""], &["configmaps"], &["get"])])))
        .await?
        .ok()?;
    let binding = role_binding("theirs", "Role", "same", "somebody");
    let bound = async || Ok((bindings(&w, &user).create(&binding).await?.code == 201).then_some(()));
    w.eventually("the binding is accepted", bound).await
}

async fn bind_lifts_the_bar(w: World) -> Outcome {
    let mut may_bind = rule(&[GROUP], &["roles"], &["bind"]);
    may_bind.set("resourceNames", json!(["big"]));
    let user = clerk(&w, vec![may_bind]).await?;
    for name in ["big", "other"] {
        w.resource(RBAC, "roles")
            .create(&role(name, json!([rule(&[""], &["secrets"], &["get"])])))
            .await?
            .ok()?;
    }
    bindings(&w, &user).create(&role_binding("mine", "Role", "big", "somebody")).await?.is(201)?;
    let other = role_binding("more", "Role", "other", "somebody");
    bindings(&w, &user).create(&other).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn what_a_binding_binds_is_fixed(w: World) -> Outcome {
    let binding = role_binding("b", "Role", "one", "somebody");
    w.resource(RBAC, "rolebindings").create(&binding).await?.is(201)?;
    let patch = json!({"roleRef": {"name": "two"}});
    w.resource(RBAC, "rolebindings").merge("b", &patch).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_rule_needs_verbs_and_resources(w: World) -> Outcome {
    let roles = w.resource(RBAC, "roles");
    roles
        .create(&role("a", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": []}])))
        .await?
        .refused(422, "Invalid")?;
    roles
        .create(&role("a", json!([{"apiGroups": [""], "verbs": ["get"]}])))
        .await?
        .refused(422, "Invalid")?;
    let path = json!([{"nonResourceURLs": ["/x"], "verbs": ["get"]}]);
    roles.create(&role("a", path)).await?.refused(422, "Invalid")?;
    Ok(())
}

cases! { "escalation":
    a_role_with_more_rights_cannot_be_created [Impersonation],
    a_role_with_ones_own_rights_can_be_created [Impersonation],
    a_role_cannot_be_widened [Impersonation],
    a_role_with_more_rights_cannot_even_be_labelled [Impersonation],
    escalate_lifts_the_bar [Impersonation],
    a_role_with_more_rights_cannot_be_bound [Impersonation],
    a_role_with_ones_own_rights_can_be_bound [Impersonation],
    bind_lifts_the_bar [Impersonation],
    what_a_binding_binds_is_fixed,
    a_rule_needs_verbs_and_resources,
}
