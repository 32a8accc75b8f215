//! Would Alertmanager load what a tenant's object adds? What it refuses, it refuses for everybody.
//!
//! Names of labels are judged as the version does: UTF-8 came with 0.27 and 0.28, before only letters, digits and
//! underscores were names. Paths in messages are those of the file, as the object has become a part of it.

use rendering::{Gate, Map, Tree, Version, since};

use crate::invalid::{Invalid, Within};
use crate::load::{clients, items, matchers::check_regex, needs, receivers};
use crate::references::needs as needed;
use crate::value::text;

/// The versions in which any text may be a label's name.
const UTF8_NAMES: Gate = since("0.27.0");

/// The versions in which any text may be a name that both sides of an inhibition have in common.
const UTF8_EQUAL: Gate = since("0.28.0");

/// Receivers that upstream takes to be in every version.
const RECEIVERS: &[(&str, Gate)] = &[("sns_configs", since("0.23.0"))];

pub(crate) fn check(fragment: &Map, base: &Map, version: &Version) -> Result<(), Invalid> {
    let global = base.get("global").and_then(Tree::as_map);
    needs::check_with(fragment, global)?;
    receivers::check_with(fragment, global)?;
    clients::check(fragment)?;
    if let Some(route) = fragment.get("route") {
        check_route(route, version).within("route")?;
    }
    for (index, rule) in items(fragment, "inhibit_rules").iter().enumerate() {
        check_rule(rule, version).at("inhibit_rules", index)?;
    }
    for (index, receiver) in items(fragment, "receivers").iter().enumerate() {
        for (key, gate) in RECEIVERS {
            if receiver.get(key).is_some() && !gate.admits(version) {
                return Err(Invalid::new(*key, needed(*gate, version))).at("receivers", index);
            }
        }
    }
    Ok(())
}

fn check_route(route: &Tree, version: &Version) -> Result<(), Invalid> {
    check_matchers(route, ["match", "match_re", "matchers"], version)?;
    for (index, label) in list(route, "group_by").iter().enumerate() {
        if text(label) != "..." {
            check_name(text(label), version).at("group_by", index)?;
        }
    }
    for (index, child) in list(route, "routes").iter().enumerate() {
        check_route(child, version).at("routes", index)?;
    }
    Ok(())
}

fn check_rule(rule: &Tree, version: &Version) -> Result<(), Invalid> {
    check_matchers(rule, ["source_match", "source_match_re", "source_matchers"], version)?;
    check_matchers(rule, ["target_match", "target_match_re", "target_matchers"], version)?;
    for (index, label) in list(rule, "equal").iter().enumerate() {
        check_name_in(text(label), UTF8_EQUAL, version).at("equal", index)?;
    }
    Ok(())
}

fn check_matchers(object: &Tree, keys: [&str; 3], version: &Version) -> Result<(), Invalid> {
    let [equal, regex, strings] = keys;
    for key in [equal, regex] {
        for (name, value) in object.get(key).and_then(Tree::as_map).into_iter().flat_map(Map::iter) {
            check_name(name, version).within(key)?;
            if key == regex {
                check_regex(text(value)).within(name).within(key)?;
            }
        }
    }
    for (index, matcher) in list(object, strings).iter().enumerate() {
        check_matcher(text(matcher), version).at(strings, index)?;
    }
    Ok(())
}

/// A matcher in the form in which we write it: a name, a comparison, and a value in quotes.
fn check_matcher(matcher: &str, version: &Version) -> Result<(), Invalid> {
    let wrong = || Invalid::new("", format!("{matcher} is not a name, a comparison and a value"));
    // The value is what is in the last pair of quotes that we wrote; a name with a quote is none anyway.
    let (head, value) = matcher.split_once('"').ok_or_else(wrong)?;
    let value = value.strip_suffix('"').ok_or_else(wrong)?;
    let comparison = ["!=", "=~", "!~", "="]
        .into_iter()
        .find(|comparison| head.ends_with(comparison))
        .ok_or_else(wrong)?;
    check_name(head.strip_suffix(comparison).unwrap_or(head), version)?;
    match comparison {
        "=~" | "!~" => check_regex(&unescaped(value)),
        _ => Ok(()),
    }
}

