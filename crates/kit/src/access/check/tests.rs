//! Requests against declarations: what is missing, what is left over.

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, Namespace},
};

use super::{
    super::{Install, Watched, manifests, of_events, of_lease, rules},
    *,
};

#[test]
fn requests_are_read_as_rbac_reads_them() {
    let cases = [
        ("GET", "/api/v1/pods", Some("list pods in '' named ''")),
        ("GET", "/api/v1/namespaces/a/pods?watch=true&resourceVersion=5", Some("watch pods in 'a' named ''")),
        ("GET", "/api/v1/namespaces/a/pods/p", Some("get pods in 'a' named 'p'")),
        ("GET", "/api/v1/namespaces/a", Some("get namespaces in '' named 'a'")),
        ("PUT", "/api/v1/namespaces/a/finalize", Some("update namespaces/finalize in '' named 'a'")),
        (
            "POST",
            "/apis/events.k8s.io/v1/namespaces/a/events",
            Some("create events.k8s.io events in 'a' named ''"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/statefulsets/s/status",
            Some("patch apps statefulsets/status in 'a' named 's'"),
        ),
        (
            "PUT",
            "/apis/apps/v1/namespaces/a/statefulsets/s/scale",
            Some("update apps statefulsets/scale in 'a' named 's'"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/statefulsets/s?&fieldManager=x",
            Some("patch apps statefulsets in 'a' named 's'"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/statefulsets/s?&force=true&fieldManager=x",
            Some("create+patch apps statefulsets in 'a' named 's'"),
        ),
        ("DELETE", "/api/v1/namespaces/a/pods", Some("deletecollection pods in 'a' named ''")),
        ("DELETE", "/api/v1/namespaces/a/pods/p", Some("delete pods in 'a' named 'p'")),
        (
            "GET",
            "/api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dtls&watch=1",
            Some("watch secrets in 'a' named 'tls'"),
        ),
        ("GET", "/version", None),
        ("GET", "/apis/apps/v1", None),
        ("GET", "/apis", None),
    ];
    for (method, path, want) in cases {
        let read = Request::parse(method, path).map(|request| {
            let verbs: Vec<&str> = request.verbs.iter().map(|verb| verb.as_str()).collect();
            let group = if request.group.is_empty() { String::new() } else { format!("{} ", request.group) };
            format!(
                "{} {group}{} in '{}' named '{}'",
                verbs.join("+"),
                request.resource,
                request.namespace,
                request.name
            )
        });
        assert_eq!(read.as_deref(), want, "{method} {path}");
    }
}

fn standard(lease: &str) -> Vec<Access> {
    [of_lease(&crate::lead::Election::new("capstan", lease)), of_events()].concat()
}

fn report(requests: &[(&str, &str)], declared: &[Access]) -> (Vec<String>, Vec<String>) {
    let requests: Vec<Request> =
        requests.iter().filter_map(|(method, path)| Request::parse(method, path)).collect();
    let Report { missing, unused } = check(&requests, declared, "capstan");
    (missing.iter().map(ToString::to_string).collect(), unused.iter().map(ToString::to_string).collect())
}

#[test]
fn what_was_declared_and_done_matches() {
    let declared =
        [Access::apply::<StatefulSet>(), Access::watch::<StatefulSet>(), Access::owner::<StatefulSet>()];
    let requests = [
        ("GET", "/apis/apps/v1/statefulsets"),
        ("GET", "/apis/apps/v1/statefulsets?watch=true"),
        ("GET", "/apis/apps/v1/namespaces/a/statefulsets/s"),
        ("PATCH", "/apis/apps/v1/namespaces/a/statefulsets/s?&force=true&fieldManager=x"),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("GET", "/version"),
    ];
    assert_eq!(report(&requests, &declared), (vec![], vec![]));
}

#[test]
fn a_verb_that_nobody_declared_is_told_once() {
    let (missing, unused) = report(
        &[
            ("DELETE", "/apis/apps/v1/namespaces/a/statefulsets/s"),
            ("DELETE", "/apis/apps/v1/namespaces/b/statefulsets/t"),
            ("PATCH", "/apis/apps/v1/namespaces/a/statefulsets/s/status"),
            ("GET", "/api/v1/nodes"),
        ],
        &[Access::watch::<StatefulSet>()],
    );
    assert_eq!(
        missing,
        [
            "the operator did delete statefulsets (apps) a/s, which it does not declare: add it to its accesses",
            "the operator did patch statefulsets/status (apps) a/s, which it does not declare: add it to its accesses",
            "the operator did list nodes (core), which it does not declare: add it to its accesses",
        ]
    );
    assert_eq!(unused, ["the operator may list, watch statefulsets (apps), but never did"]);
}

#[test]
fn an_apply_takes_create_as_well() {
    let patch = Access::to(&crate::KindId::of::<ConfigMap>(), [Verb::Patch]);
    let (missing, _) = report(&[("PATCH", "/api/v1/namespaces/a/configmaps/c?force=true")], &[patch]);
    assert_eq!(
        missing,
        ["the operator did create configmaps (core) a/c, which it does not declare: add it to its accesses"]
    );
}

#[test]
fn names_and_the_own_namespace_are_limits() {
    let declared = standard("etcd-operator");
    let (missing, unused) = report(
        &[
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/capstan/leases/etcd-operator"),
            ("POST", "/apis/coordination.k8s.io/v1/namespaces/capstan/leases"),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/capstan/leases/other"),
            ("POST", "/apis/coordination.k8s.io/v1/namespaces/elsewhere/leases"),
        ],
        &declared,
    );
    assert_eq!(
        missing,
        [
            "the operator did update leases (coordination.k8s.io) capstan/other, which it does not declare: add it to its accesses",
            "the operator did create leases (coordination.k8s.io) in elsewhere, which it does not declare: add it to its accesses",
        ]
    );
    assert_eq!(
        unused,
        [
            "the operator may update leases (coordination.k8s.io), but never did",
            "the operator may create, patch events (events.k8s.io), but never did",
        ]
    );
}

#[test]
fn the_rules_are_the_fewest_that_say_the_same() {
    let declared = [
        Access::watch::<StatefulSet>(),
        Access::watch::<StatefulSet>(),
        Access::to(&crate::KindId::of::<StatefulSet>(), [Verb::List]).named(["one"]),
        Access::to(&crate::KindId::of::<StatefulSet>(), [Verb::Delete, Verb::Create]).named(["one"]),
        Access::new("apps", "deployments", [Verb::Watch, Verb::List], Reach::Watched),
    ];
    let said: Vec<String> = rules(&declared)
        .into_iter()
        .map(|rule| {
            format!(
                "{:?} {:?} {:?}",
                rule.resources.unwrap(),
                rule.verbs,
                rule.resource_names.unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        said,
        [
            r#"["deployments"] ["list", "watch"] []"#,
            r#"["statefulsets"] ["list", "watch", "create"] []"#,
            r#"["statefulsets"] ["delete"] ["one"]"#,
        ]
    );
}

fn install(watched: Watched) -> Install {
    let service_account = "etcd-operator".to_owned();
    Install { name: "etcd-operator".into(), namespace: "capstan".into(), service_account, watched }
}

#[test]
fn an_operator_of_all_namespaces_gets_a_cluster_role_and_a_role_at_home() {
    let mut declared = standard("etcd-operator");
    declared.extend([Access::watch::<ConfigMap>(), Access::watch::<Namespace>()]);
    expect_test::expect![[r#"
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: etcd-operator
        rules:
        - apiGroups:
          - ""
          resources:
          - configmaps
          - namespaces
          verbs:
          - list
          - watch
        - apiGroups:
          - events.k8s.io
          resources:
          - events
          verbs:
          - create
          - patch
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata:
          name: etcd-operator
        roleRef:
          apiGroup: rbac.authorization.k8s.io
          kind: ClusterRole
          name: etcd-operator
        subjects:
        - kind: ServiceAccount
          name: etcd-operator
          namespace: capstan
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata:
          name: etcd-operator-home
          namespace: capstan
        rules:
        - apiGroups:
          - coordination.k8s.io
          resources:
          - leases
          verbs:
          - create
        - apiGroups:
          - coordination.k8s.io
          resourceNames:
          - etcd-operator
          resources:
          - leases
          verbs:
          - get
          - update
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata:
          name: etcd-operator-home
          namespace: capstan
        roleRef:
          apiGroup: rbac.authorization.k8s.io
          kind: Role
          name: etcd-operator-home
        subjects:
        - kind: ServiceAccount
          name: etcd-operator
          namespace: capstan
    "#]]
    .assert_eq(&manifests(&declared, &install(Watched::All)).to_yaml().unwrap());
}

#[test]
fn an_operator_of_some_namespaces_gets_a_role_in_each() {
    let mut declared = standard("etcd-operator");
    declared.extend([Access::watch::<ConfigMap>(), Access::watch::<Namespace>()]);
    let only = Watched::Only(["a".to_owned(), "b".to_owned()].into());
    let manifests = manifests(&declared, &install(only));
    let names: Vec<String> = manifests.roles.iter().map(|role| crate::Key::of(role).to_string()).collect();
    assert_eq!(names, ["a/etcd-operator", "b/etcd-operator", "capstan/etcd-operator-home"]);
    assert_eq!(manifests.role_bindings.len(), 3);
    let cluster = manifests.cluster_roles[0].rules.clone().unwrap();
    assert_eq!(cluster.len(), 1, "only what is outside of namespaces");
    assert_eq!(cluster[0].resources, Some(vec!["namespaces".to_owned()]));
    assert_eq!(manifests.cluster_role_bindings[0].role_ref.kind, "ClusterRole");
}
