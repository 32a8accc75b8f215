//! A scenario: where the world starts, who operates it, and what the user does.

use std::{sync::Arc, time::Duration};

use apiserver::{Connection, Server, User};
use futures::future::BoxFuture;

use crate::etcd::Etcd;

/// Runs until it is dropped. It is started again, on a new connection, after every crash.
pub type Operator = Arc<dyn Fn(Connection) -> BoxFuture<'static, ()>>;

/// Long enough for an operator that only waits for events.
const REST: Duration = Duration::from_secs(60);

/// Changes an object, known by its place, before runs are compared.
pub(crate) type Edit = fn(&str, &mut serde_json::Value);

type Act = Arc<dyn Fn(kube::Client) -> BoxFuture<'static, kube::Result<()>>>;

/// One thing that the user does; the next follows when the world has come to rest.
#[derive(Clone)]
pub struct Step {
    pub(crate) name: &'static str,
    pub(crate) act: Act,
}

/// What is played.
#[derive(Clone)]
pub struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) prepare: Arc<dyn Fn(&Server)>,
    pub(crate) operator: Operator,
    pub(crate) user: User,
    /// Nobody asked the server for anything but watches for this long: the world is at rest.
    pub(crate) rest: Duration,
    pub(crate) steps: Vec<Step>,
    pub(crate) edit: Option<Edit>,
    pub(crate) etcd: Option<Etcd>,
}

impl Scenario {
    /// A world that `prepare` sets up (definitions, namespaces), looked after by `operator`.
    pub fn new(
        name: &'static str,
        prepare: impl Fn(&Server) + 'static,
        operator: impl Fn(Connection) -> BoxFuture<'static, ()> + 'static,
    ) -> Self {
        let (prepare, operator) = (Arc::new(prepare), Arc::new(operator));
        Self {
            name,
            prepare,
            operator,
            user: User::admin(),
            rest: REST,
            steps: Vec::new(),
            edit: None,
            etcd: None,
        }
    }

    /// The operator is this user, with no more rights than `prepare` gives it.
    #[must_use]
    pub fn operated_by(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// The operator's calls of this etcd, which `prepare` starts and which it dials when it starts, are broken too.
    #[must_use]
    pub fn with_etcd(mut self, etcd: Etcd) -> Self {
        self.etcd = Some(etcd);
        self
    }

    /// The world is at rest when nothing happened for this long: longer than the longest deadline that somebody waits for.
    #[must_use]
    pub fn at_rest_after(mut self, rest: Duration) -> Self {
        self.rest = rest;
        self
    }

    /// What is compared is what `edit` makes of the objects that are left: it takes out what differs by design.
    #[must_use]
    pub fn compared_after(mut self, edit: fn(&str, &mut serde_json::Value)) -> Self {
        self.edit = Some(edit);
        self
    }

    /// Then the user does this, and waits until nothing happens any more.
    #[must_use]
    pub fn step<F>(mut self, name: &'static str, act: impl Fn(kube::Client) -> F + 'static) -> Self
    where
        F: Future<Output = kube::Result<()>> + Send + 'static,
    {
        self.steps.push(Step { name, act: Arc::new(move |client| Box::pin(act(client))) });
        self
    }
}
