//! The Secret from which Alertmanager reads its configuration: its name and what is in it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use prometheus_types::alertmanager::AlertmanagerConfiguration;
use prometheus_types::auth::SecretOrConfigMap;
use prometheus_types::{Alertmanager, AlertmanagerConfig};
use rendering::{Assets, Map, Release, Tree, Version};
use tls_assets::TlsAssets;

use crate::invalid::{Invalid, Within};
use crate::load;
use crate::mend::mend;
use crate::merge::{self, Fragment};
use crate::references::References;
use crate::select::select_with;
use crate::strategy::Strategy;

/// The version of an Alertmanager that names none.
pub const DEFAULT_VERSION: &str = "v0.34.0";

/// The key under which users keep their configuration.
pub const CONFIGURATION_KEY: &str = "alertmanager.yaml";

/// The key of the generated Secret under which the configuration stands, compressed.
pub const COMPRESSED_KEY: &str = "alertmanager.yaml.gz";

/// What Alertmanager gets when nobody gave it a configuration: one that sends nothing anywhere.
const NOTHING: &str = "route:\n  receiver: 'null'\nreceivers:\n- name: 'null'";

/// Where templates of the resource are mounted.
const TEMPLATES: &str = "/etc/alertmanager/templates";

const OLDEST: Release = Release::of("0.15.0");

/// What a configuration is made from.
pub struct Request<'a> {
    pub alertmanager: &'a Alertmanager,
    /// The objects whose labels and namespaces are selected; the one that is named as base may be among them.
    pub configs: &'a [AlertmanagerConfig],
    pub assets: &'a Assets,
}

/// The generated Secret, and what did not make it in.
#[derive(Debug)]
pub struct Provisioned {
    pub secret_name: String,
    /// The configuration; it goes under [`COMPRESSED_KEY`].
    pub configuration: String,
    /// The other keys of the user's Secret, such as templates.
    pub others: BTreeMap<String, Vec<u8>>,
    /// Files that the configuration refers to, for the Secret of TLS assets.
    pub tls_files: BTreeMap<String, Vec<u8>>,
    pub rejected: Vec<Rejected>,
}

/// An object that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub namespace: String,
    pub name: String,
    pub reason: Invalid,
}

/// Makes the configuration of an Alertmanager.
///
/// # Errors
/// When there is no base to build on: it is missing, wrong, or for another version. A wrong AlertmanagerConfig beyond the
/// base is left out and reported in [`Provisioned::rejected`].
pub fn provision(request: &Request<'_>) -> Result<Provisioned, Invalid> {
    let alertmanager = request.alertmanager;
    let version = version(alertmanager)?;
    let (raw, others) = users_secret(alertmanager, request.assets)?;
    let mut out = Provisioned {
        secret_name: generated_secret_name(alertmanager),
        configuration: raw.to_owned(),
        others,
        tls_files: BTreeMap::new(),
        rejected: Vec::new(),
    };
    let spec = &alertmanager.spec;
    let base = match &spec.alertmanager_configuration {
        None if spec.alertmanager_config_selector.is_none() => return Ok(out),
        None => load::read(raw)?,
        Some(named) => {
            out.others.clear();
            named_base(request, named, &version, &mut out).within("spec.alertmanagerConfiguration")?
        }
    };
    let fragments = accepted(request, &base, &version, &mut out);
    let mut configuration = merge::assemble(base, fragments, &version)?;
    mend(&mut configuration, &version);
    out.configuration = configuration.to_yaml();
    Ok(out)
}

/// The base that an AlertmanagerConfig and the global settings of the Alertmanager make.
fn named_base(
    request: &Request<'_>,
    named: &AlertmanagerConfiguration,
    version: &Version,
    out: &mut Provisioned,
) -> Result<Map, Invalid> {
    let namespace = namespace_of(request.alertmanager);
    let config =
        request.configs.iter().find(|config| is_base(request.alertmanager, config)).ok_or_else(|| {
            Invalid::new(
                "name",
                format!("there is no AlertmanagerConfig {namespace}/{}; create it", named.name),
            )
        })?;
    let gathered = RefCell::new(TlsAssets::default());
    let references = References { assets: request.assets, namespace, version, tls: Some(&gathered) };
    let mut base = merge::base(config, named.global.as_ref(), &references)?;
    add_templates(&mut base, &named.templates);
    out.tls_files = gathered.into_inner().into_files();
    Ok(base)
}

