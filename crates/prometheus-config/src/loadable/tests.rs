//! What Prometheus refuses and what it takes, as tables; promtool says the same of whole configurations (tests/conformance).

use super::*;

fn parse(yaml: &str) -> Map {
    match Tree::parse(yaml) {
        Ok(Tree::Map(map)) => map,
        other => panic!("{yaml}: {other:?}"),
    }
}

fn job(yaml: &str, global: &str, version: &str) -> String {
    let (version, global) = (Version::parse(version).unwrap(), parse(global));
    let verdict = Loader::new(&version, &global).monitor_job(&parse(yaml));
    verdict.map_or_else(|rejected| rejected.to_string(), |()| "loads".to_owned())
}

fn sections(yaml: &str, global: &str, version: &str) -> String {
    let (version, global) = (Version::parse(version).unwrap(), parse(global));
    let verdict = Loader::new(&version, &global).sections(&Map::new(), &parse(yaml), 1);
    verdict.map_or_else(|rejected| rejected.to_string(), |()| "loads".to_owned())
}

#[test]
fn a_job_that_prometheus_refuses_is_refused_by_field() {
    for (yaml, field) in [
        ("{basic_auth: {username: a}, authorization: {credentials: b}}", "basicAuth"),
        ("{proxy_url: 'http://a b'}", "proxyUrl"),
        ("{tls_config: {cert_file: a}}", "tlsConfig.keySecret"),
        ("{scrape_interval: 10s, scrape_timeout: 11s}", "scrapeTimeout"),
        ("{scrape_timeout: 31s}", "scrapeTimeout"),
        ("{scrape_protocols: []}", "scrapeProtocols"),
        ("{scrape_protocols: [PrometheusProto, PrometheusProto]}", "scrapeProtocols"),
        ("{fallback_scrape_protocol: Smoke}", "fallbackScrapeProtocol"),
        ("{body_size_limit: x5MB}", "bodySizeLimit"),
        ("{sample_limit: -1}", "sampleLimit"),
        (
            "{metric_name_validation_scheme: legacy, metric_name_escaping_scheme: allow-utf-8}",
            "nameEscapingScheme",
        ),
        ("{relabel_configs: [{action: keep, source_labels: [a], regex: 'w(b'}]}", "relabelings"),
        (
            "{relabel_configs: [{action: keepequal, source_labels: [a], target_label: b, regex: (.*)}]}",
            "relabelings",
        ),
        ("{metric_relabel_configs: [{source_labels: ['']}]}", "metricRelabelings"),
        ("{static_configs: [{targets: [a], labels: {'': b}}]}", "staticConfigs[0].labels"),
        ("{file_sd_configs: [{files: [a.json, 'a/*/b.json']}]}", "fileSDConfigs[0].files"),
        ("{http_sd_configs: [{url: 'http:///a'}]}", "httpSDConfigs[0].url"),
        ("{consul_sd_configs: [{server: ' '}]}", "consulSDConfigs[0].server"),
        (
            "{consul_sd_configs: [{server: a, token: b, oauth2: {client_id: c, token_url: d}}]}",
            "consulSDConfigs[0].tokenRef",
        ),
        ("{dns_sd_configs: [{names: [a], type: A, port: 0}]}", "dnsSDConfigs[0].port"),
        ("{ec2_sd_configs: [{filters: [{name: a, values: []}]}]}", "ec2SDConfigs[0].filters[0].values"),
        ("{eureka_sd_configs: [{server: a}]}", "eurekaSDConfigs[0].server"),
        ("{puppetdb_sd_configs: [{url: 'http://a', query: ''}]}", "puppetDBSDConfigs[0].query"),
        (
            "{ovhcloud_sd_configs: [{application_key: a, application_secret: '', consumer_key: b, service: vps}]}",
            "ovhcloudSDConfigs[0].applicationSecret",
        ),
        (
            "{hetzner_sd_configs: [{role: robot, refresh_interval: ''}]}",
            "hetznerSDConfigs[0].refreshInterval",
        ),
        ("{scaleway_sd_configs: [{access_key: a}]}", "scalewaySDConfigs[0].accessKey"),
        (
            "{kubernetes_sd_configs: [{role: pod, follow_redirects: false}]}",
            "kubernetesSDConfigs[0].followRedirects",
        ),
        (
            "{kubernetes_sd_configs: [{role: pod, api_server: 'http://a', namespaces: {own_namespace: true}}]}",
            "kubernetesSDConfigs[0].namespaces.ownNamespace",
        ),
        (
            "{kubernetes_sd_configs: [{role: pod, selectors: [{role: pod}, {role: pod}]}]}",
            "kubernetesSDConfigs[0].selectors",
        ),
        (
            "{kubernetes_sd_configs: [{role: node, selectors: [{role: pod}]}]}",
            "kubernetesSDConfigs[0].selectors",
        ),
    ] {
        let said = job(yaml, "{scrape_interval: 30s}", "3.15.0");
        assert!(said.starts_with(&format!("{field}: ")), "{yaml}: {said}");
    }
}

