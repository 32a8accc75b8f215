//! The functions of PromQL: what they take, what they yield.

/// What an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Scalar,
    Vector,
    Matrix,
    Text,
}

impl ValueType {
    /// The name that Prometheus' documentation uses.
    pub(crate) fn documented(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            Self::Text => "string",
        }
    }
}

/// A function.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: &'static str,
    /// The last may be left out or repeated, as `last` says.
    pub arguments: &'static [ValueType],
    pub last: Last,
    pub returns: ValueType,
    pub standing: Standing,
}

/// Whether a function is there for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Stable,
    /// Only where it is enabled.
    Experimental,
    /// Only in releases before the one that this grammar is of.
    Retired,
}

/// How often the last argument is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Once,
    UpTo(usize),
    AnyNumber,
}

const S: ValueType = ValueType::Scalar;
const V: ValueType = ValueType::Vector;
const M: ValueType = ValueType::Matrix;
const T: ValueType = ValueType::Text;

const fn stable(
    name: &'static str,
    arguments: &'static [ValueType],
    last: Last,
    returns: ValueType,
) -> Function {
    Function { name, arguments, last, returns, standing: Standing::Stable }
}

const fn experimental(
    name: &'static str,
    arguments: &'static [ValueType],
    last: Last,
    returns: ValueType,
) -> Function {
    Function { name, arguments, last, returns, standing: Standing::Experimental }
}

const fn retired(
    name: &'static str,
    arguments: &'static [ValueType],
    last: Last,
    returns: ValueType,
) -> Function {
    Function { name, arguments, last, returns, standing: Standing::Retired }
}

/// Every function, by name. Source: Prometheus 3.14, and 2.55 for what is retired.
pub const FUNCTIONS: &[Function] = &[
    stable("abs", &[V], Last::Once, V),
    stable("absent", &[V], Last::Once, V),
    stable("absent_over_time", &[M], Last::Once, V),
    stable("acos", &[V], Last::Once, V),
    stable("acosh", &[V], Last::Once, V),
    stable("asin", &[V], Last::Once, V),
    stable("asinh", &[V], Last::Once, V),
    stable("atan", &[V], Last::Once, V),
    stable("atanh", &[V], Last::Once, V),
    stable("avg_over_time", &[M], Last::Once, V),
    stable("ceil", &[V], Last::Once, V),
    stable("changes", &[M], Last::Once, V),
    stable("clamp", &[V, S, S], Last::Once, V),
    stable("clamp_max", &[V, S], Last::Once, V),
    stable("clamp_min", &[V, S], Last::Once, V),
    stable("cos", &[V], Last::Once, V),
    stable("cosh", &[V], Last::Once, V),
    stable("count_over_time", &[M], Last::Once, V),
    stable("day_of_month", &[V], Last::UpTo(1), V),
    stable("day_of_week", &[V], Last::UpTo(1), V),
    stable("day_of_year", &[V], Last::UpTo(1), V),
    stable("days_in_month", &[V], Last::UpTo(1), V),
    stable("deg", &[V], Last::Once, V),
    stable("delta", &[M], Last::Once, V),
    stable("deriv", &[M], Last::Once, V),
    experimental("double_exponential_smoothing", &[M, S, S], Last::Once, V),
    experimental("end", &[], Last::Once, S),
    stable("exp", &[V], Last::Once, V),
    stable("first_over_time", &[M], Last::Once, V),
    stable("floor", &[V], Last::Once, V),
    stable("histogram_avg", &[V], Last::Once, V),
    stable("histogram_count", &[V], Last::Once, V),
    stable("histogram_fraction", &[S, S, V], Last::Once, V),
    stable("histogram_quantile", &[S, V], Last::Once, V),
    experimental("histogram_quantiles", &[V, T, S, S], Last::UpTo(9), V),
    stable("histogram_stddev", &[V], Last::Once, V),
    stable("histogram_stdvar", &[V], Last::Once, V),
    stable("histogram_sum", &[V], Last::Once, V),
    retired("holt_winters", &[M, S, S], Last::Once, V),
    stable("hour", &[V], Last::UpTo(1), V),
    stable("idelta", &[M], Last::Once, V),
    stable("increase", &[M], Last::Once, V),
    experimental("info", &[V, V], Last::UpTo(1), V),
    stable("irate", &[M], Last::Once, V),
    stable("label_join", &[V, T, T, T], Last::AnyNumber, V),
    stable("label_replace", &[V, T, T, T, T], Last::Once, V),
    stable("last_over_time", &[M], Last::Once, V),
    stable("ln", &[V], Last::Once, V),
    stable("log10", &[V], Last::Once, V),
    stable("log2", &[V], Last::Once, V),
    experimental("mad_over_time", &[M], Last::Once, V),
    experimental("max_of", &[S, S], Last::Once, S),
    stable("max_over_time", &[M], Last::Once, V),
    experimental("min_of", &[S, S], Last::Once, S),
    stable("min_over_time", &[M], Last::Once, V),
    stable("minute", &[V], Last::UpTo(1), V),
    stable("month", &[V], Last::UpTo(1), V),
    stable("pi", &[], Last::Once, S),
    stable("predict_linear", &[M, S], Last::Once, V),
    stable("present_over_time", &[M], Last::Once, V),
    stable("quantile_over_time", &[S, M], Last::Once, V),
    stable("rad", &[V], Last::Once, V),
    experimental("range", &[], Last::Once, S),
    stable("rate", &[M], Last::Once, V),
    stable("resets", &[M], Last::Once, V),
    stable("round", &[V, S], Last::UpTo(1), V),
    stable("scalar", &[V], Last::Once, S),
    stable("sgn", &[V], Last::Once, V),
    stable("sin", &[V], Last::Once, V),
    stable("sinh", &[V], Last::Once, V),
    stable("sort", &[V], Last::Once, V),
    experimental("sort_by_label", &[V, T], Last::AnyNumber, V),
    experimental("sort_by_label_desc", &[V, T], Last::AnyNumber, V),
    stable("sort_desc", &[V], Last::Once, V),
    stable("sqrt", &[V], Last::Once, V),
    experimental("start", &[], Last::Once, S),
    experimental("start_timestamp", &[V], Last::Once, V),
    stable("stddev_over_time", &[M], Last::Once, V),
    stable("stdvar_over_time", &[M], Last::Once, V),
    experimental("step", &[], Last::Once, S),
    stable("sum_over_time", &[M], Last::Once, V),
    stable("tan", &[V], Last::Once, V),
    stable("tanh", &[V], Last::Once, V),
    stable("time", &[], Last::Once, S),
    stable("timestamp", &[V], Last::Once, V),
    experimental("ts_of_first_over_time", &[M], Last::Once, V),
    experimental("ts_of_last_over_time", &[M], Last::Once, V),
    experimental("ts_of_max_over_time", &[M], Last::Once, V),
    experimental("ts_of_min_over_time", &[M], Last::Once, V),
    stable("vector", &[S], Last::Once, V),
    stable("year", &[V], Last::UpTo(1), V),
];

/// The function of this name; case matters.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok().and_then(|at| FUNCTIONS.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(function("rate").map(|f| f.arguments), Some([M].as_slice()));
        assert_eq!(function("Rate"), None);
    }
}
