//! Selectors: which objects a list, a watch or a deletion of many is about. An empty selector takes all.

mod fields;
mod labels;

pub(crate) use fields::FieldSelector;
pub(crate) use labels::LabelSelector;
