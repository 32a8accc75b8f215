//! What `make demo` shows: the greeter at work, crashed, gone and back, on an API server in this process and in virtual time.
//!
//! Every line after an arrow is a request that the server saw; every tick is a comparison with what the server has. The output is
//! the same every time (README.md quotes it, and `cargo xtask generate --check` compares). It ends with an error when anything is
//! not as told.
#![expect(clippy::print_stdout, reason = "it is a show")]

use std::{io::IsTerminal as _, process::ExitCode, time::Duration};

use apiserver::{Connection, CrashPoint, Fault, Recorded, Server, User, Verb, When};
use greeter::{Greeting, GreetingSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kit::{Api, Manager, Setup, access};
use kube::{
    Client, CustomResourceExt as _, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use simulation::{Campaign, Extent, Injected, OPERATOR, Scenario};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

#[allow(dead_code, unreachable_pub, reason = "its main is for a real cluster")]
#[path = "greeter.rs"]
mod greeter;

/// What went wrong, for people.
type Told<T = ()> = Result<T, String>;

const NAMESPACE: &str = "default";
const ACCOUNT: &str = "system:serviceaccount:default:greeter";
const MINUTE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let tell = Teller { to_people: std::io::stdout().is_terminal() };
    match story(tell).and_then(|()| campaign(tell)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            tell.wrong(&wrong);
            ExitCode::FAILURE
        }
    }
}

/// A day in the life of an operator.
fn story(tell: Teller) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.map_err(|error| format!("no runtime: {error}"))?.block_on(async {
        tell.opening();
        let server = Server::new();
        prepare(&server)?;
        let mut world =
            World { tell, user: server.client_named("user"), server, told: 0, operators: JoinSet::new() };

        tell.scene("The operator starts. Nobody has asked for anything.");
        let mut operator = world.start();
        world.settle().await?;
        world.has(0, "").await?;

        tell.scene("A user wants two copies of \"hello\".");
        create(world.user.clone(), 2).await.map_err(told)?;
        world.settle().await?;
        world.has(2, "hello").await?;

        tell.scene("The user changes the text.");
        edit(world.user.clone(), json!({"text": "good day"})).await.map_err(told)?;
        world.settle().await?;
        world.has(2, "good day").await?;

        tell.scene("Somebody deletes a copy by mistake.");
        lose(world.user.clone()).await.map_err(told)?;
        world.settle().await?;
        world.has(2, "good day").await?;

        tell.scene("The user wants four, and the operator is killed in the middle of the work.");
        let when = When::verb(Verb::Patch).client(OPERATOR).resource("configmaps");
        world.server.faults().add(when, Fault::Crash(CrashPoint::AfterCommit));
        edit(world.user.clone(), json!({"copies": 4})).await.map_err(told)?;
        let killed = tokio::time::timeout(MINUTE, world.server.faults().crashes().tripped()).await;
        killed.map_err(|_| "the operator was not killed")?;
        operator.abort();
        world.requests();
        tell.note("it is started again");
        operator = world.start();
        world.settle().await?;
        world.has(4, "good day").await?;

        tell.scene("The operator is gone for an hour.");
        operator.abort();
        world.server.faults().kill(OPERATOR);
        let revision = world.server.revision();
        pass(60 * MINUTE).await;
        if world.server.revision() != revision {
            return Err("something was written while the operator was gone".into());
        }
        world.has(4, "good day").await?;

        tell.scene("It comes back.");
        let before = world.server.request_count();
        world.start();
        world.settle().await?;
        let writes = world.server.requests().of(OPERATOR).since(before).writes().len();
        expect("writes", writes, 0)?;
        tell.good(&format!("{writes} writes: everything is as it should be"));

        tell.scene("Ten minutes pass.");
        let before = world.server.request_count();
        pass(10 * MINUTE).await;
        let requests = working(&world.server, before).len();
        expect("requests", requests, 0)?;
        tell.good(&format!("{requests} requests besides its open watches"));

        tell.scene("The user deletes the greeting.");
        delete(world.user.clone()).await.map_err(told)?;
        world.settle().await?;
        world.has(0, "").await
    })
}

