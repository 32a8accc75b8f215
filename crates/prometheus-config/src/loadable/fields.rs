//! From keys of Prometheus' file to fields of the resources that they come from.

use crate::validate::Rejected;

/// Keys that are known to users by other names than the same words in camel case.
const NAMES: &[(&str, &str)] = &[
    ("api_url", "apiURL"),
    ("azuread", "azureAd"),
    ("bearer_token", "bearerTokenSecret"),
    ("ca_file", "ca"),
    ("cert_file", "cert"),
    ("datacenter_id", "datacenterID"),
    ("digitalocean_sd_configs", "digitalOceanSDConfigs"),
    ("dockerswarm_sd_configs", "dockerSwarmSDConfigs"),
    ("key_file", "keySecret"),
    ("lightsail_sd_configs", "lightSailSDConfigs"),
    ("metric_name_escaping_scheme", "nameEscapingScheme"),
    ("metric_name_validation_scheme", "nameValidationScheme"),
    ("metric_relabel_configs", "metricRelabelings"),
    ("project_id", "projectID"),
    ("puppetdb_sd_configs", "puppetDBSDConfigs"),
    ("relabel_configs", "relabelings"),
    ("subscription_id", "subscriptionID"),
    ("token", "tokenRef"),
    ("use_fips_sts_endpoint", "useFIPSSTSEndpoint"),
    ("write_relabel_configs", "writeRelabelConfigs"),
];

/// The same refusal, in the words of the resource.
pub(super) fn in_resource(rejected: Rejected) -> Rejected {
    let words: Vec<String> = rejected.field.split('.').map(name).collect();
    Rejected { field: words.join("."), ..rejected }
}

/// The field that a key comes from; an index behind it stays.
pub(super) fn name(key: &str) -> String {
    let (key, index) = key.find('[').and_then(|at| key.split_at_checked(at)).unwrap_or((key, ""));
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == key) {
        return format!("{name}{index}");
    }
    let (words, discovery) = match key.strip_suffix("_sd_configs") {
        Some(words) => (words, "SDConfigs"),
        None => (key, ""),
    };
    let mut name = String::with_capacity(key.len());
    for (at, word) in words.split('_').enumerate() {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if at > 0 => name.push(first.to_ascii_uppercase()),
            Some(first) => name.push(first),
            None => {}
        }
        name.push_str(letters.as_str());
    }
    name + discovery + index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field_that_users_wrote() {
        for (key, field) in [
            ("kubernetes_sd_configs[1].basic_auth", "kubernetesSDConfigs[1].basicAuth"),
            ("puppetdb_sd_configs[0].tls_config.key_file", "puppetDBSDConfigs[0].tlsConfig.keySecret"),
            ("consul_sd_configs[0].token", "consulSDConfigs[0].tokenRef"),
            ("scrape_protocols", "scrapeProtocols"),
            ("oauth2", "oauth2"),
        ] {
            assert_eq!(in_resource(Rejected::new(key, "")).field, field);
        }
    }
}
