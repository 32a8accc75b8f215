//! Tells API servers which CA to trust: the `caBundle` of webhook configurations and CRD conversions.

use http::{Method, Request, header};
use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Value, json};

use super::keeper::KeepError;

/// An object that says how API servers call our webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The ValidatingWebhookConfiguration of this name.
    Validating(String),
    /// The MutatingWebhookConfiguration of this name.
    Mutating(String),
    /// The CustomResourceDefinition of this name, whose versions we convert.
    Conversion(String),
}

impl Target {
    /// API group, resource and name.
    pub(super) fn resource(&self) -> (&'static str, &'static str, &str) {
        match self {
            Self::Validating(name) => {
                ("admissionregistration.k8s.io", "validatingwebhookconfigurations", name)
            }
            Self::Mutating(name) => ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", name),
            Self::Conversion(name) => ("apiextensions.k8s.io", "customresourcedefinitions", name),
        }
    }

    fn path(&self) -> String {
        let (group, resource, name) = self.resource();
        format!("/apis/{group}/v1/{resource}/{name}")
    }

    fn describe(&self) -> String {
        match self {
            Self::Validating(name) => format!("ValidatingWebhookConfiguration {name}"),
            Self::Mutating(name) => format!("MutatingWebhookConfiguration {name}"),
            Self::Conversion(name) => format!("CustomResourceDefinition {name}"),
        }
    }
}

/// Somebody may apply the object at the same time; more than a few times in a row is no coincidence.
const ATTEMPTS: usize = 5;

/// Makes `target` trust `ca` (PEM). Nothing is written when it does already, or when it is not installed.
pub(super) async fn trust(client: &Client, target: &Target, ca: &str) -> Result<(), KeepError> {
    for _ in 0..ATTEMPTS {
        let object = match request(client, Method::GET, target, None).await {
            Ok(object) => object,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                tracing::info!("{} is not installed: nobody calls this webhook by it", target.describe());
                return Ok(());
            }
            Err(error) => return Err(failed("read", target, error)),
        };
        let Some(patch) = patch(target, &object, ca) else { return Ok(()) };
        match request(client, Method::PATCH, target, Some(&patch)).await {
            Ok(_) => {
                tracing::info!("{} trusts the new CA", target.describe());
                return Ok(());
            }
            // The test of the resourceVersion failed: somebody was quicker.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {}
            Err(error) => return Err(failed("patch", target, error)),
        }
    }
    Err(KeepError::Contended(target.describe()))
}

/// The JSON patch that sets the CA wherever our Service is called and it is another one; `None` if nowhere.
fn patch(target: &Target, object: &Value, ca: &str) -> Option<Value> {
    let clients: Vec<String> = match target {
        Target::Conversion(_) => vec!["/spec/conversion/webhook/clientConfig".into()],
        Target::Validating(_) | Target::Mutating(_) => {
            let webhooks = object.get("webhooks").and_then(Value::as_array).map_or(0, Vec::len);
            (0..webhooks).map(|n| format!("/webhooks/{n}/clientConfig")).collect()
        }
    };
    let ca = json!(ByteString(ca.as_bytes().to_vec()));
    let differs = |client: &String| {
        object.pointer(client).is_some_and(|config| {
            // A URL leads elsewhere, to something with its own CA.
            config.get("service").is_some() && config.get("caBundle") != Some(&ca)
        })
    };
    let mut patch: Vec<Value> = clients
        .iter()
        .filter(|client| differs(client))
        .map(|client| json!({ "op": "add", "path": format!("{client}/caBundle"), "value": ca }))
        .collect();
    if patch.is_empty() {
        return None;
    }
    let version = object.pointer("/metadata/resourceVersion");
    patch.insert(0, json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version }));
    Some(Value::Array(patch))
}

async fn request(
    client: &Client,
    method: Method,
    target: &Target,
    body: Option<&Value>,
) -> Result<Value, kube::Error> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(target.path())
        .header(header::CONTENT_TYPE, "application/json-patch+json")
        .body(body.into_bytes())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}

fn failed(verb: &'static str, target: &Target, source: kube::Error) -> KeepError {
    KeepError::Api { verb, what: target.describe(), source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &Target, object: &Value, expected: &Value) {
        assert_eq!(patch(target, object, "CA").unwrap_or_default(), *expected);
    }

    #[test]
    fn only_what_calls_our_service_and_trusts_another_ca_is_patched() {
        let current = json!(ByteString(b"CA".to_vec()));
        let service = json!({ "name": "capstan", "namespace": "default" });
        let object = json!({ "metadata": { "resourceVersion": "7" }, "webhooks": [
            { "clientConfig": { "service": service } },
            { "clientConfig": { "service": service, "caBundle": current } },
            { "clientConfig": { "url": "https://elsewhere" } },
            { "clientConfig": { "service": service, "caBundle": "b2xk" } },
        ] });
        let expected = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
            { "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": current },
            { "op": "add", "path": "/webhooks/3/clientConfig/caBundle", "value": current },
        ]);
        check(&Target::Validating("x".into()), &object, &expected);
    }

    #[test]
    fn nothing_is_written_when_nothing_differs() {
        let current = json!(ByteString(b"CA".to_vec()));
        let config = json!({ "service": {}, "caBundle": current });
        let object = json!({ "webhooks": [{ "clientConfig": config }], "spec": { "conversion": { "webhook": { "clientConfig": config } } } });
        for target in
            [Target::Validating("x".into()), Target::Mutating("x".into()), Target::Conversion("x".into())]
        {
            check(&target, &object, &Value::Null);
        }
    }

    #[test]
    fn a_crd_that_converts_by_us_is_patched_and_others_are_not() {
        let object = json!({ "metadata": { "resourceVersion": "7" }, "spec": { "conversion": { "strategy": "Webhook",
            "webhook": { "clientConfig": { "service": {} } } } } });
        let expected = json!([
            { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
            { "op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": ByteString(b"CA".to_vec()) },
        ]);
        check(&Target::Conversion("x".into()), &object, &expected);
        check(
            &Target::Conversion("x".into()),
            &json!({ "spec": { "conversion": { "strategy": "None" } } }),
            &Value::Null,
        );
    }
}