/// What the user did in the story, again and again, each time with one fault.
fn campaign(tell: Teller) -> Told {
    tell.scene("The same day again and again, each time with one fault.");
    let scenario = Scenario::new(
        "a day",
        |server| {
            // Without it the operator has no rights, and the campaign says so.
            prepare(server).ok();
        },
        |connection| Box::pin(async move { operate(connection).await.unwrap_or_default() }),
    )
    .operated_by(User::named(ACCOUNT))
    .step("create a greeting", |user| create(user, 2))
    .step("change the text", |user| edit(user, json!({"text": "good day"})))
    .step("lose a copy", lose)
    .step("want more copies", |user| edit(user, json!({"copies": 4})))
    .step("delete it", delete);
    let campaign = Campaign::new(scenario)?;
    let faults = campaign.faults(Extent::Sample);
    let count = |kind: fn(&Injected) -> bool| faults.iter().filter(|fault| kind(fault)).count();
    tell.note(&format!(
        "{:>3} kills before, during and after each write",
        count(|f| matches!(f, Injected::Crash { .. }))
    ));
    tell.note(&format!(
        "{:>3} writes done whose answer is lost",
        count(|f| matches!(f, Injected::Lost { .. }))
    ));
    tell.note(&format!(
        "{:>3} restarts on a server that is stuck in the past",
        count(|f| matches!(f, Injected::Stale { .. }))
    ));
    let findings = campaign.play(&faults);
    if let Some(finding) = findings.first() {
        return Err(format!(
            "{} of {} runs went wrong, for example\n{finding}",
            findings.len(),
            faults.len()
        ));
    }
    tell.good(&format!("{0} of {0} runs ended in the same state as the one without faults", faults.len()));
    tell.closing();
    Ok(())
}

/// A server, its user, and at most one operator that lives.
struct World {
    tell: Teller,
    server: Server,
    user: Client,
    operators: JoinSet<Told>,
    /// The requests before this one are on the screen.
    told: usize,
}

impl World {
    /// Starts an operator; dropping the world ends it.
    fn start(&mut self) -> AbortHandle {
        let connection = self.server.connection(OPERATOR, User::named(ACCOUNT));
        self.operators.spawn(operate(connection))
    }

    /// Lets time pass until the operator has had nothing to do for a minute, and tells what it did.
    async fn settle(&mut self) -> Told {
        for _ in 0..60 {
            let before = (self.server.revision(), working(&self.server, 0).len());
            pass(MINUTE).await;
            if before == (self.server.revision(), working(&self.server, 0).len()) {
                self.requests();
                return Ok(());
            }
        }
        Err("the operator does not come to rest".into())
    }

    fn requests(&mut self) {
        working(&self.server, self.told).iter().for_each(|request| self.tell.request(request));
        self.told = self.server.request_count();
    }

    /// Compares what the server has with what the user wishes.
    async fn has(&self, copies: usize, text: &str) -> Told {
        let everything = ListParams::default();
        let found = kube::Api::<ConfigMap>::namespaced(self.user.clone(), NAMESPACE)
            .list(&everything)
            .await
            .map_err(told)?;
        let said = |copy: &ConfigMap| {
            let text = copy.data.as_ref().and_then(|data| data.get("text")).map_or("", String::as_str);
            format!("{} \"{text}\"", copy.name_any())
        };
        let found: Vec<String> = found.iter().map(said).collect();
        let wanted: Vec<String> = (0..copies).map(|number| format!("morning-{number} \"{text}\"")).collect();
        if found != wanted {
            return Err(format!("there should be {wanted:?}, and there is {found:?}"));
        }
        let greetings = kube::Api::<Greeting>::namespaced(self.user.clone(), NAMESPACE)
            .list(&everything)
            .await
            .map_err(told)?;
        match greetings
            .items
            .first()
            .map(|greeting| greeting.status.as_ref().map_or(0, |status| status.copies))
        {
            None if copies == 0 => self.tell.good("there is nothing"),
            Some(reported) => {
                expect("copies in the status", reported, copies)?;
                self.tell.good(&format!("{}; status: {reported} copies", found.join(", ")));
            }
            None => return Err("the greeting is gone".into()),
        }
        Ok(())
    }
}

/// The operator's requests from `index` on, without those that only wait for news.
fn working(server: &Server, index: usize) -> Vec<Recorded> {
    let requests = server.requests().of(OPERATOR).since(index);
    requests.iter().filter(|request| request.verb != Some(Verb::Watch)).cloned().collect()
}

