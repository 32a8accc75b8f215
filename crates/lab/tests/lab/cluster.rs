//! A cluster as users know one: pods on all nodes, names, Services, volumes, exec, logs; under Pod Security `restricted`.

use std::{collections::BTreeSet, io::Write as _, process::Stdio};

use lab::Lab;

use super::{Check, PATIENCE, ensure, refused, run, timed, until};

/// One web server per storage class and node. Nothing in it is root.
const CLASSES: [(&str, &str); 3] = [("standard", "node1"), ("local", "node2"), ("sized", "node3")];

pub(crate) fn checks(lab: &Lab) -> Check {
    timed("restricted pods on three nodes with a volume of each class", || pods(lab))?;
    timed("the hostname label of a node is not its name", || hostnames(lab))?;
    timed("a pod that is not restricted is refused", || {
        let run_bad = ["-n", "work", "run", "bad", "--image=lab.local/busybox:1"];
        let said = refused(lab.kubectl().args(run_bad))?;
        ensure(said.contains("violates PodSecurity"), said)
    })?;
    timed("exec, logs", || {
        let id = exec(lab, "standard", "id -u")?;
        ensure(id.trim() == "1000", format!("uid {id}"))?;
        let log = run(lab.kubectl().args(["-n", "work", "logs", "local"]))?;
        ensure(log.contains("hello from local"), log)
    })?;
    timed("cluster DNS: Service, pod behind it, API server", || {
        for name in ["work.work.svc.cluster.local", "kubernetes.default.svc.cluster.local"] {
            exec(lab, "standard", &format!("nslookup -type=a {name}"))?;
        }
        Ok(())
    })?;
    timed("a Service, from every node to every node and to itself", || service_answers(lab))?;
    timed("the host reaches pods, as the API server must for webhooks", || {
        let ip =
            run(lab.kubectl().args(["-n", "work", "get", "pod", "local", "-o", "jsonpath={.status.podIP}"]))?;
        run(std::process::Command::new("curl").args(["-sf", "-m", "5", &format!("http://{ip}:8080/name")]))
            .map(drop)
    })?;
    timed("a `standard` volume moves to another node with its pod", || moves(lab))?;
    timed("a `sized` volume is full at its size, and is grown in use", || fills(lab))?;
    timed("history is compacted", || {
        let revision = lab.compact()?;
        let old = format!(r#"{{"key": "AA==", "revision": "{}"}}"#, revision - 1);
        let url = format!("{}/v3/kv/range", lab.addresses().etcd());
        let said = run(std::process::Command::new("curl").args(["-s", "-m", "5", "-d", &old, &url]))?;
        ensure(said.contains("compacted"), said)
    })?;
    timed("an image is loaded on every node", || load(lab))
}

fn hostnames(lab: &Lab) -> Check {
    let path = r"jsonpath={range .items[*]}{.metadata.name}={.metadata.labels.kubernetes\.io/hostname} {end}";
    let labels = run(lab.kubectl().args(["get", "nodes", "-o", path]))?;
    let expected = ["node1", "node2", "node3"].map(|node| format!("{node}={node}.lab.internal"));
    ensure(labels.split_whitespace().eq(expected.iter().map(String::as_str)), labels)
}

fn pods(lab: &Lab) -> Check {
    let mut manifest = String::from(
        "{apiVersion: v1, kind: Namespace, metadata: {name: work, labels: {pod-security.kubernetes.io/enforce: restricted}}}\n---\n\
         {apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: work}}\n---\n\
         {apiVersion: v1, kind: Service, metadata: {name: work, namespace: work}, spec: {selector: {app: work}, ports: [{port: 80, targetPort: 8080}]}}\n",
    );
    for (class, node) in CLASSES {
        manifest += &format!(
            "---\n{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {class}, namespace: work}}, spec: {{storageClassName: {class}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 16Mi}}}}}}}}\n"
        );
        manifest += &pod(class, &lab.hostname(node)?);
    }
    apply(lab, &manifest)?;
    let ready = ["-n", "work", "wait", "pod", "-l", "app=work", "--for=condition=Ready", "--timeout=90s"];
    run(lab.kubectl().args(ready))?;
    let nodes =
        run(lab.kubectl().args(["-n", "work", "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"]))?;
    ensure(nodes.split_whitespace().collect::<BTreeSet<_>>().len() == 3, format!("on {nodes}"))
}

fn pod(class: &str, hostname: &str) -> String {
    format!(
        r#"---
apiVersion: v1
kind: Pod
metadata: {{name: {class}, namespace: work, labels: {{app: work}}}}
spec:
  terminationGracePeriodSeconds: 0
  nodeSelector: {{kubernetes.io/hostname: {hostname}}}
  securityContext: {{runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {{type: RuntimeDefault}}}}
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: {class}}}}}]
  containers:
  - name: web
    image: lab.local/tool:1
    command: [sh, -c, "test -e /data/name || echo {class} > /data/name; echo hello from {class}; exec httpd -f -p 8080 -h /data"]
    readinessProbe: {{tcpSocket: {{port: 8080}}, periodSeconds: 1}}
    securityContext: {{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {{drop: [ALL]}}}}
    volumeMounts: [{{name: data, mountPath: /data}}]
