//! The receivers of an AlertmanagerConfig: one table of fields for each sort, all of them in [`RECEIVERS`].

mod chat;
pub(crate) mod incident;
mod message;

use prometheus_types::receivers::Receiver;
use rendering::{Gate, Map, Tree, since};

use crate::form::Form;
use crate::invalid::{Invalid, Within};
use crate::references::References;

/// A sort of receiver: the list of it in the resource and in the configuration, and the versions that have it.
pub(crate) struct Sort {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) form: &'static Form,
    gate: Gate,
}

const fn sort(name: &'static str, key: &'static str, form: &'static Form, gate: Gate) -> Sort {
    Sort { name, key, form, gate }
}

pub(crate) const RECEIVERS: &[Sort] = &[
    sort("opsgenieConfigs", "opsgenie_configs", &incident::OPSGENIE, Gate::Always),
    sort("pagerdutyConfigs", "pagerduty_configs", &incident::PAGERDUTY, Gate::Always),
    sort("slackConfigs", "slack_configs", &chat::SLACK, Gate::Always),
    sort("webhookConfigs", "webhook_configs", &message::WEBHOOK, Gate::Always),
    sort("wechatConfigs", "wechat_configs", &message::WECHAT, Gate::Always),
    sort("emailConfigs", "email_configs", &message::EMAIL, Gate::Always),
    sort("pushoverConfigs", "pushover_configs", &message::PUSHOVER, Gate::Always),
    sort("victoropsConfigs", "victorops_configs", &incident::VICTOROPS, Gate::Always),
    sort("snsConfigs", "sns_configs", &message::SNS, Gate::Always),
    sort("telegramConfigs", "telegram_configs", &message::TELEGRAM, since("0.24.0")),
    sort("discordConfigs", "discord_configs", &chat::DISCORD, since("0.25.0")),
    sort("webexConfigs", "webex_configs", &chat::WEBEX, since("0.25.0")),
    sort("msteamsConfigs", "msteams_configs", &chat::MSTEAMS, since("0.26.0")),
    sort("msteamsv2Configs", "msteamsv2_configs", &chat::MSTEAMSV2, since("0.28.0")),
    sort("rocketchatConfigs", "rocketchat_configs", &chat::ROCKETCHAT, since("0.28.0")),
];

pub(crate) fn validate(receiver: &Receiver) -> Result<(), Invalid> {
    each(receiver, |sort, configs| crate::form::each(configs, |config| sort.form.validate(config)))
}

pub(crate) fn select(receiver: &Receiver, references: &References<'_>) -> Result<(), Invalid> {
    each(receiver, |sort, configs| {
        references.demand(sort.gate)?;
        crate::form::each(configs, |config| sort.form.select(config, references))
    })
}

/// The receiver with the name it has in the whole configuration.
pub(crate) fn render(receiver: &Receiver, name: String, references: &References<'_>) -> Result<Map, Invalid> {
    let mut out = Map::new();
    out.set("name", name);
    each(receiver, |sort, configs| {
        out.set(sort.key, sort.form.render_all(configs, references)?);
        Ok(())
    })?;
    Ok(out)
}

/// Calls `visit` with each sort that the receiver has, and the list of it.
fn each(
    receiver: &Receiver,
    mut visit: impl FnMut(&'static Sort, &Tree) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let tree = Tree::of(receiver).map_err(|error| Invalid::new("", error.to_string()))?;
    for sort in RECEIVERS {
        if let Some(configs) = tree.get(sort.name) {
            visit(sort, configs).within(sort.name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prometheus_types::crd::{Descriptions, Versions, crds};

    use super::*;
    use crate::form::Kind;

    /// The tables and the CRD name the same fields: none is forgotten, none is misspelt.
    #[test]
    fn every_field_of_the_crd_has_a_row() {
        let crds = crds(Descriptions::Slim, Versions::Default).unwrap();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == "AlertmanagerConfig").unwrap();
        let schema = serde_json::to_value(crd).unwrap();
        let receivers = schema
            .pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/receivers/items/properties")
            .unwrap();
        let mut sorts: BTreeSet<&str> = receivers.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(sorts.remove("name"));
        assert_eq!(sorts, RECEIVERS.iter().map(|sort| sort.name).collect());
        for sort in RECEIVERS {
            check(sort.name, sort.form, receivers.pointer(&format!("/{}/items", sort.name)).unwrap());
        }
    }

    fn check(path: &str, form: &Form, schema: &serde_json::Value) {
        let properties = schema.get("properties").unwrap().as_object().unwrap();
        let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(form.fields.iter().map(|field| field.name).collect::<BTreeSet<_>>(), known, "{path}");
        for field in form.fields {
            let schema = &properties[field.name];
            match field.kind {
                Kind::Object(form) => check(&format!("{path}.{}", field.name), form, schema),
                Kind::Objects(form) => check(&format!("{path}.{}", field.name), form, &schema["items"]),
                _ => {}
            }
        }
    }
}
