//! A user's configuration in the form in which upstream would write it: known keys in a fixed order, what says nothing
//! left out, defaults that upstream always writes written. Keys that are not known follow as they are.

use rendering::{Map, Tree};

use crate::interval;
use crate::invalid::{Invalid, Within};
use crate::shape::{Holds, Section};
use crate::value::duration;

pub(crate) fn section(shape: &Section, mut given: Map) -> Result<Map, Invalid> {
    let mut out = Map::with_capacity(given.len());
    for key in shape.keys {
        let value = given.remove(key.name).filter(|value| !value.is_null());
        if let Some(value) = normal(key.holds, value).within(key.name)? {
            out.set(key.name, value);
        }
    }
    out.extend(given);
    Ok(out)
}

/// What is written for a value; nothing, when it says nothing.
fn normal(holds: Holds, value: Option<Tree>) -> Result<Option<Tree>, Invalid> {
    let Some(value) = value else { return Ok(default(holds)) };
    Ok(match holds {
        Holds::Text | Holds::Url | Holds::TemplateUrl | Holds::DurationText | Holds::NonZeroDuration => {
            Some(text(value)?).filter(|text| text.as_str() != Some(""))
        }
        Holds::AlwaysText => Some(text(value)?),
        Holds::Given | Holds::GivenOrNull => Some(value),
        Holds::Switch => Some(flag(value)?).filter(|flag| *flag).map(Tree::from),
        Holds::AlwaysSwitch => Some(flag(value)?.into()),
        Holds::Number => match value {
            Tree::Int(0) => None,
            Tree::Int(_) => Some(value),
            _ => return Err(Invalid::new("", "must be a number")),
        },
        Holds::Texts => Some(texts(value)?).filter(|list| !list.is_empty()).map(Tree::from),
        Holds::AlwaysTexts => Some(texts(value)?.into()),
        Holds::TextMap => text_map(value)?.non_empty().map(Tree::from),
        Holds::Anything => Some(value).filter(|value| !value.says_nothing()),
        Holds::Duration => {
            let written = text(value)?;
            Some(
                duration(written.as_str().unwrap_or_default())
                    .map_err(|problem| Invalid::new("", problem))?
                    .into(),
            )
        }
        Holds::Section(shape) => Some(section(shape, mapping(value)?)?.into()),
        Holds::FullSection(shape) => section(shape, mapping(value)?)?.non_empty().map(Tree::from),
        Holds::Sections(shape) => {
            let mut out = Vec::new();
            for (index, item) in list(value)?.into_iter().enumerate() {
                out.push(
                    mapping(item)
                        .and_then(|item| section(shape, item))
                        .map_err(|invalid| invalid.at(index))?,
                );
            }
            (!out.is_empty()).then(|| out.into())
        }
        Holds::Spans => {
            let mut out = Vec::new();
            for (index, item) in list(value)?.into_iter().enumerate() {
                out.push(mapping(item).and_then(interval::normal).map_err(|invalid| invalid.at(index))?);
            }
            Some(out.into())
        }
    })
}

/// What is written where nothing is given.
fn default(holds: Holds) -> Option<Tree> {
    match holds {
        Holds::AlwaysText => Some("".into()),
        Holds::AlwaysSwitch => Some(false.into()),
        Holds::AlwaysTexts | Holds::Spans => Some(Tree::List(Vec::new())),
        Holds::GivenOrNull => Some(Tree::Null),
        _ => None,
    }
}

/// A text; numbers and flags are texts where a text is wanted, as Go's YAML reader has it.
pub(crate) fn text(value: Tree) -> Result<Tree, Invalid> {
    Ok(match value {
        Tree::Str(_) => value,
        Tree::Int(number) => number.to_string().into(),
        Tree::Float(number) => number.to_string().into(),
        Tree::Bool(flag) => flag.to_string().into(),
        Tree::Null => "".into(),
        Tree::List(_) | Tree::Map(_) => return Err(Invalid::new("", "must be a text")),
    })
}

fn texts(value: Tree) -> Result<Vec<Tree>, Invalid> {
    let items = list(value)?.into_iter().enumerate();
    items.map(|(index, item)| text(item).map_err(|invalid| invalid.at(index))).collect()
}

fn text_map(value: Tree) -> Result<Map, Invalid> {
    let mut out = Map::new();
    for (name, value) in mapping(value)? {
        let value = text(value).within(&name)?;
        out.set(name, value);
    }
    Ok(out)
}

fn flag(value: Tree) -> Result<bool, Invalid> {
    value.as_bool().ok_or_else(|| Invalid::new("", "must be true or false"))
}

pub(crate) fn list(value: Tree) -> Result<Vec<Tree>, Invalid> {
    match value {
        Tree::List(items) => Ok(items),
        _ => Err(Invalid::new("", "must be a list")),
    }
}

pub(crate) fn mapping(value: Tree) -> Result<Map, Invalid> {
    match value {
        Tree::Map(map) => Ok(map),
        _ => Err(Invalid::new("", "must be a mapping")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::CONFIGURATION;

    fn written(yaml: &str) -> Result<String, String> {
        let given = mapping(Tree::parse(yaml).unwrap()).unwrap();
        section(&CONFIGURATION, given).map(|map| map.to_yaml()).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn what_says_nothing_is_left_out_and_the_rest_is_in_order() {
        let yaml = "novel: 1\nreceivers: [{slack_configs: [{channel: 5, title: '', link_names: false}], name: r}]\nroute: {routes: []}";
        assert_eq!(
            written(yaml).unwrap(),
            "route: {}\nreceivers:\n- name: r\n  slack_configs:\n  - channel: \"5\"\ntemplates: []\nnovel: 1\n"
        );
    }

    #[test]
    fn a_value_of_another_sort_is_refused_by_its_path() {
        for (yaml, message) in [
            ("route: {routes: {}}", "route.routes: must be a list"),
            ("route: {receiver: [a]}", "route.receiver: must be a text"),
            ("route: {continue: maybe}", "route.continue: must be true or false"),
            ("receivers: [x]", "receivers[0]: must be a mapping"),
            (
                "mute_time_intervals: [{name: n, time_intervals: [{months: [undecember]}]}]",
                "mute_time_intervals[0].time_intervals[0].months[0]: \"undecember\" is not a month or a range of two",
            ),
        ] {
            assert_eq!(written(yaml).unwrap_err(), message, "{yaml}");
        }
    }
}
