//! Feature flags of Prometheus that change which PromQL it takes.

/// A flag, and what it switches on.
type Flag = (&'static str, fn(&mut promql::Options));

/// The flags, as `spec.enableFeatures` and `--enable-feature` name them.
const FLAGS: &[Flag] = &[
    ("promql-experimental-functions", |options| options.experimental_functions = true),
    ("promql-duration-expr", |options| options.duration_expressions = true),
    ("promql-extended-range-selectors", |options| options.extended_range_selectors = true),
    ("promql-binop-fill-modifiers", |options| options.binop_fill_modifiers = true),
];

/// What PromQL may contain with these features enabled. Features that are not about PromQL change nothing.
pub fn promql_options<F: AsRef<str>>(features: impl IntoIterator<Item = F>) -> promql::Options {
    let mut options = promql::Options::default();
    for feature in features {
        if let Some((_, enable)) = FLAGS.iter().find(|(flag, _)| *flag == feature.as_ref()) {
            enable(&mut options);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_enables_its_part_of_the_language_and_others_nothing() {
        assert_eq!(promql_options(["otlp-deltatocumulative"]), promql::Options::default());
        assert_eq!(promql_options(FLAGS.iter().map(|(flag, _)| flag)), promql::Options::ALL);
        assert!(promql_options(["promql-duration-expr"]).duration_expressions);
    }
}
