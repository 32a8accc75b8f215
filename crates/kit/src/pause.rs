//! Pause: a user asks the operator to keep its hands off one object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::{Key, KindId};

/// The annotation that pauses an object, with the value `true`.
pub const PAUSED: &str = "capstan.dev/paused";

/// Values that do not pause.
const NOT_PAUSED: &[&str] = &["", "false", "no", "off", "0"];

/// Whether the annotation asks to leave the object alone. A value that is neither yes nor no pauses too: somebody wanted us to
/// stop, and a typing mistake must not cost a cluster.
pub fn is_paused(meta: &ObjectMeta) -> bool {
    let value = meta.annotations.as_ref().and_then(|annotations| annotations.get(PAUSED));
    value.is_some_and(|value| !NOT_PAUSED.iter().any(|not| value.trim().eq_ignore_ascii_case(not)))
}

/// Why an object is left alone, if its user asked for that: by the field `spec.paused`, or else by the annotation. What to say, in a
/// condition or an event: what it means, and how to go on.
pub fn why<K: Resource<DynamicType = ()>>(object: &K, spec_paused: bool) -> Option<String>
where
    K::Scope: 'static,
{
    let by_field =
        "spec.paused is set: nothing is changed, only the status is kept up to date. To go on, remove it";
    match spec_paused {
        true => Some(by_field.to_owned()),
        false => is_paused(object.meta()).then(|| message(object)),
    }
}

/// What to say, in a condition or an event, about an object that is paused: what it means, and how to go on.
pub fn message<K: Resource<DynamicType = ()>>(object: &K) -> String
where
    K::Scope: 'static,
{
    let (kind, key) = (KindId::of::<K>(), Key::of(object));
    let namespace = match key.namespace() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    format!(
        "{kind} {key} is paused: nothing is changed, only its status is kept up to date. \
         To go on: kubectl annotate{namespace} {} {} {PAUSED}-",
        kind.plural,
        key.name()
    )
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn only_a_clear_no_or_nothing_goes_on() {
        let paused = |value: &str| {
            let annotations = [(PAUSED.to_owned(), value.to_owned())].into();
            is_paused(&ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() })
        };
        for yes in ["true", "True", " true ", "yes", "1", "flase", "until Monday"] {
            assert!(paused(yes), "{yes}");
        }
        for no in ["false", "False", " no", "off", "0", ""] {
            assert!(!paused(no), "{no}");
        }
        assert!(!is_paused(&ObjectMeta::default()));
    }

    #[test]
    fn the_message_says_how_to_go_on() {
        let metadata =
            ObjectMeta { name: Some("db".into()), namespace: Some("prod".into()), ..ObjectMeta::default() };
        let mut object = ConfigMap { metadata, ..ConfigMap::default() };
        let told = message(&object);
        assert_eq!(why(&object, false), None);
        assert!(why(&object, true).unwrap().starts_with("spec.paused is set: nothing is changed"));
        object.metadata.annotations = Some([(PAUSED.to_owned(), "true".to_owned())].into());
        assert_eq!(why(&object, false).as_ref(), Some(&told));
        assert_eq!(
            told,
            "ConfigMap prod/db is paused: nothing is changed, only its status is kept up to date. \
             To go on: kubectl annotate -n prod configmaps db capstan.dev/paused-"
        );
    }
}
