//! One configuration from a base and the AlertmanagerConfigs that were selected.
//!
//! ```text
//!   base ──────────────┐
//!   AlertmanagerConfig ─┤  each as a fragment: names prefixed, kept to its namespace, cut down to the version
//!   AlertmanagerConfig ─┴─> routes before the base's own, receivers, intervals and inhibitions after them
//! ```
//!
//! Fragments are judged one by one, so that a bad object can be left out and named; it never takes the others down with it.

use prometheus_types::AlertmanagerConfig;
use prometheus_types::alertmanager::global::AlertmanagerGlobalConfig;
use prometheus_types::alertmanager_config::InhibitRule;
use rendering::{Map, Tree, Version};

use crate::invalid::{Invalid, Within};
use crate::load::{check_root, items};
use crate::names::Owner;
use crate::references::References;
use crate::sanitize::sanitize;
use crate::select::select_with;
use crate::shape::CONFIGURATION;
use crate::strategy::Strategy;
use crate::{global, interval, loadable, matchers, normal, receivers, route};

/// A base configuration from the AlertmanagerConfig that an Alertmanager names, which speaks for all namespaces.
///
/// # Errors
/// Whatever is wrong with the object or with the global settings: without a base there is no configuration.
pub(crate) fn base(
    config: &AlertmanagerConfig,
    global: Option<&AlertmanagerGlobalConfig>,
    references: &References<'_>,
) -> Result<Map, Invalid> {
    select_with(config, references)?;
    let mut out = Map::new();
    if let Some(global) = global {
        out.set("global", global::render(global, references).within("global")?);
    }
    let fragment = fragment(config, &Strategy::Base, references).within("spec")?;
    if let Some(route) = fragment.route {
        out.set("route", route);
    }
    out.extend(fragment.lists);
    mail_server_is_known(&out, &out)?;
    let mut out = normal::section(&CONFIGURATION, out)?;
    sanitize(&CONFIGURATION, &mut out, references.version)?;
    match out.get("route").and_then(Tree::as_map) {
        Some(root) => check_root(root).within("route")?,
        None => return Err(Invalid::new("spec.route", "must be given")),
    }
    Ok(out)
}

/// Puts the fragments of objects together with a base, in the order in which they come.
///
/// # Errors
/// When the base itself cannot be loaded by this version.
pub(crate) fn assemble(base: Map, fragments: Vec<Fragment>, version: &Version) -> Result<Map, Invalid> {
    let mut out = base;
    let mut routes = Vec::new();
    for fragment in fragments {
        routes.extend(fragment.route);
        for (key, values) in fragment.lists {
            append(&mut out, &key, values);
        }
    }
    prepend_routes(&mut out, routes);
    let mut out = normal::section(&CONFIGURATION, out)?;
    sanitize(&CONFIGURATION, &mut out, version)?;
    Ok(out)
}

/// What one object adds.
pub(crate) struct Fragment {
    route: Option<Map>,
    /// Lists by their keys in the configuration.
    lists: Map,
}

/// The fragment of an object that was selected.
///
/// # Errors
/// When a configuration with this fragment could not be made for the version.
pub(crate) fn checked_fragment(
    config: &AlertmanagerConfig,
    base: &Map,
    strategy: &Strategy<'_>,
    references: &References<'_>,
) -> Result<Fragment, Invalid> {
    let fragment = fragment(config, strategy, references).within("spec")?;
    mail_server_is_known(&fragment.lists, base)?;
    fragment.alone(references.version)?;
    Ok(fragment)
}

impl Fragment {
    /// The fragment as a configuration of its own, cut down to the version.
    fn alone(&self, version: &Version) -> Result<Map, Invalid> {
        let mut whole = self.lists.clone();
        whole.set_some("route", self.route.clone());
        let mut whole = normal::section(&CONFIGURATION, whole)?;
        sanitize(&CONFIGURATION, &mut whole, version)?;
        Ok(whole)
    }

    /// Would Alertmanager load it beside the base? Upstream asks only some of it, and lets one object keep everybody's
    /// configuration from loading.
    pub(crate) fn loads(&self, base: &Map, version: &Version) -> Result<(), Invalid> {
        loadable::check(&self.alone(version)?, base, version)
    }
}

