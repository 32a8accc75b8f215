//! The pages of docs/reference, written from the code that they describe.

mod etcd;

use anyhow::Result;
use clap::{Args as _, Command};

use crate::{
    commands::{Operator, Page},
    output::say,
};

const BY_MACHINE: &str = "<!-- Written by `cargo xtask generate`: change the code instead. -->";

pub(crate) fn print(page: Page) -> Result<()> {
    say(&match page {
        Page::Flags => flags(),
        Page::Metrics => metrics(),
        Page::Etcd => format!("{BY_MACHINE}\n\n{}", etcd::page()),
    })
}

fn flags() -> String {
    let command = Operator::augment_args(Command::new("operator"));
    format!(
        "{BY_MACHINE}\n\n# Flags\n\nOf `capstan operator`; all but `--image` are those of every operator on the kit. Each can be given as an \
         environment variable\ninstead; the flag wins. Times are written as in `15s`, `1m30s`, `10h`. One dash works as two do, as Go's \
         programs have it.\n\n{}",
        kit::flags::reference(&command)
    )
}

fn metrics() -> String {
    format!(
        "{BY_MACHINE}\n\n# Metrics\n\nEvery operator on the kit serves these, under the names that dashboards for other operators know.\n\n{}\n\
         ## etcd\n\nOf each EtcdCluster, by `namespace` and `name`; they go away with it.\n\n| name | meaning |\n|---|---|\n{}\n\
         ## Backups\n\nOf each EtcdBackup and EtcdBackupSchedule, by `namespace`, `name` and `cluster`; they go away with it.\n\n\
         | name | meaning |\n|---|---|\n{}",
        kit::metrics::reference(),
        rows(&etcd_operator::FAMILIES),
        rows(&etcd_operator::backup::FAMILIES),
    )
}

fn rows(families: &[(&str, &str)]) -> String {
    families.iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_and_every_metric_is_in_the_reference() {
        assert!(flags().contains("`CAPSTAN_WORKERS`"));
        assert!(flags().contains("`CAPSTAN_IMAGE`"));
        assert!(metrics().contains("`workqueue_depth`"));
        assert!(metrics().contains("`capstan_etcd_ready_members`"));
        assert!(metrics().contains("`capstan_etcd_schedule_missed`"));
    }
}
