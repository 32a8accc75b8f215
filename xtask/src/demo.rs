//! `make demo`: Capstan's life on a real Kubernetes, told with commands that anybody can type.
//!
//! ```text
//! ground.rs       a cluster to stand on: the lab, or the user's own; the images in it; Capstan installed
//! example_app.rs  a chapter: the life of one application
//! etcd.rs         a chapter: the life of an etcd cluster, under load
//! etcd_backup.rs  a chapter: a mistake, and how nothing is lost by it
//! story.rs        how it is told: every line is a command that was run, and what came of it
//! kubectl.rs      the stock kubectl, and what is asked through it
//! ```

mod etcd;
mod etcd_backup;
mod example_app;
mod ground;
mod kubectl;
mod story;

use anyhow::Result;

use ground::Ground;
use story::Story;

/// What the user chose.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// A context of your kubeconfig: tell it on that cluster instead of the lab.
    #[arg(long)]
    context: Option<String>,
    /// The image of Capstan in that cluster.
    #[arg(long, default_value = "capstan:dev")]
    image: String,
    /// The image of the demo's S3 server in that cluster.
    #[arg(long, default_value = "capstan-s3:dev")]
    s3_image: String,
    /// The lab to tell it on.
    #[arg(long, default_value = lab::DEFAULT_NAME, conflicts_with = "context")]
    lab: String,
    /// Remove what the demo made: the lab, or its namespaces from the cluster of --context.
    #[arg(long)]
    down: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let story = Story::begin();
    if options.down {
        return ground::remove(&story, options);
    }
    let Ground { kubectl, capstan, hint } = ground::prepare(&story, options)?;
    let manifest = ground::manifest(&options.image)?;
    example_app::tell(&story, &kubectl, &manifest)?;
    etcd::tell(&story, &kubectl, etcd::Installed { manifest: &manifest, image: &options.image, capstan })?;
    etcd_backup::tell(&story, &kubectl)?;
    story.heading("And now you");
    story.say("The cluster is still there, with everything in it. Try:");
    hint.iter().for_each(|line| story.type_this(line));
    [example_app::TRY, etcd::TRY, etcd_backup::TRY]
        .into_iter()
        .flatten()
        .for_each(|line| story.type_this(line));
    story.type_this(&match &options.context {
        None => "make demo-down".to_owned(),
        Some(context) => format!("make demo-down CONTEXT={context} IMAGE={}", options.image),
    });
    Ok(())
}
