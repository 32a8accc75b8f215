//! What the containers of backups ask for: memory, and room for a database that is restored only to be looked at. Pure.

use k8s_openapi::{api::core::v1::ResourceRequirements, apimachinery::pkg::api::resource::Quantity};

const MIB: u64 = 1 << 20;
/// The size that a database is taken to have when nothing is known of it: etcd's own quota.
const UNKNOWN: u64 = 2048 * MIB;

/// What a verification by restore needs, for a database of a certain size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Needs {
    /// The limit of the volume that it works on: the snapshot, the restored database, and the log, of which etcd makes two files in advance.
    pub(super) room: Quantity,
    /// Of the container that compares: it asks the node for that room, for the whole pod.
    pub(super) ours: ResourceRequirements,
    /// Of the containers that run etcd: it keeps an index of all keys in memory, which is larger than the database where values are small.
    pub(super) etcd: ResourceRequirements,
}

pub(super) fn needs(bytes: Option<i64>) -> Needs {
    let database = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(UNKNOWN);
    let database = database.div_ceil(MIB);
    let room = 2 * database + database / 4 + 512;
    let mut ours = usual();
    ours.requests.get_or_insert_default().insert("ephemeral-storage".to_owned(), mebibytes(room));
    let etcd = ResourceRequirements {
        requests: Some(amounts([("cpu", cpu()), ("memory", mebibytes(database / 4 + 128))])),
        limits: Some(amounts([("memory", mebibytes(2 * database + 512))])),
        claims: None,
    };
    Needs { room: mebibytes(room), ours, etcd }
}

/// Of a container that streams: its memory does not depend on the size of the database.
pub(super) fn usual() -> ResourceRequirements {
    ResourceRequirements {
        requests: Some(amounts([("cpu", cpu()), ("memory", mebibytes(64))])),
        limits: Some(amounts([("memory", mebibytes(128))])),
        claims: None,
    }
}

fn cpu() -> Quantity {
    Quantity("50m".to_owned())
}

fn mebibytes(count: u64) -> Quantity {
    Quantity(format!("{count}Mi"))
}

fn amounts<const N: usize>(all: [(&str, Quantity); N]) -> std::collections::BTreeMap<String, Quantity> {
    all.map(|(name, amount)| (name.to_owned(), amount)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_asks_for_what_its_database_needs() {
        // Bytes; room; memory of etcd: asked for, and at most.
        let cases = [
            (Some(0), "512Mi", "128Mi", "512Mi"),
            (Some(25 << 20), "568Mi", "134Mi", "562Mi"),
            (Some((25 << 20) + 1), "570Mi", "134Mi", "564Mi"),
            (Some(8 << 30), "18944Mi", "2176Mi", "16896Mi"),
            (None, "5120Mi", "640Mi", "4608Mi"),
            (Some(-1), "5120Mi", "640Mi", "4608Mi"),
        ];
        for (bytes, room, asked, limit) in cases {
            let needs = needs(bytes);
            let memory =
                |all: Option<std::collections::BTreeMap<String, Quantity>>| all.unwrap()["memory"].0.clone();
            let etcd = (memory(needs.etcd.requests), memory(needs.etcd.limits));
            assert_eq!(
                (needs.room.0.as_str(), etcd),
                (room, (asked.to_owned(), limit.to_owned())),
                "{bytes:?}"
            );
            assert_eq!(needs.ours.requests.unwrap()["ephemeral-storage"].0, room);
        }
    }
}
