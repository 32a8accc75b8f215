//! `capstan operator`: every controller in one manager.

use anyhow::{Context as _, Result};
use kit::{Manager, ManagerError, Setup, telemetry, until_signalled};

use crate::commands::Operator;

/// The operator's name: of its Deployment, its lease, its roles, its fields.
pub(crate) const NAME: &str = "capstan";

pub(crate) async fn run(operator: Box<Operator>) -> Result<()> {
    let Operator { image, flags } = *operator;
    let config = flags.validate(NAME)?;
    // Dropped last: it flushes what was not written yet.
    let _telemetry = telemetry::start(&config.telemetry).context("cannot start logs")?;
    let setup = Setup::load(NAME, &config).await?;
    setup.metrics.build_info(NAME, env!("CARGO_PKG_VERSION"), "");
    manager(setup, &image)?.run(until_signalled()?).await?;
    Ok(())
}

/// All our controllers, wired. What it may do is known from this alone: the manifests ask it.
pub(crate) fn manager(setup: Setup, image: &str) -> Result<Manager, ManagerError> {
    let home = setup.namespace.clone();
    let mut manager = Manager::new(setup)?;
    etcd_operator::add_to(
        &mut manager,
        etcd_operator::Options { home, image: image.to_owned(), ..Default::default() },
    );
    example_app::add_to(&mut manager, example_app::Options { image: image.to_owned() });
    Ok(manager)
}
