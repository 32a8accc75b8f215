//! Would Prometheus load what has been written? What it refuses in one job, it refuses for everybody.
//!
//! ```text
//!   a job, a section ──> Loader ──> loads, or the field and what to do   (relabel, discovery, sections: what is judged)
//!                                                └── fields: from keys of the file to fields of the resource
//! ```
//!
//! The schema of a resource, and upstream's checks in [`crate::validate`], let pass what a Prometheus of the version does not
//! load. A monitor of that kind is left out alone; a workload of that kind keeps the configuration that it has. Source of all
//! rules: the `UnmarshalYAML` and `Validate` of Prometheus' packages config, discovery, model/relabel and storage/remote, and
//! of prometheus/common, from 2.45 to 3.15. What changed from release to release is a gate in the table that uses it.

mod discovery;
mod fields;
mod relabel;
mod sections;

use std::collections::HashSet;

use go_syntax::url;
use rendering::client::{self, ClientFault};
use rendering::{Gate, Map, Tree, Version, duration, since, since_candidates, until};

use crate::validate::Rejected;
use crate::values::is_size;
use relabel::Names;

type Verdict = Result<(), Rejected>;

/// Protocols of scrapes, and the versions that speak them.
const PROTOCOLS: &[(&str, Gate)] = &[
    ("PrometheusProto", Gate::Always),
    ("PrometheusText0.0.4", Gate::Always),
    ("PrometheusText1.0.0", since_candidates("3.0.0")),
    ("OpenMetricsText0.0.1", Gate::Always),
    ("OpenMetricsText1.0.0", Gate::Always),
    ("OpenMetricsText2.0.0", since("3.15.0")),
];

/// Limits of a job that are no limits when they are negative.
const LIMITS: &[&str] = &[
    "sample_limit",
    "target_limit",
    "label_limit",
    "label_name_length_limit",
    "label_value_length_limit",
    "keep_dropped_targets",
    "native_histogram_bucket_limit",
];

/// A token is fetched with a secret that says something; later versions do without.
const TOKEN_NEEDS_SECRET: Gate = until("2.51.0");
/// The escaping of names is judged against their form.
const ESCAPING: Gate = since("3.4.0");
/// A job with a form of names of its own does not inherit the escaping of all.
const OWN_ESCAPING: Gate = since("3.7.0");

const UTF8: &str = "utf8";
const LEGACY: &str = "legacy";
const ALLOW_UTF8: &str = "allow-utf-8";
const UNDERSCORES: &str = "underscores";
const VALIDATION: &str = "metric_name_validation_scheme";
const ESCAPING_KEY: &str = "metric_name_escaping_scheme";