fn fragment(
    config: &AlertmanagerConfig,
    strategy: &Strategy<'_>,
    references: &References<'_>,
) -> Result<Fragment, Invalid> {
    let (namespace, name) = identity(config);
    let owner = Owner { namespace, name };
    let confined = strategy.confines(namespace);
    let mut lists = Map::new();
    let rules = config.spec.inhibit_rules.iter().map(|rule| inhibition(rule, confined, references));
    lists.set_some("inhibit_rules", some_list(rules.collect()));
    let Some(root) = &config.spec.route else { return Ok(Fragment { route: None, lists }) };
    let mut route = route::read(root).within("route")?.render(&owner, references, confined);
    if strategy.continues() {
        route.set("continue", true);
    }
    let mut rendered = Vec::new();
    for (index, receiver) in config.spec.receivers.iter().enumerate() {
        rendered.push(
            receivers::render(receiver, owner.name(&receiver.name), references).at("receivers", index)?,
        );
    }
    lists.set_some("receivers", some_list(rendered));
    let mut intervals = Vec::new();
    for (index, given) in config.spec.mute_time_intervals.iter().enumerate() {
        intervals.push(interval::render(given, &owner).at("muteTimeIntervals", index)?);
    }
    lists.set_some("mute_time_intervals", some_list(intervals));
    Ok(Fragment { route: Some(route), lists })
}

fn inhibition(rule: &InhibitRule, confined: Option<&str>, references: &References<'_>) -> Map {
    let mut out = Map::new();
    for (given, keys) in [(&rule.target_match, matchers::TARGET), (&rule.source_match, matchers::SOURCE)] {
        let mut side = matchers::render(given, references.version);
        if let Some(namespace) = confined {
            side.confine_rule(namespace, references.version);
        }
        side.write(&mut out, keys);
    }
    if !rule.equal.is_empty() {
        out.set("equal", rule.equal.iter().map(Tree::from).collect::<Tree>());
    }
    out
}

/// Mail needs a server and a sender, from the receiver or from the global part.
fn mail_server_is_known(fragment: &Map, base: &Map) -> Result<(), Invalid> {
    let global = |key: &str| base.get("global").and_then(|global| global.get(key)).is_some();
    for (index, receiver) in items(fragment, "receivers").iter().enumerate() {
        let mails = receiver.get("email_configs").and_then(Tree::as_list).unwrap_or_default();
        for (at, mail) in mails.iter().enumerate() {
            for (field, key) in [("smarthost", "smtp_smarthost"), ("from", "smtp_from")] {
                if mail.get(field).is_none() && !global(key) {
                    let problem = format!("must be given, here or as the global {key}");
                    return Err(Invalid::new(field, problem))
                        .at("emailConfigs", at)
                        .at("spec.receivers", index);
                }
            }
        }
    }
    Ok(())
}

fn some_list(items: Vec<Map>) -> Option<Tree> {
    (!items.is_empty()).then(|| items.into())
}

fn append(out: &mut Map, key: &str, values: Tree) {
    match (out.get_mut(key), values) {
        (Some(Tree::List(list)), Tree::List(values)) => list.extend(values),
        (_, values) => {
            out.set(key.to_owned(), values);
        }
    }
}

/// Puts the objects' routes before those of the base. All of them continue, so alerts reach the base's too.
fn prepend_routes(out: &mut Map, routes: Vec<Map>) {
    let Some(root) = out.get_mut("route").and_then(Tree::as_map_mut).filter(|_| !routes.is_empty()) else {
        return;
    };
    let mut all: Vec<Tree> = routes.into_iter().map(Tree::from).collect();
    if let Some(Tree::List(own)) = root.remove("routes") {
        all.extend(own);
    }
    root.set("routes", all);
}

/// By `namespace/name`, each once.
pub(crate) fn in_order<'a>(
    configs: impl Iterator<Item = &'a AlertmanagerConfig>,
) -> Vec<&'a AlertmanagerConfig> {
    let key = |config: &&AlertmanagerConfig| {
        let (namespace, name) = identity(config);
        format!("{namespace}/{name}")
    };
    let mut sorted: Vec<_> = configs.collect();
    sorted.sort_by_cached_key(key);
    sorted.dedup_by_key(|config| key(config));
    sorted
}

pub(crate) fn identity(config: &AlertmanagerConfig) -> (&str, &str) {
    let metadata = &config.metadata;
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}
