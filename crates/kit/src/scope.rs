//! Which namespaces the operator looks after, and how that becomes watches.
//!
//! The scope can change while the operator runs. [`resolve`] turns a scope by labels into the namespaces that carry them and
//! keeps it up to date; informers know only named namespaces, and wait while all they have is labels.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Namespace;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    KindId, Row,
    informer::{Informer, Select, Store},
    metrics::Metrics,
    slim::Slim,
};

/// Which namespaces are looked after. Cluster-scoped kinds are always watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of them, with one watch per kind.
    All,
    /// These, with one watch per kind and namespace. Needs no permissions elsewhere; above some twenty namespaces, watching
    /// [`All`](Self::All) is cheaper.
    Only(BTreeSet<String>),
    /// All but these, with one watch per kind.
    Except(BTreeSet<String>),
    /// Those that this label selector matches, as they come and go. See [`resolve`].
    Labelled(String),
}

/// One list and watch: of one namespace, or with `""` of all, narrowed by a field selector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Territory {
    pub(crate) namespace: String,
    pub(crate) fields: Option<String>,
}

impl Scope {
    /// Whether `namespace` is in it. Nothing is in a scope by labels until it is resolved.
    pub fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(namespaces) => namespaces.contains(namespace),
            Self::Except(namespaces) => !namespaces.contains(namespace),
            Self::Labelled(_) => false,
        }
    }

    /// What to list and watch for `kind`; nothing can be said before a scope by labels is resolved.
    pub(crate) fn territories(&self, kind: &KindId) -> Option<BTreeSet<Territory>> {
        let everywhere = |fields| BTreeSet::from([Territory { namespace: String::new(), fields }]);
        Some(match self {
            _ if !kind.namespaced => everywhere(None),
            Self::All => everywhere(None),
            Self::Only(namespaces) => {
                namespaces.iter().map(|name| Territory { namespace: name.clone(), fields: None }).collect()
            }
            Self::Except(namespaces) if namespaces.is_empty() => everywhere(None),
            Self::Except(namespaces) => {
                let fields: Vec<_> =
                    namespaces.iter().map(|name| format!("metadata.namespace!={name}")).collect();
                everywhere(Some(fields.join(",")))
            }
            Self::Labelled(_) => return None,
        })
    }
}

/// Copies `from` to `to` until it is stopped, with each [`Scope::Labelled`] replaced by the namespaces that it means now, and
/// again whenever they change. One of these serves all informers of an operator. While a new label selector is being looked up,
/// `to` keeps its last scope.
pub async fn resolve(
    client: kube::Client,
    mut from: watch::Receiver<Scope>,
    to: watch::Sender<Scope>,
    metrics: Metrics,
    stop: CancellationToken,
) {
    let mut open = true;
    while !stop.is_cancelled() {
        let scope = from.borrow_and_update().clone();
        let follow = async {
            match scope {
                Scope::Labelled(selector) => follow_labels(&client, &selector, &to, &metrics).await,
                named => publish(&to, named),
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = follow => {}
            () = stop.cancelled() => {}
            changed = from.changed(), if open => open = changed.is_ok(),
        }
    }
}

async fn follow_labels(client: &kube::Client, selector: &str, to: &watch::Sender<Scope>, metrics: &Metrics) {
    let (_all, everywhere) = watch::channel(Scope::All);
    let informer = Informer::<Slim<Namespace>>::new(
        client.clone(),
        Select::labels(selector),
        everywhere,
        metrics.clone(),
    );
    let store = informer.store();
    let publish_changes = async {
        let mut changed = store.subscribe();
        store.wait_synced().await;
        loop {
            publish(to, Scope::Only(names(&store)));
            changed.next().await;
        }
    };
    tokio::select! {
        () = informer.run(CancellationToken::new()) => {}
        () = publish_changes => {}
    }
}

fn names(store: &Store<Slim<Namespace>>) -> BTreeSet<String> {
    store.list().iter().map(|namespace| Row::key(&**namespace).name().to_owned()).collect()
}

fn publish(to: &watch::Sender<Scope>, scope: Scope) {
    to.send_if_modified(|current| {
        let changed = *current != scope;
        *current = scope;
        changed
    });
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().copied().map(String::from).collect()
    }

    #[test]
    fn a_scope_becomes_as_few_watches_as_possible() {
        let check = |scope: Scope, expected: &str| {
            let watches = scope.territories(&KindId::of::<Pod>()).map(|watches| {
                let one = |t: &Territory| format!("{:?} {}", t.namespace, t.fields.as_deref().unwrap_or("*"));
                watches.iter().map(one).collect::<Vec<_>>().join(" | ")
            });
            assert_eq!(watches.as_deref().unwrap_or("unknown"), expected, "{scope:?}");
        };
        check(Scope::All, r#""" *"#);
        check(Scope::Only(set(&["b", "a"])), r#""a" * | "b" *"#);
        check(Scope::Only(set(&[])), "");
        check(Scope::Except(set(&[])), r#""" *"#);
        check(Scope::Except(set(&["x", "y"])), r#""" metadata.namespace!=x,metadata.namespace!=y"#);
        check(Scope::Labelled("team=db".into()), "unknown");
    }

    #[test]
    fn kinds_without_namespaces_are_watched_in_every_scope() {
        for scope in [Scope::All, Scope::Only(set(&["a"])), Scope::Labelled("team=db".into())] {
            let watches = scope.territories(&KindId::of::<Node>()).unwrap();
            assert_eq!(watches, Scope::All.territories(&KindId::of::<Node>()).unwrap());
        }
    }

    #[test]
    fn a_scope_says_what_is_in_it() {
        assert!(Scope::All.covers("a"));
        assert!(Scope::Only(set(&["a"])).covers("a") && !Scope::Only(set(&["a"])).covers("b"));
        assert!(!Scope::Except(set(&["a"])).covers("a") && Scope::Except(set(&["a"])).covers("b"));
        assert!(!Scope::Labelled("a=b".into()).covers("a"));
    }
}
