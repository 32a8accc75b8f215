//! Probes of the operands' web servers.

use k8s_openapi::api::core::v1::{ExecAction, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The kubelet asks.
pub(crate) fn get(path: String, port: IntOrString, https: bool) -> Probe {
    let scheme = https.then(|| "HTTPS".to_owned());
    Probe {
        http_get: Some(HTTPGetAction { path: Some(path), port, scheme, ..Default::default() }),
        ..Default::default()
    }
}

/// The container asks itself, with whichever program its image has: from outside it cannot be reached.
pub(crate) fn ask_itself(url: &str) -> Probe {
    let script = format!(
        "if [ -x \"$(command -v curl)\" ]; then exec curl --fail {url}; \
         elif [ -x \"$(command -v wget)\" ]; then exec wget -q -O /dev/null {url}; else exit 1; fi"
    );
    let command = Some(vec!["sh".to_owned(), "-c".to_owned(), script]);
    Probe { exec: Some(ExecAction { command }), ..Default::default() }
}
