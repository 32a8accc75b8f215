//! `capstan etcd plan`: the operator's own decision, on what the user can see of a cluster; or on what it would be after an edit.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use clap::Args;
use etcd_core::{Picture, Plan, decide};
use etcd_operator::{Looked, look};
use etcd_types::EtcdCluster;
use jiff::Timestamp;
use json_patch::{PatchOperation, ReplaceOperation, jsonptr::PointerBuf};
use kit::Clock;
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Common,
    ending::Stop,
    screen::{Frame, Screen},
    server::{Server, explain},
    status::{lines, paint},
    view, watch,
};
use crate::{
    look::Paint,
    output::{Output, structured},
};

/// The shortest time between two looks, however often the status changes: each look is a dozen requests.
const CALM: Duration = Duration::from_secs(1);
/// When to look again if the plan does not say; the operator itself looks at its members as often.
const LOOK: Duration = Duration::from_secs(30);

const NOW: &str = "as it is now";

#[derive(Debug, Args)]
pub(super) struct Asked {
    /// The EtcdCluster.
    #[arg(required_unless_present = "file")]
    name: Option<String>,
    /// An EtcdCluster that is not applied yet; `-` reads it from standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "name")]
    file: Option<PathBuf>,
    /// Go on, and plan anew when something changes.
    #[arg(short, long, conflicts_with_all = ["output", "file"])]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(common: &Common, asked: Asked) -> Result<()> {
    let mut server = Server::of(common).await?;
    let (cluster, edited) = match (asked.name, asked.file) {
        (_, Some(file)) => {
            let written = read(&file)?;
            let applied = after_applying(&mut server, common.namespace.as_deref(), written).await;
            (applied.with_context(|| file.display().to_string())?, true)
        }
        (Some(name), None) => (server.cluster(&name).await?, false),
        (None, None) => bail!("which EtcdCluster? Name one, or a file with -f"),
    };
    let planned = Planned::of(&server, &cluster).await?;
    if asked.watch {
        return follow(&server, &cluster.name_any(), planned, paint(common)).await;
    }
    if let Some(format) = asked.output.output {
        let parts = view::parts(&planned.picture, &planned.plan);
        let assumed = &planned.assumed;
        let value = json!({ "namespace": server.namespace, "name": cluster.name_any(), "plan": parts, "assumed": assumed });
        return structured(&value, format);
    }
    let when = if edited { "if that were applied" } else { NOW };
    lines(&planned.lines(&format!("EtcdCluster {}, {when}", planned.whom), paint(common)))
}

/// What the operator would do, and what that was decided on.
pub(super) struct Planned {
    /// `<namespace>/<name>`.
    whom: String,
    picture: Picture,
    plan: Plan,
    assumed: Vec<String>,
}

impl Planned {
    pub(super) async fn of(server: &Server, cluster: &EtcdCluster) -> Result<Self> {
        let whom = format!("{}/{}", server.namespace, cluster.name_any());
        let now = Clock::system().now();
        let looked = look(&server.client, cluster, now).await;
        let Looked { picture, assumed } =
            looked.map_err(|error| explain(error, "list", &format!("the objects of EtcdCluster {whom}")))?;
        let (picture, plan) = ahead(picture, now);
        Ok(Self { whom, picture, plan, assumed })
    }

    fn lines(&self, title: &str, paint: Paint) -> Vec<String> {
        view::plan(title, &self.picture, &self.plan, &self.assumed, paint)
    }

    fn frame(&self, paint: Paint) -> Frame {
        let sentence = view::sentence(&self.picture, &self.plan);
        Frame {
            drawn: self.lines(&format!("EtcdCluster {}, {NOW}", self.whom), paint),
            told: vec![format!("{}: {sentence}", self.whom)],
        }
    }

    /// When it may be another one, though nothing has happened.
    fn again(&self) -> Duration {
        self.plan.wake.as_ref().map_or(LOOK, |(after, _)| *after).max(CALM)
    }
}

/// Planned anew when the status changes, which it does whenever anything happens, and when the plan itself says so.
async fn follow(server: &Server, name: &str, first: Planned, paint: Paint) -> Result<()> {
    let mut followed = watch::follow(server, name);
    followed.store.wait_synced().await;
    let (mut stop, mut screen) = (Stop::listen()?, Screen::new(paint));
    let (mut planned, mut failed) = (first, None);
    loop {
        let trouble = followed.trouble().or_else(|| failed.take());
        screen.show(planned.frame(paint), trouble.as_deref(), Clock::system().now())?;
        let news = async {
            sleep(CALM).await;
            timeout(planned.again() - CALM, followed.changes.next()).await.ok();
            while followed.changes.try_next().is_some() {}
            let cluster = watch::present(&followed, server, name)?;
            Ok::<_, Error>(Planned::of(server, &cluster).await)
        };
        tokio::select! {
            stopped = stop.asked() => return Err(stopped.into()),
            news = news => match news? {
                Ok(news) => planned = news,
                // An API server that is away comes back.
                Err(error) => failed = Some(format!("{error:#}")),
            },
        }
    }
}

/// The decision, with its first step: an operation is put on record before anything is done, so it takes a second look.
pub(super) fn ahead(mut picture: Picture, now: Timestamp) -> (Picture, Plan) {
    let first = decide(&picture, now);
    if first.step.is_some() || first.status.operation.is_none() {
        return (picture, first);
    }
    picture.status = first.status.clone();
    if let Some(objects) = &first.objects {
        picture.latch = Some(objects.latch.clone());
    }
    let second = decide(&picture, now);
    (picture, second)
}

/// What the API server would make of it: checked and with its defaults, but not kept.
pub(super) async fn after_applying(
    server: &mut Server,
    asked: Option<&str>,
    written: Value,
) -> Result<EtcdCluster> {
    let field = |path: &str| written.pointer(path).and_then(Value::as_str).map(str::to_owned);
    if field("/kind").as_deref() != Some("EtcdCluster") {
        bail!("this is no EtcdCluster");
    }
    let name = field("/metadata/name").ok_or_else(|| anyhow!("metadata.name is missing"))?;
    match (field("/metadata/namespace"), asked) {
        (Some(own), Some(asked)) if own != asked => {
            bail!("it is of namespace {own}, and {asked} was asked for")
        }
        (Some(own), _) => server.namespace = own,
        (None, _) => {}
    }
    let what = format!("EtcdCluster {}/{name}", server.namespace);
    let api = server.clusters();
    let tried = match api.get_opt(&name).await.map_err(|error| explain(error, "get", &what))? {
        Some(_) => {
            let value = written.get("spec").cloned().unwrap_or_default();
            // The whole spec: what the file no longer says is gone, as after `kubectl apply`.
            let replace =
                PatchOperation::Replace(ReplaceOperation { path: PointerBuf::from_tokens(["spec"]), value });
            let patch = Patch::Json::<()>(json_patch::Patch(vec![replace]));
            api.patch(&name, &PatchParams { dry_run: true, ..PatchParams::default() }, &patch).await
        }
        None => {
            let cluster = serde_json::from_value(written).context("this is no EtcdCluster")?;
            api.create(&PostParams { dry_run: true, ..PostParams::default() }, &cluster).await
        }
    };
    tried.map_err(|error| explain(error, "apply", &what))
}

fn read(file: &Path) -> Result<Value> {
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        text
    } else {
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
    };
    serde_saphyr::from_str(&text).with_context(|| format!("{} is not one YAML document", file.display()))
}
