use std::sync::Arc;

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kit::{
    Acted, Api, Context, Event, Key, Manager, ManagerError, Outcome, Precious, Reconciler, Result, Select,
    Setup, Store, access::Access, own, pause, until_signalled,
};
use kube::{CustomResource, Resource as _, ResourceExt as _, core::ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A greeting, kept in as many ConfigMaps as the user wishes.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "kit.capstan.dev", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
#[serde(rename_all = "camelCase")]
pub struct GreetingSpec {
    pub text: String,
    pub copies: u8,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GreetingStatus {
    pub observed_generation: Option<i64>,
    pub copies: usize,
    pub problem: Option<String>,
}

kit::reasons! {
    /// What is told about a greeting.
    pub enum Told {
        /// The copies are as the user wishes.
        Copied,
        /// The copies could not be made; it is tried again.
        CopyFailed,
    }
}

/// The operator: two caches, kept up to date by watches.
pub struct Greeter {
    greetings: Store<Greeting>,
    copies: Store<ConfigMap>,
}

/// A greeting and its copies, as the caches have them. Nothing when the greeting is gone: the garbage collector does the rest.
pub struct Picture {
    greeting: Arc<Greeting>,
    copies: Vec<Arc<ConfigMap>>,
}

/// Copies to have. Whatever else the greeting owns goes.
pub struct Plan {
    greeting: Arc<Greeting>,
    wanted: Vec<(ConfigMap, Option<Arc<ConfigMap>>)>,
    live: Vec<Arc<ConfigMap>>,
}

impl Reconciler for Greeter {
    const NAME: &'static str = "greeter";
    type Kind = Greeting;
    type Picture = Option<Picture>;
    type Plan = Option<Plan>;

    async fn observe(&self, _: &Context, key: &Key) -> Result<Self::Picture> {
        Ok(self.greetings.get(key).map(|greeting| {
            let copies = self.copies.by("owner", &greeting.uid().unwrap_or_default());
            Picture { greeting, copies }
        }))
    }

    fn decide(&self, picture: &Self::Picture, _: Timestamp) -> Self::Plan {
        let Picture { greeting, copies } = picture.as_ref()?;
        let live =
            |wanted: &ConfigMap| copies.iter().find(|copy| copy.name_any() == wanted.name_any()).cloned();
        let wanted = (0..greeting.spec.copies).map(|number| copy(greeting, number)).map(|copy| {
            let live = live(&copy);
            (copy, live)
        });
        Some(Plan { greeting: greeting.clone(), wanted: wanted.collect(), live: copies.clone() })
    }

    async fn act(&self, cx: &Context, plan: &Self::Plan) -> Result<()> {
        let Some(Plan { greeting, wanted, live }) = plan else { return Ok(()) };
        let keep: Vec<Key> = wanted.iter().map(|(copy, _)| Key::of(copy)).collect();
        // Copies come or go: not on an old picture.
        if wanted.iter().any(|(_, live)| live.is_none()) || wanted.len() != live.len() {
            cx.confirm(&**greeting).await?;
        }
        for (copy, live) in wanted {
            cx.apply(copy, live.as_deref()).await?;
        }
        cx.prune(&greeting.uid().unwrap_or_default(), live, &keep, Precious::Spare).await?;
        Ok(())
    }

    async fn report(
        &self,
        cx: &Context,
        picture: &Self::Picture,
        plan: &Self::Plan,
        acted: Acted,
    ) -> Outcome {
        let (Some(Picture { greeting, .. }), Some(plan)) = (picture, plan) else { return acted.outcome() };
        let mut status = greeting.status.clone().unwrap_or_default();
        match &acted {
            Acted::Done => {
                let copies = plan.wanted.len();
                status =
                    GreetingStatus { observed_generation: greeting.meta().generation, copies, problem: None };
            }
            Acted::Failed(error) => status.problem = Some(error.to_string()),
            Acted::Paused => status.problem = Some(pause::message(&**greeting)),
        }
        match cx.write_status(&**greeting, &status).await {
            Err(error) => return Outcome::Retry(error),
            Ok(false) => {}
            Ok(true) => cx.event(
                &**greeting,
                match &status.problem {
                    None => {
                        Event::normal(Told::Copied, "Copy", format!("{} copies are there", status.copies))
                    }
                    Some(problem) => Event::warning(Told::CopyFailed, "Copy", problem),
                },
            ),
        }
        acted.outcome()
    }

    fn paused(&self, picture: &Self::Picture) -> bool {
        picture.as_ref().is_some_and(|picture| pause::is_paused(picture.greeting.meta()))
    }

    fn access() -> Vec<Access> {
        vec![
            Access::confirm::<Greeting>(),
            Access::apply::<ConfigMap>(),
            Access::prune::<ConfigMap>(),
            Access::owner::<Greeting>(),
            Access::status::<Greeting>(),
        ]
    }
}

fn copy(greeting: &Greeting, number: u8) -> ConfigMap {
    let mut copy = ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("{}-{number}", greeting.name_any())),
            namespace: greeting.namespace(),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), greeting.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    // It cannot fail: owner and owned are in the same namespace, and the owner comes from the server.
    own(&mut copy, greeting).ok();
    copy
}

/// Wires the operator: what it watches, and what a change of it makes due.
pub fn operator(setup: Setup) -> Result<Manager, ManagerError> {
    let mut manager = Manager::new(setup)?;
    let greetings = manager.watch::<Greeting>(Select::all());
    let copies = manager.watch::<ConfigMap>(Select::all());
    let greeter = Greeter { greetings: greetings.clone(), copies: copies.clone() };
    let controller = manager.controller(greeter, &greetings).owns(&copies);
    manager.add(controller);
    Ok(manager)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = kube::Config::infer().await?;
    operator(Setup::new("greeter", Api::at(config)))?.run(until_signalled()?).await?;
    Ok(())
}
