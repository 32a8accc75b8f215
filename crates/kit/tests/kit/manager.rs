//! A manager and its controllers on an API server, in virtual time.

mod consistency;
mod flags;
mod metrics;
mod replicas;
mod scope;
mod served;
mod stop;
mod triggers;
mod unreadable;
mod webhooks;
mod workers;
mod world;
