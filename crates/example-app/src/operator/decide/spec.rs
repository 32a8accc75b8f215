//! What of the spec can be carried out. A field that cannot be is refused by name, with what to do; what was in force before
//! stays in force, so that the running application is never touched by a mistake.

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, ResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};
use kit::{KindId, quantity};
use kube::{Resource, ResourceExt as _};

use super::cron;
use crate::{
    ExampleApp,
    app::versions,
    operator::{names, observe::World},
};

const DEFAULT_SIZE: &str = "1Gi";
/// Without a memory limit.
const DEFAULT_CACHE: u64 = 64 << 20;

/// What is in force.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// The version to come to, if it may follow the present one; else the present one.
    pub(crate) version: String,
    pub(crate) resources: Option<ResourceRequirements>,
    /// Bytes for the application's cache: a quarter of its memory limit.
    pub(crate) cache: u64,
    pub(crate) size: Quantity,
    pub(crate) class: Option<String>,
    /// When backups are made; nothing when they are not.
    pub(crate) schedule: Option<String>,
}

/// A field that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) field: &'static str,
    pub(crate) why: String,
}

/// What the spec comes to.
pub(crate) struct Judged {
    /// Nothing when nothing may be touched at all.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) refused: Vec<Refusal>,
}

pub(crate) fn judge(world: &World) -> Judged {
    let mut refused = foreign(world);
    if !refused.is_empty() {
        return Judged { wanted: None, refused };
    }
    let version = version(world, &mut refused);
    let resources = resources(world, &mut refused);
    let (size, class) = storage(world, &mut refused);
    let cache = cache(resources.as_ref());
    let schedule = schedule(world, &mut refused);
    let wanted = version.map(|version| Wanted { version, resources, cache, size, class, schedule });
    Judged { wanted, refused }
}

/// Objects of our names that are somebody else's. They are taken over only when the user says so.
fn foreign(world: &World) -> Vec<Refusal> {
    if world.app.spec.take_ownership {
        return Vec::new();
    }
    let app = &*world.app;
    let own_claim = world.claim.as_deref().filter(|_| world.claim_name == names::claim(app));
    let all = [
        world.deployment.as_deref().and_then(|live| not_ours(app, live)),
        own_claim.and_then(|live| not_ours(app, live)),
        world.service.as_deref().and_then(|live| not_ours(app, live)),
        world.account.as_deref().and_then(|live| not_ours(app, live)),
        world.schedule.as_deref().and_then(|live| not_ours(app, live)),
    ];
    all.into_iter().flatten().collect()
}

fn not_ours<K: Resource<DynamicType = ()>>(app: &ExampleApp, live: &K) -> Option<Refusal>
where
    K::Scope: 'static,
{
    let why = || {
        format!(
            "{} {} exists and is not ours, so nothing was touched: set spec.takeOwnership to take it over with its data, \
             or give this ExampleApp another name",
            KindId::of::<K>(),
            live.name_any()
        )
    };
    (!names::is_ours(app, live)).then(|| Refusal { field: "spec.takeOwnership", why: why() })
}

fn version(world: &World, refused: &mut Vec<Refusal>) -> Option<String> {
    let asked = &world.app.spec.app_version;
    let current = world.data_version();
    let answer = match &current {
        Some(current) => versions::way(current, asked).map(drop),
        None => versions::find(asked).map(drop),
    };
    let Err(refusal) = answer else { return Some(asked.clone()) };
    let stays = current.as_ref().map_or_else(String::new, |current| format!("; it stays at {current}"));
    refused.push(Refusal { field: "spec.appVersion", why: format!("{refusal}{stays}") });
    // What has begun is brought to its end, whatever is asked for meanwhile.
    current.or_else(|| world.app.status.as_ref()?.operation.as_ref().map(|operation| operation.to.clone()))
}

fn resources(world: &World, refused: &mut Vec<Refusal>) -> Option<ResourceRequirements> {
    let asked = world.app.spec.resources.as_ref()?;
    let mut all = asked.limits.iter().chain(&asked.requests).flatten();
    let Some((name, wrong)) =
        all.find(|(_, value)| quantity::billionths(&value.0).is_none_or(|value| value < 0))
    else {
        return Some(asked.clone());
    };
    let why =
        format!("{name}: {:?} is no quantity such as 500m or 256Mi; what was set before stays", wrong.0);
    refused.push(Refusal { field: "spec.resources", why });
    world.deployment.as_ref()?.spec.template.spec.as_ref()?.containers.first()?.resources.clone()
}

fn schedule(world: &World, refused: &mut Vec<Refusal>) -> Option<String> {
    let backup = world.app.spec.backup.as_ref().filter(|backup| backup.enabled)?;
    let Err(wrong) = cron::check(&backup.schedule) else { return Some(backup.schedule.clone()) };
    let live = world.schedule.as_ref().map(|live| live.spec.schedule.clone());
    let stays = live
        .as_ref()
        .map_or_else(|| "there are no backups until then".into(), |live| format!("{live:?} stays"));
    refused.push(Refusal { field: "spec.backup.schedule", why: format!("{wrong}; {stays}") });
    live
}

fn cache(resources: Option<&ResourceRequirements>) -> u64 {
    let limit = resources.and_then(|resources| resources.limits.as_ref()?.get("memory"));
    limit.and_then(|limit| quantity::bytes(&limit.0)).map_or(DEFAULT_CACHE, |limit| limit / 4)
}

/// The size and the class. Neither a smaller size nor another class is possible for a claim that exists.
fn storage(world: &World, refused: &mut Vec<Refusal>) -> (Quantity, Option<String>) {
    let asked = &world.app.spec.storage;
    let live = world.claim.as_ref().and_then(|claim| claim.spec.as_ref());
    let live_size = world.claim.as_deref().and_then(requested);
    let live_class = live.and_then(|live| live.storage_class_name.clone());
    let mut refuse = |field, why: String| refused.push(Refusal { field, why });
    let size = match (asked.size.clone(), live_size) {
        (None, live) => live.unwrap_or_else(|| Quantity(DEFAULT_SIZE.to_owned())),
        (Some(asked), live) => {
            let (want, have) =
                (quantity::bytes(&asked.0), live.as_ref().and_then(|live| quantity::bytes(&live.0)));
            let fallback = || live.clone().unwrap_or_else(|| Quantity(DEFAULT_SIZE.to_owned()));
            if want.is_none_or(|want| want == 0) {
                refuse(
                    "spec.storage.size",
                    format!("{:?} is no size such as 1Gi; {} it is", asked.0, fallback().0),
                );
                fallback()
            } else if want < have {
                refuse(
                    "spec.storage.size",
                    format!("a volume cannot shrink to {}; it stays at {}", asked.0, fallback().0),
                );
                fallback()
            } else {
                asked
            }
        }
    };
    let class = match (&asked.class_name, live.is_some()) {
        (Some(asked), true) if live_class.as_ref() != Some(asked) => {
            let is = live_class.as_deref().unwrap_or("no class");
            refuse(
                "spec.storage.className",
                format!(
                    "the class of a volume cannot change to {asked}; it stays {is}. Restore a backup into a new ExampleApp to move it"
                ),
            );
            live_class
        }
        (_, true) => live_class,
        (asked, false) => asked.clone(),
    };
    (size, class)
}

fn requested(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage").cloned()
}
