//! What members were made from by operators that are out there. A new operator that comes to another fingerprint for the same spec
//! restarts every member of every cluster; one that cannot read what the old one wrote takes every member for outdated.
//! So what stands here is never changed, only added to: a case for each new setting.

use etcd_types::EtcdClusterSpec;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    Start, Template,
    validate::{self, Running},
};

fn template(spec: Value) -> Template {
    let spec: EtcdClusterSpec = serde_json::from_value(spec).unwrap();
    let judged = validate::judge(&spec, &Running::default());
    assert_eq!(judged.refusals, []);
    judged.wanted.unwrap().template(spec.version.parse().unwrap(), Start::Started)
}

/// What the annotation of its StatefulSet says, and the fingerprint on its pod.
fn check(spec: Value, written: Expect, fingerprint: Expect) {
    let template = template(spec);
    let text = serde_json::to_string(&template).unwrap();
    written.assert_eq(&text);
    fingerprint.assert_eq(&template.fingerprint());
    assert_eq!(serde_json::from_str::<Template>(&text).unwrap(), template, "it is read as it was written");
}

#[test]
fn the_eight_lines_of_the_first_release() {
    check(
        json!({"size": 3, "version": "3.6.16", "storage": {"size": "8Gi"}}),
        expect![[
            r#"{"version":"3.6.16","image":"quay.io/coreos/etcd:v3.6.16","args":["--quota-backend-bytes=6871947672","--log-level=info","--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"],"pod":{},"tls":{"mode":"SelfManaged"},"medium":"PersistentVolume","memory":null,"start":"started"}"#
        ]],
        expect!["7cddaea4a8"],
    );
}

#[test]
fn each_minor_of_the_first_release() {
    check(
        json!({"size": 3, "version": "3.5.35", "storage": {"size": "8Gi"}, "tls": {"mode": "Off"}}),
        expect![[
            r#"{"version":"3.5.35","image":"quay.io/coreos/etcd:v3.5.35","args":["--quota-backend-bytes=6871947672","--log-level=info","--experimental-initial-corrupt-check=true","--experimental-compact-hash-check-enabled=true"],"pod":{},"tls":{"mode":"Off"},"medium":"PersistentVolume","memory":null,"start":"started"}"#
        ]],
        expect!["e8c456613a"],
    );
    check(
        json!({"size": 1, "version": "3.7.3", "storage": {"size": "1Gi", "medium": "Memory"}}),
        expect![[
            r#"{"version":"3.7.3","image":"quay.io/coreos/etcd:v3.7.3","args":["--quota-backend-bytes=858993456","--log-level=info","--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"],"pod":{},"tls":{"mode":"SelfManaged"},"medium":"Memory","memory":"1Gi","start":"started"}"#
        ]],
        expect!["edfc72220b"],
    );
}

#[test]
fn settings_and_pods_of_the_first_release() {
    check(
        json!({
            "size": 5, "version": "3.6.16", "image": "mirror.example/etcd", "storage": {"size": "8Gi", "storageClassName": "fast"},
            "tls": {"mode": "Secrets", "secrets": {"peer": "p", "server": "s", "operator": "o"}},
            "etcd": {"quotaBackendBytes": "4Gi", "snapshotCount": 5000, "logLevel": "debug", "extraArgs": {"max-txn-ops": "256"}},
            "pod": {
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
                "nodeSelector": {"disk": "ssd"}, "labels": {"team": "storage"}, "annotations": {"note": "x"},
                "priorityClassName": "high", "env": [{"name": "GOGC", "value": "50"}],
                "tolerations": [{"key": "etcd", "operator": "Exists"}],
            },
        }),
        expect![[
            r#"{"version":"3.6.16","image":"mirror.example/etcd:v3.6.16","args":["--quota-backend-bytes=4294967296","--snapshot-count=5000","--log-level=debug","--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true","--max-txn-ops=256"],"pod":{"resources":{"limits":{"memory":"1Gi"},"requests":{"cpu":"100m","memory":"128Mi"}},"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"etcd","operator":"Exists"}],"priorityClassName":"high","labels":{"team":"storage"},"annotations":{"note":"x"},"env":[{"name":"GOGC","value":"50"}]},"tls":{"mode":"Secrets","secrets":{"peer":"p","server":"s","operator":"o"}},"medium":"PersistentVolume","memory":null,"start":"started"}"#
        ]],
        expect!["013a31ca14"],
    );
}
