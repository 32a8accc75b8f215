//! A cluster to stand on: the lab, or the user's own; with the images in it and Capstan installed.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};
use lab::{Lab, versions::Operand};

use super::{Options, etcd, kubectl::Kubectl, story::Story};
use crate::{image, release};

/// Where the demo's applications live.
const NAMESPACE: &str = "demo";
/// What the demo's namespace has, so that nobody else's of the same name is ever removed.
const OURS: &str = "capstan.dev/demo";
/// Where Capstan lives.
const HOME: &str = "capstan-system";

pub(crate) struct Ground {
    pub(crate) kubectl: Kubectl,
    /// Our binary, on this machine.
    pub(crate) capstan: PathBuf,
    /// What the user types to have a kubectl of their own.
    pub(crate) hint: Option<String>,
}

pub(crate) fn prepare(story: &Story, options: &Options) -> Result<Ground> {
    let ground = match &options.context {
        None => in_the_lab(story, &options.lab)?,
        Some(context) => in_the_cluster(story, context, &options.image)?,
    };
    install(story, &ground.kubectl, options)?;
    Ok(ground)
}

pub(crate) fn remove(story: &Story, options: &Options) -> Result<()> {
    let Some(context) = &options.context else {
        story.say("Removing the lab: its nodes, its network, its volumes.");
        lab::down(&options.lab)?;
        story.shown("nothing of it is left");
        return Ok(());
    };
    let kubectl = of_the_user(context);
    story.say(format!(
        "Removing from {context} what the demo made; the definitions and their resources elsewhere stay."
    ));
    answers(&kubectl, context)?;
    match namespace(&kubectl)? {
        Namespace::Absent => {}
        Namespace::Ours => drop(kubectl.of(None).show(story, "delete namespace demo")?),
        Namespace::Foreign => story.say("The namespace demo is not the demo's: it stays."),
    }
    if installed(&kubectl)? == options.image {
        kubectl.of(None).show(story, "delete -f deploy/operator.yaml --ignore-not-found")?;
    } else {
        story.say(format!(
            "No Capstan with the image {} is in {HOME}: nothing is removed there.",
            options.image
        ));
    }
    Ok(())
}

/// Whose a namespace of the demo's name is.
#[derive(PartialEq, Eq)]
enum Namespace {
    Absent,
    Ours,
    Foreign,
}

fn namespace(kubectl: &Kubectl) -> Result<Namespace> {
    let object = format!("namespace/{NAMESPACE}");
    let label = format!(".metadata.labels.{}", OURS.replace('.', "\\."));
    Ok(match kubectl.field(&object, ".metadata.name")?.is_empty() {
        true => Namespace::Absent,
        false if kubectl.field(&object, &label)?.is_empty() => Namespace::Foreign,
        false => Namespace::Ours,
    })
}

/// The image of the Capstan in the cluster; empty if there is none.
fn installed(kubectl: &Kubectl) -> Result<String> {
    kubectl.of(Some(HOME)).field("deployment/capstan", ".spec.template.spec.containers[0].image")
}

fn in_the_lab(story: &Story, name: &str) -> Result<Ground> {
    story.heading("A real Kubernetes, on this machine");
    let progress = Told(story);
    let images = image::all(&progress)?;
    let lab = match Lab::open(name) {
        Ok(lab) => {
            story.say("The lab is up already.");
            lab
        }
        Err(_) => Lab::up(&lab::Options { name: name.into(), ..lab::Options::default() }, &progress)?,
    };
    let mut tars: Vec<PathBuf> = images.into_iter().map(|image| image.path).collect();
    for version in etcd::VERSIONS {
        tars.push(lab::images::operand(Operand::Etcd, version, &progress)?);
    }
    lab.load_images(&tars)?;
    let kubectl = Kubectl {
        program: lab.kubectl().get_program().into(),
        cluster: vec!["--kubeconfig".into(), lab.kubeconfig().display().to_string()],
        namespace: Some(NAMESPACE),
    };
    story.shown("a control plane and three nodes, with the images on each");
    kubectl.of(None).show(story, "get nodes")?;
    let capstan = release::programs(&progress)?.join("capstan");
    Ok(Ground { kubectl, capstan, hint: Some("eval \"$(cargo xtask lab env)\"".into()) })
}

fn of_the_user(context: &str) -> Kubectl {
    let cluster = vec!["--context".to_owned(), context.to_owned()];
    Kubectl { program: PathBuf::from("kubectl"), cluster, namespace: Some(NAMESPACE) }
}

/// The cluster is asked once before anything is changed in it.
fn answers(kubectl: &Kubectl, context: &str) -> Result<()> {
    let there = std::process::Command::new(&kubectl.program).args(["version", "--client"]).output();
    there.context("there is no kubectl on your PATH, and the demo on a cluster of yours needs one")?;
    kubectl.ask(&["version"]).map(drop).with_context(|| {
        format!("the context {context} does not answer: `kubectl config get-contexts` lists yours")
    })
}

