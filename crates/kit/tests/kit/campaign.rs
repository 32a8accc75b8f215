//! The operator of the tour under every crash, every lost answer and every stale read: each run must end as the one without faults.

use apiserver::{Connection, Server, User};
use kit::{Api, Manager, Setup, access};
use kube::{
    CustomResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::ObjectMeta,
};
use serde_json::json;
use simulation::{Campaign, Scenario};
use tokio_util::sync::CancellationToken;

use crate::greeter::{self, Greeting, GreetingSpec};

fn manager(connection: Connection) -> Manager {
    greeter::operator(Setup::new("greeter", Api::service(connection))).expect("a manager")
}

/// The definition, and the rights that the operator declares: no more.
fn prepare(server: &Server) {
    server.install(json!(Greeting::crd())).unwrap();
    let declared = manager(server.connection("", User::admin())).access();
    let install = access::Install {
        name: "greeter".into(),
        namespace: "default".into(),
        service_account: "greeter".into(),
        watched: access::Watched::All,
    };
    server.install_yaml(&access::manifests(&declared, &install).to_yaml().unwrap()).unwrap();
}

/// A user makes a greeting, changes it, wants fewer copies, loses one, and deletes it; another one stays.
fn greetings() -> Scenario {
    let api = |client| kube::Api::<Greeting>::namespaced(client, "default");
    let create = move |client, name: &'static str, copies| async move {
        let spec = GreetingSpec { text: "hello".into(), copies };
        let greeting = Greeting {
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            spec,
            status: None,
        };
        api(client).create(&PostParams::default(), &greeting).await.map(drop)
    };
    let edit = move |client, name: &'static str, spec: serde_json::Value| async move {
        let patch = Patch::Merge(json!({ "spec": spec }));
        api(client).patch(name, &PatchParams::default(), &patch).await.map(drop)
    };
    Scenario::new("greetings", prepare, |connection| {
        Box::pin(async move {
            manager(connection).run(CancellationToken::new()).await.expect("it runs for ever");
        })
    })
    .operated_by(User::named("system:serviceaccount:default:greeter"))
    .step("create two greetings", move |client: kube::Client| async move {
        create(client.clone(), "morning", 3).await?;
        create(client, "evening", 1).await
    })
    .step("change the text", move |client| edit(client, "morning", json!({"text": "good day"})))
    .step("want fewer copies", move |client| edit(client, "morning", json!({"copies": 1})))
    .step("lose a copy by mistake", |client| async move {
        let copies = kube::Api::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(client, "default");
        copies.delete("morning-0", &DeleteParams::default()).await.map(drop)
    })
    .step("delete a greeting", move |client| async move {
        api(client).delete("evening", &DeleteParams::default()).await.map(drop)
    })
}

fn campaign() -> Campaign {
    Campaign::new(greetings()).unwrap_or_else(|error| panic!("{error}"))
}

/// Every crash, every lost answer and every stale read in `make test`, too: the kit is what all operators stand on.
#[test]
fn greetings_end_as_without_faults() {
    let campaign = campaign();
    let faults = campaign.chosen(usize::MAX).unwrap_or_else(|error| panic!("{error}"));
    if let [fault] = *faults {
        // One run, to find the cause of a failure.
        let run = simulation::run(&greetings(), fault).unwrap();
        run.requests.iter().for_each(|request| println!("{}", request.told()));
    }
    let outcome = campaign.outcome("kit", "greetings", usize::MAX);
    println!("{}", outcome.unwrap_or_else(|differences| panic!("{differences}")));
}

#[test]
fn the_run_without_faults_ends_as_the_user_wished() {
    let campaign = campaign();
    let reference = campaign.reference();
    let dump = reference.dump.objects();
    let left: Vec<&str> = dump.keys().map(String::as_str).filter(|name| name.contains("default/")).collect();
    let left: Vec<&&str> = left.iter().filter(|name| !name.starts_with("events")).collect();
    assert_eq!(
        left,
        [&"configmaps default/morning-0", &"greetings.kit.capstan.dev default/morning"],
        "{:?}",
        dump.keys()
    );
}

#[test]
fn no_right_is_missing_and_none_is_left_unused() {
    let made = simulation::asked([campaign().reference()], access::Request::parse).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let declared = manager(Server::new().connection("", User::admin())).access();
    let report = access::check(&made, &declared, "default");
    assert_eq!(report, access::Report::default());
}
