//! What the objects of a cluster look like, in full.

use std::collections::BTreeMap;

use etcd_core::{Before, ClaimWish, ClusterId, Latch, Record, Serial, Stage, Start, Template};
use etcd_types::EtcdCluster;
use expect_test::{Expect, expect};
use k8s_openapi::api::apps::v1::StatefulSet;
use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::names;

fn cluster(spec: Value) -> EtcdCluster {
    serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1",
        "kind": "EtcdCluster",
        "metadata": {"name": "db", "namespace": "prod", "uid": "u-1"},
        "spec": spec,
    }))
    .unwrap()
}

fn template(cluster: &EtcdCluster, start: Start) -> Template {
    let spec = &cluster.spec;
    Template {
        version: spec.version.parse().unwrap(),
        image: format!("quay.io/coreos/etcd:v{}", spec.version),
        args: vec!["--quota-backend-bytes=1".into()],
        pod: spec.pod.clone(),
        tls: spec.tls.clone(),
        medium: spec.storage.medium,
        memory: Some(spec.storage.size.clone()),
        start,
    }
}

fn set(cluster: &EtcdCluster, start: Start) -> StatefulSet {
    stateful_set(cluster, Serial(2), &template(cluster, start))
}

fn arguments(set: &StatefulSet) -> Vec<String> {
    set.spec.template.spec.clone().unwrap().containers[0].args.clone().unwrap()
}