fn manager(connection: Connection) -> Told<Manager> {
    greeter::operator(Setup::new("greeter", Api::service(connection))).map_err(told)
}

async fn operate(connection: Connection) -> Told {
    manager(connection)?.run(CancellationToken::new()).await.map_err(told)
}

/// Installs the definition, and the rights that the operator declares: no more.
fn prepare(server: &Server) -> Told {
    server.install(json!(Greeting::crd())).map_err(told)?;
    let install = access::Install {
        name: "greeter".into(),
        namespace: NAMESPACE.into(),
        service_account: "greeter".into(),
        watched: access::Watched::All,
    };
    let rights = access::manifests(&manager(server.connection("", User::admin()))?.access(), &install);
    server.install_yaml(&rights.to_yaml().map_err(told)?).map_err(told)
}

async fn create(user: Client, copies: u8) -> kube::Result<()> {
    let greeting = Greeting::new("morning", GreetingSpec { text: "hello".into(), copies });
    kube::Api::namespaced(user, NAMESPACE).create(&PostParams::default(), &greeting).await.map(drop)
}

async fn edit(user: Client, spec: Value) -> kube::Result<()> {
    let patch = Patch::Merge(json!({ "spec": spec }));
    kube::Api::<Greeting>::namespaced(user, NAMESPACE)
        .patch("morning", &PatchParams::default(), &patch)
        .await
        .map(drop)
}

async fn lose(user: Client) -> kube::Result<()> {
    kube::Api::<ConfigMap>::namespaced(user, NAMESPACE)
        .delete("morning-1", &DeleteParams::default())
        .await
        .map(drop)
}

async fn delete(user: Client) -> kube::Result<()> {
    kube::Api::<Greeting>::namespaced(user, NAMESPACE)
        .delete("morning", &DeleteParams::default())
        .await
        .map(drop)
}

/// Lets virtual time pass; whatever is due meanwhile happens.
async fn pass(time: Duration) {
    tokio::time::timeout(time, std::future::pending::<()>()).await.ok();
}

fn expect(what: &str, found: usize, wanted: usize) -> Told {
    if found == wanted { Ok(()) } else { Err(format!("{found} {what}, and there should be {wanted}")) }
}

fn told(error: impl std::error::Error) -> String {
    error.to_string()
}

/// The narrator. On a terminal it has colours, and pauses to be read.
#[derive(Clone, Copy)]
struct Teller {
    to_people: bool,
}

impl Teller {
    fn opening(self) {
        self.line("", "A Greeting asks for copies of a text, and an operator keeps them in ConfigMaps.", 300);
        self.line(
            "",
            "→ is a request of the operator, as the API server saw it; ✓ is what the server has then.",
            1200,
        );
    }

    fn scene(self, text: &str) {
        println!();
        self.line("1", text, 300);
    }

    fn request(self, request: &Recorded) {
        let verb = request.verb.map_or("get", Verb::as_str);
        let subresource =
            if request.subresource.is_empty() { String::new() } else { format!("/{}", request.subresource) };
        // Names of events are random.
        let name = if request.resource == "events" { "" } else { &request.name };
        let end = match request.code {
            _ if !request.faults.is_empty() => "  ✗ done, but killed before it knows".to_owned(),
            Some(code) if code >= 400 => format!("  {code}"),
            _ => String::new(),
        };
        let line = format!("  → {verb} {}{subresource} {name}", request.resource);
        self.line("2", &format!("{}{end}", line.trim_end()), 50);
    }

    fn note(self, text: &str) {
        self.line("", &format!("    {text}"), 150);
    }

    fn good(self, text: &str) {
        self.line("32", &format!("  ✓ {text}"), 300);
    }

    fn wrong(self, text: &str) {
        self.line("31", &format!("  ✗ NOT AS TOLD: {text}"), 0);
    }

    fn closing(self) {
        println!();
        self.line(
            "",
            "The operator is crates/kit/examples/greeter.rs, and this show is tour.rs beside it.",
            0,
        );
    }

    fn line(self, colour: &str, text: &str, millis: u64) {
        if self.to_people {
            println!("\x1b[{colour}m{text}\x1b[0m");
            #[expect(
                clippy::disallowed_methods,
                reason = "people read in their own time, not in the server's"
            )]
            std::thread::sleep(Duration::from_millis(millis));
        } else {
            println!("{text}");
        }
    }
}
