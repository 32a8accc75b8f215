//! What was measured, as tables for people, and whether the targets are met.

use std::fmt;

use crate::runs::{Cost, Memory, Subject, Throughput};

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    pub objects: usize,
    pub events: usize,
    /// The bytes of a pod's JSON, and of its metadata alone.
    pub sizes: (usize, usize),
    pub memory: Vec<(Subject, Memory)>,
    /// The server and the harness alone, which are part of every cost.
    pub harness: Cost,
    pub cost: Vec<(Subject, Cost)>,
    pub queues: Throughput,
}

/// How much of what the peer uses may be ours.
struct Target {
    what: &'static str,
    measured: f64,
    at_most: f64,
}

impl Target {
    /// What was not measured is not a number, and meets no target.
    fn is_met(&self) -> bool {
        self.measured <= self.at_most
    }
}

impl Report {
    /// Whether every target is met.
    pub fn passes(&self) -> bool {
        self.targets().iter().all(Target::is_met)
    }

    fn targets(&self) -> [Target; 2] {
        let [ours, peer] = [Subject::KitSlim, Subject::PeerPod];
        [
            Target {
                what: "memory, kit Slim<Pod> of kube_runtime Pod",
                measured: self.resident(ours) / self.resident(peer),
                at_most: 1.0 / 5.0,
            },
            Target {
                what: "CPU per event, kit Slim<Pod> of kube_runtime Pod",
                measured: self.per_event(ours) / self.per_event(peer),
                at_most: 1.0 / 2.0,
            },
        ]
    }

    fn resident(&self, subject: Subject) -> f64 {
        find(&self.memory, subject).map_or(f64::NAN, |memory| memory.resident as f64)
    }

    fn per_event(&self, subject: Subject) -> f64 {
        find(&self.cost, subject).map_or(f64::NAN, |cost| cost.per_event as f64)
    }
}

fn find<T: Copy>(measured: &[(Subject, T)], subject: Subject) -> Option<T> {
    measured.iter().find_map(|(other, value)| (*other == subject).then_some(*value))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, metadata) = self.sizes;
        let [objects, events] = [self.objects, self.events].map(|count| Thousands(count as f64));
        writeln!(f, "{objects} pods of {whole} B JSON ({metadata} B metadata), {events} changes\n")?;

        writeln!(
            f,
            "{:<60}{:>12}{:>12}{:>14}{:>16}",
            "Cache", "per object", "resident", "relist adds", "against Slim"
        )?;
        for (subject, memory) in &self.memory {
            let per_object = memory.resident as f64 / self.objects as f64;
            let times = memory.resident as f64 / self.resident(Subject::KitSlim);
            writeln!(
                f,
                "{:<60}{:>10} B{:>9.0} MB{:>11.0} MB{:>14.1} x",
                subject.title(),
                Thousands(per_object),
                memory.resident as f64 / 1e6,
                memory.relist as f64 / 1e6,
                times,
            )?;
        }

        writeln!(f, "\n{:<60}{:>12}{:>42}", "Operator, one change and its reconcile", "CPU", "against Slim")?;
        writeln!(f, "{:<60}{:>9.1} us", "(the server alone, part of all below)", micros(self.harness))?;
        for (subject, cost) in &self.cost {
            let times = cost.per_event as f64 / self.per_event(Subject::KitSlim);
            writeln!(f, "{:<60}{:>9.1} us{times:>40.1} x", subject.title(), micros(*cost))?;
        }

        let Throughput { kit, peer } = self.queues;
        writeln!(f, "\nQueue, keys added, handed out and done in one thread")?;
        writeln!(f, "{:<60}{:>10}/s", "kit           Queue", Thousands(kit as f64))?;
        writeln!(f, "{:<60}{:>10}/s", "kube_runtime  scheduler", Thousands(peer as f64))?;

        writeln!(f, "\n{:<60}{:>12}{:>12}", "Target", "measured", "at most")?;
        for target in self.targets() {
            let verdict = if target.is_met() { "PASS" } else { "FAIL" };
            writeln!(f, "{:<60}{:>12.4}{:>12.4}  {verdict}", target.what, target.measured, target.at_most)?;
        }
        Ok(())
    }
}

fn micros(cost: Cost) -> f64 {
    cost.per_event as f64 / 1e3
}

/// A whole number that is easy to read: 100,000.
struct Thousands(f64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.0}", self.0);
        let mut text = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place) % 3 == 0 {
                text.push(',');
            }
            text.push(digit);
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(slim: (u64, u64), pod: (u64, u64)) -> Report {
        let memory = |resident| Memory { resident, relist: 0 };
        let cost = |per_event| Cost { per_event };
        Report {
            objects: 100_000,
            events: 200_000,
            sizes: (7_000, 3_000),
            memory: vec![(Subject::KitSlim, memory(slim.0)), (Subject::PeerPod, memory(pod.0))],
            harness: cost(1_000),
            cost: vec![(Subject::KitSlim, cost(slim.1)), (Subject::PeerPod, cost(pod.1))],
            queues: Throughput { kit: 1_234_567, peer: 1 },
        }
    }

    #[test]
    fn a_report_passes_when_both_targets_are_met() {
        assert!(report((20, 50), (100, 100)).passes());
        assert!(!report((21, 50), (100, 100)).passes());
        assert!(!report((20, 51), (100, 100)).passes());
    }

    #[test]
    fn what_was_not_measured_does_not_pass() {
        assert!(!report((0, 0), (0, 0)).passes());
        assert!(!Report { memory: Vec::new(), ..report((20, 50), (100, 100)) }.passes());
    }

    #[test]
    fn the_table_says_what_missed_its_target() {
        let text = report((20, 51), (100, 100)).to_string();
        let verdicts: Vec<_> = text.lines().rev().take(2).map(|line| line.ends_with("PASS")).collect();
        assert_eq!(verdicts, [false, true], "{text}");
        assert!(text.contains("1,234,567/s"), "{text}");
    }
}
