//! One revision as one transaction: the same changes in the same order, so that etcd counts one revision, too.
//!
//! etcd takes 128 operations in a transaction unless told otherwise (`--max-txn-ops`). One request of a client may have deleted more keys than that
//! (a range, or everything that a lease held): those are deleted by ranges again, where nothing else lies between, and transactions within
//! transactions hold the rest.

use bytes::{BufMut as _, Bytes, BytesMut};
use etcd_api::{Client, pb};
use pb::{compare, event::EventType, request_op::Request};

use super::chunk::Revision;

/// etcd's default.
pub(super) const MOST: usize = 128;

/// A change of a key, or of all keys of a range.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    Put {
        key: Bytes,
        value: Bytes,
    },
    Delete {
        key: Bytes,
    },
    /// From the first to the last, both included.
    DeleteAll {
        first: Bytes,
        last: Bytes,
    },
}

/// What the revision changed. Leases are not restored: what they held is written without one.
pub(super) fn changes(revision: &Revision) -> Vec<Change> {
    let change = |event: &pb::Event| {
        let kv = event.kv.clone().unwrap_or_default();
        match event.r#type() {
            EventType::Put => Change::Put { key: kv.key, value: kv.value },
            EventType::Delete => Change::Delete { key: kv.key },
        }
    };
    revision.events.iter().map(change).collect()
}

/// With deletes made ranges, where that changes nothing else. Only what is too long needs it.
pub(super) async fn shortened(client: &Client, changes: Vec<Change>) -> etcd_api::Result<Vec<Change>> {
    if changes.len() <= MOST {
        return Ok(changes);
    }
    let mut short = Vec::new();
    let mut keys: Vec<Bytes> = Vec::new();
    for change in changes {
        match change {
            // A range deletes in the order of its keys.
            Change::Delete { key } if keys.last().is_none_or(|last| *last < key) => keys.push(key),
            Change::Delete { key } => {
                ranges(client, &std::mem::take(&mut keys), &mut short).await?;
                keys.push(key);
            }
            other => {
                ranges(client, &std::mem::take(&mut keys), &mut short).await?;
                short.push(other);
            }
        }
    }
    ranges(client, &keys, &mut short).await?;
    Ok(short)
}

/// Ranges that hold these keys and no others, by halving.
async fn ranges(client: &Client, keys: &[Bytes], into: &mut Vec<Change>) -> etcd_api::Result<()> {
    let mut todo = vec![keys];
    while let Some(keys) = todo.pop() {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { continue };
        if keys.len() == 1 {
            into.push(Change::Delete { key: first.clone() });
        } else if count(client, first, last).await? == keys.len() as i64 {
            into.push(Change::DeleteAll { first: first.clone(), last: last.clone() });
        } else if let Some((left, right)) = keys.split_at_checked(keys.len() / 2) {
            todo.push(right);
            todo.push(left);
        }
    }
    Ok(())
}

async fn count(client: &Client, first: &Bytes, last: &Bytes) -> etcd_api::Result<i64> {
    let request = pb::RangeRequest {
        key: first.clone(),
        range_end: after(last),
        count_only: true,
        ..pb::RangeRequest::default()
    };
    Ok(client.call(client.kv().range(request)).await?.count)
}

/// The first key after this one.
fn after(key: &Bytes) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.put_u8(0);
    next.freeze()
}

/// The transaction. It happens only if the keys that are put have the version before: in another etcd, or a second time, nothing happens.
pub(super) fn transaction(revision: &Revision, changes: Vec<Change>) -> pb::TxnRequest {
    let compare = revision.events.iter().filter(|event| event.r#type() == EventType::Put).take(MOST / 4);
    let compare = compare
        .filter_map(|event| event.kv.as_ref())
        .map(|kv| pb::Compare {
            result: compare::CompareResult::Equal.into(),
            target: compare::CompareTarget::Version.into(),
            key: kv.key.clone(),
            target_union: Some(compare::TargetUnion::Version(kv.version - 1)),
            ..pb::Compare::default()
        })
        .collect();
    let operations = changes.into_iter().map(operation).collect();
    pb::TxnRequest { compare, success: nested(operations), failure: Vec::new() }
}

fn operation(change: Change) -> pb::RequestOp {
    let request = match change {
        Change::Put { key, value } => {
            Request::RequestPut(pb::PutRequest { key, value, ..pb::PutRequest::default() })
        }
        Change::Delete { key } => {
            Request::RequestDeleteRange(pb::DeleteRangeRequest { key, ..pb::DeleteRangeRequest::default() })
        }
        Change::DeleteAll { first, last } => {
            let range_end = after(&last);
            Request::RequestDeleteRange(pb::DeleteRangeRequest { key: first, range_end, prev_kv: false })
        }
    };
    pb::RequestOp { request: Some(request) }
}

/// A tree of transactions. etcd counts along every path down: with n levels each may have an nth part of what is allowed.
fn nested(mut operations: Vec<pb::RequestOp>) -> Vec<pb::RequestOp> {
    let levels = (1..=4).find(|levels| (MOST / levels).pow(*levels as u32) >= operations.len()).unwrap_or(4);
    let width = MOST / levels;
    for _ in 1..levels {
        let inner = |success: &[pb::RequestOp]| pb::RequestOp {
            request: Some(Request::RequestTxn(pb::TxnRequest {
                success: success.to_vec(),
                ..pb::TxnRequest::default()
            })),
        };
        operations = operations.chunks(width).map(inner).collect();
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deepest(operations: &[pb::RequestOp]) -> (usize, usize) {
        let inner = operations.iter().filter_map(|operation| match &operation.request {
            Some(Request::RequestTxn(transaction)) => Some(deepest(&transaction.success)),
            _ => None,
        });
        let (cost, leaves) = inner.fold((0, 0), |(cost, leaves), (c, l)| (cost.max(c), leaves + l));
        let leaves = if cost == 0 { operations.len() } else { leaves };
        (cost + operations.len(), leaves)
    }

    #[test]
    fn every_path_of_a_tree_keeps_to_what_etcd_allows() {
        for count in [1, 127, 128, 129, 4096, 4097, 70_000, 900_000] {
            let one = operation(Change::Delete { key: Bytes::from_static(b"k") });
            let (cost, leaves) = deepest(&nested(vec![one; count]));
            assert!(cost <= MOST, "{count}: {cost}");
            assert_eq!(leaves, count);
        }
    }

    #[test]
    fn a_put_happens_only_after_the_version_before() {
        let kv =
            pb::KeyValue { key: Bytes::from_static(b"k"), version: 3, lease: 7, ..pb::KeyValue::default() };
        let event = pb::Event { kv: Some(kv), ..pb::Event::default() };
        let revision = Revision { revision: 9, received: 0, events: vec![event] };
        let made = transaction(&revision, changes(&revision));
        assert_eq!(made.compare[0].target_union, Some(compare::TargetUnion::Version(2)));
        let Some(Request::RequestPut(put)) = &made.success[0].request else { panic!("not a put") };
        assert_eq!(put.lease, 0);
    }
}
