//! Kubernetes quantities, compared by value: the server writes `1000m` as `1` and `1024Mi` as `1Gi`.

/// What a suffix multiplies by. Source: the serialisation format of apimachinery's `resource.Quantity`.
const SUFFIXES: &[(&str, i128, u32)] = &[
    ("Ki", 2, 10),
    ("Mi", 2, 20),
    ("Gi", 2, 30),
    ("Ti", 2, 40),
    ("Pi", 2, 50),
    ("Ei", 2, 60),
    ("k", 10, 3),
    ("M", 10, 6),
    ("G", 10, 9),
    ("T", 10, 12),
    ("P", 10, 15),
    ("E", 10, 18),
];
/// Digits after the point. The API keeps nine and rounds up.
const SCALE: u32 = 9;
/// The small suffixes, as powers of ten on top of [`SCALE`].
const SMALL: &[(&str, u32)] = &[("m", 6), ("u", 3), ("n", 0)];

/// `text` in billionths, or `None` if it is no quantity that we can hold exactly.
pub fn billionths(text: &str) -> Option<i128> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let (digits, scale) = decimal(number)?;
    if let Some((_, small)) = SMALL.iter().find(|(name, _)| *name == suffix) {
        return at_scale(digits, scale, *small);
    }
    let factor = match suffix {
        "" => 1,
        _ => match SUFFIXES.iter().find(|(name, _, _)| *name == suffix) {
            Some((_, base, power)) => base.checked_pow(*power)?,
            None => return exponent(digits, scale, suffix),
        },
    };
    at_scale(digits.checked_mul(factor)?, scale, SCALE)
}

/// `text` in whole bytes, rounded down, or `None` if it is no quantity or below zero.
pub fn bytes(text: &str) -> Option<u64> {
    u64::try_from(billionths(text)? / 10_i128.pow(SCALE)).ok()
}

/// An amount of memory on a command line, in bytes.
pub fn amount(text: &str) -> Result<usize, String> {
    let bytes = bytes(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "write a number of bytes, such as 64Mi".to_owned())
}

/// `1.25` as `(125, 2)`.
fn decimal(number: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, u32::try_from(fraction.len()).ok()?))
}

/// `digits / 10^scale` as a whole number of `10^-wanted`, if it is one.
fn at_scale(digits: i128, scale: u32, wanted: u32) -> Option<i128> {
    if scale <= wanted {
        return digits.checked_mul(10_i128.checked_pow(wanted - scale)?);
    }
    let divisor = 10_i128.checked_pow(scale - wanted)?;
    (digits % divisor == 0).then_some(digits / divisor)
}

fn exponent(digits: i128, scale: u32, suffix: &str) -> Option<i128> {
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    match u32::try_from(power) {
        Ok(power) => at_scale(digits.checked_mul(10_i128.checked_pow(power)?)?, scale, SCALE),
        Err(_) => at_scale(digits, scale.checked_add(power.unsigned_abs())?, SCALE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let cases = [
            ("256Mi", Some(256 << 20)),
            ("1G", Some(1_000_000_000)),
            ("100m", Some(0)),
            ("-1", None),
            ("much", None),
        ];
        for (text, want) in cases {
            assert_eq!(bytes(text), want, "{text}");
        }
    }

    #[test]
    fn what_the_server_writes_differently_is_the_same() {
        let same = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            ("12e-3", "12m"),
            ("100M", "0.1G"),
            ("1000n", "1u"),
            ("+5", "5"),
            (".5", "0.50"),
            ("8Ei", "9223372036854775808"),
        ];
        for (a, b) in same {
            assert_eq!(billionths(a), billionths(b), "{a} {b}");
            assert!(billionths(a).is_some(), "{a}");
        }
        for (a, b) in [("1", "2"), ("1M", "1Mi"), ("1m", "1M"), ("-1", "1")] {
            assert_ne!(billionths(a), billionths(b), "{a} {b}");
        }
        for not in ["", "Gi", "1 Gi", "1.2.3", "1Zi", "ten", "1e", "99999999999999999999999999999999999999Ei"]
        {
            assert_eq!(billionths(not), None, "{not}");
        }
    }
}
