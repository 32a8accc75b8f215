//! The campaign: every story with every fault at every place, each run compared with the one without faults.
//!
//! `make test` plays a few of each, `CAPSTAN_CAMPAIGN=crashes` every crash and every lost answer at every write of the API and of
//! etcd and every stale revision, `CAPSTAN_CAMPAIGN=full` refusals, silent members and pairs of crashes too.

use simulation::{Extent, Injected, Run};

use crate::stories::{
    BACKED_UP, BAD_UPGRADE, DOWNGRADE, LOSSES, RECREATED, REPLACED, ROOM, SCALING, Story, TO_3_7, UPGRADE,
};

/// How many runs of each story are in the sample.
const SAMPLE: usize = 3;

pub(crate) fn demand_nothing(story: &Story) {
    let (name, campaign) = (story.name, story.campaign());
    let faults = campaign.chosen(SAMPLE).unwrap_or_else(|error| panic!("{error}"));
    let all = [Extent::Sample, Extent::Whole].map(|extent| campaign.faults(extent).len());
    println!("{name}: {} of {} crashes and {} faults in all", faults.len(), all[0], all[1]);
    let mut findings = Vec::new();
    for fault in &faults {
        if let Err(finding) = campaign.meet(*fault) {
            // At once: a whole campaign takes hours.
            println!("{name}: {finding}");
            findings.push(fault.to_string());
        }
    }
    let wrong = findings.len();
    assert!(findings.is_empty(), "{name}: {wrong} of {} runs went wrong: {findings:?}", faults.len());
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
