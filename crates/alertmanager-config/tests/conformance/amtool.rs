//! Alertmanager's own word on what we generate: `amtool check-config` of the version it was generated for.
//!
//! `CAPSTAN_AMTOOL` names a directory with `v0.34.0/amtool` and the like; without it nothing is tested, aloud.
//! Certificates are taken out first: they would have to be on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::isolation::{World, cases, world};
use alertmanager_config::{Request, provision};

#[test]
fn amtool_loads_what_we_generate_for_its_version() {
    let Some(directory) = directory() else {
        println!(
            "SKIPPED, NOTHING WAS TESTED: CAPSTAN_AMTOOL does not name a directory with <version>/amtool"
        );
        return;
    };
    let (mut loaded, mut left_out, mut refused) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(&directory).unwrap() {
        let version = entry.unwrap().file_name().into_string().unwrap();
        let tool = directory.join(&version).join("amtool");
        for case in cases("alertmanager-config.jsonl") {
            // What the user's own configuration needs is the user's affair.
            if check(&tool, case["input"]["options"]["baseConfig"].as_str().unwrap()).is_err() {
                continue;
            }
            let World { mut alertmanager, configs, assets } = world(&without_certificates(&case));
            alertmanager.spec.pod.version = version.clone();
            let request = Request { alertmanager: &alertmanager, configs: &configs, assets: &assets };
            // A base for another version is refused, which is another test's affair.
            let Ok(made) = provision(&request) else { continue };
            left_out += made.rejected.len();
            match check(&tool, &made.configuration) {
                Ok(()) => loaded += 1,
                Err(said) => refused.push(format!("{version}, {}: {said}", case["case"])),
            }
        }
    }
    println!("{loaded} configurations loaded, {left_out} objects left out of them");
    assert!(refused.is_empty(), "{} are refused:\n{}", refused.len(), refused.join("\n"));
    assert!(loaded > 0, "no amtool in {}", directory.display());
}

fn check(tool: &Path, configuration: &str) -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("capstan-amtool-{}.yaml", std::process::id()));
    std::fs::write(&file, configuration).unwrap();
    let output = Command::new(tool).arg("check-config").arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()),
    }
}

fn directory() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of a developer's test run, not a setting of the operator"
    )]
    std::env::var("CAPSTAN_AMTOOL").ok().filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn without_certificates(case: &Value) -> Value {
    let mut case = case.clone();
    remove(&mut case["input"]["resources"]);
    case
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("tlsConfig");
            map.values_mut().for_each(remove);
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        _ => {}
    }
}
