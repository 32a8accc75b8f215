//! What was measured of backups, as a table for people, and whether the targets are met.

use std::{fmt, time::Duration};

use super::{Cost, Pair, Recovery, Size, ours::Form};

const MOST_MEMORY: u64 = 64 << 20;

#[derive(Debug)]
pub struct Backups {
    pub size: Size,
    pub database: u64,
    pub take: Pair,
    pub fetch: Pair,
    pub peaks: Peaks,
    pub recovery: Recovery,
}

/// The most that our processes had in memory, plain and sealed, by what they did.
#[derive(Debug, Default)]
pub struct Peaks(Vec<(&'static str, [u64; 2])>);

impl Peaks {
    pub(super) fn saw(&mut self, what: &'static str, form: Form, peak: u64) {
        let at = self.0.iter().position(|(known, _)| *known == what).unwrap_or_else(|| {
            self.0.push((what, [0, 0]));
            self.0.len() - 1
        });
        if let Some((_, [plain, sealed])) = self.0.get_mut(at) {
            let known = if form == Form::Plain { plain } else { sealed };
            *known = peak.max(*known);
        }
    }

    fn most(&self) -> u64 {
        self.0.iter().flat_map(|(_, peaks)| peaks).copied().max().unwrap_or_default()
    }
}

struct Target {
    what: &'static str,
    measured: f64,
    at_most: f64,
}

impl Backups {
    pub fn passes(&self) -> bool {
        self.targets().iter().all(|target| target.measured <= target.at_most)
    }

    fn targets(&self) -> [Target; 5] {
        let target = |what, measured, at_most| Target { what, measured, at_most };
        let most = mebibytes(MOST_MEMORY);
        [
            target("backup, of the time by hand", self.take.ratio(), 1.0),
            target("restore, of the time by hand", self.fetch.ratio(), 1.0),
            target("memory of any of our processes at most, in MiB", mebibytes(self.peaks.most()), most),
            target("recovery point at most, in seconds", self.recovery.behind_most.as_secs_f64(), 10.0),
            target("etcd's CPU for each write with capture, of that without", self.cpu(), 1.5),
        ]
    }

    fn cpu(&self) -> f64 {
        let Recovery { with, without, .. } = &self.recovery;
        with.cpu.as_secs_f64() / without.cpu.as_secs_f64().max(1e-9)
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl fmt::Display for Backups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size, recovery, .. } = self;
        writeln!(
            f,
            "{:<56}{:>10}{:>10}{:>10}",
            format!("etcd of {:.0} MiB, median of {}", mebibytes(self.database), size.rounds),
            "by hand",
            "ours",
            "ratio"
        )?;
        for (what, pair) in [("backup (ours also reads it back)", self.take), ("restore", self.fetch)] {
            let (by_hand, ours) = (pair.by_hand.as_secs_f64(), pair.ours.as_secs_f64());
            writeln!(f, "{what:<56}{by_hand:>8.1} s{ours:>8.1} s{:>8.2} x", pair.ratio())?;
        }
        writeln!(f, "\n{:<56}{:>10}{:>10}", "Memory of our process at most", "plain", "encrypted")?;
        for (what, [plain, sealed]) in &self.peaks.0 {
            let [plain, sealed] = [plain, sealed].map(|peak| match peak {
                0 => "-".to_owned(),
                peak => format!("{:.0} MiB", mebibytes(*peak)),
            });
            writeln!(f, "{what:<56}{plain:>10}{sealed:>10}")?;
        }
        writeln!(
            f,
            "\n{:<56}{:>10}{:>10}{:>10}{:>10}",
            format!("{} writes/s for {} s", size.writes_per_second, size.writing.as_secs()),
            "median",
            "p99",
            "etcd CPU",
            "rate"
        )?;
        for (what, cost) in [("without capture", recovery.without), ("with capture", recovery.with)] {
            row(f, what, cost)?;
        }
        writeln!(
            f,
            "recovery point, looked up in the store: median {:.1} s, at most {:.1} s; capture's CPU {:.1} %",
            recovery.behind_median.as_secs_f64(),
            recovery.behind_most.as_secs_f64(),
            100.0 * recovery.capture_cpu.as_secs_f64()
                / (size.writing + Duration::from_secs(2)).as_secs_f64()
        )?;
        writeln!(f, "\n{:<66}{:>10}{:>10}", "Target", "measured", "at most")?;
        for Target { what, measured, at_most } in self.targets() {
            let verdict = if measured <= at_most { "PASS" } else { "FAIL" };
            writeln!(f, "{what:<66}{measured:>10.2}{at_most:>10.2}  {verdict}")?;
        }
        Ok(())
    }
}

fn row(f: &mut fmt::Formatter<'_>, what: &str, cost: Cost) -> fmt::Result {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let cpu = cost.cpu.as_secs_f64() * 1e6;
    writeln!(
        f,
        "{what:<56}{:>7.1} ms{:>7.1} ms{cpu:>7.0} us{:>8.0}/s",
        millis(cost.median),
        millis(cost.p99),
        cost.per_second
    )
}
