//! Keys that upstream writes and Alertmanager refuses, taken out of the finished configuration.
//!
//! One such key keeps the whole configuration from loading. Each row was found by `amtool check-config`.

use rendering::{Gate, Map, Tree, Version, since};

/// A key, and the versions that read it.
struct Fault {
    place: Place,
    path: &'static [&'static str],
    /// No gate: no version does.
    known: Option<Gate>,
}

enum Place {
    /// In receivers of a sort.
    Receiver(&'static str),
    /// In HTTP clients, those of receivers and the global one.
    Client,
}

const fn fault(place: Place, path: &'static [&'static str], known: Option<Gate>) -> Fault {
    Fault { place, path, known }
}

const FAULTS: &[Fault] = &[
    // Alertmanager has these fields under other names, which nobody can have meant.
    fault(Place::Receiver("rocketchat_configs"), &["actions", "is_webview"], None),
    fault(Place::Receiver("rocketchat_configs"), &["actions", "msg_in_chat_window"], None),
    // Written as `false` where it is not known.
    fault(Place::Receiver("pushover_configs"), &["monospace"], Some(since("0.29.0"))),
    // Upstream believes 0.26.
    fault(Place::Receiver("telegram_configs"), &["message_thread_id"], Some(since("0.28.0"))),
    // Upstream believes 0.25, which has nothing but the address of a proxy.
    fault(Place::Client, &["oauth2", "no_proxy"], Some(since("0.26.0"))),
    fault(Place::Client, &["oauth2", "proxy_from_environment"], Some(since("0.26.0"))),
    fault(Place::Client, &["oauth2", "proxy_connect_header"], Some(since("0.26.0"))),
];

pub(crate) fn mend(configuration: &mut Map, version: &Version) {
    for fault in FAULTS.iter().filter(|fault| fault.known.is_none_or(|gate| !gate.admits(version))) {
        if let (Place::Client, Some(Tree::Map(global))) = (&fault.place, configuration.get_mut("global")) {
            mend_client(global, fault.path);
        }
        for receiver in each(configuration.get_mut("receivers")) {
            for (sort, configs) in receiver.iter_mut() {
                for config in each(Some(configs)) {
                    match fault.place {
                        Place::Receiver(wanted) if wanted == sort => remove(config, fault.path),
                        Place::Receiver(_) => {}
                        Place::Client => mend_client(config, fault.path),
                    }
                }
            }
        }
    }
}

fn mend_client(holder: &mut Map, path: &[&str]) {
    if let Some(Tree::Map(client)) = holder.get_mut("http_config") {
        remove(client, path);
    }
}

fn remove(section: &mut Map, path: &[&str]) {
    match path {
        [] => {}
        [key] => drop(section.remove(key)),
        [key, rest @ ..] => match section.get_mut(key) {
            Some(Tree::Map(section)) => remove(section, rest),
            list => each(list).for_each(|section| remove(section, rest)),
        },
    }
}

/// The sections of a list.
fn each(list: Option<&mut Tree>) -> impl Iterator<Item = &mut Map> {
    let items = match list {
        Some(Tree::List(items)) => items.as_mut_slice(),
        _ => &mut [],
    };
    items.iter_mut().filter_map(Tree::as_map_mut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_version_refuses_is_gone_and_the_rest_is_there() {
        let yaml = "receivers: [{name: r, pushover_configs: [{token: t, monospace: false}], \
                    rocketchat_configs: [{actions: [{text: x, is_webview: false, msg_in_chat_window: false}]}]}]";
        let mended = |version: &str| {
            let Ok(Tree::Map(mut map)) = Tree::parse(yaml) else { panic!("no mapping") };
            mend(&mut map, &Version::parse(version).unwrap());
            Tree::from(map).to_json().to_string()
        };
        assert_eq!(
            mended("0.28.0"),
            r#"{"receivers":[{"name":"r","pushover_configs":[{"token":"t"}],"rocketchat_configs":[{"actions":[{"text":"x"}]}]}]}"#
        );
        assert!(mended("0.29.0").contains(r#""monospace":false"#));
    }

    #[test]
    fn clients_are_mended_wherever_they_are() {
        let yaml = "global: {http_config: {oauth2: {token_url: u, no_proxy: a}}}\n\
                    receivers: [{name: r, sns_configs: [{http_config: {oauth2: {proxy_connect_header: {}}}}]}]";
        let Ok(Tree::Map(mut map)) = Tree::parse(yaml) else { panic!("no mapping") };
        mend(&mut map, &Version::parse("0.25.0").unwrap());
        assert_eq!(
            Tree::from(map).to_json().to_string(),
            r#"{"global":{"http_config":{"oauth2":{"token_url":"u"}}},"receivers":[{"name":"r","sns_configs":[{"http_config":{"oauth2":{}}}]}]}"#
        );
    }
}
