//! Quantities: `1000m` is `1`, `0.5` is `500m`, `1024Mi` is `1Gi`. The server stores them in their canonical form.

/// What the server says of a string that is no quantity.
pub(crate) const FAULT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Nanos are the finest unit; finer is rounded up, away from zero.
const NANO: u32 = 9;

const DECIMAL: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY: &[(&str, u32)] = &[("", 0), ("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// The canonical form of a quantity; None if it is none.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (nanos, form) = parse(text)?;
    let unit = 10_i128.pow(NANO);
    let form = match form {
        // Small and fractional amounts of bytes read better in decimals.
        Form::Binary if nanos.abs() < 1024 * unit || nanos % unit != 0 => Form::Decimal,
        form => form,
    };
    if nanos == 0 {
        return Some("0".into());
    }
    if form == Form::Binary {
        let whole = nanos / unit;
        let (suffix, power) = BINARY.iter().rev().find(|(_, power)| whole % 1024_i128.pow(*power) == 0)?;
        return Some(format!("{}{suffix}", whole / 1024_i128.pow(*power)));
    }
    let divisor = |exponent: i32| u32::try_from(exponent + NANO as i32).ok().map(|e| 10_i128.pow(e));
    let (suffix, exponent) =
        DECIMAL.iter().rev().find(|(_, exponent)| divisor(*exponent).is_some_and(|d| nanos % d == 0))?;
    let number = nanos / divisor(*exponent)?;
    Some(match form {
        Form::Exponent if *exponent != 0 => format!("{number}e{exponent}"),
        _ => format!("{number}{suffix}"),
    })
}

/// The amount in billionths.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    parse(text).map(|(nanos, _)| nanos)
}

fn parse(text: &str) -> Option<(i128, Form)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    let number = unsigned.split(|c: char| c.is_ascii_alphabetic()).next().unwrap_or_default();
    let suffix = unsigned.strip_prefix(number)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = fraction.len() as i32;
    let unit = 10_i128.pow(NANO);
    let (nanos, form) =
        if let Some((_, power)) = BINARY.iter().find(|(name, _)| !name.is_empty() && *name == suffix) {
            let scaled = mantissa.checked_mul(1024_i128.pow(*power))?.checked_mul(unit)?;
            (divide_up(scaled, 10_i128.checked_pow(places as u32)?), Form::Binary)
        } else if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
            (scale(mantissa, exponent - places + NANO as i32)?, Form::Decimal)
        } else {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (scale(mantissa, exponent.checked_sub(places)?.checked_add(NANO as i32)?)?, Form::Exponent)
        };
    Some((if negative { -nanos } else { nanos }, form))
}

fn scale(mantissa: i128, exponent: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 { mantissa.checked_mul(factor) } else { Some(divide_up(mantissa, factor)) }
}

fn divide_up(a: i128, b: i128) -> i128 {
    a / b + i128::from(a % b != 0)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn quantities_are_written_as_the_server_writes_them() {
        for (written, stored) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000Ki", "1000Ki"),
            ("512", "512"),
            ("100Ki", "100Ki"),
            ("0.5Ki", "512"),
            ("0.5Mi", "512Ki"),
            ("1500", "1500"),
            ("2000", "2k"),
            ("1e3", "1e3"),
            ("12e4", "120e3"),
            ("1E", "1E"),
            ("1e0", "1"),
            ("0", "0"),
            ("0Gi", "0"),
            ("-1000m", "-1"),
            ("+2", "2"),
            ("0.1n", "1n"),
            ("100Gi", "100Gi"),
            ("8Ei", "8Ei"),
        ] {
            assert_eq!(canonical(written).as_deref(), Some(stored), "{written}");
        }
        for wrong in ["", "x", "1 Gi", "1gi", "Gi", "1.2.3", "--1", "1e", "1KiB"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }
}
