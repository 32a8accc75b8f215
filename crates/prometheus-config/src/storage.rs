//! The `storage` section: exemplars, the storage engine, retention.

use prometheus_types::prometheus::PrometheusSpec;
use rendering::Map;

use crate::context::Context;
use crate::gates::Field;
use crate::validate::Rejected;
use crate::values::{amount, number, text};

/// How long samples are kept when nothing else bounds them.
const DEFAULT_RETENTION: &str = "24h";

impl Context<'_> {
    pub(crate) fn put_server_storage(
        &self,
        document: &mut Map,
        spec: &PrometheusSpec,
    ) -> Result<(), Rejected> {
        let mut storage = Map::new();
        let exemplars = spec.exemplars.as_ref().and_then(|exemplars| exemplars.max_size);
        self.known.put_some(
            &mut storage,
            Field::Exemplars,
            exemplars.map(|most| Map::new().with("max_exemplars", most)),
        );
        let mut tsdb = self.tsdb(Field::OutOfOrderTimeWindow)?;
        self.known.put(&mut tsdb, Field::Retention, retention(spec));
        storage.set_some("tsdb", tsdb.non_empty());
        self.known.put_some(document, Field::Storage, storage.non_empty());
        Ok(())
    }

    /// One map for all settings, where upstream writes a map for each.
    pub(crate) fn put_agent_storage(&self, document: &mut Map) -> Result<(), Rejected> {
        let tsdb = self.tsdb(Field::AgentOutOfOrderTimeWindow)?.non_empty();
        document.set_some("storage", tsdb.map(|tsdb| Map::new().with("tsdb", tsdb)));
        Ok(())
    }

    fn tsdb(&self, window: Field) -> Result<Map, Rejected> {
        let mut map = Map::new();
        let Some(tsdb) = &self.common.tsdb else { return Ok(map) };
        self.known.put_some(&mut map, window, text(tsdb.out_of_order_time_window.as_ref()));
        if let Some(threshold) = &tsdb.stale_series_compaction_threshold {
            let fraction = amount(threshold).filter(|fraction| (0.0..=1.0).contains(fraction));
            let fraction = fraction.ok_or_else(|| {
                Rejected::new(
                    "tsdb.staleSeriesCompactionThreshold",
                    format!("{} is not between 0 and 1", threshold.0),
                )
            })?;
            self.known.put(&mut map, Field::StaleSeriesCompaction, number(fraction));
        }
        if let Some(encoding) = tsdb.chunk_encoding.as_ref().and_then(|encoding| encoding.floats.as_ref()) {
            let start_timestamps =
                self.common.enable_features.iter().any(|feature| **feature == *"st-storage");
            if **encoding == *"Xor" && start_timestamps {
                return Err(Rejected::new(
                    "tsdb.chunkEncoding.floats",
                    "Xor cannot store start timestamps; use Xor2 or take st-storage out of enableFeatures",
                ));
            }
            self.known.put(
                &mut map,
                Field::ChunkEncoding,
                Map::new().with("floats", encoding.to_ascii_lowercase()),
            );
        }
        Ok(map)
    }
}

/// Samples are kept for a day unless something else bounds them; a share of nothing bounds nothing.
fn retention(spec: &PrometheusSpec) -> Map {
    let share = spec.retention_percentage.as_ref().map(|share| amount(share).unwrap_or_default());
    let unbounded =
        spec.retention.is_empty() && spec.retention_size.is_empty() && share.is_none_or(|share| share == 0.0);
    let mut map = Map::new();
    if unbounded {
        map.set("time", DEFAULT_RETENTION);
    }
    map.set_text("time", &spec.retention).set_text("size", &spec.retention_size);
    map.with_some("percentage", share.map(number))
}
