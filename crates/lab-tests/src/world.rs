//! One scenario's world: a namespace of its own on the lab, kubectl as users type it, and what to look at when it fails.

use std::{
    fmt::Debug,
    io::Write as _,
    panic::{AssertUnwindSafe, resume_unwind},
    process::Stdio,
};

use futures::FutureExt as _;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::{Event, Namespace, Pod},
        events::v1::Event as Told,
    },
};
use kube::{
    Api, Client, Config, Resource, ResourceExt as _,
    api::{DeleteParams, ListParams, LogParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use lab::Lab;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{
    sync::{OnceCell, RwLock},
    time::Instant,
};

use crate::operator;

/// What a failed scenario shows in full.
const RESOURCES: &str = "exampleapps,etcdclusters";

/// Those that trouble operator or nodes hold it alone.
static CALM: RwLock<()> = RwLock::const_new(());
static INSTALLED: OnceCell<()> = OnceCell::const_new();

pub struct World {
    pub client: Client,
    pub namespace: String,
    pub lab: Lab,
}

/// Plays `story` beside others.
pub async fn scenario(story: impl AsyncFnOnce(&World)) {
    let _calm = CALM.read().await;
    World::create().await.play(story).await;
}

/// Plays `story` with nothing else going on; afterwards the operator is as it was, whatever happened to it.
pub async fn trouble(story: impl AsyncFnOnce(&World)) {
    let _alone = CALM.write().await;
    let guarded = async |world: &World| {
        let told = AssertUnwindSafe(story(world)).catch_unwind().await;
        if told.is_err() {
            world.print_facts().await;
        }
        operator::install(world).await;
        told.unwrap_or_else(|panic| resume_unwind(panic));
    };
    World::create().await.play(guarded).await;
}

impl World {
    async fn create() -> Self {
        let name = lab_name();
        let lab = Lab::open(&name).unwrap_or_else(|error| panic!("{error}"));
        let kubeconfig = Kubeconfig::read_from(lab.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let test = std::thread::current().name().unwrap_or("test").replace("::", "-").replace('_', "-");
        let prefix: String = test.chars().take(40).collect();
        let namespace = format!("{}-{:04x}", prefix.trim_end_matches('-'), fastrand::u16(..));
        let world = Self { client, namespace, lab };
        world.create_namespace(&world.namespace).await;
        world
    }

    /// Where nothing runs that needs a privilege.
    pub async fn create_namespace(&self, name: &str) {
        let object = json!({"metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    pub async fn remove_namespace(&self, name: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        namespaces.delete(name, &DeleteParams::default()).await.unwrap();
    }

    async fn play(&self, story: impl AsyncFnOnce(&World)) {
        let began = Instant::now();
        let whole = async {
            INSTALLED.get_or_init(|| operator::install(self)).await;
            story(self).await;
        };
        let told = AssertUnwindSafe(whole).catch_unwind().await;
        let end = if told.is_ok() { "ok" } else { "FAILED" };
        println!("{:>7.1} s  {end:6}  {}", began.elapsed().as_secs_f32(), self.namespace);
        if told.is_err() {
            self.print_facts().await;
        }
        self.remove_namespace(&self.namespace).await;
        told.unwrap_or_else(|panic| resume_unwind(panic));
    }

    /// The same world, seen from another namespace of it.
    pub fn elsewhere(&self, namespace: &str) -> Self {
        Self { client: self.client.clone(), namespace: namespace.to_owned(), lab: self.lab.clone() }
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn list<K>(&self, labels: &str) -> Vec<K>
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
        K::DynamicType: Default,
    {
        self.api().list(&ListParams::default().labels(labels)).await.unwrap().items
    }

    /// Creates an object as a user would who knows nothing of us.
    pub async fn create_object<K>(&self, object: Value)
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + serde::Serialize,
        K::DynamicType: Default,
    {
        self.api::<K>()
            .create(&PostParams::default(), &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }

    /// `kubectl -n <namespace> <line>`, as typed; `Err` with what it said when it refuses.
    pub async fn kubectl(&self, line: &str) -> Result<String, String> {
        self.kubectl_with(line, "").await
    }

    /// The same with a standard input, for `-f -`.
    pub async fn kubectl_with(&self, line: &str, input: &str) -> Result<String, String> {
        let mut command = self.lab.kubectl();
        command.args(["--namespace", &self.namespace]).args(line.split_whitespace()).current_dir(root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let input = input.to_owned();
        let run = move || {
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            child.wait_with_output().unwrap()
        };
        let done = tokio::task::spawn_blocking(run).await.unwrap();
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        if done.status.success() { Ok(out.into_owned()) } else { Err(format!("{out}{err}")) }
    }

    /// What `kubectl describe` would show of everything that matters.
    async fn print_facts(&self) {
        println!("--- {}", self.namespace);
        match self.kubectl(&format!("get {RESOURCES} --output=yaml")).await {
            Ok(said) | Err(said) => println!("{said}"),
        }
        for pod in self.list::<Pod>("").await {
            let containers =
                pod.status.as_ref().and_then(|status| status.container_statuses.clone()).unwrap_or_default();
            let states: Vec<Value> = containers.iter().map(|it| json!({"ready": it.ready, "restarts": it.restart_count, "state": it.state, "last": it.last_state})).collect();
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
            println!(
                "Pod {} on {:?}: {phase} {}",
                pod.name_any(),
                pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
                json!(states)
            );
        }
        for event in self.list::<Event>("").await {
            let of = event.involved_object;
            println!(
                "Event {}/{}: {} {}",
                of.kind.unwrap_or_default(),
                of.name.unwrap_or_default(),
                event.reason.unwrap_or_default(),
                event.message.unwrap_or_default()
            );
        }
        let home = self.elsewhere(operator::NAMESPACE);
        for pod in operator::pods(self).await {
            println!("--- log of {}", pod.name_any());
            let last = LogParams { tail_lines: Some(60), ..LogParams::default() };
            match home.api::<Pod>().logs(&pod.name_any(), &last).await {
                Ok(log) => println!(
                    "{}",
                    log.lines()
                        .filter(|line| line.contains(&self.namespace)
                            || line.contains("ERROR")
                            || line.contains("WARN"))
                        .collect::<Vec<_>>()
                        .join("\n")
                ),
                Err(error) => println!("{error}"),
            }
        }
    }

    /// What was told about an object, as `reason: note`.
    pub async fn events_about(&self, kind: &str, name: &str) -> Vec<String> {
        let about = |event: &Told| {
            event
                .regarding
                .as_ref()
                .is_some_and(|of| of.kind.as_deref() == Some(kind) && of.name.as_deref() == Some(name))
        };
        let events = self.list::<Told>("").await.into_iter().filter(about);
        events
            .map(|event| format!("{}: {}", event.reason.unwrap_or_default(), event.note.unwrap_or_default()))
            .collect()
    }
}

/// The repository, which has deploy/ and examples/.
pub fn root() -> &'static std::path::Path {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[expect(
    clippy::disallowed_methods,
    reason = "how `cargo xtask test-kubernetes` says which lab is the tests'"
)]
fn lab_name() -> String {
    std::env::var("CAPSTAN_LAB").unwrap_or_else(|_| "test".to_owned())
}
