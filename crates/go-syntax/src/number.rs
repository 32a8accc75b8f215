//! Numbers as Go's `strconv` reads them from source text: `0x1F`, `017`, `0b11`, `1_000`, `1e3`, `.5`, `0x1p-2`, `Inf`.

/// `strconv.ParseInt(text, 0, 64)`, of the magnitude only where the sign is not asked for.
pub fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = magnitude(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// `strconv.ParseUint(text, 0, 64)`.
pub fn parse_uint(text: &str) -> Option<u64> {
    magnitude(text)
}

fn magnitude(text: &str) -> Option<u64> {
    let (radix, digits) = radix(text);
    if digits.is_empty() || !underscores_separate_digits(text) {
        return None;
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    // The parser of Rust would take a second sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(&digits, radix).ok()
}

fn radix(text: &str) -> (u32, &str) {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some('0'), Some('x' | 'X')) => (16, characters.as_str()),
        (Some('0'), Some('o' | 'O')) => (8, characters.as_str()),
        (Some('0'), Some('b' | 'B')) => (2, characters.as_str()),
        (Some('0'), Some(_)) => (8, text.get(1..).unwrap_or_default()),
        _ => (10, text),
    }
}

/// `strconv.ParseFloat(text, 64)`: nothing for a text that is no number, and for one that is out of range.
pub fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let negative = text.starts_with('-');
    let special = ["inf", "infinity", "nan"].iter().any(|word| unsigned.eq_ignore_ascii_case(word));
    if special {
        let signed_nan = unsigned.len() != text.len() && unsigned.eq_ignore_ascii_case("nan");
        return if signed_nan { None } else { text.parse().ok() };
    }
    if !underscores_separate_digits(unsigned) {
        return None;
    }
    let digits: String = unsigned.chars().filter(|c| *c != '_').collect();
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        None => {
            let plain =
                digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
            if !plain || digits.starts_with(['+', '-']) {
                return None;
            }
            digits.parse::<f64>().ok()?
        }
    };
    match value.is_infinite() {
        true => None,
        false => Some(if negative { -value } else { value }),
    }
}

/// `int64(value)`: what does not fit becomes the least integer, as on the machines that Prometheus mostly runs on.
pub fn to_int64(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) { value as i64 } else { i64::MIN }
}

/// `1.8p3`: a mantissa and an exponent of two, which must be there.
fn hexadecimal(digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0f64;
    for digit in whole.chars() {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let mut place = 1f64;
    for digit in fraction.chars() {
        place /= 16.0;
        value += f64::from(digit.to_digit(16)?) * place;
    }
    Some(value * 2f64.powi(exponent))
}

/// Go's rule for `_`: only between digits, or between the prefix of a base and a digit.
fn underscores_separate_digits(text: &str) -> bool {
    if !text.contains('_') {
        return true;
    }
    let mut characters = text.chars().peekable();
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let prefixed = hexadecimal || ["0b", "0B", "0o", "0O"].iter().any(|prefix| text.starts_with(prefix));
    let mut after_digit = false;
    if prefixed {
        characters.next();
        characters.next();
        after_digit = true;
    }
    let is_digit = |c: char| c.is_ascii_digit() || (hexadecimal && c.is_ascii_hexdigit());
    while let Some(character) = characters.next() {
        match character {
            '_' if !after_digit || !characters.peek().copied().is_some_and(is_digit) => return false,
            '_' => after_digit = false,
            _ => after_digit = is_digit(character),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_base_from_their_prefix() {
        for (text, value) in [
            ("0", Some(0)),
            ("017", Some(15)),
            ("0x1F", Some(31)),
            ("0x_1F", Some(31)),
            ("0b11", Some(3)),
            ("0o17", Some(15)),
            ("1_000", Some(1000)),
            ("0_7", Some(7)),
            ("-5", Some(-5)),
            ("08", None),
            ("1__0", None),
            ("1_", None),
            ("_1", None),
            ("", None),
            ("--1", None),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
        ] {
            assert_eq!(parse_int(text), value, "{text}");
        }
    }

    #[test]
    fn floats_are_those_of_go() {
        for (text, value) in [
            ("1.5", Some(1.5)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1_0.2_5", Some(10.25)),
            ("1e3", Some(1000.0)),
            ("0x1p-2", Some(0.25)),
            ("0x1.8p1", Some(3.0)),
            ("+Inf", Some(f64::INFINITY)),
            ("1e999", None),
            ("0x1", None),
            (".", None),
            ("1_.5", None),
            ("e5", None),
        ] {
            assert_eq!(parse_float(text), value, "{text}");
        }
        assert!(parse_float("NaN").is_some_and(f64::is_nan));
    }
}
