//! The `otlp` and `tracing` sections: metrics that are pushed by OTLP, and Prometheus' own traces.

use prometheus_types::prometheus::server::OtlpConfig;
use rendering::{Map, Tree};

use crate::context::Context;
use crate::gates::Field;
use crate::validate::Rejected;
use crate::values::{amount, list, number, string_map, text};

impl Context<'_> {
    pub(crate) fn put_otlp(&self, document: &mut Map) -> Result<(), Rejected> {
        let Some(otlp) = &self.common.otlp else { return Ok(()) };
        self.check_otlp(otlp)?;
        let known = &self.known;
        let attributes =
            |names: &[prometheus_types::text::NonEmpty]| (!names.is_empty()).then(|| list(names));
        let mut map = Map::new();
        known.put_some(
            &mut map,
            Field::PromoteResourceAttributes,
            attributes(&otlp.promote_resource_attributes),
        );
        known.put_some(&mut map, Field::TranslationStrategy, text(otlp.translation_strategy.as_ref()));
        known.put_some(&mut map, Field::KeepIdentifyingAttributes, otlp.keep_identifying_resource_attributes);
        known.put_some(&mut map, Field::ConvertHistograms, otlp.convert_histograms_to_nhcb);
        known.put_some(&mut map, Field::PromoteAllAttributes, otlp.promote_all_resource_attributes);
        known.put_some(
            &mut map,
            Field::IgnoreResourceAttributes,
            attributes(&otlp.ignore_resource_attributes),
        );
        known.put_some(&mut map, Field::PromoteScopeMetadata, otlp.promote_scope_metadata);
        known.put_some(&mut map, Field::UnderscoreSanitization, otlp.label_name_underscore_sanitization);
        known.put_some(&mut map, Field::PreserveUnderscores, otlp.label_name_preserve_multiple_underscores);
        document.set_some("otlp", map.non_empty());
        Ok(())
    }

    fn check_otlp(&self, otlp: &OtlpConfig) -> Result<(), Rejected> {
        let refuse = |why: &str| Err(Rejected::new("otlp", why));
        let strategy = otlp.translation_strategy.as_deref().unwrap_or_default();
        let legacy = self.common.name_validation_scheme.as_deref().is_some_and(|scheme| scheme == "Legacy");
        let all = otlp.promote_all_resource_attributes == Some(true);
        let has = |field| self.known.has(field);
        if !has(Field::Otlp) {
            return refuse("it needs Prometheus 2.55.0; raise spec.version or remove it");
        }
        if strategy == "NoUTF8EscapingWithSuffixes" && legacy {
            return refuse("translationStrategy NoUTF8EscapingWithSuffixes needs nameValidationScheme UTF8");
        }
        if strategy == Field::StrategyNoTranslation.key() && !has(Field::StrategyNoTranslation) {
            return refuse("translationStrategy NoTranslation needs Prometheus 3.4.0");
        }
        if strategy == Field::StrategyWithoutSuffixes.key() && !has(Field::StrategyWithoutSuffixes) {
            return refuse("translationStrategy UnderscoreEscapingWithoutSuffixes needs Prometheus 3.6.0");
        }
        if has(Field::PromoteAllAttributes) && all && !otlp.promote_resource_attributes.is_empty() {
            return refuse("promoteAllResourceAttributes and promoteResourceAttributes exclude each other");
        }
        if has(Field::IgnoreResourceAttributes) && !all && !otlp.ignore_resource_attributes.is_empty() {
            return refuse("ignoreResourceAttributes needs promoteAllResourceAttributes");
        }
        Ok(())
    }

    pub(crate) fn put_tracing(&self, document: &mut Map) -> Result<(), Rejected> {
        let Some(tracing) = &self.common.tracing_config else { return Ok(()) };
        let refuse = |field: &str, why: String| Rejected::new(format!("tracingConfig.{field}"), why);
        let mut map = Map::new().with("endpoint", &tracing.endpoint);
        map.set_some("client_type", tracing.client_type.as_ref().map(|client| client.to_ascii_lowercase()));
        if let Some(fraction) = &tracing.sampling_fraction {
            let share = amount(fraction).filter(|share| (0.0..=1.0).contains(share));
            let share = share.ok_or_else(|| {
                refuse("samplingFraction", format!("{} is not between 0 and 1", fraction.0))
            })?;
            map.set("sampling_fraction", number(share));
        }
        map.set_some("insecure", tracing.insecure);
        map.set_some("headers", string_map(&tracing.headers).non_empty());
        map.set_some(
            "compression",
            tracing.compression.as_ref().map(|compression| compression.to_ascii_lowercase()),
        );
        map.set_some("timeout", text(tracing.timeout.as_ref()));
        if let Some(tls) = &tracing.tls_config {
            tls_assets::validate(tls).map_err(|error| refuse("tlsConfig", error.to_string()))?;
            map.set("tls_config", Tree::from(self.scope(self.namespace).tls(tls)));
        }
        document.set("tracing", map);
        Ok(())
    }
}