/// Judges the parts of one configuration.
#[derive(Clone, Copy)]
pub(crate) struct Loader<'a> {
    version: &'a Version,
    global: &'a Map,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(version: &'a Version, global: &'a Map) -> Self {
        Self { version, global }
    }

    /// A job of a monitor, whose steps were judged as the monitor's.
    pub(crate) fn monitor_job(&self, job: &Map) -> Verdict {
        self.job(job).map_err(fields::in_resource)
    }

    /// What every job without settings of its own inherits from the workload.
    pub(crate) fn inherited(&self) -> Verdict {
        self.names(&Map::new()).map(drop).map_err(fields::in_resource)
    }

    /// The API server that all monitors are discovered at, as an entry of `kubernetes_sd_configs`.
    pub(crate) fn api_server(&self, entry: Map) -> Verdict {
        let within = |error: Rejected| fields::in_resource(error).within("apiserverConfig");
        discovery::check_kubernetes(&entry, self).map_err(within)
    }

    /// Jobs that an administrator wrote. Fields are those of the file.
    pub(crate) fn additional_jobs(&self, jobs: &[Tree]) -> Verdict {
        let mut names = HashSet::new();
        for (at, job) in jobs.iter().enumerate() {
            let within = |error: Rejected| error.within(&format!("[{at}]"));
            let Some(job) = job.as_map() else { continue };
            let name = text(job, "job_name");
            if name.is_empty() || !names.insert(name) {
                return refuse("job_name", "must be there, and no other job's").map_err(within);
            }
            self.job(job).and_then(|()| check_static_targets(job)).map_err(within)?;
        }
        Ok(())
    }

    fn job(&self, job: &Map) -> Verdict {
        self.client(job)?;
        self.timing(job)?;
        self.protocols(job)?;
        check_size(job, "body_size_limit")?;
        if let Some(key) =
            LIMITS.iter().find(|key| job.get(key).and_then(Tree::as_int) < Some(0) && job.contains_key(key))
        {
            return refuse(*key, "cannot be negative; remove it for no limit");
        }
        let names = self.names(job)?;
        for key in ["relabel_configs", "metric_relabel_configs"] {
            names.check_steps(key, list(job, key))?;
        }
        discovery::check(job, self)
    }

    /// A client, its credentials, its proxy and its TLS.
    fn client(&self, client: &Map) -> Verdict {
        client::check(client).map_err(rejected)?;
        check_address(client, "proxy_url")?;
        let Some(oauth2) = map(client, "oauth2") else { return Ok(()) };
        if !oauth2.given("client_secret")
            && !oauth2.given("client_secret_file")
            && TOKEN_NEEDS_SECRET.admits(self.version)
        {
            return refuse(
                "oauth2.client_secret",
                "must not be empty before Prometheus 2.51.0; fill the key of the Secret",
            );
        }
        check_address(oauth2, "proxy_url").map_err(|error| error.within("oauth2"))
    }

    /// A scrape ends before the next one begins.
    fn timing(&self, job: &Map) -> Verdict {
        let interval = check_duration(job, "scrape_interval")?.filter(|length| *length != 0);
        let timeout = check_duration(job, "scrape_timeout")?.unwrap_or_default();
        let inherited =
            || check_duration(self.global, "scrape_interval").ok().flatten().filter(|length| *length != 0);
        let interval = interval.or_else(inherited).unwrap_or(60_000);
        match timeout > interval {
            true => {
                refuse("scrape_timeout", "is longer than the interval; a scrape must end before the next one")
            }
            false => Ok(()),
        }
    }

    fn protocols(&self, section: &Map) -> Verdict {
        let known = |protocol: &str| {
            PROTOCOLS.iter().any(|(name, gate)| *name == protocol && gate.admits(self.version))
        };
        let unknown = |protocol: &str| {
            format!("{protocol:?} is no protocol of Prometheus {}; take it out", self.version)
        };
        let mut seen = HashSet::new();
        let protocols = section.get("scrape_protocols").and_then(Tree::as_list);
        for protocol in protocols.into_iter().flatten().filter_map(Tree::as_str) {
            if !known(protocol) {
                return refuse("scrape_protocols", unknown(protocol));
            }
            if !seen.insert(protocol.to_ascii_lowercase()) {
                return refuse("scrape_protocols", format!("has {protocol:?} twice; take one out"));
            }
        }
        if protocols.is_some_and(<[Tree]>::is_empty) {
            return refuse(
                "scrape_protocols",
                format!("has none that Prometheus {} speaks; add one", self.version),
            );
        }
        match text(section, "fallback_scrape_protocol") {
            fallback if fallback.is_empty() || known(fallback) => Ok(()),
            fallback => refuse("fallback_scrape_protocol", unknown(fallback)),
        }
    }

    /// Which names a job may have, if it asks for them in a form in which they can be given.
    fn names(&self, job: &Map) -> Result<Names, Rejected> {
        let or = |own: &'a str, other: &'a str| if own.is_empty() { other } else { own };
        let by_form = |validation: &str| if validation == LEGACY { UNDERSCORES } else { ALLOW_UTF8 };
        let inherited = or(text(self.global, VALIDATION), UTF8);
        let inherited_escaping = or(text(self.global, ESCAPING_KEY), by_form(inherited));
        let own = text(job, VALIDATION);
        let legacy = if own.is_empty() { inherited == LEGACY } else { own == LEGACY };
        let escaping = match text(job, ESCAPING_KEY) {
            "" if own.is_empty() || !OWN_ESCAPING.admits(self.version) => inherited_escaping,
            "" => by_form(own),
            escaping => escaping,
        };
        if legacy && escaping == ALLOW_UTF8 && ESCAPING.admits(self.version) {
            return Err(Rejected::new(
                ESCAPING_KEY,
                "AllowUTF8 needs nameValidationScheme UTF8; take Underscores, Dots or Values",
            ));
        }
        Ok(Names::of(self.version, legacy))
    }
}

/// Addresses that stand for URLs are refused where no step could make addresses of them.
fn check_static_targets(job: &Map) -> Verdict {
    if !list(job, "relabel_configs").is_empty() {
        return Ok(());
    }
    for targets in list(job, "static_configs") {
        let targets = targets.get("targets").and_then(Tree::as_list).unwrap_or_default();
        if let Some(target) = targets.iter().filter_map(Tree::as_str).find(|target| target.contains('/')) {
            return refuse("static_configs", format!("{target:?} is no address; take host and port of it"));
        }
    }
    Ok(())
}

fn rejected(fault: ClientFault) -> Rejected {
    Rejected::new(fault.path, fault.problem.said(fields::name))
}

fn refuse<T>(field: impl Into<String>, why: impl std::fmt::Display) -> Result<T, Rejected> {
    Err(Rejected::new(field, why))
}

/// A duration in milliseconds, where there is one.
fn check_duration(section: &Map, key: &str) -> Result<Option<u64>, Rejected> {
    match section.get(key).and_then(Tree::as_str) {
        Some(text) => duration::prometheus(text).map(Some).map_err(|error| Rejected::new(key, error)),
        None => Ok(None),
    }
}

fn check_size(section: &Map, key: &str) -> Verdict {
    match section.get(key).and_then(Tree::as_str) {
        Some(text) if !is_size(text) => refuse(key, format!("{text:?} is no size; write it as in 512MB")),
        _ => Ok(()),
    }
}

fn check_address(section: &Map, key: &str) -> Verdict {
    url::parse(text(section, key)).map(drop).map_err(|error| Rejected::new(key, error))
}

fn text<'m>(section: &'m Map, key: &str) -> &'m str {
    section.get(key).and_then(Tree::as_str).unwrap_or_default()
}

fn map<'m>(section: &'m Map, key: &str) -> Option<&'m Map> {
    section.get(key).and_then(Tree::as_map)
}

fn list<'m>(section: &'m Map, key: &str) -> &'m [Tree] {
    section.get(key).and_then(Tree::as_list).unwrap_or_default()
}

#[cfg(test)]
mod tests;
