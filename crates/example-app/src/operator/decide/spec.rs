//! What of the spec can be carried out. A field that cannot be is refused by name, with what to do; what was in force before
//! stays in force, so that the running application is never touched by a mistake.

use kit::{
    Refusals,
    kinds::{Quantity, ResourceRequirements},
    pods, quantity,
};

use crate::{
    app::versions,
    operator::{names, observe::World},
};

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

/// What the spec comes to; nothing when nothing may be touched at all.
pub(crate) fn judge(world: &World) -> (Option<Wanted>, Refusals) {
    let (spec, mut refused) = (&world.app.spec, Refusals::default());
    // A claim of our name is nobody's business when the data is elsewhere.
    let used = |name: &str| name != names::claim(&world.app) || name == world.claim_name;
    for (kind, name) in world.live.strangers().filter(|(_, name)| !spec.take_ownership && used(name)) {
        let how =
            "set spec.takeOwnership to take it over with its data, or give this ExampleApp another name";
        let why = format!("{kind} {name} exists and is not ours, so nothing was touched: {how}");
        refused.not_ours("spec.takeOwnership", why);
    }
    if refused.is_blocked() {
        return (None, refused);
    }
    let version = refused.judged("spec.appVersion", version(world));
    let live = world.deployment().and_then(|deployment| deployment.spec.template.spec.as_ref());
    let resources = refused.judged("spec.resources", pods::resources(spec.resources.as_ref(), live));
    let (size, class) = spec.storage.judged(world.claim(), &mut refused);
    let live = world.live.get(&names::schedule(&world.app));
    let schedule = spec.backups().map(|backup| backup.schedule(live)).unwrap_or_default();
    let schedule = refused.judged("spec.backup.schedule", schedule);
    let memory = resources.as_ref().and_then(|resources| resources.limits.as_ref()?.get("memory"));
    let cache = memory.and_then(|limit| quantity::bytes(&limit.0)).map_or(DEFAULT_CACHE, |limit| limit / 4);
    (version.map(|version| Wanted { version, resources, cache, size, class, schedule }), refused)
}

/// The version that is in force, and why it is not what the field says, if so.
fn version(world: &World) -> (Option<String>, Option<String>) {
    let (asked, current) = (&world.app.spec.app_version, world.data_version());
    let answer = match &current {
        Some(current) => versions::way(current, asked).map(drop),
        None => versions::find(asked).map(drop),
    };
    let Err(refusal) = answer else { return (Some(asked.clone()), None) };
    let stays = current.as_ref().map_or_else(String::new, |current| format!("; it stays at {current}"));
    // What has begun is brought to its end, whatever is asked for meanwhile.
    let begun = || Some(world.app.status.as_ref()?.operation.as_ref()?.to.clone());
    (current.or_else(begun), Some(format!("{refusal}{stays}")))
}
