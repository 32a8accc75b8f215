//! Limits of scrapes: what a monitor asks for, bounded by what the workload enforces.

use prometheus_types::scrape::{NativeHistogramConfig, ScrapeProtocol};
use prometheus_types::text::ByteSize;
use rendering::{Map, Tree};

use crate::context::Context;
use crate::gates::Field;
use crate::values::{amount, bytes, number};

/// The limits that each kind of monitor has.
pub(crate) struct Limits {
    pub(crate) samples: Option<i64>,
    pub(crate) targets: Option<i64>,
    pub(crate) labels: Option<i64>,
    pub(crate) label_names: Option<i64>,
    pub(crate) label_values: Option<i64>,
    pub(crate) dropped_targets: Option<i64>,
}

/// Takes the limits out of the specification of a monitor, which names them alike in all kinds.
macro_rules! limits_of {
    ($spec:expr) => {
        $crate::limits::Limits {
            samples: $spec.sample_limit,
            targets: $spec.target_limit,
            labels: $spec.label_limit,
            label_names: $spec.label_name_length_limit,
            label_values: $spec.label_value_length_limit,
            dropped_targets: $spec.keep_dropped_targets,
        }
    };
}
pub(crate) use limits_of;

impl Context<'_> {
    pub(crate) fn put_limits(&self, job: &mut Map, limits: &Limits) {
        let enforced = &self.common.enforced;
        job.set_some("sample_limit", self.limit(limits.samples, enforced.enforced_sample_limit));
        for (field, own, most) in [
            (Field::TargetLimit, limits.targets, enforced.enforced_target_limit),
            (Field::LabelLimit, limits.labels, enforced.enforced_label_limit),
            (Field::LabelNameLengthLimit, limits.label_names, enforced.enforced_label_name_length_limit),
            (Field::LabelValueLengthLimit, limits.label_values, enforced.enforced_label_value_length_limit),
            (Field::KeepDroppedTargets, limits.dropped_targets, enforced.enforced_keep_dropped_targets),
        ] {
            self.known.put_some(job, field, self.limit(own, most));
        }
    }

    fn limit(&self, own: Option<i64>, enforced: Option<i64>) -> Option<i64> {
        match (own.unwrap_or_default(), enforced.unwrap_or_default()) {
            (_, 0) => own,
            (0, enforced) => (!self.known.has(Field::InheritedLimits)).then_some(enforced),
            (own, enforced) => Some(own.min(enforced)),
        }
    }

    pub(crate) fn put_body_size_limit(&self, job: &mut Map, own: Option<&ByteSize>) {
        let enforced = &self.common.enforced.enforced_body_size_limit;
        let own = own.filter(|own| !own.is_empty());
        let limit = match own {
            _ if enforced.is_empty() => own,
            None => Some(enforced),
            Some(own) if bytes(own) > bytes(enforced) => Some(enforced),
            own => own,
        };
        self.known.put_some(job, Field::BodySizeLimit, limit.map(|limit| Tree::text(limit)));
    }

    pub(crate) fn put_histograms(&self, job: &mut Map, histograms: &NativeHistogramConfig) {
        self.known.put_some(job, Field::ScrapeNativeHistograms, histograms.scrape_native_histograms);
        self.known.put_some(job, Field::NativeHistogramBucketLimit, histograms.native_histogram_bucket_limit);
        let factor = histograms.native_histogram_min_bucket_factor.as_ref();
        self.known.put_some(
            job,
            Field::NativeHistogramMinBucketFactor,
            factor.map(|factor| number(amount(factor).unwrap_or_default())),
        );
        let classic = if self.known.has(Field::AlwaysScrapeClassicHistograms) {
            Field::AlwaysScrapeClassicHistograms
        } else {
            Field::ScrapeClassicHistograms
        };
        self.known.put_some(job, classic, histograms.scrape_classic_histograms);
        self.known.put_some(
            job,
            Field::ConvertClassicHistograms,
            histograms.convert_classic_histograms_to_nhcb,
        );
    }

    pub(crate) fn put_protocols(&self, map: &mut Map, protocols: &[ScrapeProtocol]) {
        if protocols.is_empty() {
            return;
        }
        let known = |protocol: &&ScrapeProtocol| {
            ***protocol != *Field::TextProtocol1.key() || self.known.has(Field::TextProtocol1)
        };
        let protocols: Tree = protocols.iter().filter(known).map(|protocol| Tree::text(protocol)).collect();
        self.known.put(map, Field::ScrapeProtocols, protocols);
    }

    pub(crate) fn put_fallback_protocol(
        &self,
        job: &mut Map,
        own: Option<&ScrapeProtocol>,
        class: Option<&ScrapeProtocol>,
    ) {
        self.known.put_some(
            job,
            Field::FallbackScrapeProtocol,
            own.or(class).map(|protocol| Tree::text(protocol)),
        );
    }
}
