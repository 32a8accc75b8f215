//! What was measured, as tables for people, and whether the targets are met.

use std::fmt;

use crate::runs::{Cost, Memory, ServerCost, Subject, Throughput};

/// With fewer objects than this, what any process needs weighs more than they do.
const JUDGED_FROM: usize = 100_000;

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    pub objects: usize,
    pub events: usize,
    /// The bytes of a pod's JSON, and of its metadata alone.
    pub sizes: (usize, usize),
    pub memory: Vec<(Subject, Memory)>,
    pub server: ServerCost,
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
    /// Whether every target is met, or there were too few objects to say.
    pub fn passes(&self) -> bool {
        self.objects < JUDGED_FROM || self.targets().iter().all(Target::is_met)
    }

    /// Against what most operators do, and against the best that the peer can do with the same metadata.
    fn targets(&self) -> [Target; 4] {
        use Subject::{KitSlim, PeerMetadata, PeerPod};
        let memory = |peer| self.resident(KitSlim) / self.resident(peer);
        let cost = |peer| self.per_event(KitSlim) / self.per_event(peer);
        let target = |what, measured, at_most| Target { what, measured, at_most };
        [
            target("memory, of kube_runtime with Pod", memory(PeerPod), 1.0 / 5.0),
            target("memory, of kube_runtime with PartialObjectMeta<Pod>", memory(PeerMetadata), 1.0 / 5.0),
            target("CPU per change, of kube_runtime with Pod", cost(PeerPod), 1.0 / 2.0),
            target(
                "CPU per change, of kube_runtime with PartialObjectMeta<Pod>",
                cost(PeerMetadata),
                1.0 / 2.0,
            ),
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
        let ServerCost { metadata, whole } = self.server;
        writeln!(f, "{:<60}{:>9.1} us", "(of which the server, metadata)", micros(metadata))?;
        writeln!(f, "{:<60}{:>9.1} us", "(of which the server, whole pods)", micros(whole))?;
        for (subject, cost) in &self.cost {
            let times = cost.per_event as f64 / self.per_event(Subject::KitSlim);
            writeln!(f, "{:<60}{:>9.1} us{times:>40.1} x", subject.title(), micros(*cost))?;
        }

        let Throughput { kit, peer } = self.queues;
        writeln!(f, "\nQueue, keys added, handed out and done in one thread")?;
        writeln!(f, "{:<60}{:>10}/s", "kit           Queue", Thousands(kit as f64))?;
        writeln!(f, "{:<60}{:>10}/s", "kube_runtime  scheduler", Thousands(peer as f64))?;

        writeln!(f, "\n{:<60}{:>12}{:>12}", "Target for kit with Slim<Pod>", "measured", "at most")?;
        for target in self.targets() {
            let verdict = match target.is_met() {
                _ if self.objects < JUDGED_FROM => "too few objects",
                true => "PASS",
                false => "FAIL",
            };
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

    /// Slim and the peer's metadata as given, in bytes and nanoseconds; the peer's pods need 1,000 of each.
    fn report(slim: (u64, u64), metadata: (u64, u64)) -> Report {
        use Subject::{KitSlim, PeerMetadata, PeerPod};
        let measured = [(KitSlim, slim), (PeerMetadata, metadata), (PeerPod, (1_000, 1_000))];
        let memory = measured.map(|(subject, (resident, _))| (subject, Memory { resident, relist: 0 }));
        let cost = measured.map(|(subject, (_, per_event))| (subject, Cost { per_event }));
        let server = ServerCost { metadata: Cost { per_event: 1 }, whole: Cost { per_event: 2 } };
        let queues = Throughput { kit: 1_234_567, peer: 1 };
        let (objects, events, sizes) = (100_000, 200_000, (7_000, 3_000));
        Report { objects, events, sizes, memory: memory.into(), server, cost: cost.into(), queues }
    }

    #[test]
    fn a_report_passes_when_all_targets_are_met() {
        assert!(report((20, 50), (100, 100)).passes());
        assert!(!report((21, 50), (100, 100)).passes());
        assert!(!report((20, 51), (100, 100)).passes());
        assert!(!report((201, 50), (2_000, 100)).passes());
        assert!(!report((20, 501), (100, 2_000)).passes());
    }

    #[test]
    fn what_was_not_measured_does_not_pass() {
        assert!(!report((0, 0), (0, 0)).passes());
        assert!(!Report { memory: Vec::new(), ..report((20, 50), (100, 100)) }.passes());
    }

    #[test]
    fn few_objects_are_not_judged() {
        let few = Report { objects: 5_000, ..report((100, 100), (100, 100)) };
        assert!(few.passes() && few.to_string().contains("too few objects"), "{few}");
        assert!(!few.to_string().contains("FAIL"), "{few}");
    }

    #[test]
    fn the_table_says_what_missed_its_target() {
        let text = report((20, 51), (100, 100)).to_string();
        let met: Vec<_> = text.lines().skip_while(|line| !line.starts_with("Target")).skip(1).collect();
        let met: Vec<_> = met.iter().map(|line| line.ends_with("PASS")).collect();
        assert_eq!(met, [true, true, true, false], "{text}");
        assert!(text.contains("1,234,567/s"), "{text}");
    }
}