/// Everything but what is the same for all.
fn check(object: &impl Serialize, expected: Expect) {
    let mut value = serde_json::to_value(object).unwrap();
    value["metadata"].as_object_mut().unwrap().remove("labels");
    value["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    expected.assert_eq(&serde_saphyr::to_string(&value).unwrap());
}

#[test]
fn the_pod_of_a_member() {
    let mut set = set(&cluster(json!({"version": "3.6.16"})), Start::Started);
    set.metadata.annotations = None;
    check(
        &set,
        expect![[r#"
        apiVersion: apps/v1
        kind: StatefulSet
        metadata:
          name: db-2
          namespace: prod
        spec:
          replicas: 1
          revisionHistoryLimit: 1
          selector:
            matchLabels:
              app.kubernetes.io/instance: db
              app.kubernetes.io/name: etcd
              etcd.capstan.dev/cluster: db
              etcd.capstan.dev/member: db-2
          serviceName: db-peer
          template:
            metadata:
              annotations:
                etcd.capstan.dev/cluster-uid: u-1
                etcd.capstan.dev/start: 66967c3c8b
                etcd.capstan.dev/template: 5267522fe7
              labels:
                app.kubernetes.io/instance: db
                app.kubernetes.io/managed-by: capstan
                app.kubernetes.io/name: etcd
                etcd.capstan.dev/cluster: db
                etcd.capstan.dev/member: db-2
            spec:
              affinity:
                podAntiAffinity:
                  preferredDuringSchedulingIgnoredDuringExecution:
                  - podAffinityTerm:
                      labelSelector:
                        matchLabels:
                          app.kubernetes.io/instance: db
                          app.kubernetes.io/name: etcd
                          etcd.capstan.dev/cluster: db
                      topologyKey: topology.kubernetes.io/zone
                    weight: 100
              automountServiceAccountToken: false
              containers:
              - args:
                - --quota-backend-bytes=1
                - --name=db-2
                - --data-dir=/var/lib/etcd/data
                - --listen-client-urls=https://0.0.0.0:2379
                - --advertise-client-urls=https://db-2-0.db-peer.prod.svc:2379
                - --listen-peer-urls=https://0.0.0.0:2380
                - --initial-advertise-peer-urls=https://db-2-0.db-peer.prod.svc:2380
                - --listen-metrics-urls=http://0.0.0.0:2381
                - --initial-cluster-token=u-1
                - --initial-cluster-state=existing
                - --initial-cluster=db-2=https://db-2-0.db-peer.prod.svc:2380
                - --cert-file=/etc/etcd/server/tls.crt
                - --key-file=/etc/etcd/server/tls.key
                - --trusted-ca-file=/etc/etcd/server/ca.crt
                - --client-cert-auth=true
                - --peer-cert-file=/etc/etcd/peer/tls.crt
                - --peer-key-file=/etc/etcd/peer/tls.key
                - --peer-trusted-ca-file=/etc/etcd/peer/ca.crt
                - --peer-client-cert-auth=true
                - --peer-cert-allowed-cn=etcd-peer
                - --peer-skip-client-san-verification=true
                command:
                - etcd
                image: quay.io/coreos/etcd:v3.6.16
                livenessProbe:
                  failureThreshold: 6
                  httpGet:
                    path: /livez?exclude=serializable_read
                    port: 2381
                  periodSeconds: 5
                  terminationGracePeriodSeconds: 5
                  timeoutSeconds: 5
                name: etcd
                ports:
                - containerPort: 2379
                  name: client
                  protocol: TCP
                - containerPort: 2380
                  name: peer
                  protocol: TCP
                - containerPort: 2381
                  name: metrics
                  protocol: TCP
                readinessProbe:
                  failureThreshold: 3
                  httpGet:
                    path: /readyz
                    port: 2381
                  periodSeconds: 1
                  timeoutSeconds: 2
                securityContext:
                  allowPrivilegeEscalation: false
                  capabilities:
                    drop:
                    - ALL
                  readOnlyRootFilesystem: true
                startupProbe:
                  failureThreshold: 1800
                  httpGet:
                    path: /livez
                    port: 2381
                  periodSeconds: 1
                  timeoutSeconds: 5
                terminationMessagePolicy: FallbackToLogsOnError
                volumeMounts:
                - mountPath: /var/lib/etcd
                  name: data
                - mountPath: /etc/etcd/server
                  name: server-tls
                  readOnly: true
                - mountPath: /etc/etcd/peer
                  name: peer-tls
                  readOnly: true
              enableServiceLinks: false
              securityContext:
                fsGroup: 65532
                fsGroupChangePolicy: OnRootMismatch
                runAsGroup: 65532
                runAsNonRoot: true
                runAsUser: 65532
                seccompProfile:
                  type: RuntimeDefault
              serviceAccountName: db
              terminationGracePeriodSeconds: 30
              topologySpreadConstraints:
              - labelSelector:
                  matchLabels:
                    app.kubernetes.io/instance: db
                    app.kubernetes.io/name: etcd
                    etcd.capstan.dev/cluster: db
                maxSkew: 1
                topologyKey: kubernetes.io/hostname
                whenUnsatisfiable: ScheduleAnyway
              volumes:
              - name: data
                persistentVolumeClaim:
                  claimName: db-2
              - name: server-tls
                secret:
                  defaultMode: 288
                  secretName: db-server-tls
              - name: peer-tls
                secret:
                  defaultMode: 288
                  secretName: db-peer-tls
          updateStrategy:
            type: OnDelete
    "#]],
    );
}

#[test]
fn what_the_user_says_about_pods_is_in_them() {
    let pod = json!({
        "labels": {"team": "a", "etcd.capstan.dev/cluster": "not mine"},
        "annotations": {"note": "b"},
        "resources": {"requests": {"cpu": "1"}},
        "nodeSelector": {"disk": "ssd"},
        "topologySpreadConstraints": [],
        "env": [{"name": "GOMAXPROCS", "value": "2"}],
        "priorityClassName": "high",
    });
    let storage = json!({"medium": "Memory", "size": "1Gi"});
    let spec = json!({"version": "3.6.16", "tls": {"mode": "Off"}, "storage": storage, "pod": pod});
    let template = set(&cluster(spec), Start::Started).spec.template;
    let labels = template.metadata.as_ref().unwrap().labels.clone().unwrap();
    assert_eq!((labels["team"].as_str(), labels["etcd.capstan.dev/cluster"].as_str()), ("a", "db"));
    assert_eq!(template.metadata.unwrap().annotations.unwrap()["note"], "b");
    let pod = template.spec.unwrap();
    assert_eq!(pod.topology_spread_constraints, Some(vec![]));
    assert_eq!(pod.priority_class_name.as_deref(), Some("high"));
    assert_eq!(pod.node_selector.unwrap()["disk"], "ssd");
    let volumes = pod.volumes.unwrap();
    assert_eq!(volumes.len(), 1, "no certificates without TLS");
    assert_eq!(volumes[0].empty_dir.as_ref().unwrap().medium.as_deref(), Some("Memory"));
    assert_eq!(pod.containers[0].env.as_ref().unwrap()[0].name, "GOMAXPROCS");
}

#[test]
fn the_services_the_budget_the_identity_and_the_account() {
    let cluster = cluster(json!({"version": "3.6.16"}));
    check(
        &client_service(&cluster, Access::Open),
        expect![[r#"
        apiVersion: v1
        kind: Service
        metadata:
          name: db-client
          namespace: prod
        spec:
          ports:
          - name: client
            port: 2379
            protocol: TCP
            targetPort: 2379
          selector:
            app.kubernetes.io/instance: db
            app.kubernetes.io/name: etcd
            etcd.capstan.dev/cluster: db
    "#]],
    );
    check(
        &peer_service(&cluster),
        expect![[r#"
        apiVersion: v1
        kind: Service
        metadata:
          name: db-peer
          namespace: prod
        spec:
          clusterIP: None
          ports:
          - name: peer
            port: 2380
            protocol: TCP
            targetPort: 2380
          - name: client
            port: 2379
            protocol: TCP
            targetPort: 2379
          - name: metrics
            port: 2381
            protocol: TCP
            targetPort: 2381
          publishNotReadyAddresses: true
          selector:
            app.kubernetes.io/instance: db
            app.kubernetes.io/name: etcd
            etcd.capstan.dev/cluster: db
    "#]],
    );
    check(
        &budget(&cluster, 3),
        expect![[r#"
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata:
          name: db
          namespace: prod
        spec:
          minAvailable: 3
          selector:
            matchLabels:
              app.kubernetes.io/instance: db
              app.kubernetes.io/name: etcd
              etcd.capstan.dev/cluster: db
          unhealthyPodEvictionPolicy: AlwaysAllow
    "#]],
    );
    let latch = Latch {
        cluster_id: Some(ClusterId(0x9d3f)),
        latest_serial: 3,
        founders: vec![Serial(1), Serial(2)],
        ..Latch::default()
    };
    let live = identity(&cluster, &latch);
    check(
        &live,
        expect![[r#"
        apiVersion: v1
        data:
          clusterID: 9d3f
          founders: 1,2
          latestSerial: "3"
          uid: u-1
        kind: ConfigMap
        metadata:
          name: db-identity
          namespace: prod
    "#]],
    );
    assert_eq!(super::latch(&cluster, &live), Some(latch.clone()));
    let record = Record {
        name: Some("back".into()),
        uid: "u-9".into(),
        label: "the backup nightly".into(),
        seed: Serial(4),
        version: "3.6.16".parse().unwrap(),
        bump: Some(7),
        to_point: true,
        backup: None,
        before: Some(Before { cluster_id: ClusterId(0x9d3f), members: vec![Serial(1)] }),
        stage: Stage::Returning { why: "it does not start".into() },
    };
    let restoring = Latch { restore: Some(record), restored: ["u-8".to_owned()].into(), ..latch };
    assert_eq!(
        super::latch(&cluster, &identity(&cluster, &restoring)),
        Some(restoring),
        "read as it was written"
    );
    check(
        &account(&cluster),
        expect![[r#"
        apiVersion: v1
        automountServiceAccountToken: false
        kind: ServiceAccount
        metadata:
          name: db
          namespace: prod
    "#]],
    );
}

#[test]
fn how_a_member_comes_in_is_in_its_arguments() {
    let cluster = cluster(json!({"version": "3.5.35"}));
    let members = [("db-1", "https://a:2380"), ("db-2", "https://b:2380")];
    let members: BTreeMap<String, String> =
        members.map(|(name, url)| (name.to_owned(), url.to_owned())).into();
    let initial = |start: Start| {
        let arguments = arguments(&set(&cluster, start));
        let initial: Vec<String> =
            arguments.into_iter().filter(|flag| flag.starts_with("--initial-cluster")).collect();
        initial.join(" ")
    };
    expect!["--initial-cluster-token=u-1 --initial-cluster-state=new --initial-cluster=db-1=https://a:2380,db-2=https://b:2380"].assert_eq(&initial(Start::Found { members: members.clone() }));
    expect!["--initial-cluster-token=u-1 --initial-cluster-state=existing --initial-cluster=db-1=https://a:2380,db-2=https://b:2380"].assert_eq(&initial(Start::Join { members }));
    expect!["--initial-cluster-token=u-1 --initial-cluster-state=existing --initial-cluster=db-2=https://db-2-0.db-peer.prod.svc:2380"].assert_eq(&initial(Start::Started));
    let started = set(&cluster, Start::Started);
    assert!(
        arguments(&started).contains(&"--experimental-peer-skip-client-san-verification=true".to_owned())
    );
    assert_eq!(template_of(&started), Some(template(&cluster, Start::Started)));
}

#[test]
fn only_the_first_pod_of_a_member_that_joins_needs_us_to_be_ready() {
    let cluster = cluster(json!({"version": "3.6.16"}));
    let gates = |start: Start| set(&cluster, start).spec.template.spec.unwrap().readiness_gates;
    let members = BTreeMap::from([("db-2".to_owned(), "https://b:2380".to_owned())]);
    assert_eq!(gates(Start::Found { members: members.clone() }), None);
    assert_eq!(gates(Start::Started), None);
    let gates = gates(Start::Join { members }).unwrap();
    assert_eq!(gates.iter().map(|gate| gate.condition_type.as_str()).collect::<Vec<_>>(), [names::SERVES]);
}

#[test]
fn a_claim_is_nobodys_says_what_it_holds_and_keeps_its_size() {
    let wish = ClaimWish {
        create: true,
        cluster_id: Some(ClusterId(0x9d3f)),
        version: "3.6.16".parse().ok(),
        started: "3.7.3".parse().ok(),
        ..ClaimWish::of(Serial(1))
    };
    let small = cluster(json!({"version": "3.6.16", "storage": {"size": "4Gi", "storageClassName": "fast"}}));
    let live = claim(&small, &wish, &small.spec.storage, None);
    check(
        &live,
        expect![[r#"
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata:
              annotations:
                etcd.capstan.dev/cluster-id: 9d3f
                etcd.capstan.dev/cluster-uid: u-1
                etcd.capstan.dev/started-version: "3.7.3"
                etcd.capstan.dev/tls: "true"
                etcd.capstan.dev/version: "3.6.16"
              name: db-1
              namespace: prod
            spec:
              accessModes:
              - ReadWriteOnce
              resources:
                requests:
                  storage: 4Gi
              storageClassName: fast
        "#]],
    );
    assert_eq!(live.metadata.owner_references, None);
    let large = cluster(json!({"version": "3.6.16", "storage": {"size": "9Gi"}}));
    assert_eq!(claim(&large, &wish, &large.spec.storage, Some(&live)).spec, live.spec);
    let grown = ClaimWish { resize: Some(large.spec.storage.size.clone()), ..wish };
    let grown = claim(&large, &grown, &large.spec.storage, Some(&live)).spec.unwrap();
    assert_eq!(grown.resources.unwrap().requests.unwrap()["storage"].0, "9Gi");
    assert_eq!(grown.storage_class_name.as_deref(), Some("fast"));
}

#[test]
fn the_network_policy_lets_in_members_clients_and_the_operator() {
    let cluster = cluster(json!({"version": "3.6.16", "networkPolicy": {}}));
    let options = cluster.spec.network_policy.clone().unwrap();
    check(
        &network_policy(&cluster, &options, "capstan-system"),
        expect![[r#"
        apiVersion: networking.k8s.io/v1
        kind: NetworkPolicy
        metadata:
          name: db
          namespace: prod
        spec:
          ingress:
          - from:
            - podSelector:
                matchLabels:
                  app.kubernetes.io/instance: db
                  app.kubernetes.io/name: etcd
                  etcd.capstan.dev/cluster: db
            ports:
            - port: 2380
              protocol: TCP
          - from:
            - podSelector: {}
            - podSelector:
                matchLabels:
                  app.kubernetes.io/instance: db
                  app.kubernetes.io/name: etcd
                  etcd.capstan.dev/cluster: db
            - namespaceSelector:
                matchLabels:
                  kubernetes.io/metadata.name: capstan-system
              podSelector:
                matchLabels:
                  app.kubernetes.io/name: capstan
            - podSelector:
                matchExpressions:
                - key: app.kubernetes.io/name
                  operator: In
                  values:
                  - etcd-backup
                  - etcd-restore
                matchLabels:
                  etcd.capstan.dev/cluster: db
            ports:
            - port: 2379
              protocol: TCP
          - ports:
            - port: 2381
              protocol: TCP
          podSelector:
            matchLabels:
              app.kubernetes.io/instance: db
              app.kubernetes.io/name: etcd
              etcd.capstan.dev/cluster: db
          policyTypes:
          - Ingress
    "#]],
    );
}

#[test]
fn members_mount_the_copies_of_what_users_provide() {
    let mounted = |peer: &str| {
        let secrets = json!({"peer": peer, "server": "own-server", "operator": "own-operator"});
        let spec = json!({"version": "3.6.16", "tls": {"mode": "Secrets", "secrets": secrets}});
        let set = set(&cluster(spec), Start::Started);
        let volumes = set.spec.template.spec.unwrap().volumes.unwrap();
        volumes.into_iter().filter_map(|volume| volume.secret?.secret_name).collect::<Vec<_>>()
    };
    assert_eq!(mounted("own-peer"), ["db-server-tls", "db-peer-tls"]);
    assert_eq!(mounted("db-peer-tls"), ["db-server-tls", "db-peer-tls-copy"], "that one is the user's");
}

#[test]
fn the_trust_of_a_member_is_recorded_on_its_pods() {
    let cluster = cluster(json!({"version": "3.6.16"}));
    let recorded = |set: &StatefulSet| {
        let annotations = set.spec.template.metadata.clone().unwrap().annotations.unwrap();
        annotations.get(names::CLIENT_TRUST).cloned()
    };
    let mut first = set(&cluster, Start::Started);
    let record = [names::CLIENT_TRUST, names::PEER_TRUST].map(|name| (name.to_owned(), "a".to_owned()));
    record_trust(&mut first, None, record.into());
    assert_eq!(recorded(&first).as_deref(), Some("a"));
    let mut next = set(&cluster, Start::Started);
    record_trust(&mut next, Some(&first), BTreeMap::new());
    assert_eq!(recorded(&next).as_deref(), Some("a"), "what is not known now was known before");
}
