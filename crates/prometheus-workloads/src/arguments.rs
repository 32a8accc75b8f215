//! The arguments of a container, gated by the operand's version.

use prometheus_types::pod::Argument;
use rendering::Version;

use crate::gates::{Gates, knows};

/// Arguments in the order in which they are given. One that the version does not know is left out.
pub(crate) struct Arguments<'a> {
    version: &'a Version,
    gates: Gates,
    list: Vec<Argument>,
}

/// An argument of the user's that the operator manages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operator sets {} itself: leave {} out, or use the field of the resource", .0.join(", "), if .0.len() == 1 { "it" } else { "them" })]
pub struct Conflict(Vec<String>);

impl<'a> Arguments<'a> {
    pub(crate) fn new(version: &'a Version, gates: Gates) -> Self {
        Self { version, gates, list: Vec::new() }
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        knows(self.gates, name, self.version)
    }

    /// An argument without value.
    pub(crate) fn flag(&mut self, name: &str) {
        self.value(name, "");
    }

    pub(crate) fn flag_if(&mut self, name: &str, wanted: bool) {
        if wanted {
            self.flag(name);
        }
    }

    pub(crate) fn value(&mut self, name: &str, value: impl Into<String>) {
        if self.knows(name) {
            self.list.push(Argument { name: name.to_owned(), value: value.into() });
        }
    }

    /// Left out when empty.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.value(name, value);
        }
    }

    /// Left out when absent.
    pub(crate) fn some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.value(name, value.to_string());
        }
    }

    /// An experimental feature that a field of the resource stands for.
    pub(crate) fn feature(&mut self, feature: &str) {
        if self.knows(&format!("enable-feature={feature}")) {
            self.list.push(Argument { name: "enable-feature".to_owned(), value: feature.to_owned() });
        }
    }

    /// The operand's own defaults need no argument.
    pub(crate) fn unless(&mut self, name: &str, value: &str, default: &str) {
        if value != default {
            self.text(name, value);
        }
    }

    /// The user's own arguments follow the operator's; they must not say the same, nor its opposite.
    pub(crate) fn finish(self, additional: &[Argument]) -> Result<Vec<String>, Conflict> {
        let conflicts: Vec<_> =
            additional.iter().filter_map(|argument| managed(&self.list, &argument.name)).collect();
        if !conflicts.is_empty() {
            return Err(Conflict(conflicts));
        }
        Ok(self.list.iter().chain(additional).map(written).collect())
    }
}

/// The name under which `list` already has the argument or its negation.
pub(crate) fn managed(list: &[Argument], name: &str) -> Option<String> {
    let has = |name: &str| list.iter().any(|argument| argument.name == name);
    if has(name) {
        return Some(name.to_owned());
    }
    let negated = name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned);
    has(&negated).then_some(negated)
}

fn written(argument: &Argument) -> String {
    let Argument { name, value } = argument;
    if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::PROMETHEUS;

    fn argument(name: &str, value: &str) -> Argument {
        Argument { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_version_gets_the_arguments_it_knows_in_their_order() {
        let version = Version::parse("2.53.0").unwrap();
        let mut arguments = Arguments::new(&version, PROMETHEUS);
        arguments.value("config.file", "/a");
        arguments.feature("agent");
        arguments.feature("xor2-encoding");
        arguments.flag("agent");
        assert_eq!(
            arguments.finish(&[argument("x", "")]).unwrap(),
            ["--config.file=/a", "--enable-feature=agent", "--x"]
        );
    }

    #[test]
    fn what_the_operator_says_the_user_cannot_unsay() {
        let version = Version::parse("2.53.0").unwrap();
        let refused = |name: &str| {
            let mut arguments = Arguments::new(&version, PROMETHEUS);
            arguments.flag("storage.tsdb.wal-compression");
            arguments.finish(&[argument(name, "")]).unwrap_err().to_string()
        };
        let message = "the operator sets storage.tsdb.wal-compression itself: leave it out, or use the field of the resource";
        assert_eq!(refused("storage.tsdb.wal-compression"), message);
        assert_eq!(refused("no-storage.tsdb.wal-compression"), message);
    }
}
