//! The table of figures in docs/etcd.md, from the file that the run which measured them wrote.

use std::{fs, io::ErrorKind};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::tree;

const FILE: &str = "docs/figures/etcd.json";
const BEGIN: &str = "<!-- figures: written by `cargo xtask generate` from docs/figures/etcd.json -->\n";
const END: &str = "<!-- end of the figures -->\n";

/// `document` with the table of the figures that there are.
pub(super) fn refresh(document: &str) -> Result<String> {
    let figures = match fs::read_to_string(tree::root().join(FILE)) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some(serde_json::from_str(&read.context(FILE)?).context(FILE)?),
    };
    with_figures(document, figures.as_ref())
}

fn with_figures(document: &str, figures: Option<&Value>) -> Result<String> {
    let lost = || format!("there must be `{}` and `{}`", BEGIN.trim_end(), END.trim_end());
    let (before, rest) = document.split_once(BEGIN).with_context(lost)?;
    let (_, after) = rest.split_once(END).with_context(lost)?;
    let table = match figures {
        Some(figures) => {
            table(figures).with_context(|| format!("{FILE}: a field is missing or of another type"))?
        }
        None => {
            "No figures are recorded yet: `CAPSTAN_WRITE_FIGURES=1 cargo xtask test-kubernetes --whole etcd` \
                 measures and records them.\n"
                .to_owned()
        }
    };
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

fn table(figures: &Value) -> Option<String> {
    let text = |name: &str| figures.get(name)?.as_str();
    let cores = figures.get("cores")?.as_u64()?;
    let mut table =
        "| | measured | samples | limit | in the same run | |\n|---|---|---|---|---|---|\n".to_owned();
    for row in figures.get("rows")?.as_array()? {
        table += &line(row)?;
    }
    let (day, kubernetes) = (text("measured_at")?, text("kubernetes")?);
    Some(format!(
        "{table}\nMeasured on {day} in one run: Kubernetes {kubernetes}, {cores} cores. \"Measured\" is the median of the samples; of failed requests it is the largest number.\n"
    ))
}

fn line(row: &Value) -> Option<String> {
    let (what, unit, measured) = (row.get("what")?.as_str()?, unit(row)?, number(row, "measured")?);
    let beside = row.get("beside")?.as_array()?.iter().map(|it| {
        let other = number(it, "measured")?;
        let quantity = quantity(other, self::unit(it)?);
        let (what, samples) = (it.get("what")?.as_str()?, samples(it)?);
        Some(format!("{what}: {quantity} ({samples}), × {:.1}", measured / other))
    });
    let beside = beside.collect::<Option<Vec<String>>>()?.join("; ");
    Some(format!(
        "| {what} | {} | {} | {} | {beside} | {} |\n",
        quantity(measured, unit),
        samples(row)?,
        quantity(number(row, "limit")?, unit),
        row.get("note")?.as_str()?,
    ))
}

fn number(of: &Value, name: &str) -> Option<f64> {
    of.get(name)?.as_f64()
}

fn unit(of: &Value) -> Option<&str> {
    of.get("unit")?.as_str().filter(|unit| ["s", "ms", "requests"].contains(unit))
}

fn samples(of: &Value) -> Option<String> {
    let unit = unit(of)?;
    let samples = of.get("samples")?.as_array()?.iter().map(|it| Some(bare(it.as_f64()?, unit)));
    Some(samples.collect::<Option<Vec<String>>>()?.join(", "))
}

fn bare(value: f64, unit: &str) -> String {
    if unit == "s" { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn quantity(value: f64, unit: &str) -> String {
    let value = bare(value, unit);
    if unit == "requests" { value } else { format!("{value} {unit}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> String {
        format!("before\n{BEGIN}old\n{END}after\n")
    }

    fn figures() -> Value {
        json!({"measured_at": "2026-11-18", "kubernetes": "v1.36.1", "cores": 2, "rows": [
            {"what": "upgrade", "unit": "s", "measured": 12.0, "samples": [11.5, 12.0, 14.25], "limit": 20.0, "note": "",
             "beside": [{"what": "a restart", "unit": "s", "measured": 3.0, "samples": [2.5, 3.0, 3.5]}]},
            {"what": "failed", "unit": "requests", "measured": 0.0, "samples": [0.0], "limit": 0.0, "note": "of 90", "beside": []},
        ]})
    }

    #[test]
    fn the_table_shows_samples_and_ratios() {
        let fresh = with_figures(&document(), Some(&figures())).unwrap();
        for line in [
            "| upgrade | 12.00 s | 11.50, 12.00, 14.25 | 20.00 s | a restart: 3.00 s (2.50, 3.00, 3.50), × 4.0 |  |",
            "| failed | 0 | 0 | 0 |  | of 90 |",
            "Measured on 2026-11-18 in one run: Kubernetes v1.36.1, 2 cores.",
        ] {
            assert!(fresh.contains(line), "{line}\nis not in\n{fresh}");
        }
        assert!(fresh.starts_with("before\n") && fresh.ends_with("after\n") && !fresh.contains("old"));
        assert_eq!(with_figures(&fresh, Some(&figures())).unwrap(), fresh);
    }

    #[test]
    fn without_figures_the_document_says_how_to_measure_them() {
        let fresh = with_figures(&document(), None).unwrap();
        assert!(fresh.contains("CAPSTAN_WRITE_FIGURES=1 cargo xtask test-kubernetes"), "{fresh}");
    }

    #[test]
    fn the_document_shows_the_recorded_figures() {
        let document = fs::read_to_string(tree::root().join("docs/etcd.md")).unwrap();
        assert_eq!(refresh(&document).unwrap(), document, "run `cargo xtask generate`");
    }

    #[test]
    fn a_document_without_the_marks_and_figures_of_another_shape_are_errors() {
        assert!(with_figures("text\n", None).unwrap_err().to_string().contains("figures"));
        assert!(with_figures(&document(), Some(&json!({"rows": [{}]}))).is_err());
    }
}
