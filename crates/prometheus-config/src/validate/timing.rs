//! Intervals and timeouts of scrapes.

use rendering::duration::prometheus;

use super::{Checker, Rejected};

/// A scrape must end before the next one begins.
pub(crate) fn check_timeout(timeout: &str, interval: &str) -> Result<(), Rejected> {
    let interval_length = prometheus(interval).map_err(|error| Rejected::new("scrapeInterval", error))?;
    let timeout_length = prometheus(timeout).map_err(|error| Rejected::new("scrapeTimeout", error))?;
    if timeout_length > interval_length {
        let why = format!(
            "{timeout} is longer than the interval of {interval}; a scrape must end before the next one"
        );
        return Err(Rejected::new("scrapeTimeout", why));
    }
    Ok(())
}

impl Checker<'_> {
    /// A monitor's timeout against its interval, or against the workload's.
    pub(crate) fn check_timing(&self, interval: &str, timeout: &str) -> Result<(), Rejected> {
        if timeout.is_empty() {
            return Ok(());
        }
        check_timeout(timeout, if interval.is_empty() { &self.common.scrape_interval } else { interval })
    }
}
