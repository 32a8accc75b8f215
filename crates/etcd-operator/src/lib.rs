//! Runs etcd clusters.
mod build;
mod certificates;
mod etcd;
mod metrics;
mod names;
mod tls;
