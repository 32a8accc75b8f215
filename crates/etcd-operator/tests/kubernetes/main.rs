//! EtcdCluster's scenarios on a real Kubernetes: the operator runs in it, installed from deploy/install.yaml with exactly the rights
//! that we generate, under Pod Security `restricted`; a checked client load goes on meanwhile.
//! `cargo xtask test-kubernetes etcd` brings up what they stand on.
//!
//! Every scenario has a namespace of its own. Those in `with_trouble`, `reinstalled` and `figures` stop, kill, cut off or change the
//! operator or a node, or measure, so they run alone. With `CAPSTAN_CAMPAIGN` set, those that take long run as well.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod backup;
mod command_line;
mod configure;
mod create;
mod delete;
mod figures;
mod hampered;
mod member_lost;
mod pause;
mod refused;
mod reinstalled;
mod restore;
mod scale;
mod tls;
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