#[test]
fn a_job_that_prometheus_loads_is_kept() {
    for yaml in [
        "{scrape_timeout: 60s, scrape_interval: 0s}",
        "{metric_name_validation_scheme: legacy}",
        "{relabel_configs: [{action: labelmap, regex: a}, {target_label: 'a-${1}'}, {action: HashMod, target_label: a, modulus: 2}]}",
        "{kubernetes_sd_configs: [{role: pod, tls_config: {insecure_skip_verify: false}, follow_redirects: true}]}",
        "{kubernetes_sd_configs: [{role: pod, api_server: 'http://a', basic_auth: {username: a}, selectors: [{role: pod}, {role: node}]}]}",
        "{consul_sd_configs: [{server: a, token: b, basic_auth: {username: c}}]}",
        "{file_sd_configs: [{files: ['a/*.json', /b.YML, '*-*.yaml']}]}",
        "{scaleway_sd_configs: [{access_key: SCWXXXXXXXXXXXXXXXXX, secret_key: 00000000-a12b-3c4d-e5f6-000000000000, \
          project_id: 00000000-a12b-3c4d-e5f6-000000000000, zone: pl-waw-2}]}",
        "{ec2_sd_configs: [{}], oauth2: {client_id: a, token_url: b, client_secret: ''}}",
    ] {
        assert_eq!(job(yaml, "{scrape_interval: 60s}", "3.15.0"), "loads", "{yaml}");
    }
}

#[test]
fn a_release_refuses_what_another_takes() {
    let both = "basic_auth: {username: a}, authorization: {credentials: b}";
    for (yaml, global, taken, refused) in [
        (format!("{{http_sd_configs: [{{url: 'http://a', {both}}}]}}"), "{}", "2.47.2", "2.48.0"),
        ("{oauth2: {client_id: a, token_url: b, client_secret: ''}}".into(), "{}", "2.51.0", "2.50.1"),
        ("{dns_sd_configs: [{names: [a], type: NS, port: 1}]}".into(), "{}", "2.49.0", "2.48.1"),
        ("{linode_sd_configs: [{region: a}]}".into(), "{}", "2.52.0", "2.51.2"),
        ("{scrape_protocols: [PrometheusText1.0.0]}".into(), "{}", "3.0.0-rc.0", "2.55.1"),
        ("{relabel_configs: [{source_labels: [a-b], target_label: c}]}".into(), "{}", "3.0.0", "2.55.1"),
        ("{relabel_configs: [{target_label: 'a-$1'}]}".into(), "{}", "3.2.0", "3.1.0"),
        ("{metric_name_validation_scheme: legacy}".into(), "{}", "3.7.0", "3.6.0"),
        (
            "{relabel_configs: [{target_label: a-b}]}".into(),
            "{metric_name_validation_scheme: legacy}",
            "3.6.0",
            "3.7.0",
        ),
        (
            "{relabel_configs: [{action: labelmap}]}".into(),
            "{metric_name_validation_scheme: legacy}",
            "3.8.0",
            "3.7.3",
        ),
        (
            "{kubernetes_sd_configs: [{role: pod, selectors: [{role: node}]}]}".into(),
            "{}",
            "3.11.0",
            "3.10.0",
        ),
        ("{relabel_configs: [{action: lowercase, target_label: $1}]}".into(), "{}", "2.49.0", "2.50.0"),
    ] {
        assert_eq!(job(&yaml, global, taken), "loads", "{yaml} in {taken}");
        assert_ne!(job(&yaml, global, refused), "loads", "{yaml} in {refused}");
    }
}

