//! Would a Prometheus of this version read what a rule is made of? What it does not read in one rule, it refuses with all
//! others.
//!
//! Rules are read with the grammar of Prometheus 3.14 (`promql`); here stands what came and went besides, from 2.45 to 3.15.
//! Source: promql/parser and template/template.go of Prometheus, release by release.

use promql::Part;
use rendering::{Gate, Release, Version, since, since_candidates, until_candidates};

/// What loads the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader<'a> {
    /// Nobody in particular: whatever the newest Prometheus reads will do.
    ///
    /// Thanos Ruler, too: it embeds commits of Prometheus from between releases, and hands expressions to queriers of yet
    /// other versions.
    Anybody,
    Prometheus(&'a Version),
}

/// Functions that were not always there.
const FUNCTIONS: &[(&str, Gate)] = &[
    ("double_exponential_smoothing", since_candidates("3.0.0")),
    ("end", since_candidates("3.12.0")),
    ("first_over_time", since_candidates("3.7.0")),
    ("histogram_avg", since_candidates("2.51.0")),
    ("histogram_quantiles", since_candidates("3.11.0")),
    ("histogram_stddev", since_candidates("2.47.0")),
    ("histogram_stdvar", since_candidates("2.47.0")),
    ("holt_winters", until_candidates("3.0.0")),
    ("info", since("2.55.0")),
    ("mad_over_time", since_candidates("2.49.0")),
    ("max_of", since_candidates("3.13.0")),
    ("min_of", since_candidates("3.13.0")),
    ("range", since_candidates("3.12.0")),
    ("sort_by_label", since_candidates("2.49.0")),
    ("sort_by_label_desc", since_candidates("2.49.0")),
    ("start", since_candidates("3.12.0")),
    ("start_timestamp", since_candidates("3.14.0")),
    ("step", since_candidates("3.12.0")),
    ("ts_of_first_over_time", since_candidates("3.7.0")),
    ("ts_of_last_over_time", since_candidates("3.5.0")),
    ("ts_of_max_over_time", since_candidates("3.5.0")),
    ("ts_of_min_over_time", since_candidates("3.5.0")),
];

/// Functions that had to be enabled once, and since when they need not be.
const STABLE: &[(&str, Release)] = &[("first_over_time", Release::of("3.14.0"))];

/// Arithmetic in durations need not be enabled.
const DURATION_EXPRESSIONS: Gate = since_candidates("3.14.0");

const AGGREGATIONS: &[(&str, Gate)] =
    &[("limitk", since_candidates("2.54.0")), ("limit_ratio", since_candidates("2.54.0"))];

const REWRITE_EXPRESSION: &str = "rewrite the expression or upgrade";
const REWRITE_TEMPLATE: &str = "rewrite the template or upgrade";

const POWER_OF_NEGATIVE_OFFSET: &str = "`^` after a signed offset";
const EXTENSION_AS_NAME: &str = "the name `anchored` or `smoothed`";

/// Syntax that was not always there, in words that people know. A part is read where one of its rows admits the version.
///
/// Two rows are coarse where durations have arithmetic: 3.4 and 3.5 read a signed parenthesis then, 3.10 and 3.11 no
/// `range()` after a number.
const SYNTAX: &[(Part, &str, Gate)] = &[
    (Part::BytesInRegexp, "a regular expression that is no UTF-8", since_candidates("2.46.0")),
    (Part::QuotedName, "a quoted name in braces", since_candidates("2.51.0")),
    (Part::AlternativeBytes, "a regular expression that is no UTF-8", since_candidates("2.52.0")),
    (Part::ShortGroupName, "`(?<name>…)` in a regular expression", since_candidates("2.53.0")),
    (Part::NumberAsDuration, "a number as a duration", since_candidates("2.54.0")),
    (Part::DurationAsNumber, "a duration as a number", since_candidates("2.54.0")),
    (Part::Underscore, "an underscore in a number", since_candidates("2.54.0")),
    (Part::QuotedLabel, "a quoted label in a grouping", since_candidates("2.55.0")),
    (Part::Utf8Label, "a label of other characters in a grouping", since_candidates("3.0.0")),
    (Part::SignedDuration, "a sign before a duration", since_candidates("3.4.0")),
    (Part::ZeroDuration, "a duration of zero", since_candidates("3.4.0")),
    (Part::DurationArithmetic, "arithmetic in a duration", since_candidates("3.4.0")),
    (Part::PowerOfNegativeOffset, POWER_OF_NEGATIVE_OFFSET, until_candidates("3.4.0")),
    (Part::PowerOfNegativeOffset, POWER_OF_NEGATIVE_OFFSET, since_candidates("3.5.0")),
    (Part::StepOfDuration, "`step()` in a duration", since_candidates("3.6.0")),
    (Part::ExtendedSelector, "`anchored` or `smoothed`", since_candidates("3.7.0")),
    (Part::ExtensionAsName, EXTENSION_AS_NAME, until_candidates("3.7.0")),
    (Part::ExtensionAsName, EXTENSION_AS_NAME, since("3.7.2")),
    (Part::FillModifier, "`fill()`", since_candidates("3.10.0")),
    (Part::RangeOfDuration, "`range()` in a duration", since_candidates("3.10.0")),
    (Part::TrimOperator, "`</` or `>/`", since_candidates("3.11.0")),
    (Part::ExtremeOfDurations, "`max_of()` or `min_of()` in a duration", since_candidates("3.13.0")),
    (Part::SignedParenthesis, "a sign before a parenthesis in an offset", since_candidates("3.13.0")),
    (Part::ShiftBeforeRange, "`@` or `offset` before a range", until_candidates("3.15.0")),
];