"#
    )
}

/// Every pod asks the Service until each of the three has answered: each way is one that a packet can take.
pub(crate) fn service_answers(lab: &Lab) -> Check {
    for (class, _) in CLASSES {
        let mut answered = BTreeSet::new();
        until(&format!("three answers for {class}"), PATIENCE, || {
            let script = "for i in 1 2 3 4 5 6 7 8; do curl -sf -m 5 http://work/name; done";
            answered.extend(exec(lab, class, script).unwrap_or_default().lines().map(String::from));
            answered.len() == 3
        })?;
    }
    Ok(())
}

fn moves(lab: &Lab) -> Check {
    run(lab.kubectl().args(["-n", "work", "delete", "pod", "standard"]))?;
    apply(lab, &pod("standard", &lab.hostname("node2")?))?;
    run(lab.kubectl().args([
        "-n",
        "work",
        "wait",
        "pod",
        "standard",
        "--for=condition=Ready",
        "--timeout=60s",
    ]))?;
    let name = exec(lab, "standard", "cat /data/name")?;
    ensure(name.trim() == "standard", format!("its file now says {name:?}"))
}

fn fills(lab: &Lab) -> Check {
    lab.fill_volume("work/sized")?;
    let said =
        refused(lab.kubectl().args(["-n", "work", "exec", "sized", "--", "sh", "-c", "echo x > /data/x"]))?;
    ensure(said.contains("No space left"), said)?;
    lab.grow_volume("work/sized", "32Mi")?;
    exec(lab, "sized", "dd if=/dev/zero of=/data/x bs=1M count=12")?;
    let claim = run(lab.kubectl().args([
        "-n",
        "work",
        "get",
        "pvc",
        "sized",
        "-o",
        "jsonpath={.status.capacity.storage}",
    ]))?;
    ensure(claim == "32Mi", format!("the claim says {claim}"))?;
    lab.free_volume("work/sized")?;
    exec(lab, "sized", "test ! -e /data/.lab-fill && rm /data/x")?;
    let said = lab.fill_volume("work/local").err().map(|error| error.to_string()).unwrap_or_default();
    ensure(said.contains("of class local"), format!("filling a volume that has no size: {said:?}"))
}

fn load(lab: &Lab) -> Check {
    struct Silent;
    impl lab::Progress for Silent {
        fn step(&self, _: &str) {}
    }
    let kubernetes = lab::binaries::kubernetes(lab.kubernetes(), &Silent)?;
    let tar = lab::images::base(&kubernetes, &Silent)?
        .into_iter()
        .find(|tar| tar.to_string_lossy().contains("pause"));
    let tar = tar.ok_or("there is no image of pause")?;
    for node in lab.node_names() {
        run(lab.in_node(&node)?.args(["ctr", "--namespace", "k8s.io", "images", "rm", "lab.local/pause:1"]))?;
    }
    lab.load_image(&tar)?;
    for node in lab.node_names() {
        let there = run(lab.in_node(&node)?.args(["ctr", "--namespace", "k8s.io", "images", "ls", "-q"]))?;
        ensure(there.lines().any(|image| image == "lab.local/pause:1"), there)?;
    }
    Ok(())
}

pub(crate) fn exec(lab: &Lab, pod: &str, script: &str) -> Check<String> {
    run(lab.kubectl().args(["-n", "work", "exec", pod, "--", "sh", "-c", script]))
}

fn apply(lab: &Lab, manifest: &str) -> Check {
    let mut child = lab
        .kubectl()
        .args(["apply", "--server-side", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    child.stdin.take().ok_or("no stdin")?.write_all(manifest.as_bytes())?;
    ensure(child.wait()?.success(), "kubectl apply failed: see above")
}
