//! RBAC decisions, as a table.

use serde_json::{Value, json};

use super::*;
use crate::{Expect, ObjectId};

fn store() -> Store {
    let store = Store::new();
    let put = |plural: &str, namespace: &str, object: Value| {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let id = ObjectId::new("rbac.authorization.k8s.io", plural, namespace, &name);
        store.commit(&id, Expect::Absent, Some(object)).unwrap();
    };
    for object in bootstrap() {
        let plural = if object["kind"] == "ClusterRole" { "clusterroles" } else { "clusterrolebindings" };
        put(plural, "", object);
    }
    let subject =
        |kind: &str, name: &str, namespace: &str| json!({"kind": kind, "name": name, "namespace": namespace});
    put(
        "clusterroles",
        "",
        json!({"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["update"]}]}),
    );
    put(
        "roles",
        "a",
        json!({"metadata": {"name": "one-secret"}, "rules": [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get"]}]}),
    );
    put(
        "rolebindings",
        "a",
        json!({"metadata": {"name": "ann-reads"}, "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [subject("User", "ann", "")]}),
    );
    put(
        "rolebindings",
        "a",
        json!({"metadata": {"name": "bot"}, "roleRef": {"kind": "Role", "name": "one-secret"},
        "subjects": [subject("ServiceAccount", "bot", "b")]}),
    );
    put(
        "clusterrolebindings",
        "",
        json!({"metadata": {"name": "team"}, "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [subject("Group", "team", "")]}),
    );
    put(
        "rolebindings",
        "a",
        json!({"metadata": {"name": "dangling"}, "roleRef": {"kind": "Role", "name": "gone"},
        "subjects": [subject("User", "ann", "")]}),
    );
    store
}

fn wants(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> Attributes {
    Attributes::Resource {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

#[test]
fn bindings_give_what_their_roles_say_and_nothing_more() {
    let store = store();
    let (ann, bot) = (User::named("ann"), User::named("system:serviceaccount:b:bot"));
    let team = User::named("eve").in_group("team");
    let rows = [
        (&ann, wants("list", "", "pods", "a", ""), true),
        (&ann, wants("get", "", "pods/log", "a", "x"), true),
        (&ann, wants("get", "", "pods/status", "a", "x"), false),
        (&ann, wants("list", "", "pods", "b", ""), false),
        (&ann, wants("list", "", "pods", "", ""), false),
        (&ann, wants("delete", "", "pods", "a", "x"), false),
        (&ann, wants("list", "apps", "pods", "a", ""), false),
        (&ann, wants("update", "apps", "deployments/scale", "a", "x"), true),
        (&ann, wants("update", "apps", "deployments", "a", "x"), false),
        (&bot, wants("get", "", "secrets", "a", "tls"), true),
        (&bot, wants("get", "", "secrets", "a", "other"), false),
        (&bot, wants("list", "", "secrets", "a", ""), false),
        (&bot, wants("get", "", "secrets", "b", "tls"), false),
        (&team, wants("list", "", "pods", "", ""), true),
        (&team, wants("list", "", "pods", "anywhere", ""), true),
    ];
    for (user, wanted, expected) in rows {
        assert_eq!(is_allowed(&store, user, &wanted), expected, "{} {wanted:?}", user.name);
    }
    assert!(is_allowed(&store, &User::admin(), &wants("anything", "x", "y", "", "")));
}

#[test]
fn everybody_known_may_discover_and_ask_about_themselves() {
    let store = store();
    let path = |path: &str| Attributes::Path { verb: "get".into(), path: path.into() };
    assert!(is_allowed(&store, &User::named("ann"), &path("/apis/apps/v1")));
    assert!(!is_allowed(&store, &User::named("ann"), &path("/metrics")));
    assert!(is_allowed(&store, &User::named("system:anonymous"), &path("/version")));
    assert!(!is_allowed(&store, &User::named("system:anonymous"), &path("/apis")));
    let review = wants("create", "authorization.k8s.io", "selfsubjectaccessreviews", "", "");
    assert!(is_allowed(&store, &User::named("ann"), &review));
}

#[test]
fn a_refusal_says_who_may_not_do_what_where() {
    let store = store();
    let refused =
        check(&store, &User::named("ann"), &wants("delete", "apps", "statefulsets", "a", "db")).unwrap_err();
    assert_eq!(
        refused.message,
        "statefulsets.apps \"db\" is forbidden: User \"ann\" cannot delete resource \"statefulsets\" in API group \"apps\" \
         in the namespace \"a\""
    );
    let refused = check(&store, &User::named("ann"), &wants("list", "", "nodes", "", "")).unwrap_err();
    assert_eq!(
        refused.message,
        "nodes is forbidden: User \"ann\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"
    );
}

#[test]
fn a_rule_covers_what_is_narrower_never_what_is_wider() {
    let rule = |json: Value| Rule::parse(&json);
    let own = rule(json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}));
    let named =
        rule(json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["x"], "verbs": ["get"]}));
    let wider = rule(json!({"apiGroups": [""], "resources": ["*"], "verbs": ["get"]}));
    let all = rule(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}));
    assert!(own.covers(&named) && all.covers(&wider) && own.atoms().iter().all(|atom| own.covers(atom)));
    assert!(!named.covers(&rule(json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}))));
    assert!(!own.covers(&wider) && !own.covers(&all));
}

#[test]
fn impersonation_needs_the_permission_and_brings_the_implied_groups() {
    let store = store();
    let mut headers = http::HeaderMap::new();
    headers.insert("impersonate-user", "system:serviceaccount:b:bot".parse().unwrap());
    let bot = impersonated(&store, User::admin(), &headers).unwrap();
    assert_eq!(bot, User::named("system:serviceaccount:b:bot"));
    assert!(bot.groups.contains(&"system:serviceaccounts:b".to_owned()));
    assert_eq!(impersonated(&store, User::named("ann"), &headers).unwrap_err().code, 403);
    headers.append("impersonate-group", "team".parse().unwrap());
    let grouped = impersonated(&store, User::admin(), &headers).unwrap();
    assert_eq!(grouped.groups, ["team", "system:authenticated"]);
}
