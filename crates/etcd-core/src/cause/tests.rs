//! What the end of a log says, and what is done about it.

use super::last_words;
use crate::{Exit, Serial, model::Model};

#[test]
fn what_ended_a_process_is_told_and_not_where_its_stack_ended() {
    let cases = [
        ("a\nb\n\n", "b"),
        ("", ""),
        (
            "{\"level\":\"info\",\"msg\":\"starting\"}\n{\"level\":\"fatal\",\"caller\":\"etcdmain/etcd.go:204\",\"msg\":\"discovery failed\",\"error\":\"member count is unequal\",\"stacktrace\":\"go…\"}",
            "discovery failed: member count is unequal",
        ),
        (
            "{\"level\":\"panic\",\"msg\":\"tocommit(9) is out of range [lastIndex(0)]\"}\npanic: tocommit(9) is out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/go/main.go:9 +0x1d",
            "tocommit(9) is out of range [lastIndex(0)]",
        ),
        (
            "panic: runtime error: index out of range\n\ngoroutine 7 [running]:\nmain.f(0x1)\n\t/a.go:3",
            "panic: runtime error: index out of range",
        ),
        (
            "etcd: error verifying flags, unknown flag: --x. See 'etcd --help'.",
            "etcd: error verifying flags, unknown flag: --x. See 'etcd --help'.",
        ),
    ];
    for (log, expected) in cases {
        assert_eq!(last_words(log), expected);
    }
    assert_eq!(last_words(&"x".repeat(500)).len(), 160);
}

/// What a healthy member logs while a member of another cluster talks to it. Source: rafthttp/http.go of etcd 3.6.
const STRANGER: &str = r#"{"level":"info","ts":"2026-11-16T09:41:00.1Z","caller":"membership/cluster.go:421","msg":"added member"}
{"level":"warn","ts":"2026-11-16T09:41:02.3Z","caller":"rafthttp/http.go:500","msg":"request cluster ID mismatch","local-member-id":"8e9e05c52164694d","local-member-cluster-id":"cdf818194e3a8c32","remote-peer-server-name":"91bc3c398fb3c146","remote-peer-cluster-id":"9d3f000000000000"}"#;
/// What the member of the other cluster logs meanwhile, without an end. Source: rafthttp/stream.go.
const IGNORED: &str = r#"{"level":"warn","ts":"2026-11-16T09:41:02.3Z","caller":"rafthttp/stream.go:653","msg":"request sent was ignored by remote peer due to cluster ID mismatch","remote-peer-id":"91bc3c398fb3c146","error":"cluster ID mismatch"}"#;
const FULL: &str = r#"{"level":"fatal","ts":"2026-11-16T09:41:03.3Z","caller":"etcdserver/raft.go:250","msg":"failed to save Raft hard state and entries","error":"write /var/lib/etcd/data/member/wal/0000000000000001-0000000000000001.wal: no space left on device"}"#;
const MISMATCH: &str = r#"{"level":"fatal","ts":"2026-11-16T09:41:03.3Z","caller":"etcdmain/etcd.go:204","msg":"discovery failed","error":"mismatch cluster ID"}"#;

#[test]
fn words_about_another_cluster_count_only_where_they_ended_the_process() {
    let tail = |lines: &[&str]| lines.join("\n");
    let cases = [
        ("killed while a stranger talks to it", 137, "Error", tail(&[STRANGER]), "runs and does not serve"),
        ("killed while it is ignored", 137, "Error", tail(&[IGNORED]), "runs and does not serve"),
        ("out of memory", 137, "OOMKilled", tail(&[STRANGER, IGNORED]), "needs more memory than"),
        ("disk full", 1, "Error", tail(&[STRANGER, FULL]), "has no room left on its volume"),
        ("ended by it", 1, "Error", tail(&[STRANGER, MISMATCH]), "has the data of another cluster"),
        ("ended by it, out of memory before", 137, "OOMKilled", tail(&[MISMATCH]), "needs more memory than"),
    ];
    for (what, code, reason, message, expected) in cases {
        let mut model = Model::running(3, "3.6.16");
        let exit = Exit { code, reason: reason.into(), message, at: Some(model.now) };
        model.boxes.get_mut(&Serial(2)).unwrap().pod.as_mut().unwrap().exit = Some(exit);
        model.hang(2);
        model.reconcile();
        let said = model.status.members.iter().flatten().find_map(|member| member.reason.clone());
        assert!(said.clone().unwrap_or_default().starts_with(expected), "{what}: {said:?}");
    }
}
