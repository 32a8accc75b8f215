//! The two text formats in which a scraper may ask for metrics.

use prometheus_client::{encoding::text, registry::Registry};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The Prometheus text format 0.0.4, which everything reads.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// What to answer to this `Accept` header: OpenMetrics for those who ask for it first or equally.
    pub fn accepted(accept: &str) -> Self {
        let weight = |media: &str| {
            accept
                .split(',')
                .map(|range| range.split(';').map(str::trim))
                .filter_map(|mut range| {
                    (range.next()? == media).then(|| range.find_map(|p| p.strip_prefix("q=")))
                })
                .map(|q| q.map_or(1.0, |q| q.parse().unwrap_or(0.0)))
                .fold(0.0_f64, f64::max)
        };
        let open = weight("application/openmetrics-text");
        match open > 0.0 && open >= weight("text/plain") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// The `Content-Type` of the answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

pub(super) fn encode(registry: &Registry, format: Format) -> String {
    let mut open = String::new();
    // Writing to a string fails only if a metric of the application says so: what was written before it is still good.
    if let Err(error) = text::encode(&mut open, registry) {
        tracing::warn!(%error, "a metric could not be encoded");
    }
    match format {
        Format::OpenMetrics => open,
        Format::Prometheus => to_prometheus(&open),
    }
}

/// In OpenMetrics a counter's family has no `_total` and an info's no `_info`, only their samples do; in 0.0.4 the names must
/// agree, or the sample has no type. 0.0.4 has neither units nor an end mark.
fn to_prometheus(open: &str) -> String {
    let mut text = String::with_capacity(open.len());
    let mut lines = open.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(comment) = line.strip_prefix("# ") else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        let (Some(keyword @ ("HELP" | "TYPE")), Some(name), Some(rest)) =
            (words.next(), words.next(), words.next())
        else {
            continue;
        };
        // HELP comes first, and its name depends on the type.
        let kind = match keyword {
            "TYPE" => rest,
            _ => lines.peek().and_then(|next| next.rsplit(' ').next()).unwrap_or_default(),
        };
        let (suffix, rest) = match (kind, keyword) {
            ("counter", _) => ("_total", rest),
            ("info", "TYPE") => ("_info", "gauge"),
            ("info", _) => ("_info", rest),
            ("unknown", "TYPE") => ("", "untyped"),
            _ => ("", rest),
        };
        text.push_str(&format!("# {keyword} {name}{suffix} {rest}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prometheus_client::metrics::{counter::Counter, gauge::Gauge, info::Info};

    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_prefer_it() {
        let cases = [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/plain", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            (
                "application/openmetrics-text; version=1.0.0,text/plain;version=0.0.4;q=0.5",
                Format::OpenMetrics,
            ),
            ("text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.3", Format::Prometheus),
            ("application/openmetrics-text;q=0", Format::Prometheus),
        ];
        for (accept, format) in cases {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }

    fn check(format: Format, expected: &Expect) {
        let mut registry = Registry::default();
        let counter = Counter::<u64>::default();
        counter.inc();
        registry.register("sent", "What was sent", counter);
        registry.register_with_unit(
            "age",
            "Its age",
            prometheus_client::registry::Unit::Seconds,
            Gauge::<i64>::default(),
        );
        registry.register("build", "Which build", Info::new([("version", "1")]));
        expected.assert_eq(&encode(&registry, format));
    }

    #[test]
    fn in_openmetrics_only_samples_have_suffixes() {
        check(
            Format::OpenMetrics,
            &expect![[r##"
            # HELP sent What was sent.
            # TYPE sent counter
            sent_total 1
            # HELP age_seconds Its age.
            # TYPE age_seconds gauge
            # UNIT age_seconds seconds
            age_seconds 0
            # HELP build Which build.
            # TYPE build info
            build_info{version="1"} 1
            # EOF
        "##]],
        );
    }

    #[test]
    fn in_the_prometheus_format_the_names_of_type_and_sample_agree() {
        check(
            Format::Prometheus,
            &expect![[r##"
            # HELP sent_total What was sent.
            # TYPE sent_total counter
            sent_total 1
            # HELP age_seconds Its age.
            # TYPE age_seconds gauge
            age_seconds 0
            # HELP build_info Which build.
            # TYPE build_info gauge
            build_info{version="1"} 1
        "##]],
        );
    }
}
