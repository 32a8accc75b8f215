//! Stories of clusters: what users do, and what befalls members. Each is played once without faults, for all tests that need that run.

use std::sync::OnceLock;

use apiserver::{Recorded, Verb};
use serde_json::{Value, json};
use simulation::{Campaign, Injected, Run, Scenario};

use crate::world::{Stage, create, delete, edit, give_nonsense, lose_claim, lose_pod, spoil};

pub(crate) struct Story {
    pub(crate) name: &'static str,
    make: fn() -> Scenario,
    reference: OnceLock<Run>,
}

pub(crate) static SCALING: Story = Story::new("scaling", scaling);
pub(crate) static LOSSES: Story = Story::new("losses", losses);
pub(crate) static UPGRADE: Story = Story::new("upgrade", upgrade);
pub(crate) static TO_3_7: Story = Story::new("to-3.7", to_3_7);
pub(crate) static BAD_UPGRADE: Story = Story::new("bad-upgrade", bad_upgrade);
pub(crate) static DOWNGRADE: Story = Story::new("downgrade", downgrade);
pub(crate) static RECREATED: Story = Story::new("recreated", recreated);
pub(crate) static REPLACED: Story = Story::new("replaced", replaced);
pub(crate) static FOUNDING: Story = Story::new("founding", founding);
pub(crate) static GROWTH: Story = Story::new("growth", growth);
pub(crate) static GIVEN: Story = Story::new("given", given);
pub(crate) static ROOM: Story = Story::new("room", room);
pub(crate) static BACKED_UP: Story = Story::new("backed-up", backed_up);

pub(crate) static ALL: [&Story; 17] = [
    &SCALING,
    &LOSSES,
    &UPGRADE,
    &TO_3_7,
    &BAD_UPGRADE,
    &DOWNGRADE,
    &RECREATED,
    &REPLACED,
    &GIVEN,
    &BACKED_UP,
    &crate::corrupt::CORRUPT,
    &crate::restores::RECOVERED,
    &crate::restores::RESTORED,
    &crate::restores::TO_A_POINT,
    &crate::backups::ONCE,
    &crate::backups::AGAIN,
    &crate::backups::SCHEDULED,
];

impl Story {
    pub(crate) const fn new(name: &'static str, make: fn() -> Scenario) -> Self {
        Self { name, make, reference: OnceLock::new() }
    }

    /// The run without faults.
    pub(crate) fn reference(&self) -> &Run {
        self.reference.get_or_init(|| {
            let run = simulation::run(&(self.make)(), Injected::Nothing);
            let run = run.unwrap_or_else(|error| panic!("{}: {error}", self.name));
            let writes = run.etcd_calls.iter().filter(|made| made.call.is_write()).count();
            println!(
                "{}: {} requests, {} calls of etcd, {writes} of them writes",
                self.name,
                run.requests.len(),
                run.etcd_calls.len()
            );
            run
        })
    }

    pub(crate) fn campaign(&self) -> Campaign {
        Campaign::against((self.make)(), self.reference().clone())
    }

    /// Plays it with a fault, and demands that nothing of it is left in the end.
    #[track_caller]
    pub(crate) fn survives(&self, fault: Injected) -> Run {
        self.campaign().meet(fault).unwrap_or_else(|finding| panic!("{}: {finding}", self.name))
    }
}

pub(crate) fn spec(size: u8) -> Value {
    json!({"size": size, "version": "3.6.16"})
}

fn founding() -> Scenario {
    Stage::default().scenario("founding").step("create one", |client| create(client, spec(1)))
}

fn growth() -> Scenario {
    Stage::default()
        .scenario("growth")
        .step("create one", |client| create(client, spec(1)))
        .step("grow to three", |client| edit(client, json!({"size": 3})))
}

fn scaling() -> Scenario {
    scaling_on(&Stage::default())
}

pub(crate) fn scaling_on(stage: &Stage) -> Scenario {
    stage
        .scenario("scaling")
        .step("create one", |client| create(client, spec(1)))
        .step("grow to three", |client| edit(client, json!({"size": 3, "networkPolicy": {}})))
        .step("shrink to one", |client| edit(client, json!({"size": 1, "networkPolicy": null})))
}

fn losses() -> Scenario {
    let stage = Stage::default();
    let losing = stage.clone();
    stage
        .scenario("losses")
        .step("create three", |client| create(client, spec(3)))
        .step("lose a pod", |client| lose_pod(client, "db-1"))
        .step("lose the data of a member", move |client| {
            let stage = losing.clone();
            async move { stage.lose_data(client, "db-2").await }
        })
        .step("lose the claim of a member", |client| lose_claim(client, "db-3"))
        .step("spoil a certificate", |client| spoil(client, "db-client-tls"))
}

