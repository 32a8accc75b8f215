//! Matchers of routes and inhibition rules: the strings that Alertmanager has since 0.22, and the maps before.

use prometheus_types::alertmanager_config::Matcher;
use rendering::{Gate, Map, Tree, Version, since};

/// The versions that read matchers as strings.
pub(crate) const STRINGS: Gate = since("0.22.0");

/// Keys under which the three forms of a set of matchers are written.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) equal: &'static str,
    pub(crate) regex: &'static str,
    pub(crate) strings: &'static str,
}

pub(crate) const ROUTE: Keys = Keys { equal: "match", regex: "match_re", strings: "matchers" };
pub(crate) const SOURCE: Keys =
    Keys { equal: "source_match", regex: "source_match_re", strings: "source_matchers" };
pub(crate) const TARGET: Keys =
    Keys { equal: "target_match", regex: "target_match_re", strings: "target_matchers" };

/// A set of matchers in the forms that a version reads.
#[derive(Default)]
pub(crate) struct Matchers {
    equal: Vec<(String, String)>,
    regex: Vec<(String, String)>,
    strings: Vec<String>,
}

pub(crate) fn render(matchers: &[Matcher], version: &Version) -> Matchers {
    let mut out = Matchers::default();
    for matcher in matchers {
        let comparison = match (matcher.match_type.is_empty(), matcher.regex) {
            (false, _) => &*matcher.match_type,
            (true, true) => "=~",
            (true, false) => "=",
        };
        if !matcher.match_type.is_empty() || STRINGS.admits(version) {
            out.strings.push(string(&matcher.name, comparison, &matcher.value));
        } else {
            let map = if matcher.regex { &mut out.regex } else { &mut out.equal };
            put(map, &matcher.name, &matcher.value);
        }
    }
    out
}

impl Matchers {
    /// Lets a route take only alerts of a namespace. Other matchers stay: an alert must match all of them.
    pub(crate) fn confine_route(&mut self, namespace: &str, version: &Version) {
        if STRINGS.admits(version) {
            self.strings.push(string(NAMESPACE, "=", namespace));
        } else {
            put(&mut self.equal, NAMESPACE, namespace);
        }
    }

    /// Lets one side of an inhibition rule match only alerts of a namespace.
    pub(crate) fn confine_rule(&mut self, namespace: &str, version: &Version) {
        self.regex.retain(|(name, _)| name != NAMESPACE);
        self.equal.retain(|(name, _)| name != NAMESPACE);
        if !STRINGS.admits(version) {
            put(&mut self.equal, NAMESPACE, namespace);
            return;
        }
        let confined = string(NAMESPACE, "=", namespace);
        if !self.strings.contains(&confined) {
            self.strings.push(confined);
        }
    }

    /// Writes those forms that say something.
    pub(crate) fn write(self, out: &mut Map, keys: Keys) {
        for (key, mut pairs) in [(keys.equal, self.equal), (keys.regex, self.regex)] {
            if !pairs.is_empty() {
                pairs.sort();
                out.set(key, pairs.into_iter().collect::<Map>());
            }
        }
        if !self.strings.is_empty() {
            out.set(keys.strings, self.strings.into_iter().collect::<Tree>());
        }
    }
}

/// The label by which resources are kept to their namespace.
const NAMESPACE: &str = "namespace";

fn put(pairs: &mut Vec<(String, String)>, name: &str, value: &str) {
    pairs.retain(|(known, _)| known != name);
    pairs.push((name.to_owned(), value.to_owned()));
}

/// A matcher as Alertmanager reads it, its value escaped as in OpenMetrics.
fn string(name: &str, comparison: &str, value: &str) -> String {
    let mut out = format!("{name}{comparison}\"");
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(name: &str, comparison: &str, value: &str, regex: bool) -> Matcher {
        Matcher { name: name.into(), value: value.into(), match_type: comparison.into(), regex }
    }

    fn written(matchers: &[Matcher], version: &str, namespace: Option<&str>) -> String {
        let version = Version::parse(version).unwrap();
        let mut rendered = render(matchers, &version);
        if let Some(namespace) = namespace {
            rendered.confine_rule(namespace, &version);
        }
        let mut map = Map::new();
        rendered.write(&mut map, ROUTE);
        Tree::from(map).to_json().to_string()
    }

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        assert_eq!(string("a", "=", "x\" , b=\"\\\n"), r#"a="x\" , b=\"\\\n""#);
    }

    #[test]
    fn old_versions_get_maps_and_new_ones_strings() {
        let matchers = [matcher("a", "", "1", false), matcher("b", "", "2.*", true)];
        assert_eq!(written(&matchers, "0.21.0", None), r#"{"match":{"a":"1"},"match_re":{"b":"2.*"}}"#);
        assert_eq!(written(&matchers, "0.22.0", None), r#"{"matchers":["a=\"1\"","b=~\"2.*\""]}"#);
    }

    #[test]
    fn a_tenant_cannot_speak_for_another_namespace() {
        let matchers = [matcher("namespace", "", "other", false), matcher("namespace", "", "o.*", true)];
        assert_eq!(written(&matchers, "0.21.0", Some("mine")), r#"{"match":{"namespace":"mine"}}"#);
        assert_eq!(
            written(&matchers, "0.22.0", Some("mine")),
            r#"{"matchers":["namespace=\"other\"","namespace=~\"o.*\"","namespace=\"mine\""]}"#
        );
    }
}
