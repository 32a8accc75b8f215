//! What a document writes as code. The tests of `capstan` read documents with this file, too.

/// Blocks by line, and spans; each with its line's number.
pub(crate) fn code(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            found.push((number, line.trim()));
        } else {
            // Every second part is between two backticks.
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (number, span.trim())));
        }
    }
    found
}
