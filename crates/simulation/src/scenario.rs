//! A scenario: where the world starts, who operates it, and what the user does.

use std::sync::Arc;

use apiserver::{Connection, Server, User};
use futures::future::BoxFuture;

/// Runs until it is dropped. It is started again, on a new connection, after every crash.
pub type Operator = Arc<dyn Fn(Connection) -> BoxFuture<'static, ()>>;

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
    pub(crate) steps: Vec<Step>,
}

impl Scenario {
    /// A world that `prepare` sets up (definitions, namespaces), looked after by `operator`.
    pub fn new(
        name: &'static str,
        prepare: impl Fn(&Server) + 'static,
        operator: impl Fn(Connection) -> BoxFuture<'static, ()> + 'static,
    ) -> Self {
        let (prepare, operator) = (Arc::new(prepare), Arc::new(operator));
        Self { name, prepare, operator, user: User::admin(), steps: Vec::new() }
    }

    /// The operator is this user, with no more rights than `prepare` gives it.
    #[must_use]
    pub fn operated_by(mut self, user: User) -> Self {
        self.user = user;
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
