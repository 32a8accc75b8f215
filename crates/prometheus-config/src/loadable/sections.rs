//! What Prometheus refuses in the sections around the jobs: they are the workload's own, or an administrator's.

use std::collections::HashSet;

use rendering::client::RESERVED_HEADERS;
use rendering::{Gate, Map, Tree, since};

use super::{
    Loader, Verdict, check_address, check_duration, check_size, check_static_targets, discovery, fields,
    list, map, refuse, text,
};
use crate::validate::Rejected;
use crate::validate::label_syntax::is_label_name;
use crate::validate::remote_write::is_uuid;

/// The queue of remote write is judged.
const JUDGED_QUEUE: Gate = since("3.12.0");
/// The form of names that all jobs inherit holds for external labels, too.
const LABELS_BY_FORM: Gate = since("3.7.0");
/// Any text may be the name of a label.
const UTF8_NAMES: Gate = since("3.0.0");
/// AWS' endpoints by the rules of FIPS are known.
const SIGV4_FIPS: Gate = since("3.1.0");
/// A managed identity of Azure need not be named.
const DEFAULT_IDENTITY: Gate = since("3.5.0");

/// Headers that Prometheus lets nobody set, without those that only scrapes know.
const SCRAPE_HEADER: &str = "x-prometheus-scrape-timeout-seconds";

/// Ways of Azure to prove who one is, of which there is one.
const AZURE_WAYS: &[&str] = &["managed_identity", "oauth", "sdk", "workload_identity"];

/// Numbers of a queue that must be above zero, and what they are by default.
const QUEUE: &[(&str, i128)] =
    &[("max_shards", 50), ("min_shards", 1), ("max_samples_per_send", 2000), ("capacity", 10_000)];

