//! What the kernel says about this process, read from /proc when somebody asks.

use std::{fmt, fs};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

use super::table::{Kind, Row};

/// What `/proc` counts CPU time in. Linux has shown user space 100 ticks per second on every architecture since 2.4.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) const ROWS: &[Row] = &[
    row("process_cpu_seconds_total", Kind::Counter, "CPU time, user and system."),
    row("process_resident_memory_bytes", Kind::Gauge, "Resident memory."),
    row("process_virtual_memory_bytes", Kind::Gauge, "Virtual memory."),
    row("process_threads", Kind::Gauge, "Threads."),
    row("process_open_fds", Kind::Gauge, "Open file descriptors."),
    row("process_start_time_seconds", Kind::Gauge, "When the process started, in seconds since 1970."),
];

const fn row(name: &'static str, kind: Kind, help: &'static str) -> Row {
    Row { name, kind, labels: &[], help }
}

/// Serves [`ROWS`]; on a system without /proc, those that can be had.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let fds = fs::read_dir("/proc/self/fd").map(Iterator::count).ok();
        let sample =
            Sample::parse(&read("/proc/self/stat"), &read("/proc/self/status"), &read("/proc/stat"), fds);
        for row in ROWS {
            let Some(value) = sample.value(row.name) else { continue };
            let name = row.name.trim_end_matches("_total");
            let help = row.help.trim_end_matches('.');
            match row.kind {
                Kind::Counter => {
                    ConstCounter::new(value).encode(encoder.encode_descriptor(
                        name,
                        help,
                        None,
                        MetricType::Counter,
                    )?)?;
                }
                Kind::Gauge | Kind::Histogram(_) => {
                    ConstGauge::new(value).encode(encoder.encode_descriptor(
                        name,
                        help,
                        None,
                        MetricType::Gauge,
                    )?)?;
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq)]
struct Sample {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    threads: Option<f64>,
    open_fds: Option<f64>,
    start_seconds: Option<f64>,
}

impl Sample {
    /// Formats: proc_pid_stat(5), proc_pid_status(5), proc_stat(5).
    fn parse(stat: &str, status: &str, system: &str, fds: Option<usize>) -> Self {
        // The command's name, in parentheses, may contain anything; the fields after it are counted from the third.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |field: usize| number(fields.get(field - 3)?).map(|n| n / TICKS_PER_SECOND);
        let kilobytes = |name| line(status, name).and_then(number).map(|n| n * 1024.0);
        Self {
            cpu_seconds: ticks(14).zip(ticks(15)).map(|(user, system)| user + system),
            resident_bytes: kilobytes("VmRSS:"),
            virtual_bytes: kilobytes("VmSize:"),
            threads: line(status, "Threads:").and_then(number),
            open_fds: fds.map(|n| n as f64),
            start_seconds: line(system, "btime ")
                .and_then(number)
                .zip(ticks(22))
                .map(|(boot, after)| boot + after),
        }
    }

    fn value(&self, name: &str) -> Option<f64> {
        match name {
            "process_cpu_seconds_total" => self.cpu_seconds,
            "process_resident_memory_bytes" => self.resident_bytes,
            "process_virtual_memory_bytes" => self.virtual_bytes,
            "process_threads" => self.threads,
            "process_open_fds" => self.open_fds,
            "process_start_time_seconds" => self.start_seconds,
            _ => None,
        }
    }
}

/// What follows `name` on the line that starts with it.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

/// The first word, as a number.
fn number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_even_with_a_strange_command_name() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 5 0 12345 99 42 18446744073709551615";
        let status = "Name:\ta) b (c\nVmSize:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t5\n";
        let sample = Sample::parse(stat, status, "cpu 1 2 3\nbtime 1700000000\n", Some(9));
        let expected = Sample {
            cpu_seconds: Some(2.0),
            resident_bytes: Some(1_048_576.0),
            virtual_bytes: Some(2_097_152.0),
            threads: Some(5.0),
            open_fds: Some(9.0),
            start_seconds: Some(1_700_000_123.45),
        };
        assert_eq!(sample, expected);
        assert!(ROWS.iter().all(|row| sample.value(row.name).is_some()), "every row has a value");
    }

    #[test]
    fn without_proc_nothing_is_claimed() {
        assert_eq!(Sample::parse("", "", "", None), Sample::default());
    }
}
