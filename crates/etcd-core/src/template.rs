//! What a member's pod is made from, as data.
//!
//! Everything a user can set is in here, and nothing else: so a new operator never restarts a member because its own part of
//! the pod has changed. It is kept as an annotation of the member's StatefulSet, so that a member whose turn has not come
//! can be rendered again as it is.

use std::{collections::BTreeMap, fmt};

use etcd_types::{Medium, PodOptions, Tls};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Version;

/// How many characters of a fingerprint people and labels get to see.
const SHOWN: usize = 10;

/// What a member's pod is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Template {
    /// The version of etcd; the flags in `args` are of this version.
    pub version: Version,
    /// The image, with its tag or digest.
    pub image: String,
    /// The flags for the typed settings and the extra arguments, in order. Those that the operator owns (names, URLs,
    /// certificates, data directory, `initial-*`) are added by whoever builds the pod.
    pub args: Vec<String>,
    /// What surrounds etcd in the pod.
    pub pod: PodOptions,
    /// How members prove who they are.
    pub tls: Tls,
    /// What the data is kept on.
    pub medium: Medium,
    /// With [`Medium::Memory`]: how much.
    pub memory: Option<Quantity>,
    /// How the member comes into its cluster. It is no part of the fingerprint: a change of it restarts nobody.
    pub start: Start,
}

impl Template {
    /// The fingerprint of all but [`Template::start`]: a pod that carries another one is outdated.
    pub fn fingerprint(&self) -> String {
        let settled = Self { start: Start::Started, ..self.clone() };
        fingerprint(&settled)
    }
}

/// How a member comes into its cluster: what `--initial-cluster-state` and `--initial-cluster` say.
///
/// etcd reads them only while the data directory is empty. So once a member has started, they say something that an empty
/// directory cannot start with: whoever lost the disk of a member gets an error, never a second cluster or a voter that has
/// forgotten what it voted for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Start {
    /// `new`, and the founders. Only while no cluster ID is known.
    Found {
        /// All founders: name and peer URL.
        members: BTreeMap<String, String>,
    },
    /// `existing`, and the members as a live list has them, this one included. Only until it has started.
    Join {
        /// All members: name and peer URL.
        members: BTreeMap<String, String>,
    },
    /// `existing`, and this member alone. An empty directory under a started member is an error, and stays one.
    Started,
}

impl Start {
    /// The fingerprint of it, for a pod's annotation.
    pub fn fingerprint(&self) -> String {
        fingerprint(self)
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |members: &BTreeMap<String, String>| members.keys().cloned().collect::<Vec<_>>().join(",");
        match self {
            Self::Found { members } => write!(f, "new {}", of(members)),
            Self::Join { members } => write!(f, "existing {}", of(members)),
            Self::Started => f.write_str("existing"),
        }
    }
}

/// The same for the same content, whoever computes it: maps are ordered, and nothing here depends on a build.
fn fingerprint(of: &impl Serialize) -> String {
    // Serialising plain data with string keys cannot fail; an empty text would only mean one roll too many.
    let text = serde_json::to_string(of).unwrap_or_default();
    let mut hex =
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    hex.truncate(SHOWN);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Template {
        Template {
            version: "3.6.16".parse().unwrap(),
            image: "quay.io/coreos/etcd:v3.6.16".into(),
            args: vec!["--log-level=info".into()],
            pod: PodOptions::default(),
            tls: Tls::default(),
            medium: Medium::PersistentVolume,
            memory: None,
            start: Start::Started,
        }
    }

    #[test]
    fn how_a_member_came_in_is_no_reason_to_restart_it() {
        let members = BTreeMap::from([("db-1".to_owned(), "https://db-1".to_owned())]);
        let founder = Template { start: Start::Found { members }, ..template() };
        assert_eq!(founder.fingerprint(), template().fingerprint());
        assert_ne!(founder.start.fingerprint(), template().start.fingerprint());
    }

    #[test]
    fn every_setting_is_a_reason() {
        let mut pod = PodOptions::default();
        pod.labels.insert("team".into(), "storage".into());
        let others = [
            Template { version: "3.6.15".parse().unwrap(), ..template() },
            Template { image: "mirror/etcd:v3.6.16".into(), ..template() },
            Template { args: vec!["--log-level=debug".into()], ..template() },
            Template { pod, ..template() },
            Template { medium: Medium::Memory, ..template() },
        ];
        for other in others {
            assert_ne!(other.fingerprint(), template().fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn a_template_is_read_as_it_was_written() {
        let text = serde_json::to_string(&template()).unwrap();
        assert_eq!(serde_json::from_str::<Template>(&text).unwrap(), template());
    }
}