fn check_name(name: &str, version: &Version) -> Result<(), Invalid> {
    check_name_in(name, UTF8_NAMES, version)
}

/// A name that stands without quotes.
fn check_name_in(name: &str, utf8: Gate, version: &Version) -> Result<(), Invalid> {
    let reserved = |c: char| c.is_whitespace() || "{}!=~,\\\"'`".contains(c);
    let classic = |c: char| c == '_' || c == ':' || c.is_ascii_alphanumeric();
    let trimmed = name.trim();
    let good = match utf8.admits(version) {
        true => !trimmed.is_empty() && !trimmed.contains(reserved),
        false => {
            trimmed.starts_with(|c: char| classic(c) && !c.is_ascii_digit()) && trimmed.chars().all(classic)
        }
    };
    if good { Ok(()) } else { Err(Invalid::new("", format!("{name:?} cannot be the name of a label"))) }
}

fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

fn list<'a>(object: &'a Tree, key: &str) -> &'a [Tree] {
    object.get(key).and_then(Tree::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(yaml: &str, version: &str) -> String {
        let Ok(Tree::Map(fragment)) = Tree::parse(yaml) else { panic!("no mapping") };
        let version = Version::parse(version).unwrap();
        check(&fragment, &Map::new(), &version)
            .map_or_else(|invalid| invalid.to_string(), |()| "loads".into())
    }

    #[test]
    fn a_label_has_a_name_that_the_version_knows() {
        let route = r#"route: {receiver: r, matchers: ['grün="1"', 'a.b!="2"']}"#;
        assert_eq!(verdict(route, "0.27.0"), "loads");
        assert_eq!(verdict(route, "0.26.0"), "route.matchers[0]: \"grün\" cannot be the name of a label");
        let spaced = r#"inhibit_rules: [{source_matchers: ['a b="1"']}]"#;
        assert!(verdict(spaced, "0.34.0").starts_with("inhibit_rules[0].source_matchers[0]: \"a b\""));
    }

    #[test]
    fn an_expression_must_be_one() {
        assert_eq!(verdict(r#"route: {matchers: ['a=~"x.*|\\d+"']}"#, "0.34.0"), "loads");
        assert!(
            verdict(r#"route: {routes: [{matchers: ['a=~"("']}]}"#, "0.34.0")
                .starts_with("route.routes[0].matchers[0]: ")
        );
        assert!(verdict("route: {match_re: {a: '['}}", "0.21.0").starts_with("route.match_re.a: "));
    }

    #[test]
    fn a_receiver_has_what_it_needs_from_somewhere() {
        let slack = "receivers: [{name: r, slack_configs: [{channel: c}]}]";
        assert!(verdict(slack, "0.34.0").starts_with("receivers[0].slack_configs[0]: needs one of api_url"));
        let wechat =
            "receivers: [{name: r, wechat_configs: [{api_secret: s, corp_id: c, message_type: html}]}]";
        assert_eq!(
            verdict(wechat, "0.34.0"),
            "receivers[0].wechat_configs[0].message_type: must be text or markdown"
        );
        let webex = |client| {
            format!("receivers: [{{name: r, webex_configs: [{{room_id: w, http_config: {client}}}]}}]")
        };
        assert_eq!(verdict(&webex("{authorization: {credentials: s}}"), "0.34.0"), "loads");
        assert_eq!(
            verdict(&webex("{basic_auth: {username: u}}"), "0.34.0"),
            "receivers[0].webex_configs[0].http_config.authorization: is needed: give the bot's access token"
        );
    }
}
