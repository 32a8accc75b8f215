//! How an object of the API is declared: what must be there, what may be, and what is shared with other objects.
//!
//! Invariants of every type made here, each because of who reads and writes these objects:
//! - reading never fails for want of a field, nor for a `null`: the operator also sees what an API server would refuse (objects stored
//!   under an older CRD, files given to `capstan lint`), and validation, not parsing, says what is wrong with them;
//! - an optional field that has its zero value is not written, so what was absent stays absent;
//! - a required field is always written, so what we write is what an API server accepts.
//!
//! `Option` is used only where "absent" and "zero" mean different things; plain `String`, `bool`, `Vec` elsewhere.

/// Declares an object: `inline` fields are other objects whose fields appear in this one, `required` and `optional`
/// say what the CRD demands. JSON names are the camel case of the Rust names unless a field says otherwise.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(inline { $($(#[$imeta:meta])* pub $ifield:ident: $ity:ty,)+ })?
            $(required { $($(#[$rmeta:meta])* pub $rfield:ident: $rty:ty,)+ })?
            $(optional { $($(#[$ometa:meta])* pub $ofield:ident: $oty:ty,)+ })?
        }
    ) => {
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", default)]
        $(#[$meta])*
        pub struct $name {
            $($($(#[$imeta])* #[serde(flatten)] pub $ifield: $ity,)+)?
            $($(
                $(#[$rmeta])*
                #[serde(deserialize_with = "crate::object::null_is_zero")]
                #[schemars(extend("x-required" = true))]
                pub $rfield: $rty,
            )+)?
            $($(
                $(#[$ometa])*
                #[serde(deserialize_with = "crate::object::null_is_zero", skip_serializing_if = "crate::object::is_zero")]
                pub $ofield: $oty,
            )+)?
        }
    };
}
pub(crate) use object;

/// Declares the specification of a kind: an [`object`], of which kube makes the resource. Its schema is [`crate::crd`]'s.
macro_rules! kind {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)+ }) => {
        $crate::object::object! {
            #[derive(kube_derive::CustomResource)]
            #[kube(
                group = "monitoring.coreos.com",
                category = "prometheus-operator",
                namespaced,
                schema = "disabled",
                derive = "Default",
                derive = "PartialEq",
                crates(kube_core = "::kube_core")
            )]
            $(#[$meta])*
            pub struct $name { $($fields)+ }
        }
    };
}
pub(crate) use kind;

/// Whether a field holds nothing that is worth writing.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads `null` as the zero value, as YAML made from templates has it where nothing was filled in.
pub(crate) fn null_is_zero<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + serde::Deserialize<'de>,
{
    Ok(<Option<T> as serde::Deserialize>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::service_monitor::{Endpoint, ServiceMonitorSpec};
    use crate::{Prometheus, ServiceMonitor};

    #[test]
    fn what_is_absent_stays_absent_and_what_is_required_is_always_written() {
        let read: ServiceMonitorSpec =
            serde_json::from_value(json!({"jobLabel": "app", "unknown": 1})).unwrap();
        assert_eq!(read.job_label, "app");
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!({"jobLabel": "app", "endpoints": [], "selector": {}})
        );
    }

    #[test]
    fn zero_is_not_absent_where_it_means_something_else() {
        let written =
            json!({"honorTimestamps": false, "relabelings": [{"separator": "", "replacement": ""}]});
        let read: Endpoint = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
    }

    #[test]
    fn null_is_absent() {
        let nulls = json!({"port": null, "interval": null, "relabelings": null, "tlsConfig": null, "honorLabels": null});
        assert_eq!(serde_json::from_value::<Endpoint>(nulls).unwrap(), Endpoint::default());
    }

    #[test]
    fn an_empty_selector_is_not_an_absent_one() {
        let spec = json!({"serviceMonitorSelector": {}, "replicas": 0});
        let read: Prometheus = serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap();
        assert!(read.spec.common.selection.service_monitor_selector.is_some());
        assert!(read.spec.common.selection.pod_monitor_selector.is_none());
        assert_eq!(serde_json::to_value(&read.spec).unwrap(), spec);
    }

    #[test]
    fn fields_of_inline_objects_stand_beside_the_others() {
        let endpoint = json!({
            "port": "web",
            "proxyUrl": "http://proxy:3128",
            "basicAuth": {"username": {"name": "secret", "key": "user"}, "password": {"name": "secret", "key": "pass"}},
            "tlsConfig": {"caFile": "/ca", "insecureSkipVerify": false},
        });
        let monitor = json!({"metadata": {"name": "a"}, "spec": {"endpoints": [endpoint], "selector": {}}});
        let read: ServiceMonitor = serde_json::from_value(monitor).unwrap();
        let first = &read.spec.endpoints[0];
        assert_eq!(first.proxy.proxy_url.as_deref(), Some("http://proxy:3128"));
        assert_eq!(first.tls_config.as_ref().unwrap().safe.insecure_skip_verify, Some(false));
        assert_eq!(serde_json::to_value(first).unwrap(), endpoint);
    }
}
