//! The routing tree of an AlertmanagerConfig: read from its raw children, checked, and rendered.

use std::collections::HashSet;

use prometheus_types::alertmanager_config::{Matcher, Route as Resource};
use rendering::{Gate, Map, Tree, since};
use serde_json::Value;

use crate::invalid::{Invalid, Within};
use crate::matchers;
use crate::names::Owner;
use crate::references::References;

/// A node whose children have been read.
pub(crate) struct Route {
    pub(crate) node: Resource,
    pub(crate) children: Vec<Route>,
}

/// Fields of a child route. The CRD cannot say them, because its schema cannot refer to itself.
const FIELDS: &[&str] = &[
    "receiver",
    "groupBy",
    "groupWait",
    "groupInterval",
    "repeatInterval",
    "matchers",
    "continue",
    "routes",
    "muteTimeIntervals",
    "activeTimeIntervals",
];

/// Fields of a matcher of each version of the resource.
pub(crate) const MATCHER_V1ALPHA1: &[&str] = &["name", "value", "matchType", "regex"];
pub(crate) const MATCHER_V1BETA1: &[&str] = &["name", "value", "matchType"];

/// Comparisons of matchers, which the deprecated `regex` did without.
const COMPARISONS: Gate = since("0.22.0");

/// Refuses children with fields that a route does not have: what is misspelt would silently not be matched.
pub(crate) fn check_fields(children: &[Value], matcher: &[&str]) -> Result<(), Invalid> {
    for (index, child) in children.iter().enumerate() {
        check_child(child, matcher).at("routes", index)?;
    }
    Ok(())
}

fn check_child(child: &Value, matcher: &[&str]) -> Result<(), Invalid> {
    known(child, FIELDS)?;
    let list = |name: &str| child.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (index, given) in list("matchers").iter().enumerate() {
        known(given, matcher).at("matchers", index)?;
    }
    check_fields(list("routes"), matcher)
}

fn known(object: &Value, fields: &[&str]) -> Result<(), Invalid> {
    let unknown = object.as_object().into_iter().flatten().find(|(name, _)| {
        // Go reads names of fields without regard to case.
        !fields.iter().any(|field| field.eq_ignore_ascii_case(name))
    });
    match unknown {
        Some((name, _)) => {
            Err(Invalid::new(name, format!("is not known here; known are {}", fields.join(", "))))
        }
        None => Ok(()),
    }
}

/// Reads a route with all its children.
pub(crate) fn read(route: &Resource) -> Result<Route, Invalid> {
    check_fields(&route.routes, MATCHER_V1ALPHA1)?;
    let mut children = Vec::with_capacity(route.routes.len());
    for (index, child) in route.routes.iter().enumerate() {
        let child: Resource = serde_json::from_value(child.clone())
            .map_err(|error| Invalid::new("", error.to_string()))
            .at("routes", index)?;
        children.push(read(&child).at("routes", index)?);
    }
    Ok(Route { node: Resource { routes: Vec::new(), ..route.clone() }, children })
}

/// The names that a route may refer to.
pub(crate) struct Known<'a> {
    pub(crate) receivers: HashSet<&'a str>,
    pub(crate) intervals: HashSet<&'a str>,
}

impl Route {
    /// Checks the root of a resource's routing tree.
    pub(crate) fn validate(&self, known: &Known<'_>) -> Result<(), Invalid> {
        if self.node.receiver.is_empty() {
            return Err(Invalid::new("receiver", "must be given at the root"));
        }
        self.validate_node(known)
    }

