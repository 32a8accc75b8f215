//! Recurring spans of time, in which routes are muted or active.

use crate::object::object;
use crate::text::text;

text! {
    /// A time of day in UTC, such as `09:00`.
    pub struct TimeOfDay {
        "pattern": "^((([01][0-9])|(2[0-3])):[0-5][0-9])$|(^24:00$)"
    }

    /// A weekday or a range of them, such as `monday:friday`.
    pub struct WeekdayRange {
        "pattern": "^((?i)sun|mon|tues|wednes|thurs|fri|satur)day(?:((:(sun|mon|tues|wednes|thurs|fri|satur)day)$)|$)"
    }

    /// A month or a range of them, by name or number.
    pub struct MonthRange {
        "pattern": "^((?i)january|february|march|april|may|june|july|august|september|october|november|december|1[0-2]|[1-9])(?:((:((?i)january|february|march|april|may|june|july|august|september|october|november|december|1[0-2]|[1-9]))$)|$)"
    }

    /// A year or a range of them, such as `2026:2028`.
    pub struct YearRange {
        "pattern": "^2\\d{3}(?::2\\d{3}|$)"
    }
}

object! {
    /// Spans of time with a name.
    pub struct MuteTimeInterval {
        required {
            /// Name of the interval.
            pub name: String,
        }
        optional {
            /// The spans; the interval holds when any of them does.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub time_intervals: Vec<TimeInterval>,
        }
    }
}

object! {
    /// A span of time; it holds when all of its parts do.
    pub struct TimeInterval {
        optional {
            /// Times of day.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub times: Vec<TimeRange>,
            /// Days of the week.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub weekdays: Vec<WeekdayRange>,
            /// Days of the month.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub days_of_month: Vec<DayOfMonthRange>,
            /// Months.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub months: Vec<MonthRange>,
            /// Years.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub years: Vec<YearRange>,
        }
    }
}

object! {
    /// A range of times in a day.
    pub struct TimeRange {
        optional {
            /// When it begins.
            pub start_time: TimeOfDay,
            /// When it ends.
            pub end_time: TimeOfDay,
        }
    }
}

object! {
    /// A range of days in a month; negative numbers count from its end.
    pub struct DayOfMonthRange {
        optional {
            /// First day.
            #[schemars(range(min = -31, max = 31))]
            pub start: isize,
            /// Last day.
            #[schemars(range(min = -31, max = 31))]
            pub end: isize,
        }
    }
}
