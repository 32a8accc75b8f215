//! Taking a backup: from the best member of a cluster, straight into the store.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use etcd_api::Tls;
use etcd_backup::{
    Error,
    manifest::Cluster,
    save::{self, About},
    source::Source,
};
use kit::Clock;

use super::{Place, progress::Progress, read};
use crate::output::{Output, say, structured};

#[derive(Debug, Args)]
pub(super) struct Take {
    #[command(flatten)]
    place: Place,
    /// The backup's name [default: when it is taken, such as 20261116-081500]. A backup of this name that is there already is left as it is.
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
    /// Clients' URLs of the cluster; one is enough.
    #[arg(long, required = true, value_delimiter = ',', value_name = "URL", help_heading = "etcd")]
    endpoints: Vec<String>,
    /// A directory with ca.crt, tls.crt and tls.key, as a Secret is mounted.
    #[arg(long, value_name = "DIR", help_heading = "etcd")]
    tls: Option<PathBuf>,
    /// What the cluster is called, for the manifest.
    #[arg(long, default_value = "etcd", value_name = "NAME", help_heading = "etcd")]
    cluster: String,
    #[arg(long, default_value = "", value_name = "NAME", help_heading = "etcd")]
    cluster_namespace: String,
    /// What tells the cluster from others of its name [default: etcd's own ID].
    #[arg(long, value_name = "UID", help_heading = "etcd")]
    cluster_uid: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Take {
    pub(super) async fn run(self) -> Result<()> {
        let store = self.place.open()?;
        let key = self.place.key()?;
        let source = Source { endpoints: self.endpoints.clone(), tls: self.certificates()? };
        let giver = source.giver().await?;
        let now = Clock::system().now();
        let cluster = giver.status.cluster.to_string();
        let about = About {
            id: self.id.unwrap_or_else(|| now.strftime("%Y%m%d-%H%M%S").to_string()),
            producer: concat!("capstan ", env!("CARGO_PKG_VERSION")).to_owned(),
            cluster: Cluster {
                namespace: self.cluster_namespace,
                name: self.cluster,
                uid: self.cluster_uid.unwrap_or_else(|| cluster.clone()),
                id: cluster,
                member: giver.name.clone(),
            },
            etcd_version: giver.status.version.clone(),
            taken_at: now,
        };
        let chunks =
            giver.snapshot().await.map_err(|why| anyhow!("{} gives no snapshot: {why}", giver.name))?;
        let progress = Progress::start("taking", u64::try_from(giver.status.db_size).unwrap_or_default());
        let revisions = async || giver.revisions().await.map_err(Error::Etcd);
        let manifest =
            save::save(&store, about, key.as_ref(), chunks, revisions, |it| progress.at(it.read)).await?;
        progress.end(manifest.database.bytes);
        match self.output.output {
            Some(format) => structured(&manifest, format),
            None => say(&format!(
                "{} is stored at {}: revision {}, read back and found whole.\n",
                manifest.id,
                store.location(),
                manifest.revision.at_least
            )),
        }
    }

    fn certificates(&self) -> Result<Option<Tls>> {
        let Some(directory) = &self.tls else { return Ok(None) };
        let file = |name: &str| read(&directory.join(name)).context("the etcd client's certificate");
        Ok(Some(Tls::new(file("ca.crt")?, file("tls.crt")?, file("tls.key")?)))
    }
}
