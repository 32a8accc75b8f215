//! What the operator may do, declared in code beside what it does: from it come the RBAC manifests, and the test that fails when
//! the server saw a request that nobody declared.

mod check;
mod manifests;
mod merge;

use std::{borrow::Cow, collections::BTreeSet, fmt};

pub use check::{Missing, Report, Request, Unused, check};
pub use manifests::{Install, Manifests, Watched, manifests};
pub use merge::{merged, rules};

use crate::{KindId, Row, lead::Election};

/// The verbs of Kubernetes' RBAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// As RBAC writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How far an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Objects outside of namespaces.
    Cluster,
    /// Objects in the namespaces that the operator looks after.
    Watched,
    /// Objects in the operator's own namespace.
    Home,
}

/// The right to do something with one resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// API group; empty for core.
    pub group: Cow<'static, str>,
    /// For example `pods`, or `pods/status`.
    pub resource: Cow<'static, str>,
    /// What may be done.
    pub verbs: BTreeSet<Verb>,
    /// Where.
    pub reach: Reach,
    /// With which objects; with all when it is empty. `create` cannot be limited to names.
    pub names: BTreeSet<Cow<'static, str>>,
}

impl Access {
    /// The right to do `verbs` with a resource.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        resource: impl Into<Cow<'static, str>>,
        verbs: impl IntoIterator<Item = Verb>,
        reach: Reach,
    ) -> Self {
        let (group, resource) = (group.into(), resource.into());
        Self { group, resource, verbs: verbs.into_iter().collect(), reach, names: BTreeSet::new() }
    }

    /// The right to do `verbs` with a kind.
    pub fn to(kind: &KindId, verbs: impl IntoIterator<Item = Verb>) -> Self {
        let reach = if kind.namespaced { Reach::Watched } else { Reach::Cluster };
        Self::new(kind.group.clone(), kind.plural.clone(), verbs, reach)
    }

    /// What an [`Informer`](crate::Informer) of `R` needs.
    pub fn watch<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::List, Verb::Watch])
    }

    /// What [`Context::apply`](crate::Context::apply) of `R` needs. The server wants `create` too when there is no object yet.
    pub fn apply<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Get, Verb::Create, Verb::Patch])
    }

    /// What [`Context::create`](crate::Context::create) of `R` needs.
    pub fn create<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Create])
    }

    /// What [`Context::confirm`](crate::Context::confirm) of `R` needs.
    pub fn confirm<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Get])
    }

    /// What [`Context::prune`](crate::Context::prune) of `R` needs.
    pub fn prune<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Delete])
    }

    /// What [`Context::write_status`](crate::Context::write_status) of `R` needs.
    pub fn status<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Patch]).subresource("status")
    }

    /// What the finalizer verbs of [`Context`](crate::Context) need.
    pub fn finalize<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Patch])
    }

    /// What it takes to be named as an owner that blocks its own deletion. Clusters with the admission plugin
    /// OwnerReferencesPermissionEnforcement (OpenShift has it) check this right when [`own`](crate::own)ed objects are applied.
    pub fn owner<R: Row>() -> Self {
        Self::to(&R::kind(), [Verb::Update]).subresource("finalizers")
    }

    /// The same for a subresource, for example `status` or `scale`.
    #[must_use]
    pub fn subresource(mut self, name: &str) -> Self {
        self.resource = format!("{}/{name}", self.resource).into();
        self
    }

    /// The same, but only with objects of these names.
    #[must_use]
    pub fn named<N: Into<Cow<'static, str>>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names.extend(names.into_iter().map(Into::into));
        self
    }
}

/// What telling events takes.
pub fn of_events() -> Vec<Access> {
    vec![Access::new("events.k8s.io", "events", [Verb::Create, Verb::Patch], Reach::Watched)]
}

/// What leading takes.
pub fn of_lease(election: &Election) -> Vec<Access> {
    let leases =
        |verbs: &[Verb]| Access::new("coordination.k8s.io", "leases", verbs.iter().copied(), Reach::Home);
    vec![leases(&[Verb::Create]), leases(&[Verb::Get, Verb::Update]).named([election.name.clone()])]
}

#[cfg(test)]
mod tests;
