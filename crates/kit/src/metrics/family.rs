//! One family of series: label values to a metric, sorted, bounded, without an allocation on the way to a series that exists.

use std::{
    cmp::Ordering,
    fmt,
    sync::{PoisonError, RwLock, atomic::AtomicU64},
    time::Duration,
};

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, LabelSetEncoder},
    metrics::{MetricType, TypedMetric, counter, gauge, histogram},
};

use super::table::{Kind, Row};

/// More series than this in one family are a mistake (a label with a value per request, say) that would eat the memory of
/// operator and Prometheus both: what comes later is not recorded, and `capstan_metrics_series_dropped_total` says so.
pub const MAX_SERIES: usize = 10_000;

pub(super) type Counter = counter::Counter<u64, AtomicU64>;
pub(super) type Gauge = gauge::Gauge<f64, AtomicU64>;
pub(super) type Histogram = histogram::Histogram;

/// A metric that a row of the table can make.
pub(super) trait Metric: EncodeMetric + TypedMetric {
    fn of(row: &Row) -> Self;
}

impl Metric for Counter {
    fn of(_: &Row) -> Self {
        Self::default()
    }
}

impl Metric for Gauge {
    fn of(_: &Row) -> Self {
        Self::default()
    }
}

impl Metric for Histogram {
    fn of(row: &Row) -> Self {
        match row.kind {
            Kind::Histogram(buckets) => Self::new(buckets.iter().copied()),
            Kind::Counter | Kind::Gauge => Self::new([]),
        }
    }
}

#[derive(Debug)]
pub(super) struct Family<M> {
    row: Row,
    /// Sorted by label values.
    series: RwLock<Vec<Series<M>>>,
    dropped: Counter,
}

#[derive(Debug)]
struct Series<M> {
    values: Box<[Box<str>]>,
    metric: M,
}

impl<M> Series<M> {
    fn compare(&self, values: &[&str]) -> Ordering {
        self.values.iter().map(AsRef::as_ref).cmp(values.iter().copied())
    }
}

impl<M: Metric> Family<M> {
    pub(super) fn new(row: Row) -> Self {
        Self { row, series: RwLock::default(), dropped: Counter::default() }
    }

    /// Calls `record` with the series of these label values, in the order of the table's row.
    pub(super) fn with(&self, values: &[&str], record: impl FnOnce(&M)) {
        debug_assert_eq!(values.len(), self.row.labels.len(), "labels of {}", self.row.name);
        {
            let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
            if let Ok(found) = series.binary_search_by(|s| s.compare(values)) {
                return series.get(found).map_or((), |s| record(&s.metric));
            }
        }
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let at = match series.binary_search_by(|s| s.compare(values)) {
            Ok(at) => at,
            Err(_) if series.len() >= MAX_SERIES => {
                self.dropped.inc();
                return;
            }
            Err(at) => {
                let values = values.iter().copied().map(Box::from).collect();
                series.insert(at, Series { values, metric: M::of(&self.row) });
                at
            }
        };
        if let Some(series) = series.get(at) {
            record(&series.metric);
        }
    }

    /// Makes the series appear, at 0 if it is new.
    pub(super) fn touch(&self, values: &[&str]) {
        self.with(values, |_| ());
    }

    pub(super) fn remove(&self, values: &[&str]) {
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = series.binary_search_by(|s| s.compare(values)) {
            series.remove(at);
        }
    }

    /// The family's name, and how often a new series was refused.
    pub(super) fn dropped(&self) -> (&'static str, u64) {
        (self.row.name, self.dropped.get())
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        if series.is_empty() {
            return Ok(());
        }
        // The encoder writes `_total` after a counter's name itself.
        let name = match M::TYPE {
            MetricType::Counter => self.row.name.trim_end_matches("_total"),
            _ => self.row.name,
        };
        let help = self.row.help.trim_end_matches('.');
        let mut family = encoder.encode_descriptor(name, help, None, M::TYPE)?;
        for Series { values, metric } in series.iter() {
            metric.encode(family.encode_family(&Labels { names: self.row.labels, values })?)?;
        }
        Ok(())
    }
}

impl Family<Counter> {
    pub(super) fn inc(&self, values: &[&str]) {
        self.with(values, |counter| {
            counter.inc();
        });
    }
}

impl Family<Gauge> {
    pub(super) fn set(&self, values: &[&str], to: f64) {
        self.with(values, |gauge| {
            gauge.set(to);
        });
    }

    pub(super) fn add(&self, values: &[&str], delta: i64) {
        self.with(values, |gauge| {
            gauge.inc_by(delta as f64);
        });
    }
}

impl Family<Histogram> {
    pub(super) fn observe(&self, values: &[&str], took: Duration) {
        self.with(values, |histogram| histogram.observe(took.as_secs_f64()));
    }
}

#[derive(Debug)]
struct Labels<'a> {
    names: &'static [&'static str],
    values: &'a [Box<str>],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        for label in self.names.iter().copied().zip(self.values.iter().map(AsRef::<str>::as_ref)) {
            prometheus_client::encoding::EncodeLabel::encode(&label, encoder.encode_label())?;
        }
        Ok(())
    }
}