#[test]
fn a_section_that_prometheus_refuses_is_refused_by_field() {
    let global = "{scrape_interval: 30s, metric_name_validation_scheme: legacy}";
    for (yaml, said) in [
        (
            "{remote_write: [{url: 'http://a', name: one}, {url: 'http://b', name: one}]}",
            r#"remoteWrite[1].name: "one" is there already; names must differ"#,
        ),
        (
            "{remote_write: [{url: 'http://a', queue_config: {min_backoff: 10s}}]}",
            "remoteWrite[0].queueConfig.maxBackoff: 5000ms is below minBackoff, which is 10000ms; raise it",
        ),
        (
            "{remote_write: [{url: 'http://a', headers: {hOst: a}}]}",
            "remoteWrite[0].headers: hOst is set by Prometheus itself; remove it",
        ),
        (
            "{remote_write: [{url: 'http://a', sigv4: {}, bearer_token: a}]}",
            "remoteWrite[0].sigv4: cannot be used together with bearerTokenSecret; remove one of them",
        ),
        (
            "{remote_write: [{url: 'http://a', azuread: {managed_identity: {client_id: a}}}]}",
            r#"remoteWrite[0].azureAd.managedIdentity.clientId: "a" is no UUID"#,
        ),
        (
            "{remote_write: [{url: 'http://a', write_relabel_configs: [{target_label: a-b}]}]}",
            r#"remoteWrite[0].writeRelabelConfigs: targetLabel: "a-b" is no name of a label that replace can write"#,
        ),
        (
            "{remote_read: [{url: 'http://a', required_matchers: {'': b}}]}",
            r#"remoteRead[0].requiredMatchers: "" is no name of a label"#,
        ),
        (
            "{alerting: {alertmanagers: [{sigv4: {}, basic_auth: {}}]}}",
            "alerting.alertmanagers[0].sigv4: cannot be used together with basicAuth; remove one of them",
        ),
        (
            "{alerting: {alertmanagers: [{}, {static_configs: [{targets: ['http://a']}]}]}}",
            r#"additionalAlertManagerConfigs[0].static_configs: "http://a" is no address; take host and port of it"#,
        ),
        ("{tracing: {endpoint: ''}}", "tracingConfig.endpoint: must be given"),
        (
            "{otlp: {promote_resource_attributes: [a, ' a']}}",
            r#"otlp.promoteResourceAttributes: "a" is empty or there twice; take it out"#,
        ),
        (
            "{otlp: {translation_strategy: NoTranslation}}",
            "otlp.translationStrategy: NoTranslation needs nameValidationScheme UTF8",
        ),
        (
            "{storage: {tsdb: {retention: {percentage: 101}}}}",
            "retentionPercentage: must be between 0 and 100",
        ),
    ] {
        assert_eq!(sections(yaml, global, "3.15.0"), said, "{yaml}");
    }
    assert_eq!(sections("{}", "{scrape_interval: ''}", "3.15.0").split(':').next(), Some("scrapeInterval"));
    let fips = "{remote_write: [{url: 'http://a', sigv4: {use_fips_sts_endpoint: true}}]}";
    assert_eq!(sections(fips, "{}", "3.1.0"), "loads");
    assert!(sections(fips, "{}", "3.0.1").starts_with("remoteWrite[0].sigv4.useFIPSSTSEndpoint: "));
    let labels = "{external_labels: {a-b: c}}";
    assert_eq!(sections("{}", labels, "3.0.0"), "loads");
    assert!(sections("{}", labels, "2.55.0").starts_with("externalLabels: "));
}

#[test]
fn an_administrators_jobs_are_judged_by_the_keys_of_the_file() {
    let (version, global) = (Version::parse("3.15.0").unwrap(), Map::new());
    let said = |yaml: &str| {
        let Ok(Tree::List(jobs)) = Tree::parse(yaml) else { panic!("no list") };
        let verdict = Loader::new(&version, &global).additional_jobs(&jobs);
        verdict.map_or_else(|rejected| rejected.to_string(), |()| "loads".to_owned())
    };
    assert_eq!(said("[{job_name: a, static_configs: [{targets: ['b:80']}]}]"), "loads");
    assert_eq!(said("[{job_name: a}, {job_name: a}]"), "[1].job_name: must be there, and no other job's");
    assert!(
        said("[{job_name: a, static_configs: [{targets: ['http://b']}]}]")
            .starts_with("[0].static_configs: ")
    );
    assert!(said("[{job_name: a, scrape_timeout: 2m}]").starts_with("[0].scrape_timeout: "));
}