fn is_base(alertmanager: &Alertmanager, config: &AlertmanagerConfig) -> bool {
    let named = alertmanager.spec.alertmanager_configuration.as_ref();
    named.is_some_and(|named| merge::identity(config) == (namespace_of(alertmanager), named.name.as_str()))
}

/// What the objects beside the base add, in order; those that cannot be taken are noted.
fn accepted(request: &Request<'_>, base: &Map, version: &Version, out: &mut Provisioned) -> Vec<Fragment> {
    let strategy = Strategy::of(request.alertmanager);
    let others = request.configs.iter().filter(|config| !is_base(request.alertmanager, config));
    let mut fragments = Vec::new();
    for config in merge::in_order(others) {
        let (namespace, name) = merge::identity(config);
        let gathered = RefCell::new(TlsAssets::default());
        let references = References { assets: request.assets, namespace, version, tls: Some(&gathered) };
        let fragment = select_with(config, &references)
            .and_then(|()| merge::checked_fragment(config, base, &strategy, &references))
            .and_then(|fragment| fragment.loads(base, version).map(|()| fragment));
        match fragment {
            Ok(fragment) => {
                fragments.push(fragment);
                out.tls_files.extend(gathered.into_inner().into_files());
            }
            Err(reason) => {
                out.rejected.push(Rejected {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                    reason,
                });
            }
        }
    }
    fragments
}

/// The version that an Alertmanager is asked to be.
pub(crate) fn version(alertmanager: &Alertmanager) -> Result<Version, Invalid> {
    let given = alertmanager.spec.pod.version.as_str();
    let given = if given.is_empty() { DEFAULT_VERSION } else { given };
    let wrong = |problem: String| Invalid::new("spec.version", problem);
    let version = Version::parse(given).map_err(|error| wrong(error.to_string()))?;
    if !version.at_least(OLDEST) || version.major() > 0 {
        return Err(wrong(format!("{given} is not supported: use a version from {OLDEST} up to 0.x")));
    }
    Ok(version)
}

pub(crate) fn namespace_of(alertmanager: &Alertmanager) -> &str {
    alertmanager.metadata.namespace.as_deref().unwrap_or_default()
}

/// `alertmanager-<name>-generated`
pub fn generated_secret_name(alertmanager: &Alertmanager) -> String {
    format!("alertmanager-{}-generated", alertmanager.metadata.name.as_deref().unwrap_or_default())
}

/// The name of the Secret in which the user keeps the configuration: the one that is stated, or `alertmanager-<name>`.
pub fn users_secret_name(alertmanager: &Alertmanager) -> String {
    match alertmanager.spec.config_secret.as_str() {
        "" => format!("alertmanager-{}", alertmanager.metadata.name.as_deref().unwrap_or_default()),
        stated => stated.to_owned(),
    }
}

/// The user's configuration and the other keys of its Secret. Where there is none, alerts go nowhere.
fn users_secret<'a>(
    alertmanager: &Alertmanager,
    assets: &'a Assets,
) -> Result<(&'a str, BTreeMap<String, Vec<u8>>), Invalid> {
    let name = users_secret_name(alertmanager);
    let Some(data) = assets.secret_data(namespace_of(alertmanager), &name) else {
        return Ok((NOTHING, BTreeMap::new()));
    };
    let mut others = data.clone();
    others.remove(CONFIGURATION_KEY);
    let raw = data.get(CONFIGURATION_KEY).map_or(&[][..], Vec::as_slice);
    match std::str::from_utf8(raw) {
        Ok("") => Ok((NOTHING, others)),
        Ok(raw) => Ok((raw, others)),
        Err(_) => Err(Invalid::new(format!("Secret {name}, key {CONFIGURATION_KEY}"), "is not UTF-8 text")),
    }
}

