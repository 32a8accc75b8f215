//! Whose object is it: owner references, the recommended labels, and the refusal to take what is somebody else's.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt as _};

use crate::{Error, Key, KindId, Result};

/// Makes `owner` the controller of `child`: the garbage collector deletes the child with it, and no other controller takes it.
///
/// It refuses an owner that cannot own this child. Kubernetes would accept the reference, then find no such owner, and delete
/// the child at once.
pub fn own<K, O>(child: &mut K, owner: &O) -> Result<()>
where
    K: Resource<DynamicType = ()>,
    O: Resource<DynamicType = ()>,
    K::Scope: 'static,
    O::Scope: 'static,
{
    let (kind, key) = (KindId::of::<K>(), Key::of(child));
    let (owner_kind, owner_key) = (KindId::of::<O>(), Key::of(owner));
    let refuse =
        |why| Err(Error::Invalid(format!("{owner_kind} {owner_key} cannot own {kind} {key}: {why}")));
    if owner_kind.namespaced && owner_key.namespace() != key.namespace() {
        return refuse("owner and owned must be in the same namespace");
    }
    let Some(reference) = owner.controller_owner_ref(&()) else {
        return refuse("the owner has no UID, so it was not read from the server");
    };
    let references = child.owner_references_mut();
    references.retain(|known| known.uid != reference.uid);
    references.push(OwnerReference { block_owner_deletion: Some(true), ..reference });
    Ok(())
}

/// `child` with `owner` as its controller: [`own`] where it cannot fail, because both are in the same namespace and the owner comes
/// from the server.
pub fn owned<K, O>(mut child: K, owner: &O) -> K
where
    K: Resource<DynamicType = ()>,
    O: Resource<DynamicType = ()>,
    K::Scope: 'static,
    O::Scope: 'static,
{
    own(&mut child, owner).ok();
    child
}

/// The labels that Kubernetes recommends for every object (`app.kubernetes.io/…`), by which people and tools find them.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// What it is, for example `etcd`.
    pub name: &'a str,
    /// Which one it is: the name of the owner.
    pub instance: &'a str,
    /// Its part in the whole, for example `member`.
    pub component: &'a str,
    /// Who looks after it, for example `etcd-operator`.
    pub managed_by: &'a str,
}

impl Labels<'_> {
    /// Label and value.
    pub fn pairs(&self) -> [(&'static str, &str); 4] {
        [
            ("app.kubernetes.io/name", self.name),
            ("app.kubernetes.io/instance", self.instance),
            ("app.kubernetes.io/component", self.component),
            ("app.kubernetes.io/managed-by", self.managed_by),
        ]
    }

    /// The same, as objects have them.
    pub fn map(&self) -> BTreeMap<String, String> {
        self.pairs().map(|(label, value)| (label.to_owned(), value.to_owned())).into()
    }

    /// Puts them on `object`.
    pub fn put_on<K: Resource>(&self, object: &mut K) {
        object.labels_mut().extend(self.map());
    }
}

/// Refuses when `live` has a controller that is not the one that `desired` asks for: two controllers would fight for ever.
pub(super) fn refuse_foreign<K: Resource<DynamicType = ()>>(desired: &K, live: &K) -> Result<()>
where
    K::Scope: 'static,
{
    let (Some(ours), Some(theirs)) = (controller(desired), controller(live)) else { return Ok(()) };
    if ours.uid == theirs.uid {
        return Ok(());
    }
    let (kind, key) = (KindId::of::<K>(), Key::of(live));
    let (mine, other) = (format!("{} {}", ours.kind, ours.name), format!("{} {}", theirs.kind, theirs.name));
    let remedy = if mine == other {
        format!("That {mine} was deleted: its {kind} goes with it, and then a new one is made")
    } else {
        format!("Rename {mine} or {other}, or delete the {kind} if {other} does not need it")
    };
    Err(Error::Foreign { kind: Box::new(kind), key, owner: format!("{other} (uid {})", theirs.uid), remedy })
}

fn controller<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.owner_references().iter().find(|reference| reference.controller == Some(true))
}
