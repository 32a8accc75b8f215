//! A set of field paths: its algebra, and FieldsV1, the JSON form that managedFields carry.
//!
//! Invariant: every node is a member itself or has a member below it, so that equal sets are equal trees.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::path::Step;

/// A set of paths. The whole object is never a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSet(BTreeMap<Step, Node>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    member: bool,
    below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of dotted paths of plain fields, as `metadata.labels`.
    pub(crate) fn of_fields(paths: &[&str]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.split('.').map(Step::field).collect::<Vec<_>>());
        }
        set
    }

    pub(crate) fn insert(&mut self, path: &[Step]) {
        if let Some((first, rest)) = path.split_first() {
            let node = self.0.entry(first.clone()).or_default();
            if rest.is_empty() { node.member = true } else { node.below.insert(rest) }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, step: &Step) -> bool {
        self.0.get(step).is_some_and(|node| node.member)
    }

    /// What is in the set below `step`.
    pub(crate) fn below(&self, step: &Step) -> Option<&Self> {
        self.0.get(step).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Every step at this level: is it a member, and what is below it?
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&Step, bool, &Self)> {
        self.0.iter().map(|(step, node)| (step, node.member, &node.below))
    }

    /// Makes `step` a member, or not, with what is below it.
    pub(crate) fn put(&mut self, step: Step, member: bool, below: Self) {
        let node = Node { member, below };
        if !node.is_empty() {
            self.0.insert(step, node);
        }
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (step, node) in &other.0 {
            let mine = all.0.entry(step.clone()).or_default();
            mine.member |= node.member;
            mine.below = mine.below.union(&node.below);
        }
        all
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| match theirs {
            Some(theirs) => {
                Node { member: mine.member && theirs.member, below: mine.below.intersection(&theirs.below) }
            }
            None => Node::default(),
        })
    }

    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| match theirs {
            Some(theirs) => {
                Node { member: mine.member && !theirs.member, below: mine.below.difference(&theirs.below) }
            }
            None => mine.clone(),
        })
    }

    /// Without the members of `other` and everything below them.
    pub(crate) fn without(&self, other: &Self) -> Self {
        self.combine(other, |mine, theirs| match theirs {
            Some(theirs) if theirs.member => Node::default(),
            Some(theirs) => Node { member: mine.member, below: mine.below.without(&theirs.below) },
            None => mine.clone(),
        })
    }

    fn combine(&self, other: &Self, with: impl Fn(&Node, Option<&Node>) -> Node) -> Self {
        let nodes = self.0.iter().map(|(step, node)| (step.clone(), with(node, other.0.get(step))));
        Self(nodes.filter(|(_, node)| !node.is_empty()).collect())
    }

    /// Every member in the order in which conflicts are told: the members of a level, then what is below them.
    pub(crate) fn paths(&self) -> Vec<Vec<Step>> {
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        all
    }

    fn collect(&self, prefix: &mut Vec<Step>, all: &mut Vec<Vec<Step>>) {
        for (step, _) in self.0.iter().filter(|(_, node)| node.member) {
            all.push(prefix.iter().chain([step]).cloned().collect());
        }
        for (step, node) in &self.0 {
            prefix.push(step.clone());
            node.below.collect(prefix, all);
            prefix.pop();
        }
    }

    /// Reads FieldsV1. Steps of unknown kinds are dropped, as Kubernetes does.
    pub(crate) fn decode(fields: &Value) -> Self {
        let mut set = Self::default();
        for (text, inner) in fields.as_object().into_iter().flatten() {
            if let Some(step) = Step::decode(text) {
                let below = Self::decode(inner);
                let member = below.is_empty() || inner.get(".").is_some();
                set.put(step, member, below);
            }
        }
        set
    }

    pub(crate) fn encode(&self) -> Value {
        let mut fields = Map::new();
        for (step, member, below) in self.steps() {
            let mut inner = below.encode();
            if let (true, false, Some(inner)) = (member, below.is_empty(), inner.as_object_mut()) {
                inner.insert(".".into(), json!({}));
            }
            fields.insert(step.encode(), inner);
        }
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(fields: &Value) -> FieldSet {
        FieldSet::decode(fields)
    }

    #[test]
    fn a_dot_says_that_a_field_with_fields_below_it_is_a_member_too() {
        let fields = json!({"f:labels": {".": {}, "f:app": {}}, "f:spec": {"f:replicas": {}}});
        let paths: Vec<String> =
            set(&fields).paths().iter().map(|p| p.iter().map(Step::to_string).collect()).collect();
        assert_eq!(paths, [".labels", ".labels.app", ".spec.replicas"]);
        assert_eq!(set(&fields).encode(), fields);
    }

    #[test]
    fn a_level_is_told_before_what_is_below_it() {
        let fields = json!({"f:a": {"f:x": {}}, "f:b": {}});
        let paths: Vec<String> =
            set(&fields).paths().iter().map(|p| p.iter().map(Step::to_string).collect()).collect();
        assert_eq!(paths, [".b", ".a.x"]);
    }

    #[test]
    fn difference_takes_members_and_without_takes_all_below_them() {
        let all = set(&json!({"f:status": {"f:phase": {}}, "f:spec": {".": {}, "f:a": {}}}));
        let gone = FieldSet::of_fields(&["status", "spec"]);
        assert_eq!(all.difference(&gone), set(&json!({"f:status": {"f:phase": {}}, "f:spec": {"f:a": {}}})));
        assert_eq!(all.without(&gone), FieldSet::default());
    }

    #[test]
    fn unknown_steps_are_dropped() {
        assert_eq!(set(&json!({"x:new": {}, "f:a": {}})), FieldSet::of_fields(&["a"]));
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            "[a-c]".prop_map(Step::Field),
            ("[ab]", 0..3i64).prop_map(|(name, value)| Step::Key([(name, json!(value))].into())),
            prop_oneof![(0..3i64).prop_map(|i| json!(i)), "[a-b\"\\\\]".prop_map(|s| json!(s))]
                .prop_map(Step::Value),
            (0..3i64).prop_map(Step::Index),
        ]
    }

    fn sets() -> impl Strategy<Value = FieldSet> {
        prop::collection::vec(prop::collection::vec(step(), 1..4), 0..8).prop_map(|paths| {
            let mut set = FieldSet::default();
            paths.iter().for_each(|path| set.insert(path));
            set
        })
    }

    proptest! {
        #[test]
        fn fields_v1_round_trips(a in sets()) {
            prop_assert_eq!(FieldSet::decode(&a.encode()), a);
        }

        #[test]
        fn the_algebra_is_that_of_sets_of_paths(a in sets(), b in sets(), c in sets()) {
            let members = |s: &FieldSet| s.paths().into_iter().collect::<std::collections::BTreeSet<_>>();
            let (x, y) = (members(&a), members(&b));
            prop_assert_eq!(members(&a.union(&b)), x.union(&y).cloned().collect());
            prop_assert_eq!(members(&a.intersection(&b)), x.intersection(&y).cloned().collect());
            prop_assert_eq!(members(&a.difference(&b)), x.difference(&y).cloned().collect());
            prop_assert_eq!(a.union(&b), b.union(&a));
            prop_assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
            prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
            prop_assert!(a.difference(&a).is_empty());
            let below_a_member = |path: &Vec<Step>| (1..=path.len()).any(|n| y.contains(&path[..n]));
            prop_assert_eq!(members(&a.without(&b)), x.into_iter().filter(|p| !below_a_member(p)).collect());
        }
    }
}
