//! EtcdCluster's scenarios on a real Kubernetes: the operator runs in it, installed from deploy/install.yaml with exactly the rights
//! that we generate, under Pod Security `restricted`; a checked client load goes on meanwhile.
//! `cargo xtask test-kubernetes etcd` brings up what they stand on.
//!
//! Every scenario has a namespace of its own. Those in `with_trouble`, `dead_nodes`, `reinstalled` and `figures`, and one of `wrong_moment`, stop, kill,
//! cut off or change the operator or a node, or measure, so they run alone. With `CAPSTAN_CAMPAIGN` set, those that take long run as well.
//!
//! The catalogue that they were made from (those about backups are named in `backup.rs` and `restore.rs`):
//!
//! | | what happens | scenarios |
//! |---|---|---|
//! | E01–06 | created: 1, 3, 5, 7; with TLS and without | `create::` |
//! | E07–10 | 1→3→5→3→1 under load | `scale::one_three_five_three_one_under_load` |
//! | | swaps, leases and watches while members restart, and over a restore in place | `under_load::` |
//! | E11 | 3→1→3 with kept volumes | `scale::three_one_three…` |
//! | E12 | 5→3 with one down | `scale::the_member_that_is_down_leaves_first` |
//! | E13–14 | scaled while scaling | `scale::a_change_of_mind_in_the_middle` |
//! | E15 | another patch | `upgrade::a_patch_is_an_upgrade_too` |
//! | E16 | 3.5→3.6→3.7 under load | `upgrade::from_3_5_over_3_6_to_3_7…` |
//! | E17 | an upgrade that fails, and the way back | `upgrade::a_failing_image…`, `…an_image_that_cannot_be_pulled…`, `…a_user_who_changes_their_mind…` |
//! | E18 | 3.6→3.5 by etcd's Downgrade | `upgrade::back_from_3_6_to_3_5…` |
//! | E19–20 | a minor skipped; 3.5 below 3.5.32 to 3.6 | `refused::versions_that_cannot_follow…` |
//! | E21 | pods lost | `member_lost::a_pod…`, `…all_pods_lost_at_once…` |
//! | E22 | a node lost | `with_trouble::a_member_on_a_node_that_dies…`, `wrong_moment::a_node_dies…` |
//! | E22 | a node whose host name is not its name; nodes dead in a restore | `nodes::`, `dead_nodes::` |
//! | E23 | a volume lost | `member_lost::a_volume…` |
//! | E24, E26 | a damaged database, a crash loop | `member_lost::a_member_that_crashes_again_and_again…` |
//! | E24 | data that differs from the others' | `corrupt::` |
//! | E25 | an empty directory, data of others | `member_lost::an_empty…`, `…another_clusters_data…`, `…another_members_data…` |
//! | E27 | slow: network, disk | `hampered::` |
//! | E28 | cut off from its peers | `hampered::a_follower_that_its_peers…`, `…a_leader_that_its_peers…` |
//! | E51 | a process that hangs; a long defragmentation | `liveness::` |
//! | E58 | paused and resumed | `pause::` |
//! | E59–60 | deleted: volumes kept; gone with consent | `delete::the_volumes_stay…`, `…the_volumes_go…` |
//! | E61 | another version of the operator | `reinstalled::another_version_of_the_operator…` |
//! | E62–63 | the operator removed; the definitions, too | `with_trouble::removing_the_installation…`, `reinstalled::without_the_definitions…` |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod auth;
mod backup;
mod command_line;
mod configure;
mod corrupt;
mod create;
mod dead_nodes;
mod delete;
mod figures;
mod hampered;
mod liveness;
mod member_lost;
mod nodes;
mod pause;
mod refused;
mod reinstalled;
mod restore;
mod scale;
mod surroundings;
mod tls;
mod under_load;
mod upgrade;
mod with_trouble;
mod wrong_moment;

// What they share, and what they share with other operators' scenarios.
mod cluster;
mod damage;
mod load;
mod plain;
mod truth;

use lab_tests::{ground, operator, patience, world};