    fn validate_node(&self, known: &Known<'_>) -> Result<(), Invalid> {
        let node = &self.node;
        if !node.receiver.is_empty() && !known.receivers.contains(node.receiver.as_str()) {
            return Err(Invalid::new(
                "receiver",
                format!("there is no receiver {:?} in this object", node.receiver),
            ));
        }
        grouping(&node.group_by)?;
        for (name, list) in [
            ("muteTimeIntervals", &node.mute_time_intervals),
            ("activeTimeIntervals", &node.active_time_intervals),
        ] {
            let unknown = list.iter().position(|interval| !known.intervals.contains(interval.as_str()));
            if let Some(index) = unknown {
                return Err(Invalid::new("", "there is no time interval of that name in this object"))
                    .at(name, index);
            }
        }
        for (index, matcher) in node.matchers.iter().enumerate() {
            validate_matcher(matcher).at("matchers", index)?;
        }
        for (index, child) in self.children.iter().enumerate() {
            child.validate_node(known).at("routes", index)?;
        }
        Ok(())
    }

    pub(crate) fn select(&self, references: &References<'_>) -> Result<(), Invalid> {
        select_matchers(&self.node.matchers, references).within("matchers")?;
        for (index, child) in self.children.iter().enumerate() {
            child.select(references).at("routes", index)?;
        }
        Ok(())
    }

    /// The route with the names that receivers and intervals have in the whole configuration, kept to a namespace if one
    /// is given. Children need no such care: they see only what their parent lets pass.
    pub(crate) fn render(
        &self,
        owner: &Owner<'_>,
        references: &References<'_>,
        confined: Option<&str>,
    ) -> Map {
        let node = &self.node;
        let mut out = Map::new();
        out.set_text("receiver", &owner.name(&node.receiver));
        let list =
            |items: &[String]| (!items.is_empty()).then(|| items.iter().map(Tree::from).collect::<Tree>());
        out.set_some("group_by", list(&node.group_by));
        let mut matchers = matchers::render(&node.matchers, references.version);
        if let Some(namespace) = confined {
            matchers.confine_route(namespace, references.version);
        }
        matchers.write(&mut out, matchers::ROUTE);
        if node.r#continue {
            out.set("continue", true);
        }
        if !self.children.is_empty() {
            out.set(
                "routes",
                self.children.iter().map(|child| child.render(owner, references, None)).collect::<Tree>(),
            );
        }
        for (key, duration) in [
            ("group_wait", &node.group_wait),
            ("group_interval", &node.group_interval),
            ("repeat_interval", &node.repeat_interval),
        ] {
            out.set_text(key, duration.as_deref().unwrap_or_default());
        }
        let named =
            |intervals: &[String]| list(&intervals.iter().map(|name| owner.name(name)).collect::<Vec<_>>());
        out.set_some("mute_time_intervals", named(&node.mute_time_intervals));
        out.set_some("active_time_intervals", named(&node.active_time_intervals));
        out
    }
}

fn grouping(labels: &[String]) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    if let Some(index) = labels.iter().position(|label| !seen.insert(label.as_str())) {
        return Err(Invalid::new("", "is given twice")).at("groupBy", index);
    }
    match seen.contains("...") && labels.len() > 1 {
        true => Err(Invalid::new("groupBy", "'...' stands for all labels and must be the only one")),
        false => Ok(()),
    }
}

pub(crate) fn validate_matcher(matcher: &Matcher) -> Result<(), Invalid> {
    if matcher.match_type.is_empty() {
        return Ok(());
    }
    if !["=", "!=", "=~", "!~"].contains(&&*matcher.match_type) {
        return Err(Invalid::new("matchType", "must be one of =, !=, =~, !~"));
    }
    match matcher.name.trim() {
        "" => Err(Invalid::new("name", "must not be empty")),
        _ => Ok(()),
    }
}

/// Refuses comparisons that this version of Alertmanager does not have.
pub(crate) fn select_matchers(matchers: &[Matcher], references: &References<'_>) -> Result<(), Invalid> {
    for (index, matcher) in matchers.iter().enumerate() {
        if !matcher.match_type.is_empty() {
            references.demand(COMPARISONS).within("matchType").map_err(|invalid| invalid.at(index))?;
        }
    }
    Ok(())
}
