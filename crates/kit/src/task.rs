//! Tasks: what is to be done about an owner's objects, as data. So a plan can be printed, and carrying it out is one loop.

use std::{fmt, sync::Arc};

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret},
};
use kube::{Resource, ResourceExt as _};

use crate::{Context, Live, Result, Wish, pods};

/// One thing to do.
#[derive(Debug, Clone)]
pub enum Task {
    /// Make an object as it should be.
    Apply(Arc<dyn Wish>),
    /// Make a Secret for a password; the password itself is made when this is carried out.
    Password(Box<Secret>),
    /// Run a Job that may run beside everything else. One of its name that is there already is not run again.
    Run(Box<Job>),
    /// Run a Job that must have the owner's volumes for itself.
    RunAlone(Box<Job>),
    /// Remove an object, this very one.
    Delete(Arc<dyn Wish>),
}

impl Task {
    /// Makes `wish` so.
    pub fn apply(wish: impl Wish) -> Self {
        Self::Apply(Arc::new(wish))
    }

    /// Removes the object that `doomed` was seen as.
    pub fn delete(doomed: impl Wish) -> Self {
        Self::Delete(Arc::new(doomed))
    }

    /// What it applies, if that is a `K`.
    pub fn applies<K: 'static>(&self) -> Option<&K> {
        if let Self::Apply(wish) = self { wish.of() } else { None }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(wish) => write!(f, "apply {} {}", wish.kind(), wish.name()),
            Self::Password(it) => write!(f, "create Secret {} with a new password", it.name_any()),
            Self::Run(it) => write!(f, "run Job {}", it.name_any()),
            Self::RunAlone(it) => write!(f, "run Job {}, alone on the volume", it.name_any()),
            Self::Delete(doomed) => write!(f, "delete {} {}", doomed.kind(), doomed.name()),
        }
    }
}

impl Context {
    /// The same as [`carry_out`](Self::carry_out), and never on an old picture: before anything is changed, the server is asked whether
    /// it still has `main` as it was seen.
    pub async fn bring_about<K: Resource<DynamicType = ()>>(
        &self,
        main: &K,
        tasks: &[Task],
        live: &Live,
    ) -> Result<()>
    where
        K::Scope: 'static,
    {
        for task in tasks {
            let is_news = if let Task::Apply(wish) = task { wish.is_news(self, live)? } else { true };
            if is_news {
                self.confirm(main).await?;
                return self.carry_out(tasks, live).await;
            }
        }
        Ok(())
    }

    /// Carries `tasks` out, one after the other, on the owner whose objects are `live`. A Job that must be alone is created only
    /// after the server itself has said that no other pod of the owner is left that may write.
    pub async fn carry_out(&self, tasks: &[Task], live: &Live) -> Result<()> {
        for task in tasks {
            match task {
                Task::Apply(wish) => wish.apply(self, live).await?,
                Task::Password(secret) => drop(self.create_with_password(secret).await?),
                Task::Run(job) => drop(self.create(&**job).await?),
                Task::RunAlone(job) => {
                    let others = |pod: &Pod| pods::is_in_the_way_of(pod, &job.name_any());
                    self.confirm_none(live.owner().namespace(), &live.selector(), others).await?;
                    self.create(&**job).await?;
                }
                Task::Delete(doomed) => doomed.delete(self).await?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use apiserver::Server;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{Api, api::PostParams};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Error, Key, Kinship};

    const KINSHIP: Kinship = Kinship { owner: "app/instance", ours: &[("app/by", "us")], suffixes: &[""] };

    fn object<K: serde::de::DeserializeOwned>(name: &str, more: Value) -> K {
        let mut object = json!({"metadata": {"name": name, "namespace": "default"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_carried_out_in_their_order_and_a_job_is_alone_or_not_at_all() {
        let server = Server::new();
        let (cx, _recorder) = Context::for_tests(server.client());
        let mut live = Live::new::<Secret>(&KINSHIP, Key::new("default", "db"));
        let template =
            json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}});
        let job = || Box::new(object::<Job>("copy", json!({"spec": {"template": template}})));
        let tasks = [
            Task::apply(object::<ConfigMap>("db", json!({"data": {"a": "b"}}))),
            Task::Password(Box::new(object("db-auth", json!({})))),
            Task::RunAlone(job()),
        ];
        let told: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "apply ConfigMap db",
                "create Secret db-auth with a new password",
                "run Job copy, alone on the volume"
            ]
        );
        assert!(tasks[0].applies::<ConfigMap>().is_some() && tasks[0].applies::<Secret>().is_none());

        let pods: Api<Pod> = Api::namespaced(server.client(), "default");
        let mut pod: Pod = object("db-0", json!({"spec": {"containers": [{"name": "a", "image": "a"}]}}));
        pod.metadata.labels = Some(
            [("app/by", "us"), ("app/instance", "db")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        );
        pods.create(&PostParams::default(), &pod).await.unwrap();
        let done = cx.carry_out(&tasks, &live).await;
        assert!(matches!(done, Err(Error::Stale { .. })), "{done:?}");
        let jobs: Api<Job> = Api::namespaced(server.client(), "default");
        assert!(jobs.get_opt("copy").await.unwrap().is_none());

        let made: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        let made = made.get("db").await.unwrap();
        live.put(made.clone());
        cx.carry_out(&[Task::Run(job()), Task::delete(made)], &live).await.unwrap();
        assert!(jobs.get_opt("copy").await.unwrap().is_some());
        let gone: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        assert!(gone.get_opt("db").await.unwrap().is_none());
    }
}
