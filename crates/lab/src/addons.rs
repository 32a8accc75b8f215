//! What a cluster needs beside its control plane: DNS and storage classes, from crates/lab/manifests. Volumes are `provisioner`'s.

use std::time::Duration;

use crate::{
    addresses::DNS_SERVICE,
    api::{self, Api},
    error::Result,
    lab::Lab,
    process::run_with,
    versions::COREDNS,
};

const MANIFESTS: &[&str] = &[
    include_str!("../manifests/nodes.yaml"),
    include_str!("../manifests/dns.yaml"),
    include_str!("../manifests/storage.yaml"),
];

pub(crate) fn apply(lab: &Lab) -> Result<()> {
    let values = [("${COREDNS}", COREDNS.version.to_owned()), ("${DNS}", DNS_SERVICE.to_string())];
    // Validation would download the whole OpenAPI document first.
    run_with(lab.kubectl().args(["create", "--validate=false", "-f", "-"]), &render(&values)).map(drop)
}

fn render(values: &[(&str, String)]) -> String {
    values.iter().fold(MANIFESTS.join("\n---\n"), |text, (name, value)| text.replace(name, value))
}

pub(crate) fn wait(lab: &Lab, limit: Duration) -> Result<()> {
    let list = "/apis/apps/v1/namespaces/kube-system/deployments";
    Api::of(lab).watch_until(list, limit, "cluster DNS", |deployments| {
        deployments.get("coredns").is_some_and(|it| api::is(it, "Available"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_of_the_manifests_has_a_value() {
        let names = ["${COREDNS}", "${DNS}"];
        let values = names.map(|name| (name, "value".to_owned()));
        let text = render(&values);
        assert!(!text.contains("${"), "{text}");
        for name in names {
            assert!(MANIFESTS.iter().any(|manifest| manifest.contains(name)), "{name} is in no manifest");
        }
    }
}
