//! Kubernetes' API semantics in process, made to be broken. For tests only: no operator depends on it.
//!
//! ```text
//! kube::Client ─▶ Connection ─▶ http ──▶ handlers ──▶ store ──▶ watch ─▶ kube::Client
//!                  (tower)       │  │       │ meta, rules, schema, patch, apply
//!                             record faults └ access        store ◀── controllers (collect, namespaces, crd)
//! ```
//!
//! - [`Server`]: make it, get clients, install objects, ask what happened. `server/listen` serves the same over a socket.
//! - [`Store`]: every object at every revision, the log of events, compaction.
//! - `http`, `request`, `negotiate`: from bytes to a call and back. `handlers`: one file per verb.
//! - `meta`, `rules`: what metadata and single kinds obey. [`Schema`], `kinds`: what fields there are.
//! - `apply`, `patch`, `select`: server-side apply, patches, selectors; all pure.
//! - `access`: users, RBAC, reviews. `crd`, `discovery`: what is served. `controllers`: what happens by itself.
//! - [`Faults`]: which request goes wrong, and how. [`Requests`]: every request that was made.
//!
//! Invariants: without faults the server does what kube-apiserver does, or refuses clearly; the `contract` crate checks it. Two runs
//! of the same story with the same seed in paused time give the same names, UIDs, revisions and times.

mod access;
mod apply;
mod clock;
mod cluster;
mod collect;
mod controllers;
mod crd;
mod discovery;
mod error;
mod faults;
mod handlers;
mod http;
mod install;
mod kinds;
mod matching;
mod meta;
mod namespaces;
mod negotiate;
mod patch;
mod record;
mod request;
mod rules;
mod schema;
mod select;
mod server;
mod store;
mod turns;
mod watch;

pub use access::User;
pub use error::{ApiError, Cause, Details};
pub use faults::{Competitor, CrashPoint, CrashSwitch, Fault, Faults, Plan, Rule, WatchFault, When};
pub use http::Body;
pub use kinds::{Generation, Kind, ScalePaths, builtins};
pub use record::{Recorded, Requests};
pub use request::Verb;
pub use schema::{ListType, MergeStrategy, Schema};
pub use server::{Builder, Connection, Dump, Listening, Server};
pub use store::{Change, CommitError, Compacted, Event, Expect, Object, ObjectId, Scope, Store};
pub use turns::{Follower, Over, Turns};
