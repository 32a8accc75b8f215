//! The differences of two trees, under the freedoms that an area grants.

use serde_json::{Map, Value};

use super::{quantity, yaml};

/// Which freedoms hold at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Where what is copied verbatim from the resource begins, as paths of keys.
    verbatim: &'static [&'static str],
    /// Strings that are YAML documents, as paths of keys; `*` is any key.
    documents: &'static [&'static str],
    /// Lists without order.
    sets: &'static [&'static str],
    /// Informative texts.
    ignored: &'static [&'static str],
}

const WORKLOAD: Rules =
    Rules { verbatim: &["spec.template.spec", "spec.volumeClaimTemplates"], ..Rules::EXACT };
const FILE: Rules = Rules { documents: &["file", "files.*"], ..Rules::EXACT };

/// What an area grants beyond equality. Source: "How to compare" in the data's README.
const FREEDOMS: &[(&str, Rules)] = &[
    ("statefulset-prometheus", WORKLOAD),
    ("statefulset-agent", WORKLOAD),
    ("statefulset-alertmanager", WORKLOAD),
    ("statefulset-thanos-ruler", WORKLOAD),
    ("daemonset-agent", WORKLOAD),
    ("container-merge", Rules { verbatim: &["containers"], ..Rules::EXACT }),
    ("web-config", FILE),
    ("alertmanager-cluster-tls", FILE),
    ("alertmanager-provision", FILE),
    (
        "admission",
        Rules {
            sets: &["response.response.patch"],
            ignored: &[
                "response.response.status.message",
                "response.response.status.details.causes",
                "response.response.result.message",
            ],
            ..Rules::EXACT
        },
    ),
];

/// Fields whose strings are amounts, wherever they stand in a pod or a claim.
const QUANTITIES: &[&str] = &["limits", "requests", "sizeLimit", "divisor", "capacity", "allocatedResources"];

impl Rules {
    pub(super) const EXACT: Self = Self { verbatim: &[], documents: &[], sets: &[], ignored: &[] };

    pub(super) fn of(area: &str) -> Self {
        FREEDOMS.iter().find(|(name, _)| *name == area).map_or(Self::EXACT, |(_, rules)| *rules)
    }
}

/// One line per difference: the path, what was expected, what is there.
pub(super) fn differences(wanted: &Value, got: &Value, rules: Rules) -> Vec<String> {
    let mut comparison = Comparison { rules, path: Vec::new(), found: Vec::new() };
    comparison.values(wanted, got);
    comparison.found
}

/// A value, cut to what a line holds.
pub(super) fn show(value: &Value) -> String {
    const WIDTH: usize = 160;
    let text = value.to_string();
    if text.chars().count() <= WIDTH { text } else { text.chars().take(WIDTH).chain(['…']).collect() }
}

struct Comparison {
    rules: Rules,
    path: Vec<Step>,
    found: Vec<String>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Comparison {
    fn values(&mut self, wanted: &Value, got: &Value) {
        if self.is_at(self.rules.ignored) {
            return;
        }
        match (wanted, got) {
            (Value::Object(wanted), Value::Object(got)) => self.maps(wanted, got),
            (Value::Array(wanted), Value::Array(got)) if self.is_at(self.rules.sets) => {
                let (wanted, got) = (sorted(wanted), sorted(got));
                self.lists(&wanted, &got);
            }
            (Value::Array(wanted), Value::Array(got)) => self.lists(wanted, got),
            (Value::Number(a), Value::Number(b)) if a == b || a.as_f64() == b.as_f64() => {}
            (Value::String(a), Value::String(b)) if a != b => self.strings(a, b),
            _ if wanted == got || (self.is_zero(wanted) && self.is_zero(got)) => {}
            (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_))
                if self.amounts(wanted, got) => {}
            _ => self.differs(wanted, got),
        }
    }

    fn maps(&mut self, wanted: &Map<String, Value>, got: &Map<String, Value>) {
        for (key, value) in wanted {
            self.path.push(Step::Key(key.clone()));
            match got.get(key) {
                Some(other) => self.values(value, other),
                None if self.may_be_absent(value) => {}
                None => self.note(&format!("expected {}, absent", show(value))),
            }
            self.path.pop();
        }
        for (key, value) in got.iter().filter(|(key, _)| !wanted.contains_key(*key)) {
            self.path.push(Step::Key(key.clone()));
            if !self.may_be_absent(value) {
                self.note(&format!("unexpected {}", show(value)));
            }
            self.path.pop();
        }
    }

