//! The run over a directory: every case to whoever answers for its area.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::answer::{Answer, Answerer};
use crate::case::{Case, ReadError, read};
use crate::compare::compare;
use crate::find::Only;
use crate::report::Report;

/// Cases with a note (inputs on which upstream is wrong) are no part of the score and left out.
pub fn run(dir: &Path, answerers: &[Answerer], only: &Only) -> Result<Report, ReadError> {
    let mut report = Report::default();
    for case in read(dir)? {
        if case.note.is_some() || !only.takes(&case.area, &case.name) {
            continue;
        }
        match answerers.iter().find(|(areas, _)| areas.contains(&case.area.as_str())) {
            None => report.unanswered(&case.area),
            Some((_, answer)) => {
                let answer = guarded(&case, *answer);
                report.add(&case, compare(&case.area, &case.expect, &answer));
            }
        }
    }
    Ok(report)
}

/// A panic is one failed case, not the end of the run; its text never counts as a refusal.
fn guarded(case: &Case, answer: fn(&str, &serde_json::Value) -> Answer) -> Result<Answer, String> {
    catch_unwind(AssertUnwindSafe(|| answer(&case.area, &case.input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::case::Expect;

    /// What upstream said, handed back: wherever this differs, the reader or the comparison is wrong.
    #[test]
    fn every_recorded_answer_equals_itself() {
        let Some(data) = crate::data(env!("CARGO_MANIFEST_DIR")) else {
            skipped::because(crate::NO_DATA);
            return;
        };
        for case in read(&data.join("prometheus")).unwrap().into_iter().filter(|case| case.note.is_none()) {
            let answer: Answer = match &case.expect {
                Expect::Yaml(text) => Ok(json!({ "yaml": text })),
                Expect::Object(value) => Ok(json!({ "object": value })),
                Expect::Accepted(accepted) => Ok(json!({ "accepted": accepted })),
                Expect::Error(text) => Err(text.clone()),
            };
            assert_eq!(compare(&case.area, &case.expect, &Ok(answer)), Ok(()), "{} {}", case.area, case.name);
        }
    }

    #[test]
    fn a_panic_is_one_failed_case() {
        fn panics(_: &str, _: &Value) -> Answer {
            panic!("out of bounds")
        }
        let case = json!({"case": "x", "area": "rules", "input": {}, "expect": {"error": "bad"}});
        let case: Case = serde_json::from_value(case).unwrap();
        assert_eq!(guarded(&case, panics), Err("out of bounds".to_owned()));
    }
}