impl Loader<'_> {
    /// Judges the sections before and after the jobs. `own_alertmanagers` are the workload's; those behind are an administrator's.
    pub(crate) fn sections(&self, head: &Map, tail: &Map, own_alertmanagers: usize) -> Verdict {
        let section = |key: &str| map(head, key).or_else(|| map(tail, key));
        self.global_section().map_err(fields::in_resource)?;
        self.entries("remoteWrite", list(tail, "remote_write"), |entry| self.remote_write(entry))?;
        self.entries("remoteRead", list(tail, "remote_read"), |entry| self.remote_read(entry))?;
        if let Some(alerting) = section("alerting") {
            self.alerting(alerting, own_alertmanagers)?;
        }
        if let Some(tracing) = section("tracing") {
            check_tracing(tracing).map_err(|error| fields::in_resource(error).within("tracingConfig"))?;
        }
        if let Some(otlp) = section("otlp") {
            self.otlp(otlp).map_err(|error| fields::in_resource(error).within("otlp"))?;
        }
        section("storage").map_or(Ok(()), check_storage)
    }

    fn global_section(&self) -> Verdict {
        let global = self.global;
        for key in ["evaluation_interval", "rule_query_offset"] {
            check_duration(global, key)?;
        }
        self.timing(global)?;
        self.protocols(global)?;
        check_size(global, "body_size_limit")?;
        let legacy = text(global, super::VALIDATION) == super::LEGACY && LABELS_BY_FORM.admits(self.version);
        let utf8 = UTF8_NAMES.admits(self.version) && !legacy;
        let labels = map(global, "external_labels").into_iter().flat_map(Map::iter);
        match labels.map(|(name, _)| name).find(|name| !is_label_name(name, utf8)) {
            Some(name) => {
                refuse("external_labels", format!("{name:?} is no name of a label; choose another"))
            }
            None => Ok(()),
        }
    }

    /// Entries of a list, none of which has another's name.
    fn entries(&self, field: &str, entries: &[Tree], check: impl Fn(&Map) -> Verdict) -> Verdict {
        let mut names = HashSet::new();
        for (at, entry) in entries.iter().enumerate() {
            let within = |error: Rejected| fields::in_resource(error).within(&format!("{field}[{at}]"));
            let Some(entry) = entry.as_map() else { continue };
            let name = text(entry, "name");
            if !name.is_empty() && !names.insert(name) {
                return refuse("name", format!("{name:?} is there already; names must differ"))
                    .map_err(within);
            }
            check_address(entry, "url")
                .and_then(|()| check_duration(entry, "remote_timeout").map(drop))
                .and_then(|()| check_headers(entry))
                .and_then(|()| self.client(entry))
                .and_then(|()| check(entry))
                .map_err(within)?;
        }
        Ok(())
    }

    fn remote_write(&self, entry: &Map) -> Verdict {
        let ways = [
            "basic_auth",
            "authorization",
            "oauth2",
            "bearer_token",
            "bearer_token_file",
            "sigv4",
            "azuread",
        ];
        let mut given = ways.into_iter().filter(|way| entry.contains_key(way));
        if let (Some(one), Some(other)) = (given.next(), given.next()) {
            let why = format!("cannot be used together with {}; remove one of them", fields::name(one));
            return refuse(other, why);
        }
        self.sigv4(entry)?;
        self.names_of_all().check_steps("write_relabel_configs", list(entry, "write_relabel_configs"))?;
        if let Some(azure) = map(entry, "azuread") {
            self.azure(azure).map_err(|error| error.within("azuread"))?;
        }
        if let Some(metadata) = map(entry, "metadata_config") {
            check_duration(metadata, "send_interval").map_err(|error| error.within("metadata_config"))?;
        }
        map(entry, "queue_config")
            .map_or(Ok(()), |queue| self.queue(queue))
            .map_err(|error| error.within("queue_config"))
    }

    fn sigv4(&self, entry: &Map) -> Verdict {
        let fips = map(entry, "sigv4").is_some_and(|sigv4| sigv4.contains_key("use_fips_sts_endpoint"));
        match fips && !SIGV4_FIPS.admits(self.version) {
            true => {
                let why = "needs Prometheus 3.1.0; raise spec.version or remove it";
                refuse("sigv4.use_fips_sts_endpoint", why)
            }
            false => Ok(()),
        }
    }

    fn azure(&self, azure: &Map) -> Verdict {
        let ways: Vec<(&str, &Map)> =
            AZURE_WAYS.iter().filter_map(|way| Some((*way, map(azure, way)?))).collect();
        let [(way, identity)] = ways.as_slice() else {
            return refuse(
                "managed_identity",
                "one of managedIdentity, oauth, sdk and workloadIdentity is needed",
            );
        };
        let id = text(identity, "client_id");
        let needed = match *way {
            "managed_identity" => !DEFAULT_IDENTITY.admits(self.version) || !id.is_empty(),
            "sdk" => false,
            _ => true,
        };
        if needed && !is_uuid(id) {
            return refuse(format!("{way}.client_id"), format!("{id:?} is no UUID"));
        }
        if let Some(key) = ["client_secret", "tenant_id"]
            .into_iter()
            .find(|key| *way != "sdk" && identity.contains_key(key) && !identity.given(key))
        {
            return refuse(format!("{way}.{key}"), "must not be empty");
        }
        let tenant = text(identity, "tenant_id");
        if *way == "workload_identity" && !is_uuid(tenant) {
            return refuse("workload_identity.tenant_id", format!("{tenant:?} is no UUID"));
        }
        let of_scope = |c: char| c.is_ascii_alphanumeric() || "_:/.- \t\n\r\u{c}".contains(c);
        match text(azure, "scope").chars().all(of_scope) {
            true => Ok(()),
            false => refuse("scope", "may have letters, digits, spaces and _ : / . - only"),
        }
    }

    fn queue(&self, queue: &Map) -> Verdict {
        let length =
            |key: &str, default: u64| Ok::<_, Rejected>(check_duration(queue, key)?.unwrap_or(default));
        for key in ["batch_send_deadline", "sample_age_limit"] {
            check_duration(queue, key)?;
        }
        let (least, most) = (length("min_backoff", 30)?, length("max_backoff", 5_000)?);
        if !JUDGED_QUEUE.admits(self.version) {
            return Ok(());
        }
        let number = |key: &str| {
            let default = QUEUE.iter().find(|(name, _)| *name == key).map_or(1, |(_, default)| *default);
            queue.get(key).and_then(Tree::as_int).unwrap_or(default)
        };
        if let Some((key, _)) = QUEUE.iter().find(|(key, _)| number(key) <= 0) {
            return refuse(*key, "must be above 0");
        }
        if number("min_shards") > number("max_shards") {
            return refuse(
                "min_shards",
                format!("must not be above maxShards, which is {}", number("max_shards")),
            );
        }
        match most < least {
            true => {
                refuse("max_backoff", format!("{most}ms is below minBackoff, which is {least}ms; raise it"))
            }
            false => Ok(()),
        }
    }

    fn remote_read(&self, entry: &Map) -> Verdict {
        let labels = map(entry, "required_matchers").into_iter().flat_map(Map::iter);
        let utf8 = UTF8_NAMES.admits(self.version);
        match labels.map(|(name, _)| name).find(|name| !is_label_name(name, utf8)) {
            Some(name) => refuse("required_matchers", format!("{name:?} is no name of a label")),
            None => Ok(()),
        }
    }

    fn alerting(&self, alerting: &Map, own: usize) -> Verdict {
        let names = self.names_of_all();
        names.check_steps("additionalAlertRelabelConfigs", list(alerting, "alert_relabel_configs"))?;
        for (at, target) in list(alerting, "alertmanagers").iter().enumerate() {
            let Some(target) = target.as_map() else { continue };
            self.alertmanager(target).map_err(|error| match at.checked_sub(own) {
                None => fields::in_resource(error).within(&format!("alerting.alertmanagers[{at}]")),
                Some(at) => error.within(&format!("additionalAlertManagerConfigs[{at}]")),
            })?;
        }
        Ok(())
    }

    fn alertmanager(&self, target: &Map) -> Verdict {
        self.client(target)?;
        let ways = ["basic_auth", "authorization", "oauth2", "bearer_token", "bearer_token_file"];
        if target.contains_key("sigv4")
            && let Some(other) = ways.into_iter().find(|way| target.contains_key(way))
        {
            let why = format!("cannot be used together with {}; remove one of them", fields::name(other));
            return refuse("sigv4", why);
        }
        self.sigv4(target)?;
        check_duration(target, "timeout")?;
        check_static_targets(target)?;
        for key in ["relabel_configs", "alert_relabel_configs"] {
            self.names_of_all().check_steps(key, list(target, key))?;
        }
        discovery::check(target, self)
    }

    fn otlp(&self, otlp: &Map) -> Verdict {
        for key in ["promote_resource_attributes", "ignore_resource_attributes"] {
            let mut seen = HashSet::new();
            for attribute in list(otlp, key).iter().filter_map(Tree::as_str).map(str::trim) {
                if attribute.is_empty() || !seen.insert(attribute) {
                    return refuse(key, format!("{attribute:?} is empty or there twice; take it out"));
                }
            }
        }
        let strategy = text(otlp, "translation_strategy");
        let utf8 = matches!(strategy, "NoTranslation" | "NoUTF8EscapingWithSuffixes");
        match utf8 && text(self.global, super::VALIDATION) == super::LEGACY {
            true => refuse("translation_strategy", format!("{strategy} needs nameValidationScheme UTF8")),
            false => Ok(()),
        }
    }

    /// The names that sections outside of jobs may have.
    fn names_of_all(&self) -> super::Names {
        super::Names::of(self.version, text(self.global, super::VALIDATION) == super::LEGACY)
    }
}

