//! CPU time and memory of rendering many ServiceMonitors, from cold and after one edit, over the objects of
//! `shared/bench/resources.py`: `cargo run --release -p prometheus-config --example speed -- DIR…`.
//!
//! Prints a JSON line per stage, as the peer's generator does (`shared/bench/gogen`).

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measuring program: it stops where it cannot go on"
)]

use std::path::Path;

use prometheus_config::{Additional, Checker, Options, Renderer, Selected, Workload};
use prometheus_types::{Prometheus, ServiceMonitor};
use rendering::Assets;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nanoseconds in which one tick more or less does not count.
const MANY_TICKS: u64 = 200_000_000;

fn main() {
    for directory in std::env::args().skip(1) {
        measure(Path::new(&directory));
    }
}

fn measure(directory: &Path) {
    let prometheus: Vec<Prometheus> = read(&directory.join("prometheuses.jsonl"));
    let workload = Workload::Server(&prometheus[0]);
    let mut monitors: Vec<ServiceMonitor> = read(&directory.join("servicemonitors.jsonl"));
    for (at, monitor) in monitors.iter_mut().enumerate() {
        // As stored objects have them.
        monitor.metadata.uid = Some(format!("uid-{at}"));
        monitor.metadata.resource_version = Some("1".to_owned());
    }
    let secrets: Vec<Value> = read(&directory.join("secrets.jsonl"));
    let assets = Assets::from_objects(&secrets, &[]);
    let rules = ["a", "b", "c"].map(str::to_owned);
    let additional = Additional { rule_config_maps: &rules, ..Additional::default() };
    let options = Options {
        shard_retention_policy: true,
        topology_sharding: true,
        endpoint_slices: true,
        ..Options::default()
    };
    let count = monitors.len();
    let report = |stage: &str, nanoseconds: u64, bytes: usize| {
        println!(
            "{}",
            json!({"stage": stage, "monitors": count, "cpu_ns": nanoseconds, "bytes": bytes, "peak_kb": peak()})
        );
    };

    let check = |monitors: &[ServiceMonitor]| {
        let checker = Checker::new(workload, &assets).unwrap();
        monitors.iter().filter(|monitor| checker.service_monitor(monitor).is_ok()).count()
    };
    let mut accepted = 0;
    let checked = median(5, || accepted = check(&monitors));
    report("check", checked, accepted);

    let render = |renderer: &mut Renderer, monitors: &[ServiceMonitor]| {
        let selected = Selected { service_monitors: monitors.iter().collect(), ..Selected::default() };
        let document = renderer.render(workload, options, &selected, &assets, &additional).unwrap();
        document.length()
    };
    let text = |renderer: &mut Renderer, monitors: &[ServiceMonitor]| {
        let selected = Selected { service_monitors: monitors.iter().collect(), ..Selected::default() };
        renderer.render(workload, options, &selected, &assets, &additional).unwrap().text().len()
    };
    let mut bytes = 0;
    report("cold, one text", median(5, || bytes = text(&mut Renderer::new(), &monitors)), bytes);
    let mut renderer = Renderer::new();
    render(&mut renderer, &monitors);
    let mut version = 1;
    let edit = |monitors: &mut [ServiceMonitor], version: &mut u32| {
        *version += 1;
        let monitor = &mut monitors[count / 2];
        monitor.metadata.resource_version = Some(version.to_string());
        monitor.spec.endpoints[0].path = format!("/metrics/{version}");
    };
    let edited = median(5, || {
        edit(&mut monitors, &mut version);
        bytes = render(&mut renderer, &monitors);
    });
    report("one edit, parts", edited, bytes);
    let edited = median(5, || {
        edit(&mut monitors, &mut version);
        bytes = text(&mut renderer, &monitors);
    });
    report("one edit, one text", edited, bytes);
}

fn read<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The CPU time of one run, as the median of several rounds. The kernel counts in ticks, so a round has many short runs.
fn median(rounds: usize, mut work: impl FnMut()) -> u64 {
    let mut taken: Vec<u64> = (0..rounds)
        .map(|_| {
            let before = cpu();
            let mut runs = 0;
            while cpu() - before < MANY_TICKS {
                work();
                runs += 1;
            }
            (cpu() - before) / runs
        })
        .collect();
    taken.sort_unstable();
    taken[rounds / 2]
}

/// Nanoseconds that this process has spent on a core: others' load does not count.
fn cpu() -> u64 {
    std::fs::read_to_string("/proc/self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// The most memory that the process has had, in kB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
