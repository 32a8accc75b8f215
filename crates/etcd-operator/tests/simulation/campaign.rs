//! The campaign: every story with every fault at every place, each run compared with the one without faults.
//!
//! `make test` plays a few of each, `cargo xtask campaign` every crash and every lost answer at every write of the API and of etcd and every
//! stale revision, `cargo xtask campaign --extent full` refusals, silent members and pairs of crashes too.

use simulation::{Injected, Run};

use crate::stories::{
    BACKED_UP, BAD_UPGRADE, DOWNGRADE, LOSSES, RECREATED, REPLACED, ROOM, SCALING, Story, TO_3_7, UPGRADE,
};

/// How many runs of each story are in the sample.
const SAMPLE: usize = 3;

pub(crate) fn demand_nothing(story: &Story) {
    let outcome = story.campaign().outcome("etcd", story.name, SAMPLE);
    println!("{}", outcome.unwrap_or_else(|differences| panic!("{differences}")));
}

/// A fault is placed by counting requests: they must be the same ones, at the same times, in every run.
#[test]
fn a_story_that_is_played_twice_is_twice_the_same() {
    let told = |run: &Run| -> Vec<String> {
        run.requests.iter().map(|request| format!("{} {}", request.at, request.told())).collect()
    };
    for story in [&SCALING, &BAD_UPGRADE] {
        let again = story.survives(Injected::Nothing);
        assert_eq!(told(story.reference()), told(&again), "{}", story.name);
    }
}

#[test]
fn scaling_ends_as_without_faults() {
    demand_nothing(&SCALING);
}

#[test]
fn losses_end_as_without_faults() {
    demand_nothing(&LOSSES);
}

#[test]
fn an_upgrade_ends_as_without_faults() {
    demand_nothing(&UPGRADE);
}

#[test]
fn an_upgrade_to_3_7_ends_as_without_faults() {
    demand_nothing(&TO_3_7);
}

#[test]
fn an_upgrade_behind_a_backup_ends_as_without_faults() {
    demand_nothing(&BACKED_UP);
}

#[test]
fn more_room_ends_as_without_faults() {
    demand_nothing(&ROOM);
}

#[test]
fn a_bad_upgrade_ends_as_without_faults() {
    demand_nothing(&BAD_UPGRADE);
}

#[test]
fn a_downgrade_ends_as_without_faults() {
    demand_nothing(&DOWNGRADE);
}

#[test]
fn deleting_and_creating_again_ends_as_without_faults() {
    demand_nothing(&RECREATED);
}

#[test]
fn another_cluster_of_the_same_name_ends_as_without_faults() {
    demand_nothing(&REPLACED);
}
