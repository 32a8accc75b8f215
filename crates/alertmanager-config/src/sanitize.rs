//! A configuration cut down to what a version of Alertmanager has.
//!
//! What can be left out without changing whom alerts reach is dropped; what cannot is an error. The tables of
//! `shape` say which is which.

use rendering::{Map, Tree, Version, duration, since};

use crate::invalid::{Invalid, Within};
use crate::references::needs;
use crate::shape::{Holds, Key, Otherwise, Rule, Section};
use crate::url;

/// Cuts a section down, in place.
pub(crate) fn sanitize(shape: &Section, section: &mut Map, version: &Version) -> Result<(), Invalid> {
    for rule in shape.before {
        rule.apply(section, version)?;
    }
    for key in shape.keys {
        if keep(key, section, version).within(key.name)? {
            if let Some(value) = section.get_mut(key.name) {
                descend(key.holds, value, version).within(key.name)?;
            }
            if left_out(key.holds, section.get(key.name)) {
                section.remove(key.name);
            }
        } else {
            section.remove(key.name);
        }
    }
    for rule in shape.after {
        rule.apply(section, version)?;
    }
    Ok(())
}

/// Whether the key stays in this version.
fn keep(key: &Key, section: &mut Map, version: &Version) -> Result<bool, Invalid> {
    if key.gate.admits(version) {
        return Ok(true);
    }
    match (key.otherwise, section.get_mut(key.name)) {
        (_, None) | (Otherwise::Drop, _) => Ok(false),
        (Otherwise::Refuse, Some(value)) if value.says_nothing() => Ok(false),
        (Otherwise::Refuse, Some(_)) => Err(Invalid::new("", needs(key.gate, version))),
        (Otherwise::Unset, Some(value)) => {
            *value = false.into();
            Ok(true)
        }
    }
}

/// Goes into what a key holds, and judges it.
fn descend(holds: Holds, value: &mut Tree, version: &Version) -> Result<(), Invalid> {
    let wrong = |problem: String| Invalid::new("", problem);
    match (holds, value) {
        (Holds::Section(shape) | Holds::FullSection(shape), Tree::Map(map)) => sanitize(shape, map, version),
        (Holds::Sections(shape), Tree::List(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Tree::Map(map) = item {
                    sanitize(shape, map, version).map_err(|invalid| invalid.at(index))?;
                }
            }
            Ok(())
        }
        (Holds::Spans, Tree::List(spans)) => {
            // Where times are meant to be; before, they are all in UTC.
            if !since("0.25.0").admits(version) {
                for span in spans.iter_mut().filter_map(Tree::as_map_mut) {
                    span.remove("location");
                }
            }
            Ok(())
        }
        (Holds::Url, Tree::Str(text)) if !text.is_empty() => url::check(text).map_err(wrong),
        (Holds::TemplateUrl, Tree::Str(text)) if !text.is_empty() => url::check_template(text).map_err(wrong),
        (Holds::DurationText | Holds::NonZeroDuration, Tree::Str(text)) => {
            duration::prometheus(text).map(|_| ()).map_err(|error| wrong(error.to_string()))
        }
        _ => Ok(()),
    }
}

/// Whether a value has come to say nothing.
fn left_out(holds: Holds, value: Option<&Tree>) -> bool {
    match (holds, value) {
        (Holds::FullSection(_), Some(Tree::Map(map))) => map.is_empty(),
        (Holds::NonZeroDuration, Some(Tree::Str(text))) => duration::prometheus(text) == Ok(0),
        _ => false,
    }
}

impl Rule {
    fn apply(&self, section: &mut Map, version: &Version) -> Result<(), Invalid> {
        match *self {
            Self::Prefer(first, second) => {
                if section.given(first) && section.given(second) {
                    section.remove(second);
                }
                Ok(())
            }
            Self::AnyOf(keys) => any_of(section, keys),
            Self::AnyOfIn(gate, keys) if gate.admits(version) => any_of(section, keys),
            Self::AnyOfIn(..) => Ok(()),
            Self::AtMostOne(keys) => {
                let mut found = keys.iter().filter(|key| section.given(key));
                match (found.next(), found.next()) {
                    (Some(one), Some(other)) => Err(Invalid::new(
                        *other,
                        format!("cannot be used together with {one}; remove one of them"),
                    )),
                    _ => Ok(()),
                }
            }
            Self::Needs(needed, key) if section.given(key) && !section.given(needed) => {
                Err(Invalid::new(key, format!("needs {needed}")))
            }
            Self::Needs(..) => Ok(()),
            Self::Among(key, values) => match section.get(key).and_then(Tree::as_str) {
                Some(value) if !values.contains(&value) => {
                    Err(Invalid::new(key, format!("must be one of {}", values.join(", "))))
                }
                _ => Ok(()),
            },
            Self::Check(check) => check(section, version),
        }
    }
}

fn any_of(section: &Map, keys: &[&str]) -> Result<(), Invalid> {
    match keys.iter().any(|key| section.given(key)) {
        true => Ok(()),
        false => Err(Invalid::new("", format!("needs {}", keys.join(" or ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::shape::CONFIGURATION;

    fn cut(yaml: &str, version: &str) -> Result<String, String> {
        let Tree::Map(map) = Tree::parse(yaml).unwrap() else { panic!("no mapping") };
        let mut map = normal::section(&CONFIGURATION, map).unwrap();
        sanitize(&CONFIGURATION, &mut map, &Version::parse(version).unwrap())
            .map_err(|error| error.to_string())?;
        Ok(map.to_yaml())
    }

    #[test]
    fn what_a_version_lacks_is_dropped_or_refused() {
        let slack = "receivers: [{name: r, slack_configs: [{api_url: http://a, timeout: 90s}]}]";
        assert!(!cut(slack, "0.29.0").unwrap().contains("timeout"));
        assert!(cut(slack, "0.30.0").unwrap().contains("timeout: 1m30s"));
        let matchers = "route: {receiver: r, routes: [{matchers: [a=b]}]}";
        assert_eq!(
            cut(matchers, "0.21.0").unwrap_err(),
            "route.routes[0].matchers: needs Alertmanager 0.22.0 or later, this is 0.21.0; remove the field or upgrade"
        );
    }

    #[test]
    fn keys_that_are_not_known_stay() {
        let newer =
            "receivers: [{name: r, slack_configs: [{api_url: http://a, novel: {a: [1]}}]}]\nnovelty: 1\n";
        let kept = cut(newer, "0.34.0").unwrap();
        assert!(kept.contains("novel:") && kept.contains("novelty: 1"), "{kept}");
    }

    #[test]
    fn a_file_gives_way_to_the_value_itself() {
        let both = "global: {smtp_auth_password: a, smtp_auth_password_file: /b}";
        assert!(!cut(both, "0.34.0").unwrap().contains("/b"));
    }
}
