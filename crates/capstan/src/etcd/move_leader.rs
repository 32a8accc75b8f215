//! `capstan etcd move-leader`: a request on the EtcdCluster, which the operator carries out when it is safe, and answers.
//!
//! Invariant: a request that nobody waits for any more is withdrawn, so that no leader moves behind anybody's back.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use etcd_core::MOVE_LEADER;
use etcd_types::{EtcdCluster, MemberStatus, Role};
use json_patch::{PatchOperation, RemoveOperation, TestOperation, jsonptr::PointerBuf};
use kit::{Clock, pause};
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::time::timeout;

use super::{
    Common,
    ending::{Stop, Stopped},
    server::{Server, explain},
    time, view, watch,
};
use crate::output::{Output, mention, say, structured};

/// How long the API server may take to withdraw a request: somebody waits for the prompt.
const WITHDRAWAL: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct MoveLeader {
    /// The EtcdCluster.
    name: String,
    /// Who is to lead [default: a member that serves].
    #[arg(long, value_name = "MEMBER")]
    to: Option<String>,
    /// How long to wait for it; after that the request is withdrawn.
    #[arg(long, default_value = "30s", value_parser = time, value_name = "TIME")]
    timeout: Duration,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(common: &Common, asked: MoveLeader) -> Result<()> {
    let MoveLeader { name, to, timeout, output } = asked;
    let server = Server::of(common).await?;
    let cluster = server.cluster(&name).await?;
    let to = choose(&cluster, to.as_deref())?;
    if let Some(busy) = busy(&cluster) {
        mention(&busy);
    }
    // The time makes it a request of its own, should the same have been asked for before.
    let request = format!("{to} {}", Clock::system().now());
    let answer = ask(&server, &name, &request, timeout).await?;
    match output.output {
        None => say(&format!("{answer}\n")),
        Some(format) => structured(
            &json!({ "namespace": server.namespace, "name": name, "leader": to, "message": answer }),
            format,
        ),
    }
}

/// Puts the request on the EtcdCluster, and waits for the operator's answer.
pub(super) async fn ask(server: &Server, name: &str, request: &str, patience: Duration) -> Result<String> {
    let mut stop = Stop::listen()?;
    let whom = format!("EtcdCluster {}/{name}", server.namespace);
    let patch = json!({ "metadata": { "annotations": { MOVE_LEADER: request } } });
    let patched = server.clusters().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.map_err(|error| explain(error, "patch", &whom))?;
    let heard = tokio::select! {
        heard = watch::until(server, name, patience, |cluster| answer(cluster, request)) => heard,
        stopped = stop.asked() => Err(stopped.into()),
    };
    let heard = match heard {
        Ok(Some(answer)) => Ok(answer),
        // It may have been answered just now.
        other => match withdraw(server, name, request).await? {
            Some(answer) => Ok(answer),
            None => Err(other.err()),
        },
    };
    match heard {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(why)) => bail!("{whom}: {why}"),
        Err(Some(error)) => {
            if error.is::<Stopped>() {
                mention("the request is withdrawn: the leader stays");
            }
            Err(error)
        }
        Err(None) => bail!(
            "{whom}: the operator has not answered within {} s, and the request is withdrawn. It moves the leader only while \
             nothing else is under way: see `capstan etcd status {name}`",
            patience.as_secs(),
        ),
    }
}

/// Takes the request back, unless it is another one by now; and what became of it, if something did.
async fn withdraw(server: &Server, name: &str, request: &str) -> Result<Option<Result<String, String>>> {
    let path = || PointerBuf::from_tokens(["metadata", "annotations", MOVE_LEADER]);
    let patch = Patch::Json::<()>(json_patch::Patch(vec![
        PatchOperation::Test(TestOperation { path: path(), value: request.into() }),
        PatchOperation::Remove(RemoveOperation { path: path() }),
    ]));
    let parameters = PatchParams::default();
    let clusters = server.clusters();
    let by_hand = || {
        let namespace = &server.namespace;
        format!(
            "the request could not be withdrawn; do it with: kubectl -n {namespace} annotate etcd {name} {MOVE_LEADER}-"
        )
    };
    let patched = timeout(WITHDRAWAL, clusters.patch(name, &parameters, &patch)).await;
    match patched.map_err(|_| anyhow!("the API server does not answer").context(by_hand()))? {
        Ok(cluster) => Ok(answer(&cluster, request)),
        // There is another request by now, or none; or no cluster.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 422) => Ok(None),
        Err(error) => {
            Err(explain(error, "patch", &format!("EtcdCluster {}/{name}", server.namespace))
                .context(by_hand()))
        }
    }
}

