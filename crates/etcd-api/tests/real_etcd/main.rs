//! The client against real etcd processes: every call, every refusal that can be provoked, and every way in which nobody answers.

mod calls;
mod cluster;
mod connections;
mod refusals;
mod starts;
mod versions;
