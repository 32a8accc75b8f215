//! Alertmanager's side: would it take an object, and load what becomes of it?

use alertmanager_config::{CONFIGURATION_KEY, Invalid, Request, provision, users_secret_name, validate};
use prometheus_types::alertmanager_config::v1beta1;
use prometheus_types::{Alertmanager, AlertmanagerConfig};
use rendering::Assets;

use super::kinds::Said;

/// What administrators set for all receivers is seldom among the files: it is taken for set.
const BASE: &str = "
global:
  smtp_smarthost: localhost:25
  smtp_from: alertmanager@localhost
  slack_api_url: http://localhost
  opsgenie_api_key: key
  victorops_api_key: key
  wechat_api_secret: secret
  wechat_api_corp_id: corporation
  telegram_bot_token: token
  jira_api_url: http://localhost
  rocketchat_token: token
  rocketchat_token_id: id
  mattermost_webhook_url: http://localhost
route: {receiver: 'null'}
receivers: [{name: 'null'}]
";

/// Beside a configuration that has everything, in the newest Alertmanager.
pub(super) fn config(config: AlertmanagerConfig, assets: &Assets) -> Vec<Said> {
    if let Err(invalid) = validate::v1alpha1(&config.spec) {
        return said(Some(invalid));
    }
    let mut alertmanager = Alertmanager::default();
    alertmanager.metadata.name = Some("any".to_owned());
    alertmanager.spec.alertmanager_config_selector = Some(Default::default());
    let mut assets = assets.clone();
    let base = (CONFIGURATION_KEY.to_owned(), BASE.as_bytes().to_vec());
    assets.add_secret("", &users_secret_name(&alertmanager), [base]);
    let configs = [config];
    match provision(&Request { alertmanager: &alertmanager, configs: &configs, assets: &assets }) {
        Ok(made) => said(made.rejected.into_iter().map(|rejected| rejected.reason)),
        Err(invalid) => said(Some(invalid)),
    }
}

pub(super) fn config_v1beta1(config: &v1beta1::AlertmanagerConfig) -> Vec<Said> {
    said(validate::v1beta1(&config.spec).err())
}

/// The configuration of an Alertmanager itself, where it is a Secret of the files.
pub(super) fn alertmanager(alertmanager: &Alertmanager, assets: &Assets) -> Vec<Said> {
    if alertmanager.spec.alertmanager_configuration.is_some() {
        return Vec::new();
    }
    let mut reading = alertmanager.clone();
    // Without a selector the Secret is passed on as it is, unread.
    reading.spec.alertmanager_config_selector.get_or_insert_with(Default::default);
    let mut found = said(provision(&Request { alertmanager: &reading, configs: &[], assets }).err());
    for (field, _) in found.iter_mut().filter(|(field, _)| !field.starts_with("spec")) {
        *field = format!("{field} of Secret {}", users_secret_name(alertmanager));
    }
    found
}

fn said(invalid: impl IntoIterator<Item = Invalid>) -> Vec<Said> {
    invalid.into_iter().map(|invalid| (invalid.field, invalid.problem)).collect()
}