    /// The common start and end of the lists are set aside, so that one missing element is one difference.
    fn lists(&mut self, wanted: &[Value], got: &[Value]) {
        let mut start = 0;
        let mut end = 0;
        if wanted.len() != got.len() {
            let shorter = wanted.len().min(got.len());
            let same = |a: Option<&Value>, b: Option<&Value>| a.is_some() && a == b;
            while start < shorter && same(wanted.get(start), got.get(start)) {
                start += 1;
            }
            while end < shorter - start && same(wanted.iter().nth_back(end), got.iter().nth_back(end)) {
                end += 1;
            }
        }
        let middle =
            |list: &[Value]| list.iter().take(list.len() - end).skip(start).cloned().collect::<Vec<_>>();
        let (wanted, got) = (middle(wanted), middle(got));
        for index in 0..wanted.len().max(got.len()) {
            self.path.push(Step::Index(start + index));
            match (wanted.get(index), got.get(index)) {
                (Some(wanted), Some(got)) => self.values(wanted, got),
                (Some(wanted), None) => self.note(&format!("expected {}, absent", show(wanted))),
                (None, Some(got)) => self.note(&format!("unexpected {}", show(got))),
                (None, None) => {}
            }
            self.path.pop();
        }
    }

    fn strings(&mut self, wanted: &str, got: &str) {
        if self.is_at(self.rules.documents)
            && let (Some(wanted), Some(got)) = (yaml::document(wanted), yaml::document(got))
        {
            return self.values(&wanted, &got);
        }
        let (wanted, got) = (Value::from(wanted), Value::from(got));
        if !self.amounts(&wanted, &got) {
            self.differs(&wanted, &got);
        }
    }

    fn amounts(&self, wanted: &Value, got: &Value) -> bool {
        let amount = |value: &Value| match value {
            Value::String(text) => quantity::amount(text),
            other => quantity::amount(&other.to_string()),
        };
        self.is_quantity() && amount(wanted).is_some() && amount(wanted) == amount(got)
    }

    fn is_quantity(&self) -> bool {
        let named = |step: &Step| matches!(step, Step::Key(key) if QUANTITIES.contains(&key.as_str()));
        self.is_verbatim() && self.path.iter().rev().take(2).any(named)
    }

    /// The zero of its type, where that may be left out.
    fn is_zero(&self, value: &Value) -> bool {
        self.is_verbatim() && (is_zero(value) || (self.is_quantity() && *value == "0"))
    }

    fn may_be_absent(&self, value: &Value) -> bool {
        self.is_zero(value) || self.is_at(self.rules.ignored)
    }

    fn is_verbatim(&self) -> bool {
        self.rules.verbatim.iter().any(|pattern| self.matches(pattern, true))
    }

    fn is_at(&self, patterns: &[&str]) -> bool {
        patterns.iter().any(|pattern| self.matches(pattern, false))
    }

    fn matches(&self, pattern: &str, or_below: bool) -> bool {
        let mut path = self.path.iter();
        for wanted in pattern.split('.') {
            match path.next() {
                Some(Step::Key(key)) if wanted == "*" || key == wanted => {}
                _ => return false,
            }
        }
        or_below || path.next().is_none()
    }

    fn differs(&mut self, wanted: &Value, got: &Value) {
        self.note(&format!("expected {}, got {}", show(wanted), show(got)));
    }

    fn note(&mut self, what: &str) {
        let mut line = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if line.is_empty() => line.push_str(key),
                Step::Key(key) => {
                    line.push('.');
                    line.push_str(key);
                }
                Step::Index(index) => line.push_str(&format!("[{index}]")),
            }
        }
        self.found.push(format!("{line}: {what}"));
    }
}

fn sorted(list: &[Value]) -> Vec<Value> {
    let mut list = list.to_vec();
    list.sort_by_cached_key(ToString::to_string);
    list
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
