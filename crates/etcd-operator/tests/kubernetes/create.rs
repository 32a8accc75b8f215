//! Created: a few lines of YAML, and a TLS-secured cluster serves.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Output};

use k8s_openapi::api::{
    core::v1::{Secret, Service},
    policy::v1::PodDisruptionBudget,
};
use kube::ResourceExt as _;
use tokio::time::Instant;

use crate::{
    cluster::{Clusters as _, campaign_or_skipped, is_true, spec},
    patience::{LONG, PATIENCE, until, when},
    world::{World, scenario},
};

const EIGHT_LINES: &str = "
apiVersion: etcd.capstan.dev/v1alpha1
kind: EtcdCluster
metadata:
  name: db
spec:
  size: 3
  version: 3.6.16
  storage: {size: 256Mi}
";

#[tokio::test]
async fn eight_lines_of_yaml_give_three_members_that_speak_tls() {
    scenario(async |world| {
        let began = Instant::now();
        world.kubectl_with("apply --validate=strict -f -", EIGHT_LINES).await.unwrap();
        let cluster = world.cluster("db");
        let members = cluster.is_well(3, "3.6.16", PATIENCE).await;
        println!("    three members serve after {:.1} s", began.elapsed().as_secs_f32());
        let nodes: std::collections::BTreeSet<_> =
            members.iter().map(|it| it.pod.spec.as_ref().unwrap().node_name.clone()).collect();
        assert_eq!(nodes.len(), 3, "a node each");
        let object = cluster.object().await;
        assert!(["QuorumSafe", "TLSValid"].iter().all(|kind| is_true(&object, kind)), "{:?}", object.status);
        until("one may be disrupted, and no more", PATIENCE, async || {
            let status = world.api::<PodDisruptionBudget>().get("db").await.unwrap().status;
            let allowed = status.and_then(|it| it.disruptions_allowed);
            when(allowed == Some(1), allowed)
        })
        .await;
        let table = world.kubectl("get etcd db --no-headers").await.unwrap();
        assert_eq!(
            table.split_whitespace().take(5).collect::<Vec<_>>(),
            ["db", "3", "3", "3.6.16", "Healthy"],
            "{table}"
        );
        cluster.load().await.stop("a new cluster").await.nothing_failed();
    })
    .await;
}

/// Creates a cluster of each size, with this TLS mode, and puts a load on it.
async fn sizes_serve(world: &World, cases: &[(&str, i32, &str)]) {
    for (name, size, tls) in cases {
        let began = Instant::now();
        let cluster = world.cluster(name);
        let mut wished = spec(*size, "3.6.16");
        wished["tls"] = serde_json::json!({"mode": tls});
        cluster.create(wished).await;
        cluster.is_well(*size, "3.6.16", LONG).await;
        println!("    {size} members serve after {:.1} s", began.elapsed().as_secs_f32());
        cluster.load().await.stop(name).await.nothing_failed();
        cluster.delete().await;
    }
}

#[tokio::test]
async fn one_member_serves_with_tls_and_without() {
    scenario(async |world| {
        sizes_serve(world, &[("one", 1, "SelfManaged"), ("one-plain", 1, "Off")]).await;
    })
    .await;
}

#[tokio::test]
async fn five_and_seven_members_serve_with_tls_and_without() {
    if !campaign_or_skipped() {
        return;
    }
    scenario(async |world| {
        let five = [("five", 5, "SelfManaged"), ("five-plain", 5, "Off")];
        let seven = [("seven", 7, "SelfManaged"), ("seven-plain", 7, "Off")];
        sizes_serve(world, &[five, seven].concat()).await;
    })
    .await;
}

#[tokio::test]
async fn without_tls_when_asked_for() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut plain = spec(3, "3.6.16");
        plain["tls"] = serde_json::json!({"mode": "Off"});
        cluster.create(plain).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let connection = cluster.status().await.connection.unwrap();
        assert_eq!(connection.secret_name, None);
        assert!(connection.endpoints.iter().all(|url| url.starts_with("http://")), "{connection:?}");
        cluster.load().await.stop("without TLS").await.nothing_failed();
    })
    .await;
}

/// As a pod on a node would, through the Service.
#[tokio::test]
async fn a_client_connects_with_the_credentials_that_status_names_and_nobody_without() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let members = cluster.run(3, "3.6.16").await;
        let connection = cluster.status().await.connection.unwrap();
        let name = format!("db-client.{}.svc", world.namespace);
        assert_eq!(connection.endpoints.first(), Some(&format!("https://{name}:2379")), "{connection:?}");
        let credentials = Credentials::write(world, &connection.secret_name.unwrap()).await;
        let address =
            world.api::<Service>().get("db-client").await.unwrap().spec.unwrap().cluster_ip.unwrap();
        let resolve = format!("{name}:2379:{address}");
        let node = members[0].pod.spec.as_ref().unwrap().node_name.clone().unwrap();
        let url = format!("https://{name}:2379/version");
        let with = credentials.arguments();
        until("the Service leads to a member", PATIENCE, async || {
            let mut arguments = vec!["--resolve", &resolve, &url];
            arguments.extend(with.iter().map(String::as_str));
            let (code, said) = curl(world, &node, &arguments);
            when(code == 0 && said.contains(r#""etcdserver":"3.6.16""#), said)
        })
        .await;

        for member in &members {
            let address = member.pod.status.as_ref().unwrap().pod_ip.clone().unwrap();
            let (code, said) = curl(world, &node, &[&format!("http://{address}:2379/version")]);
            assert!(
                !said.contains("etcdserver"),
                "{}: plain text was answered: {said}",
                member.pod.name_any()
            );
            println!("    in plain text: curl ends with {code}");
            let (code, said) =
                curl(world, &node, &["--insecure", &format!("https://{address}:2379/version")]);
            assert!(code != 0 && !said.contains("etcdserver"), "a stranger was answered: {said}");
            let (code, said) =
                curl(world, &node, &["--insecure", &format!("https://{address}:2380/version")]);
            assert!(code != 0 && !said.contains("etcdserver"), "a stranger is no peer: {said}");
        }
    })
    .await;
}

fn curl(world: &World, node: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = world.lab.in_node(node).unwrap();
    command.args(["curl", "--silent", "--show-error", "--max-time", "3"]).args(arguments);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = [stdout, stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    (status.code().unwrap_or(-1), said)
}

/// A Secret as files, for curl; gone in the end.
struct Credentials(std::path::PathBuf);

impl Credentials {
    async fn write(world: &World, secret: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("capstan-{}", world.namespace));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        for (name, content) in world.api::<Secret>().get(secret).await.unwrap().data.unwrap() {
            fs::write(directory.join(name), content.0).unwrap();
        }
        Self(directory)
    }

    fn arguments(&self) -> Vec<String> {
        let file = |name: &str| self.0.join(name).display().to_string();
        let pairs = [("--cacert", "ca.crt"), ("--cert", "tls.crt"), ("--key", "tls.key")];
        pairs.iter().flat_map(|(flag, name)| [(*flag).to_owned(), file(name)]).collect()
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
