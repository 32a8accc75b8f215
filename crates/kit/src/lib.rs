//! Write Kubernetes operators: an SRE's knowledge of an application, as software.
//!
//! # The tour
//!
//! ```text
//!                    ┌────────────────────────────── Manager: starts and stops it all ─────────────────────────────┐
//! API server ──watch──> Informer ──> Store ──change──> queue ──key──> worker: observe ─> decide ─> act ─> report │
//!      ▲             │ (exact, small)  └───────────────read───────────────┘                             │        │
//!      └─────────────┼──── client: timeout, retry budget, limits, fence ◄──── Context: apply, prune, status, event
//!                    └───────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! - A [`Manager`] owns everything. [`Manager::watch`] gives a [`Store`]: a cache of one kind, kept up to date by an
//!   [`Informer`] that never loses a delete. What is kept of each object is its [`Row`]: the object without managedFields, or
//!   something much smaller such as [`Slim`].
//! - You write a [`Reconciler`]: four steps. **observe** builds one immutable picture; **decide** is a pure function from the
//!   picture to a plan; **act** carries the plan out; **report** writes status and says what is next, as an [`Outcome`].
//! - [`Manager::controller`] wires the reconciler to the stores whose changes make objects due. A key is in the queue once, is
//!   worked on by one worker at a time, waits longer after each failure, and never on a cache that has not seen our own last
//!   write.
//! - In its hands a reconcile has a [`Context`]: [`apply`](Context::apply) sends nothing when nothing differs,
//!   [`prune`](Context::prune) deletes only what the owner owns, [`write_status`](Context::write_status) writes only news,
//!   [`event`](Context::event) never fails. All of them pass the fence of [`lead`]: a replica that no longer leads cannot write.
//! - A [`Family`] is the caches of all kinds that belong to an object, and its [`Live`] objects one picture; a plan is then a list
//!   of [`Task`]s. What objects are made of is in [`kinds`], [`parts`], [`secure`] and [`mod@run`]; what decisions ask about them in
//!   [`readiness`], [`pods`], [`claims`], [`adopt`] and [`cron`]; what users are asked everywhere in
//!   [`choices`] and [`backups`]. What takes several steps is an [`operation`]; what is said in the same words everywhere is
//!   [`Usual`], [`Refusals`] and [`Standing`].
//! - What an operator may do is declared beside what it does ([`access`]), its settings are data ([`flags`]), and so are its
//!   [`metrics`]. What an application needs for its own Jobs is here too: a [`bucket`] for backups, a [`disk`] that survives
//!   crashes, a [`Door`](serve::Door) with a password. [`serve`] has health and metrics, [`telemetry`] logs and traces, [`webhook`] TLS for admission.
//!
//! # A complete operator
//!
//! This is `examples/greeter.rs`, whole. Tests run it through every crash and every stale read there is
//! (`tests/kit/campaign.rs`).
//!
//! ```no_run
#![doc = include_str!("../examples/greeter.rs")]
//! ```
#![warn(missing_docs)]

pub mod access;
pub mod adopt;
mod apply;
pub mod backups;
pub mod bucket;
mod call;
pub mod choices;
pub mod claims;
pub mod client;
mod clock;
mod confirm;
mod context;
mod controller;
mod create;
pub mod cron;
mod delete;
pub mod disk;
mod error;
mod events;
mod family;
mod finalize;
mod fingerprint;
pub mod flags;
pub mod informer;
mod key;
mod kind;
pub mod kinds;
pub mod lead;
mod manager;
pub mod metrics;
pub mod operation;
pub mod parts;
pub mod pause;
pub mod pods;
mod queue;
pub mod readiness;
mod reason;
mod reconcile;
mod report;
pub mod run;
pub mod scope;
mod scrape;
pub mod secure;
pub mod serve;
mod slim;
mod status;
mod task;
pub mod telemetry;
mod usual;
pub mod webhook;
mod wish;

pub use apply::{APPLIED, Diff, Difference, Labels, Precious, Pruned, diff, own, owned, quantity};
pub use clock::Clock;
pub use context::Context;
pub use controller::{Controller, ControllerOptions, Trigger};
pub use error::{Error, Result};
pub use events::{Event, Events, Recorder, Reporter};
pub use family::{COMPONENT, Family, Kinship, Live};
pub use informer::{Change, Informer, Select, Store, Subscription, Undecodable};
pub use key::Key;
pub use kind::{KindId, Owner, Projection, Row};
pub use manager::{Api, Manager, ManagerError, Setup, until_signalled};
pub use queue::Backoff;
pub use reason::Reason;
pub use reconcile::{Acted, Outcome, Reconciler};
pub use run::{Run, run};
pub use scope::Scope;
pub use scrape::{ask, scrape, scrape_all};
pub use slim::{Meta, Slim};
pub use status::{Condition, Conditions, Truth};
pub use task::Task;
pub use usual::{Refusal, Refusals, Standing, Usual};
pub use wish::Wish;