/// What the operator said to this very request.
fn answer(cluster: &EtcdCluster, request: &str) -> Option<Result<String, String>> {
    let answer = cluster.status.as_ref()?.move_leader.as_ref().filter(|answer| answer.request == request)?;
    Some(if answer.done { Ok(answer.message.clone()) } else { Err(answer.message.clone()) })
}

/// Why it may take a while.
fn busy(cluster: &EtcdCluster) -> Option<String> {
    let operation = cluster.status.as_ref()?.operation.as_ref()?;
    Some(format!("waits until {:?} {} is over", operation.kind, operation.target))
}

/// Who is to lead: the one that was named, or one that serves.
fn choose(cluster: &EtcdCluster, named: Option<&str>) -> Result<String> {
    let whom = format!("EtcdCluster {}", view::name(cluster));
    if let Some(why) = pause::why(cluster, cluster.spec.paused) {
        bail!("the leader of {whom} is not moved: {why}");
    }
    let members = cluster.status.as_ref().and_then(|status| status.members.as_deref()).unwrap_or_default();
    let can_lead = |member: &&MemberStatus| member.healthy && member.role == Role::Follower;
    match named {
        Some(name) => {
            let member = members.iter().find(|member| member.name == name);
            let member = member.ok_or_else(|| anyhow!(view::unknown(cluster, name).unwrap_or_default()))?;
            match (member.role, member.healthy) {
                (Role::Leader, _) => bail!("{name} leads {whom} already"),
                (Role::Learner | Role::None, _) => bail!("{name} does not vote in {whom}, so it cannot lead"),
                (_, false) => bail!(
                    "{name} does not serve{}",
                    member.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"))
                ),
                _ => Ok(name.to_owned()),
            }
        }
        // One that need not be restarted soon, if there is one.
        None => {
            let chosen = members.iter().filter(can_lead).max_by_key(|member| member.updated);
            let chosen = chosen.ok_or_else(|| {
                anyhow!(
                    "{whom} has no other member that serves: see `capstan etcd status {}`",
                    cluster.name_any()
                )
            })?;
            Ok(chosen.name.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::view::samples, *};

    #[test]
    fn somebody_who_serves_is_chosen_and_others_are_refused_with_the_cause() {
        let cluster = samples::upgrading();
        assert_eq!(choose(&cluster, None).unwrap(), "db-2");
        assert_eq!(choose(&cluster, Some("db-2")).unwrap(), "db-2");
        let refused = |name| choose(&cluster, Some(name)).unwrap_err().to_string();
        assert_eq!(refused("db-1"), "db-1 leads EtcdCluster shop/db already");
        assert_eq!(refused("db-3"), "db-3 does not serve: has no pod yet");
        assert_eq!(refused("db-9"), "EtcdCluster shop/db has no member db-9; it has db-1, db-2, db-3");
        let lone = choose(&samples::untouched(), None).unwrap_err().to_string();
        assert!(lone.starts_with("EtcdCluster shop/db has no other member that serves"), "{lone}");
    }

    #[test]
    fn a_paused_cluster_is_not_asked_and_a_busy_one_is_said_to_be() {
        let mut cluster = samples::healthy();
        assert_eq!(busy(&cluster), None);
        assert_eq!(busy(&samples::upgrading()).unwrap(), "waits until Upgrade 3.7.3 is over");
        cluster.spec.paused = true;
        let refused = choose(&cluster, Some("db-2")).unwrap_err().to_string();
        assert!(
            refused.starts_with("the leader of EtcdCluster shop/db is not moved: spec.paused is set"),
            "{refused}"
        );
    }
}
