//! A raw configuration, read and checked as Alertmanager would when it starts.
//!
//! A mistake in it would keep Alertmanager from loading everybody's configuration, so it is refused here, where somebody
//! can be told. Keys that are not known are let pass: an Alertmanager newer than this program may know them.

mod addresses;
pub(crate) mod clients;
pub(crate) mod matchers;
pub(crate) mod needs;
pub(crate) mod receivers;
mod texts;

use std::collections::HashSet;

use rendering::{Map, Tree};

use crate::invalid::{Invalid, Within};
use crate::normal;
use crate::shape::CONFIGURATION;
use crate::value::{is_true, text};

/// Reads a configuration and writes it as upstream does.
///
/// # Errors
/// What is no YAML, or what no Alertmanager would load, by its path in the file.
pub fn load(raw: &str) -> Result<String, Invalid> {
    read(raw).map(|configuration| configuration.to_yaml())
}

pub(crate) fn read(raw: &str) -> Result<Map, Invalid> {
    let configuration = unchecked(raw)?.ok_or_else(|| Invalid::new("route", "must be given"))?;
    check(&configuration)?;
    Ok(configuration)
}

/// The configuration in the form in which upstream writes it; nothing if the file says nothing.
pub(crate) fn unchecked(raw: &str) -> Result<Option<Map>, Invalid> {
    let no_yaml = |error: rendering::ParseError| Invalid::new(FILE, error.to_string());
    let tree = Tree::parse(raw).map_err(no_yaml)?;
    if tree.is_null() {
        return Ok(None);
    }
    let written = Tree::parse_texts(raw, &tree).map_err(no_yaml)?;
    let mut configuration = normal::mapping(tree).within(FILE)?;
    texts::restore(&CONFIGURATION, &mut configuration, &written);
    normal::section(&CONFIGURATION, configuration).map(Some)
}

const FILE: &str = "alertmanager.yaml";

fn check(configuration: &Map) -> Result<(), Invalid> {
    let receivers = unique_names(configuration, &["receivers"])?;
    let intervals = unique_names(configuration, &["mute_time_intervals", "time_intervals"])?;
    needs::check(configuration)?;
    addresses::check(configuration)?;
    receivers::check(configuration)?;
    clients::check(configuration)?;
    matchers::check_inhibitions(configuration)?;
    let root = configuration
        .get("route")
        .and_then(Tree::as_map)
        .ok_or_else(|| Invalid::new("route", "must be given"))?;
    check_root(root).within("route")?;
    check_route(root, &receivers, &intervals).within("route")
}

/// The names in lists of named things, none of them twice.
fn unique_names<'a>(configuration: &'a Map, lists: &[&str]) -> Result<HashSet<&'a str>, Invalid> {
    let mut names = HashSet::new();
    for list in lists {
        for (index, item) in items(configuration, list).iter().enumerate() {
            let name = item.get("name").map_or("", text);
            if name.is_empty() {
                return Err(Invalid::new("name", "must not be empty")).at(list, index);
            }
            if !names.insert(name) {
                return Err(Invalid::new("name", format!("{name:?} is there already; names must differ")))
                    .at(list, index);
            }
        }
    }
    Ok(names)
}

/// The root takes every alert: it has a receiver, and nothing that would let it pass one over.
pub(crate) fn check_root(root: &Map) -> Result<(), Invalid> {
    if root.get("receiver").map_or("", text).is_empty() {
        return Err(Invalid::new("receiver", "must be given at the root"));
    }
    if root.get("continue").is_some_and(is_true) {
        return Err(Invalid::new("continue", "cannot be set at the root"));
    }
    for key in ["match", "match_re", "matchers", "mute_time_intervals", "active_time_intervals"] {
        if root.contains_key(key) {
            return Err(Invalid::new(key, "cannot be used at the root, which takes every alert"));
        }
    }
    Ok(())
}

fn check_route(route: &Map, receivers: &HashSet<&str>, intervals: &HashSet<&str>) -> Result<(), Invalid> {
    let receiver = route.get("receiver").map_or("", text);
    if !receiver.is_empty() && !receivers.contains(receiver) {
        return Err(Invalid::new("receiver", format!("there is no receiver {receiver:?}")));
    }
    for list in ["mute_time_intervals", "active_time_intervals"] {
        for (index, interval) in items(route, list).iter().enumerate() {
            if !intervals.contains(text(interval)) {
                return Err(Invalid::new("", "there is no time interval of that name")).at(list, index);
            }
        }
    }
    matchers::check_route(route)?;
    check_grouping(items(route, "group_by")).within("group_by")?;
    for key in ["group_interval", "repeat_interval", "group_wait"] {
        check_duration(route.get(key).map_or("", text), key)?;
    }
    for (index, child) in items(route, "routes").iter().enumerate() {
        if let Some(child) = child.as_map() {
            check_route(child, receivers, intervals).at("routes", index)?;
        }
    }
    Ok(())
}

fn check_grouping(labels: &[Tree]) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    for label in labels.iter().map(text) {
        if label.is_empty() {
            return Err(Invalid::new("", "must not hold an empty label"));
        }
        if !seen.insert(label) {
            return Err(Invalid::new("", format!("holds {label:?} twice")));
        }
    }
    match seen.contains("...") && labels.len() > 1 {
        true => Err(Invalid::new("", "'...' stands for all labels and must be the only one")),
        false => Ok(()),
    }
}