fn check_headers(section: &Map) -> Verdict {
    for (name, _) in map(section, "headers").into_iter().flat_map(Map::iter) {
        let lower = name.to_ascii_lowercase();
        if lower != SCRAPE_HEADER && RESERVED_HEADERS.contains(&lower.as_str()) {
            return refuse("headers", format!("{name} is set by Prometheus itself; remove it"));
        }
    }
    Ok(())
}

fn check_tracing(tracing: &Map) -> Verdict {
    check_headers(tracing)?;
    check_duration(tracing, "timeout")?;
    if !tracing.given("endpoint") {
        return refuse("endpoint", "must be given");
    }
    let tls = map(tracing, "tls_config").map_or(Ok(()), rendering::client::check_tls);
    tls.map_err(|fault| super::rejected(fault).within("tls_config"))
}

fn check_storage(storage: &Map) -> Verdict {
    let Some(tsdb) = map(storage, "tsdb") else { return Ok(()) };
    check_duration(tsdb, "out_of_order_time_window")
        .map_err(|error| fields::in_resource(error).within("tsdb"))?;
    let Some(retention) = map(tsdb, "retention") else { return Ok(()) };
    check_duration(retention, "time").map_err(|error| Rejected { field: "retention".to_owned(), ..error })?;
    check_size(retention, "size").map_err(|error| Rejected { field: "retentionSize".to_owned(), ..error })?;
    let share = match retention.get("percentage") {
        #[expect(clippy::cast_precision_loss, reason = "what is not exact is far beyond 100")]
        Some(Tree::Int(share)) => *share as f64,
        Some(Tree::Float(share)) => *share,
        _ => return Ok(()),
    };
    match (0.0..=100.0).contains(&share) {
        true => Ok(()),
        false => refuse("retentionPercentage", "must be between 0 and 100"),
    }
}
