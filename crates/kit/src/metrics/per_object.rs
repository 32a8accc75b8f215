//! What an operator measures of each of its objects. A series goes away with what it is about, at the latest with the object.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};

use super::Metrics;
use crate::Key;

/// The labels of a series besides `namespace` and `name`.
pub type Extra = Vec<(&'static str, String)>;
type Labels = Vec<(&'static str, String)>;

/// Families with one or more series for each object. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PerObject(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gauges: BTreeMap<&'static str, Family<Labels, Gauge>>,
    counters: BTreeMap<&'static str, Family<Labels, Counter>>,
    shown: Mutex<BTreeMap<Key, Shown>>,
}

#[derive(Debug, Default)]
struct Shown {
    gauges: BTreeSet<(&'static str, Labels)>,
    counters: BTreeSet<(&'static str, Labels)>,
}

impl PerObject {
    /// Adds families to what the operator serves, each with its name and meaning. The format adds `_total` to the names of
    /// counters.
    pub fn register(
        metrics: &Metrics,
        gauges: &[(&'static str, &'static str)],
        counters: &[(&'static str, &'static str)],
    ) -> Self {
        let inner = Inner {
            gauges: gauges.iter().map(|(name, _)| (*name, Family::default())).collect(),
            counters: counters.iter().map(|(name, _)| (*name, Family::default())).collect(),
            shown: Mutex::default(),
        };
        metrics.with_registry(|registry| {
            for (name, meaning) in gauges {
                registry.register(*name, *meaning, inner.gauges.get(name).cloned().unwrap_or_default());
            }
            for (name, meaning) in counters {
                registry.register(*name, *meaning, inner.counters.get(name).cloned().unwrap_or_default());
            }
        });
        Self(Arc::new(inner))
    }

    /// All that the gauges say of `key` now: what they said before and is not in `series` goes away.
    pub fn show(&self, key: &Key, series: impl IntoIterator<Item = (&'static str, Extra, i64)>) {
        let mut all = self.0.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut all.entry(key.clone()).or_default().gauges;
        let mut now = BTreeSet::new();
        for (family, extra, value) in series {
            let Some(gauges) = self.0.gauges.get(family) else { continue };
            let labels = labels(key, extra);
            gauges.get_or_create(&labels).set(value);
            now.insert((family, labels));
        }
        for (family, labels) in known.difference(&now) {
            self.0.gauges.get(family).map(|gauges| gauges.remove(labels));
        }
        *known = now;
    }

    /// Adds to a counter of `key`. With 0 it only appears: a rate over a series that appears with 1 misses that first event.
    pub fn count(&self, key: &Key, family: &'static str, extra: Extra, by: u64) {
        let Some(counters) = self.0.counters.get(family) else { return };
        let labels = labels(key, extra);
        let mut all = self.0.shown.lock().unwrap_or_else(PoisonError::into_inner);
        counters.get_or_create(&labels).inc_by(by);
        all.entry(key.clone()).or_default().counters.insert((family, labels));
    }

    /// The object is gone, and so is all that was said of it.
    pub fn forget(&self, key: &Key) {
        let gone =
            self.0.shown.lock().unwrap_or_else(PoisonError::into_inner).remove(key).unwrap_or_default();
        for (family, labels) in &gone.gauges {
            self.0.gauges.get(family).map(|gauges| gauges.remove(labels));
        }
        for (family, labels) in &gone.counters {
            self.0.counters.get(family).map(|counters| counters.remove(labels));
        }
    }
}

fn labels(key: &Key, extra: Extra) -> Labels {
    let own = [("namespace", key.namespace().to_owned()), ("name", key.name().to_owned())];
    own.into_iter().chain(extra).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_come_and_go_with_what_they_are_about() {
        let metrics = Metrics::new();
        let per_object = PerObject::register(
            &metrics,
            &[("app_pods", "Pods"), ("app_phase", "Phase")],
            &[("app_ends", "Ends")],
        );
        let (a, b) = (Key::new("ns", "a"), Key::new("ns", "b"));
        let phase = |phase: &str| ("app_phase", vec![("phase", phase.to_owned())], 1);
        per_object.show(&a, [("app_pods", vec![], 2), phase("Starting")]);
        per_object.show(&b, [("app_pods", vec![], 1)]);
        per_object.count(&a, "app_ends", vec![("result", "well".to_owned())], 0);
        per_object.show(&a, [("app_pods", vec![], 3), phase("Running")]);
        let text = metrics.encode();
        let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
        has(r#"app_pods{namespace="ns",name="a"} 3"#);
        has(r#"app_phase{namespace="ns",name="a",phase="Running"} 1"#);
        has(r#"app_ends_total{namespace="ns",name="a",result="well"} 0"#);
        assert!(!text.contains("Starting"), "{text}");
        per_object.forget(&a);
        let text = metrics.encode();
        assert!(!text.contains(r#"name="a""#) && text.contains(r#"name="b""#), "{text}");
    }
}