fn check_duration(duration: &str, key: &str) -> Result<(), Invalid> {
    if duration.is_empty() {
        return Ok(());
    }
    let wrong = |problem: String| Invalid::new(key, problem);
    let zero = rendering::duration::prometheus(duration).map_err(|error| wrong(error.to_string()))? == 0;
    match zero && key != "group_wait" {
        true => Err(wrong("must not be zero".into())),
        false => Ok(()),
    }
}

pub(crate) fn items<'a>(map: &'a Map, key: &str) -> &'a [Tree] {
    map.get(key).and_then(Tree::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "route: {receiver: r}\nreceivers: [{name: r}]\n";

    #[test]
    fn the_smallest_configuration_is_written_with_its_templates() {
        assert_eq!(load(BASE).unwrap(), "route:\n  receiver: r\nreceivers:\n- name: r\ntemplates: []\n");
    }

    #[test]
    fn what_alertmanager_would_not_load_is_refused_by_name() {
        for (raw, field) in [
            ("", "route"),
            ("invalid", "alertmanager.yaml"),
            ("receivers: [{name: r}]", "route"),
            ("route: {receiver: x}\nreceivers: [{name: r}]", "route.receiver"),
            ("route: {}\nreceivers: [{name: r}]", "route.receiver"),
            ("route: {receiver: r, continue: true}\nreceivers: [{name: r}]", "route.continue"),
            ("route: {receiver: r, matchers: [a=b]}\nreceivers: [{name: r}]", "route.matchers"),
            (
                "route: {receiver: r, routes: [{mute_time_intervals: [i]}]}\nreceivers: [{name: r}]",
                "route.routes[0].mute_time_intervals[0]",
            ),
            ("route: {receiver: r, group_wait: 1x}\nreceivers: [{name: r}]", "route.group_wait"),
            ("route: {receiver: r}\nreceivers: [{name: r}, {name: r}]", "receivers[1].name"),
            (
                "route: {receiver: r}\nreceivers: [{name: r, slack_configs: [{}]}]",
                "receivers[0].slack_configs[0]",
            ),
            (
                "route: {receiver: r}\nreceivers: [{name: r, email_configs: [{to: x, from: y}]}]",
                "receivers[0].email_configs[0]",
            ),
            (
                "route: {receiver: r}\nreceivers: [{name: r, slack_configs: [{api_url: 'http://s', app_token: t}]}]",
                "receivers[0].slack_configs[0].app_token",
            ),
            (
                "global: {http_config: {proxy_url: 'http://p', proxy_from_environment: true}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.http_config.proxy_url",
            ),
            (
                "route: {receiver: r}\nreceivers: [{name: r, webhook_configs: [{url: 'http://h', http_config: {bearer_token: t, basic_auth: {username: u}}}]}]",
                "receivers[0].webhook_configs[0].http_config.bearer_token",
            ),
            (
                "route: {receiver: r}\nreceivers: [{name: r, webhook_configs: [{url: 'http://h', http_config: {oauth2: {no_proxy: a}}}]}]",
                "receivers[0].webhook_configs[0].http_config.oauth2.no_proxy",
            ),
            (
                "global: {http_config: {oauth2: {client_id: a}}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.http_config.oauth2.token_url",
            ),
            (
                "global: {http_config: {authorization: {type: ' basic'}}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.http_config.authorization.type",
            ),
            (
                "global: {http_config: {http_headers: {HOST: {values: [a]}}}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.http_config.http_headers.HOST",
            ),
            (
                "global: {smtp_tls_config: {cert_file: /c}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.smtp_tls_config.key_file",
            ),
            (
                "global: {http_config: {tls_config: {min_version: TLS9}}}\nroute: {receiver: r}\nreceivers: [{name: r}]",
                "global.http_config.tls_config.min_version",
            ),
        ] {
            assert_eq!(load(raw).map_err(|invalid| invalid.field), Err(field.into()), "{raw}");
        }
    }

    #[test]
    fn what_is_not_known_is_let_pass() {
        let raw = "route: {receiver: r, novel: 1}\nreceivers: [{name: r, novel_configs: [{a: b}]}]\ntracing: {x: y}\n";
        let written = load(raw).unwrap();
        assert!(
            written.contains("novel: 1") && written.contains("novel_configs") && written.contains("tracing"),
            "{written}"
        );
    }

    #[test]
    fn a_text_is_what_is_written_whatever_it_looks_like() {
        let raw = "global: {smtp_auth_password: 0123456, smtp_require_tls: no, opsgenie_api_key: 1e3}\nroute: {receiver: 0x1F, group_by: [on]}\nreceivers: [{name: 0x1F}]\n";
        let written = load(raw).unwrap();
        for text in ["\"0123456\"", "smtp_require_tls: false", "\"1e3\"", "receiver: \"0x1F\"", "- \"on\""] {
            assert!(written.contains(text), "{text} is not in\n{written}");
        }
    }

    #[test]
    fn a_global_setting_will_do() {
        let raw = "global: {slack_api_url_file: /f}\nroute: {receiver: r}\nreceivers: [{name: r, slack_configs: [{channel: c}]}]";
        assert!(load(raw).is_ok());
    }
}
