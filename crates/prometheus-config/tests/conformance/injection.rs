//! Hostile text in a field of a resource changes its own leaf of the configuration, and nothing else.

use std::path::Path;

use prometheus_config::conformance::answer;
use rendering::Tree;
use serde_json::Value;

const MARK: &str = "MaRk";

/// Text that ends, opens or renames something where a writer of YAML is careless.
const HOSTILE: &[&str] = &[
    "x\n- job_name: evil",
    "x\nglobal: {}",
    "---\nx: y",
    "a: b",
    "x #y",
    "yes",
    "~",
    "0x1F",
    "12:30:45",
    "'\"\\",
    "{a: [b]}",
    "&a",
    "*a",
    "!!str x",
    "|",
    " lead",
    "trail ",
    "\t",
    "x\r\ny",
    "\u{85}\u{2028}\u{feff}",
    "\u{0}\u{7}",
    "<<",
    "- -",
    "? x",
];

#[test]
fn hostile_text_changes_only_its_own_leaf() {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    let mut fields = 0;
    for input in richest(&data, "prometheus-config") {
        fields += check("prometheus-config", &input);
    }
    // An agent's monitors are rendered by the same code.
    fields += check("agent-config", &richest(&data, "agent-config")[0]);
    println!("{fields} fields, {} texts each", HOSTILE.len());
    assert!(fields > 500, "only {fields} fields were tried");
}

/// The objects of the version matrix, one at a time beside their workload, so that each document stays small.
fn richest(data: &Path, area: &str) -> Vec<Value> {
    let cases = conformance::read(&data.join("prometheus")).unwrap();
    let cases: Vec<_> = cases
        .into_iter()
        .filter(|case| case.area == area && case.name.starts_with("version-matrix/config/v3"))
        .collect();
    let case = cases.last().unwrap();
    let resources = case.input["resources"].as_array().unwrap();
    let (workloads, monitors): (Vec<&Value>, Vec<&Value>) =
        resources.iter().partition(|resource| resource["kind"].as_str().unwrap().starts_with("Prometheus"));
    let with = |resources: Vec<&Value>| {
        let mut input = case.input.clone();
        input["resources"] = resources.into_iter().cloned().collect();
        input
    };
    let small = |monitor| {
        let mut workload = workloads[0].clone();
        let spec = workload["spec"].as_object_mut().unwrap();
        for section in ["remoteWrite", "remoteRead", "alerting", "scrapeClasses", "tracingConfig", "otlp"] {
            spec.remove(section);
        }
        with(vec![&workload, monitor])
    };
    std::iter::once(with(workloads.clone())).chain(monitors.into_iter().map(small)).collect()
}

fn check(area: &str, input: &Value) -> usize {
    let last = input["resources"].as_array().unwrap().len() - 1;
    let object = format!("/resources/{last}/spec");
    let mut paths = Vec::new();
    collect(input.pointer(&object).unwrap(), &object, &mut paths);
    let render =
        |input: &Value| answer(area, input).ok().map(|answer| answer["yaml"].as_str().unwrap().to_owned());
    // Fields that reach the document as they are; the others are chosen from, or refused.
    let paths: Vec<String> = paths
        .into_iter()
        .filter(|path| {
            render(&with(input, std::slice::from_ref(path), MARK)).is_some_and(|yaml| yaml.contains(MARK))
        })
        .collect();
    for text in HOSTILE {
        // A text may be refused in some fields, an expression that is none for one; the others are still tried.
        let mut tried = paths.clone();
        if render(&with(input, &tried, text)).is_none() {
            tried.retain(|path| render(&with(input, std::slice::from_ref(path), text)).is_some());
        }
        let base = Tree::parse(&render(&with(input, &tried, MARK)).unwrap()).unwrap();
        let yaml = render(&with(input, &tried, text))
            .unwrap_or_else(|| panic!("{text:?} is refused in all fields together"));
        let tree = Tree::parse(&yaml).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        same(&base, &tree, text, "").unwrap_or_else(|path| panic!("{text:?} changes {path}"));
    }
    paths.len()
}

fn collect(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::String(_) => out.push(path.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{path}/{at}"), out);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                // What selects a branch is not text: names of references, and words from closed lists.
                if !["secret", "configMap", "name", "key", "filters"].contains(&key.as_str()) {
                    collect(value, &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), out);
                }
            }
        }
        _ => {}
    }
}

fn with(input: &Value, paths: &[String], text: &str) -> Value {
    let mut input = input.clone();
    for path in paths {
        *input.pointer_mut(path).unwrap() = Value::String(text.to_owned());
    }
    input
}

/// Whether two documents differ only where the first has the mark, and there by the text in its place.
fn same(base: &Tree, tree: &Tree, text: &str, path: &str) -> Result<(), String> {
    match (base, tree) {
        (Tree::Map(base), Tree::Map(tree)) if base.len() == tree.len() => {
            for (key, value) in base.iter() {
                let found = variants(key, text)
                    .into_iter()
                    .find_map(|key| tree.get(&key))
                    .ok_or_else(|| format!("{path}.{key}"))?;
                same(value, found, text, &format!("{path}.{key}"))?;
            }
            Ok(())
        }
        (Tree::List(base), Tree::List(tree)) if base.len() == tree.len() => base
            .iter()
            .zip(tree)
            .enumerate()
            .try_for_each(|(at, (base, tree))| same(base, tree, text, &format!("{path}[{at}]"))),
        (Tree::Str(base), Tree::Str(tree)) if variants(base, text).iter().any(|variant| variant == tree) => {
            Ok(())
        }
        (base, tree) if base == tree => Ok(()),
        _ => Err(path.to_owned()),
    }
}

/// What may stand where the mark stood: the text, in small letters where words are, as part of a label's name, as a path.
fn variants(marked: &str, text: &str) -> Vec<String> {
    let label: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let quoted: String = text
        .chars()
        .flat_map(|c| r"\.+*?()|[]{}^$".contains(c).then_some('\\').into_iter().chain([c]))
        .collect();
    let mut all = vec![marked.to_owned()];
    for text in [text, &label, &quoted, text.trim()] {
        all.push(marked.replace(MARK, text));
        all.push(marked.replace(&MARK.to_lowercase(), &text.to_ascii_lowercase()));
    }
    if marked.contains(MARK) {
        all.push(text.to_owned());
    }
    all
}