/// Functions of templates that were not always there.
const TEMPLATE_FUNCTIONS: &[(&str, Gate)] = &[
    ("now", since_candidates("3.6.0")),
    ("toDuration", since_candidates("3.6.0")),
    ("urlQueryEscape", since_candidates("3.8.0")),
];

impl Reader<'_> {
    /// With which grammar an expression is read before its parts are judged.
    pub(crate) fn grammar(self, options: promql::Options) -> promql::Options {
        let Self::Prometheus(version) = self else { return options };
        let duration_expressions = options.duration_expressions || DURATION_EXPRESSIONS.admits(version);
        promql::Options { duration_expressions, retired_functions: true, ..options }
    }

    /// What the version does not read of an expression, and what to do.
    pub(crate) fn expression(self, parts: &[Part], options: &promql::Options) -> Vec<String> {
        let Self::Prometheus(version) = self else { return Vec::new() };
        let unread = parts.iter().filter_map(|part| match *part {
            Part::Function(name) => {
                unknown_function(FUNCTIONS, name, version).or_else(|| not_enabled(name, options, version))
            }
            Part::Aggregation(name) => unknown_function(AGGREGATIONS, name, version),
            part => {
                let rows = || SYNTAX.iter().filter(|(of, ..)| *of == part);
                let (_, said, _) = rows().next()?;
                unknown(said, rows().map(|(.., gate)| *gate), version, REWRITE_EXPRESSION)
            }
        });
        unread.collect()
    }

    /// What the version lacks of what a template calls, and what to do.
    pub(crate) fn template(self, calls: impl Fn(&str) -> bool) -> Vec<String> {
        let Self::Prometheus(version) = self else { return Vec::new() };
        let lacking = TEMPLATE_FUNCTIONS.iter().filter(|(name, gate)| !gate.admits(version) && calls(name));
        let said = lacking
            .filter_map(|(name, gate)| unknown(&format!("`{name}`"), [*gate], version, REWRITE_TEMPLATE));
        said.collect()
    }
}

fn unknown_function(table: &[(&str, Gate)], name: &str, version: &Version) -> Option<String> {
    let (_, gate) = table.iter().find(|(of, _)| *of == name)?;
    unknown(&format!("`{name}()`"), [*gate], version, REWRITE_EXPRESSION)
}

fn not_enabled(name: &str, options: &promql::Options, version: &Version) -> Option<String> {
    let (_, stable) = STABLE.iter().find(|(of, _)| *of == name)?;
    let enabled = options.experimental_functions || version.release() >= *stable;
    (!enabled).then(|| {
        format!(
            "`{name}()` has to be enabled before Prometheus {stable}, this one is {version}; add \
             promql-experimental-functions to spec.enableFeatures, or upgrade"
        )
    })
}

/// Says so, if none of the gates admits the version.
fn unknown(
    what: &str,
    gates: impl IntoIterator<Item = Gate>,
    version: &Version,
    then: &str,
) -> Option<String> {
    let mut known = Vec::new();
    for gate in gates {
        if gate.admits(version) {
            return None;
        }
        known.push(releases(gate));
    }
    Some(format!("{what} is known to Prometheus {}, this one is {version}; {then}", known.join(" or ")))
}