fn add_templates(base: &mut Map, templates: &[SecretOrConfigMap]) {
    let keys = templates.iter().flat_map(|template| {
        let map = template.config_map.iter().map(|map| &map.key);
        map.chain(template.secret.iter().map(|secret| &secret.key))
    });
    let files: Vec<Tree> = keys.map(|key| format!("{TEMPLATES}/{key}").into()).collect();
    base.set("templates", files);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn made(spec: Value, configs: Value, raw: Option<&str>) -> Result<Provisioned, String> {
        let alertmanager = json!({"metadata": {"name": "main", "namespace": "ns"}, "spec": spec});
        let alertmanager: Alertmanager = serde_json::from_value(alertmanager).unwrap();
        let configs: Vec<AlertmanagerConfig> = serde_json::from_value(configs).unwrap();
        let mut assets = Assets::new();
        if let Some(raw) = raw {
            let data =
                [(CONFIGURATION_KEY, raw), ("my.tmpl", "x")].map(|(key, text)| (key.to_owned(), text.into()));
            assets.add_secret("ns", "alertmanager-main", data);
        }
        let request = Request { alertmanager: &alertmanager, configs: &configs, assets: &assets };
        provision(&request).map_err(|invalid| invalid.to_string())
    }

    fn config(name: &str, spec: Value) -> Value {
        json!({"metadata": {"name": name, "namespace": "ns"}, "spec": spec})
    }

    #[test]
    fn without_a_selector_the_users_secret_passes_untouched() {
        let made = made(json!({}), json!([]), Some("not: [even, checked")).unwrap();
        assert_eq!(
            (made.secret_name.as_str(), made.configuration.as_str()),
            ("alertmanager-main-generated", "not: [even, checked")
        );
        assert_eq!(made.others.keys().collect::<Vec<_>>(), ["my.tmpl"]);
    }

    #[test]
    fn routes_of_objects_come_first_and_go_on_to_the_next() {
        let receiver = json!([{"name": "r", "webhookConfigs": [{"url": "http://a"}]}]);
        let configs = json!([
            config("b", json!({"route": {"receiver": "r"}, "receivers": receiver})),
            config("a", json!({"route": {"receiver": "r"}, "receivers": receiver})),
        ]);
        let raw = "route: {receiver: own, routes: [{receiver: own}]}\nreceivers: [{name: own}]";
        let made = made(json!({"alertmanagerConfigSelector": {}}), configs, Some(raw)).unwrap();
        let tree = Tree::parse(&made.configuration).unwrap().to_json();
        let receivers = |list: &Value| {
            list.as_array().unwrap().iter().map(|item| item["receiver"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(receivers(&tree["route"]["routes"]), ["ns/a/r", "ns/b/r", "own"]);
        assert_eq!(tree["route"]["routes"][0]["continue"], true);
        assert_eq!(tree["route"]["routes"][0]["matchers"], json!(["namespace=\"ns\""]));
    }

    #[test]
    fn one_bad_object_is_left_out_and_named() {
        let configs = json!([
            config("good", json!({"route": {"receiver": "r"}, "receivers": [{"name": "r"}]})),
            config(
                "bad",
                json!({"route": {"receiver": "r"}, "receivers": [{"name": "r", "slackConfigs": [{"channel": "c"}]}]})
            ),
        ]);
        let made = made(json!({"alertmanagerConfigSelector": {}}), configs, None).unwrap();
        assert!(made.configuration.contains("ns/good/r") && !made.configuration.contains("ns/bad/r"));
        let [rejected] = made.rejected.as_slice() else { panic!("{:?}", made.rejected) };
        assert_eq!(
            (rejected.name.as_str(), rejected.reason.field.as_str()),
            ("bad", "receivers[0].slack_configs[0]")
        );
    }

    #[test]
    fn a_named_object_speaks_for_all_namespaces_and_brings_templates() {
        let configs =
            json!([config("base", json!({"route": {"receiver": "r"}, "receivers": [{"name": "r"}]}))]);
        let spec = json!({"alertmanagerConfiguration": {
            "name": "base", "global": {"resolveTimeout": "1m"}, "templates": [{"configMap": {"name": "c", "key": "a.tmpl"}}],
        }});
        let written = made(spec, configs, None).unwrap().configuration;
        assert_eq!(
            written,
            "global:\n  resolve_timeout: 1m\nroute:\n  receiver: ns/base/r\nreceivers:\n- name: ns/base/r\ntemplates:\n\
             - /etc/alertmanager/templates/a.tmpl\n"
        );
        let nobody = json!({"alertmanagerConfiguration": {"name": "base"}});
        assert!(
            made(nobody, json!([]), None).unwrap_err().contains("there is no AlertmanagerConfig ns/base")
        );
    }

    #[test]
    fn versions_that_nobody_supports_are_refused() {
        for version in ["0.14.0", "1.0.0", "newest"] {
            assert!(
                made(json!({"version": version}), json!([]), None).unwrap_err().starts_with("spec.version: "),
                "{version}"
            );
        }
    }
}
