//! Amounts of resources: `1Gi` is `1024Mi`.

/// Thousandths of a billionth, enough for the smallest suffix with a fraction.
const UNIT: i128 = 1_000_000_000_000;

/// Suffixes with what they multiply by, as fraction. Source: the Kubernetes API's Quantity.
const SUFFIXES: &[(&str, i128, i128)] = &[
    ("Ki", 1 << 10, 1),
    ("Mi", 1 << 20, 1),
    ("Gi", 1 << 30, 1),
    ("Ti", 1 << 40, 1),
    ("Pi", 1 << 50, 1),
    ("Ei", 1 << 60, 1),
    ("n", 1, 1_000_000_000),
    ("u", 1, 1_000_000),
    ("m", 1, 1_000),
    ("k", 1_000, 1),
    ("M", 1_000_000, 1),
    ("G", 1_000_000_000, 1),
    ("T", 1_000_000_000_000, 1),
    ("P", 1_000_000_000_000_000, 1),
    ("E", 1_000_000_000_000_000_000, 1),
];

/// The amount in trillionths; `None` for what is no quantity.
pub(super) fn amount(text: &str) -> Option<i128> {
    for (suffix, times, over) in SUFFIXES {
        if let Some(number) = text.strip_suffix(suffix) {
            return decimal(number)?.checked_mul(*times).map(|product| product / over);
        }
    }
    match text.split_once(['e', 'E']) {
        None => decimal(text),
        Some((number, exponent)) => {
            let (number, exponent) = (decimal(number)?, exponent.parse::<i32>().ok()?);
            let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
            if exponent < 0 { number.checked_div(power) } else { number.checked_mul(power) }
        }
    }
}

fn decimal(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty())
        || !(whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let parse = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let fraction = parse(fraction)?.checked_mul(UNIT)? / scale;
    Some(sign * parse(whole)?.checked_mul(UNIT)?.checked_add(fraction)?)
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn the_same_amount_may_be_written_in_many_ways() {
        for (a, b) in [
            ("1", "1000m"),
            ("1Gi", "1024Mi"),
            ("0.5", "500m"),
            ("1e3", "1k"),
            ("1.5Gi", "1536Mi"),
            ("0", "0Gi"),
        ] {
            assert_eq!(amount(a), amount(b), "{a} {b}");
        }
        assert_ne!(amount("1G"), amount("1Gi"));
        assert_eq!(amount("fast"), None);
        assert_eq!(amount(""), None);
    }
}