fn releases(gate: Gate) -> String {
    match gate {
        Gate::Always => "of every version".to_owned(),
        Gate::Since(first) | Gate::SinceCandidates(first) => format!("{first} and newer"),
        Gate::Until(end) | Gate::UntilCandidates(end) => format!("before {end}"),
        Gate::Between(first, end) => format!("{first} and newer, but before {end}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use promql::Options;

    use super::*;

    /// What is said to an expression by a Prometheus with these features.
    fn said(version: &str, expr: &str, options: Options) -> String {
        let version = Version::parse(version).unwrap();
        let reader = Reader::Prometheus(&version);
        let (_, parts) = promql::parse_with_parts(expr, &reader.grammar(options)).unwrap();
        reader.expression(&parts, &options).join("\n")
    }

    #[test]
    fn a_finding_says_who_knows_it_and_what_to_do() {
        assert_eq!(
            said("2.53.4", "info(up)", Options::ALL),
            "`info()` is known to Prometheus 2.55.0 and newer, this one is 2.53.4; rewrite the expression or upgrade"
        );
        assert_eq!(
            said("3.4.1", "a offset -5m ^ 2", Options::default()),
            "`^` after a signed offset is known to Prometheus before 3.4.0 or 3.5.0 and newer, this one is 3.4.1; \
             rewrite the expression or upgrade"
        );
        assert_eq!(
            said("3.13.2", "first_over_time(a[5m])", Options::default()),
            "`first_over_time()` has to be enabled before Prometheus 3.14.0, this one is 3.13.2; add \
             promql-experimental-functions to spec.enableFeatures, or upgrade"
        );
    }

    #[test]
    fn an_expression_is_read_from_its_release_on() {
        // The last release that refuses it, the first that takes it.
        for (expr, last, first) in [
            ("histogram_stddev(a)", "2.46.0", "2.47.0-rc.0"),
            ("sort_by_label(a, \"b\")", "2.48.1", "2.49.0"),
            ("{\"my.metric\"}", "2.50.1", "2.51.0"),
            ("a{b=~\"(?<c>d)\"}", "2.52.0", "2.53.0"),
            ("limitk(1, a)", "2.53.5", "2.54.0"),
            ("a[300]", "2.53.5", "2.54.0"),
            ("a offset 300", "2.53.5", "2.54.0"),
            ("a > 5m", "2.53.5", "2.54.0"),
            ("a > 1_000", "2.53.5", "2.54.0"),
            ("sum by (\"b\") (a)", "2.54.1", "2.55.0"),
            ("sum by (\"b.c\") (a)", "2.55.1", "3.0.0"),
            ("sum by (b:c) (a)", "2.55.1", "3.0.0"),
            ("double_exponential_smoothing(a[5m], 0.1, 0.2)", "2.55.1", "3.0.0"),
            ("a offset 0s", "3.3.1", "3.4.0"),
            ("a offset +5m", "3.3.1", "3.4.0"),
            ("a[5m * 2]", "3.3.1", "3.4.0"),
            ("a[step()]", "3.5.5", "3.6.0"),
            ("a[5m] anchored", "3.6.0", "3.7.0"),
            ("first_over_time(a[5m])", "3.6.0", "3.7.0"),
            ("a + anchored", "3.7.1", "3.7.2"),
            ("a + fill(0) b", "3.9.1", "3.10.0"),
            ("a[range()]", "3.9.1", "3.10.0"),
            ("a </ 1", "3.10.0", "3.11.0"),
            ("a > start()", "3.11.3", "3.12.0"),
            ("a[max_of(1m, 2m)]", "3.12.0", "3.13.0"),
            ("start_timestamp(a)", "3.13.2", "3.14.0"),
            // And until then.
            ("holt_winters(a[5m], 0.1, 0.2)", "3.0.0", "2.55.1"),
            ("a @ start()[5m]", "3.15.0", "3.14.0"),
            ("a + anchored", "3.7.0-rc.0", "3.6.0"),
        ] {
            assert_ne!(said(last, expr, Options::ALL), "", "{last}: {expr}");
            assert_eq!(said(first, expr, Options::ALL), "", "{first}: {expr}");
        }
    }

    #[test]
    fn arithmetic_in_durations_is_there_for_everybody_in_the_end() {
        let reads = |version: &str| {
            let version = Version::parse(version).unwrap();
            let grammar = Reader::Prometheus(&version).grammar(Options::default());
            promql::parse("a[5m * 2]", &grammar).is_ok()
        };
        assert!(reads("3.14.0-rc.0") && !reads("3.13.2"));
    }

    #[test]
    fn every_gate_is_of_something_that_the_grammar_has() {
        let gated = FUNCTIONS.iter().map(|(name, _)| name).chain(STABLE.iter().map(|(name, _)| name));
        for name in gated {
            assert!(promql::FUNCTIONS.iter().any(|function| function.name == *name), "{name}");
        }
    }
}
