//! What becomes of an object that cannot be read as what it should be: nothing is done to it, and its user is told why.
//!
//! It happens when a CustomResourceDefinition is older or looser than the operator. The object's content is never repeated.

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{Context, Error, Event, KindId, Outcome, informer::Undecodable};

crate::reasons! {
    /// What the kit itself tells about an object.
    pub(crate) enum Told {
        /// The object cannot be read, and is left alone until the field that the message names is mended.
        Unreadable,
    }
}

/// Tells on the object which of its fields is wrong. Only a change of the object can mend it.
pub(super) fn outcome(cx: &Context, kind: &KindId, broken: &Undecodable) -> Outcome {
    let Undecodable { meta, error } = broken;
    let key = meta.key();
    let message = format!("{kind} {key} cannot be read, so it is left alone: {error}");
    let regarding = ObjectReference {
        api_version: Some(kind.api_version()),
        kind: Some(kind.kind.to_string()),
        name: Some(key.name().to_owned()),
        namespace: Some(key.namespace().to_owned()).filter(|namespace| !namespace.is_empty()),
        uid: Some(meta.uid().to_owned()),
        resource_version: Some(meta.resource_version().to_string()),
        field_path: None,
    };
    cx.events.tell_about(regarding, Event::warning(Told::Unreadable, "Read", &*message));
    Outcome::Terminal(Error::Invalid(message))
}
