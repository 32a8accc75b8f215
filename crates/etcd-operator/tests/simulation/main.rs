//! The operator on a simulated Kubernetes with simulated etcd: stories of clusters, and what is left in the end. Each of them also under
//! crashes, lost answers and stale reads: a sample in `make test`, all of it with `CAPSTAN_CAMPAIGN=crashes` or `full`.
//!
//! Beside the campaign, which has every crash at every place, the cases that other operators have shipped as bugs have names here
//! (the checklist that was made from Sieve's findings, OSDI '22):
//!
//! | case | what happens | test |
//! |---|---|---|
//! | 1 | crash with a new member on record, before `MemberAdd` | `crashes::a_member_on_record_is_added_under_that_number` |
//! | 2 | crash after `MemberAdd`, before its StatefulSet | `crashes::a_member_that_etcd_knows_gets_its_stateful_set` |
//! | 3 | crash after its StatefulSet, before it is promoted | `crashes::a_learner_that_started_is_promoted` |
//! | 4 | crash after it was promoted, before status and budget | `crashes::a_promoted_member_counts_in_status_and_budget` |
//! | 5 | crash after `MemberRemove`, before its StatefulSet goes | `crashes::a_removed_member_is_stopped` |
//! | 6 | crash after the StatefulSet went, before the volume does | `crashes::the_volume_of_a_stopped_member_is_seen_to` |
//! | 7 | crash after the volumes went, before the finalizer does | `crashes::a_deleted_cluster_is_let_go` |
//! | 8 | crash between finding the cluster ID out and latching it | `crashes::a_cluster_id_that_was_not_latched_is_found_out_again` |
//! | 11 | crash after `Downgrade ENABLE` | `crashes::a_downgrade_that_was_enabled_is_carried_out` |
//! | 13 | crash after one of several volumes grew | `crashes::every_volume_grows_when_one_did` |
//! | 14 | crash between two Secrets with certificates | `crashes::certificates_are_signed_by_the_authority_that_was_made` |
//! | 16 | a snapshot is stored, the status not written | `backups::what_was_stored_is_recognised_when_nobody_wrote_it_down`, `backups::a_job_that_is_lost_is_run_again_and_finds_its_backup` |
//! | 17 | retention stops between manifest and object | `places::what_the_policy_does_not_want_goes_manifest_first` in crates/etcd-backup |
//! | 18 | deleted and created again, seen by a stale cache | `stale::the_volumes_of_a_new_cluster_of_the_same_name_are_not_touched` |
//! | 19 | the cache says two members, etcd three | `stale::a_cache_that_lacks_a_member_adds_none` |
//! | 20 | the cache still has a member that left | `stale::a_member_that_left_does_not_come_back` |
//! | 21 | the deletion of the cluster is seen late | `stale::nothing_is_made_for_a_cluster_that_is_gone` |
//! | 22 | a pod was replaced and nobody told | `stale::a_pod_of_the_same_name_is_not_taken_for_the_one_before`, `stale::a_pod_that_was_replaced_unseen_is_noticed` |
//! | 23 | deleted while the operator does not see it | `stale::a_deletion_that_was_missed_waits_for_us` |
//! | 24 | two operators at the same time | `rivals::two_operators_end_as_one` |
//! | 25 | the status is wiped, the latch too | `memory::a_wiped_status_is_learnt_again`, `memory::a_cluster_that_is_forgotten_everywhere_is_learnt_from_its_members` |
//! | 26 | no member is reached | `memory::who_reaches_no_member_does_nothing` |
//! | 12 | the alarm CORRUPT | `corrupt::` |
//!
//! Not yet here, because there is nothing yet that could go wrong: 9, 10 (authentication), 12 (compaction, defragmentation, NOSPACE), 15
//! (lost quorum).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(clippy::indexing_slicing, clippy::string_slice, reason = "tests")]

mod backups;
mod campaign;
mod corrupt;
mod crashes;
mod ends;
mod joining;
mod memory;
mod provided;
mod restores;
mod rivals;
mod speed;
mod stale;
mod stories;
mod surroundings;
mod world;
