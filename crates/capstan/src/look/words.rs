//! Times and sizes, as people say them.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// For how long something has been so, with as much precision as anybody wants to know.
pub(crate) fn since(time: &Time, now: Timestamp) -> String {
    for_as_long_as(now.duration_since(time.0))
}

pub(crate) fn for_as_long_as(time: SignedDuration) -> String {
    let all = time.as_secs().max(0);
    match all {
        0..120 => format!("{all} s"),
        120..7200 => format!("{} min", all / 60),
        7200..172_800 => format!("{} h", all / 3600),
        _ => format!("{} d", all / 86_400),
    }
}

pub(crate) fn bytes(size: i64) -> String {
    let mut rest = size as f64;
    for unit in ["B", "KiB", "MiB"] {
        if rest < 1024.0 {
            return if unit == "B" { format!("{size} B") } else { format!("{rest:.1} {unit}") };
        }
        rest /= 1024.0;
    }
    format!("{rest:.1} GiB")
}

/// What others wrote, on one line: it may quote a log, and a log may hold what a terminal obeys.
pub(crate) fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// `3 members`, `1 member`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_log_commands_no_terminal() {
        assert_eq!(plain("exit 2:\n\tat x\x1b[2J"), "exit 2:  at x [2J");
    }

    #[test]
    fn times_and_sizes_are_short() {
        let cases =
            [(0, "0 s"), (119, "119 s"), (130, "2 min"), (7300, "2 h"), (200_000, "2 d"), (-5, "0 s")];
        for (seconds, text) in cases {
            assert_eq!(for_as_long_as(SignedDuration::from_secs(seconds)), text);
        }
        for (size, text) in
            [(512, "512 B"), (2048, "2.0 KiB"), (26_214_400, "25.0 MiB"), (1 << 31, "2.0 GiB")]
        {
            assert_eq!(bytes(size), text);
        }
    }
}
