//! `capstan etcd plan`: the operator's own decision, on what the user can see of a cluster; or on what it would be after an edit.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
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

use super::{
    Common,
    server::{Server, explain},
    status::{lines, paint},
    view,
};
use crate::output::{Output, structured};

pub(super) async fn run(
    common: &Common,
    name: Option<String>,
    file: Option<PathBuf>,
    output: Output,
) -> Result<()> {
    let mut server = Server::of(common).await?;
    let (cluster, edited) = match (name, file) {
        (_, Some(file)) => {
            let written = read(&file)?;
            let applied = after_applying(&mut server, common.namespace.as_deref(), written).await;
            (applied.with_context(|| file.display().to_string())?, true)
        }
        (Some(name), None) => (server.cluster(&name).await?, false),
        (None, None) => bail!("which EtcdCluster? Name one, or a file with -f"),
    };
    let now = Clock::system().now();
    let what = format!("the objects of EtcdCluster {}/{}", server.namespace, cluster.name_any());
    let looked = look(&server.client, &cluster, now).await.map_err(|error| explain(error, "list", &what))?;
    let Looked { picture, assumed } = looked;
    let (picture, plan) = ahead(picture, now);
    if let Some(format) = output.output {
        let parts = view::parts(&picture, &plan);
        let value = json!({ "namespace": server.namespace, "name": cluster.name_any(), "plan": parts, "assumed": assumed });
        return structured(&value, format);
    }
    let title = match edited {
        true => format!("EtcdCluster {}/{}, if that were applied", server.namespace, cluster.name_any()),
        false => format!("EtcdCluster {}/{}, as it is now", server.namespace, cluster.name_any()),
    };
    lines(&view::plan(&title, &picture, &plan, &assumed, paint(common)))
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