fn in_the_cluster(story: &Story, context: &str, image: &str) -> Result<Ground> {
    story.heading(&format!("Your Kubernetes: {context}"));
    let kubectl = of_the_user(context);
    answers(&kubectl, context)?;
    let other = installed(&kubectl)?;
    if !other.is_empty() && other != image {
        bail!(
            "Capstan is in {context} already, with the image {other}: the demo would replace it, and remove it for a moment. Take another cluster; or say IMAGE={other} if you mean it"
        );
    }
    if namespace(&kubectl)? == Namespace::Foreign {
        bail!(
            "the namespace {NAMESPACE} is in {context} already, and no demo made it: the demo begins by removing its own. Take another cluster, or remove that namespace"
        );
    }
    kubectl.of(None).show(story, "get nodes")?;
    story.say("The demo needs two images of ours in your cluster (etcd's it pulls by their usual names, quay.io/coreos/etcd); `make image` makes them without a container engine, as OCI archives:");
    for line in [
        "make image",
        "kind load image-archive FILE                        # kind",
        "minikube image load FILE                            # minikube",
        "sudo k3s ctr images import FILE                     # k3s, on each node",
        "skopeo copy oci-archive:FILE docker://REGISTRY/…    # a registry; then: make demo IMAGE=… S3_IMAGE=…",
    ] {
        story.type_this(line);
    }
    let capstan = release::programs(&Told(story))?.join("capstan");
    Ok(Ground { kubectl, capstan, hint: None })
}

fn install(story: &Story, kubectl: &Kubectl, options: &Options) -> Result<()> {
    story.heading("Capstan is installed");
    story.say(
        "One manifest: definitions, an account with exactly the rights that the code declares, two replicas.",
    );
    let home = kubectl.of(Some(HOME));
    story.command("kubectl apply -f deploy/install.yaml");
    let was_there = !home.field("deployment/capstan", ".metadata.name")?.is_empty();
    home.ask_with(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &manifest(&options.image)?)?;
    if was_there {
        // The image may be another one under the same name.
        home.run(story, "rollout restart deployment capstan")?;
    }
    rolled_out(story, &home, "capstan", "app.kubernetes.io/name=capstan")?;
    story.shown("it runs, non-root and without privileges, and does nothing until asked");
    home.show(story, "get pods")?;

    story.say("A namespace for applications, as strict as Kubernetes can make it, and an S3 server for their backups.");
    fresh_namespace(story, kubectl)?;
    let s3 = std::fs::read_to_string(crate::tree::root().join("examples/demo/s3.yaml"))
        .context("examples/demo/s3.yaml")?;
    story.command("kubectl -n demo apply -f examples/demo/s3.yaml");
    kubectl.ask_with(&["apply", "-f", "-"], &s3.replace("capstan-s3:dev", &options.s3_image))?;
    rolled_out(story, kubectl, "s3", "app=s3")?;
    story.shown("s3 is ready");
    Ok(())
}

/// The committed manifest, with the user's image.
pub(crate) fn manifest(image: &str) -> Result<String> {
    let path = "deploy/install.yaml";
    let text = std::fs::read_to_string(crate::tree::root().join(path)).context(path)?;
    Ok(text.replace("capstan:dev", image))
}

/// What an earlier demo left is removed: the story begins with nothing.
fn fresh_namespace(story: &Story, kubectl: &Kubectl) -> Result<()> {
    if namespace(kubectl)? != Namespace::Absent {
        story.progress("removing what an earlier demo left");
        kubectl.ask(&["delete", "namespace", NAMESPACE, "--timeout=120s"])?;
    }
    kubectl.of(None).run(story, "create namespace demo")?;
    let labels = format!("{OURS}=yes pod-security.kubernetes.io/enforce=restricted");
    kubectl.of(None).run(story, &format!("label namespace demo {labels}"))?;
    // Made up here, on standard input: never in a file, an argument or the output.
    let key = random()?;
    // Under the names that ExampleApp reads, and under those of etcd's backups.
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: backup-credentials}}\nstringData: {{AWS_ACCESS_KEY_ID: demo, AWS_SECRET_ACCESS_KEY: {key}, accessKeyID: demo, secretAccessKey: {key}}}\n",
    );
    kubectl.ask_with(&["apply", "-f", "-"], &secret).map(drop)
}

fn random() -> Result<String> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("/dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Waits until a Deployment is there, and says early what is wrong when its image is not.
fn rolled_out(story: &Story, kubectl: &Kubectl, name: &str, selector: &str) -> Result<()> {
    story.until(&format!("deployment {name} ready"), Duration::from_secs(120), || {
        let waiting = [
            "get",
            "pods",
            "-l",
            selector,
            "-o",
            "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}",
        ];
        let reasons = kubectl.ask(&waiting)?;
        if reasons.contains("ImagePull") || reasons.contains("ErrImage") {
            bail!(
                "the image of {name} is not in the cluster: make it with `make image` and load it (see above)"
            );
        }
        let deployment = format!("deployment/{name}");
        let (want, have) = (
            kubectl.field(&deployment, ".spec.replicas")?,
            kubectl.field(&deployment, ".status.readyReplicas")?,
        );
        let seen = kubectl.field(&deployment, ".status.observedGeneration")?
            == kubectl.field(&deployment, ".metadata.generation")?;
        let updated = kubectl.field(&deployment, ".status.updatedReplicas")?;
        Ok((seen && want == have && want == updated).then_some(()))
    })
}

struct Told<'s>(&'s Story);

impl lab::Progress for Told<'_> {
    fn step(&self, text: &str) {
        self.0.progress(text);
    }
}
