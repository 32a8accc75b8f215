//! `capstan etcd move-leader`: a request on the EtcdCluster, which the operator carries out when it is safe, and answers.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use etcd_core::MOVE_LEADER;
use etcd_types::{EtcdCluster, MemberStatus, Role};
use kit::Clock;
use kube::{
    ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::{
    Common,
    server::{Server, explain},
    watch,
};
use crate::output::say;

pub(super) async fn run(common: &Common, name: &str, to: Option<String>, patience: Duration) -> Result<()> {
    let server = Server::of(common).await?;
    let to = choose(&server.cluster(name).await?, to.as_deref())?;
    // The time makes it a request of its own, should the same have been asked for before.
    let request = format!("{to} {}", Clock::system().now());
    let answer = ask(&server, name, &request, patience).await?;
    say(&format!("{answer}\n"))
}

/// Puts the request on the EtcdCluster, and waits for the operator's answer.
pub(super) async fn ask(server: &Server, name: &str, request: &str, patience: Duration) -> Result<String> {
    let patch = json!({ "metadata": { "annotations": { MOVE_LEADER: request } } });
    let patched = server.clusters().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    patched.map_err(|error| explain(error, "patch", &format!("EtcdCluster {}/{name}", server.namespace)))?;
    match watch::until(server, name, patience, |cluster| answer(cluster, request)).await? {
        Some(Ok(result)) => Ok(result),
        Some(Err(why)) => bail!("EtcdCluster {}/{name}: {why}", server.namespace),
        None => bail!(
            "the operator has not answered within {} s. It moves the leader only while nothing else is under way: see `capstan etcd status {name}`. \
             To withdraw: kubectl -n {} annotate etcd {name} {MOVE_LEADER}-",
            patience.as_secs(),
            server.namespace
        ),
    }
}

/// What the operator said to this very request.
fn answer(cluster: &EtcdCluster, request: &str) -> Option<Result<String, String>> {
    let answer = cluster.status.as_ref()?.move_leader.as_ref().filter(|answer| answer.request == request)?;
    Some(if answer.done { Ok(answer.message.clone()) } else { Err(answer.message.clone()) })
}

/// Who is to lead: the one that was named, or one that serves.
fn choose(cluster: &EtcdCluster, named: Option<&str>) -> Result<String> {
    let status = cluster.status.clone().unwrap_or_default();
    let members = status.members.unwrap_or_default();
    let can_lead = |member: &&MemberStatus| member.healthy && member.role == Role::Follower;
    let whom = format!("EtcdCluster {}/{}", cluster.namespace().unwrap_or_default(), cluster.name_any());
    match named {
        Some(name) => {
            let names = || members.iter().map(|member| member.name.clone()).collect::<Vec<_>>().join(", ");
            let member = members.iter().find(|member| member.name == name);
            let member = member.ok_or_else(|| anyhow!("{whom} has no member {name}; it has {}", names()))?;
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
        assert_eq!(choose(&cluster, None).unwrap(), "db-3");
        assert_eq!(choose(&cluster, Some("db-3")).unwrap(), "db-3");
        let refused = |name| choose(&cluster, Some(name)).unwrap_err().to_string();
        assert_eq!(refused("db-1"), "db-1 leads EtcdCluster shop/db already");
        assert_eq!(refused("db-2"), "db-2 does not serve: its pod is not ready yet");
        assert_eq!(refused("db-9"), "EtcdCluster shop/db has no member db-9; it has db-1, db-2, db-3");
        let lone = choose(&samples::untouched(), None).unwrap_err().to_string();
        assert!(lone.starts_with("EtcdCluster shop/db has no other member that serves"), "{lone}");
    }
}