fn upgrade() -> Scenario {
    Stage::default()
        .scenario("upgrade")
        .step("create three of 3.5", |client| create(client, json!({"size": 3, "version": "3.5.35"})))
        .step("upgrade", |client| edit(client, json!({"version": "3.6.16"})))
        .step("change a setting", |client| edit(client, json!({"etcd": {"snapshotCount": 5000}})))
}

/// Every member takes a snapshot first, by a downgrade that is enabled and cancelled.
fn to_3_7() -> Scenario {
    Stage::default()
        .scenario("to-3.7")
        .step("create three of 3.6", |client| create(client, spec(3)))
        .step("upgrade", |client| edit(client, json!({"version": "3.7.3"})))
}

fn room() -> Scenario {
    let storage = |size: &str| json!({"size": size, "storageClassName": "fast"});
    let spec = json!({"size": 3, "version": "3.6.16", "storage": storage("8Gi")});
    let more = json!({"storage": storage("16Gi")});
    Stage::default()
        .scenario("room")
        .step("create three", move |client| create(client, spec.clone()))
        .step("give them more room", move |client| edit(client, more.clone()))
}

/// Twice to the same version: the backup of the first time does not count for the second.
fn backed_up() -> Scenario {
    const STORE: &str = "s3://backups/db";
    let spec = json!({"size": 1, "version": "3.6.15", "updateStrategy": {"backup": {"url": STORE}}});
    let stage = Stage::default();
    let (hanging, answering) = (stage.clone(), stage.clone());
    stage
        .scenario("backed-up")
        .step("create one of 3.6.15", move |client| create(client, spec.clone()))
        .step("upgrade, and the store hangs", move |client| {
            hanging.trouble(STORE, Some("hangs"));
            edit(client, json!({"version": "3.6.16"}))
        })
        .step("the store answers", move |_| {
            let stopped = |it: &&Recorded| it.verb == Some(Verb::Delete) && it.resource == "pods";
            assert_eq!(answering.writes().iter().filter(stopped).count(), 0, "nobody is touched before");
            answering.trouble(STORE, None);
            async { Ok(()) }
        })
        .step("go back", |client| edit(client, json!({"version": "3.6.15"})))
        .step("upgrade once more", |client| edit(client, json!({"version": "3.6.16"})))
}

fn bad_upgrade() -> Scenario {
    let stage = Stage::default();
    let breaking = stage.clone();
    stage
        .scenario("bad-upgrade")
        .step("create three", move |client| {
            breaking.etcd.break_version("3.6.17");
            create(client, spec(3))
        })
        .step("upgrade to what does not start", |client| edit(client, json!({"version": "3.6.17"})))
        .step("go back", |client| edit(client, json!({"version": "3.6.16"})))
}

fn downgrade() -> Scenario {
    Stage::default()
        .scenario("downgrade")
        .step("create three of 3.6", |client| create(client, spec(3)))
        .step("go down to 3.5", |client| edit(client, json!({"version": "3.5.35"})))
}

fn recreated() -> Scenario {
    Stage::default()
        .scenario("recreated")
        .step("create three", |client| create(client, spec(3)))
        .step("delete it, and keep the volumes", delete)
        .step("create it again", |client| create(client, spec(3)))
        .step("let the volumes go too", |client| {
            edit(client, json!({"deletionPolicy": {"volumes": "Delete"}}))
        })
        .step("delete it", delete)
}

fn replaced() -> Scenario {
    let spec = json!({"size": 1, "version": "3.6.16", "deletionPolicy": {"volumes": "Delete"}});
    let again = spec.clone();
    Stage::default()
        .scenario("replaced")
        .step("create one whose volumes go with it", move |client| create(client, spec.clone()))
        .step("delete it", delete)
        .step("create another of that name", move |client| create(client, again.clone()))
}

fn given() -> Scenario {
    let secrets = json!({"peer": "mine", "server": "mine", "operator": "mine"});
    let spec = json!({"size": 1, "version": "3.6.16", "tls": {"mode": "Secrets", "secrets": secrets}});
    Stage::default()
        .scenario("given")
        .step("give nonsense", |client| give_nonsense(client, "mine"))
        .step("create one that is to use it", move |client| create(client, spec.clone()))
}
