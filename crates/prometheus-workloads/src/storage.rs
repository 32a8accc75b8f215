//! Where a workload's data lie: an empty directory, a volume of the pod's own, or a claim that outlives it.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Volume, VolumeMount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prometheus_types::pod::PodFields;
use prometheus_types::storage::{EmbeddedPersistentVolumeClaim, StorageSpec};
use serde_json::Value;

use crate::volume;

/// Either a volume of the pods or a template of claims.
pub(crate) enum Storage {
    Volume(Box<Volume>),
    Claim(Box<PersistentVolumeClaim>),
}

/// What `spec` asks for, under `name` unless its template has a name.
pub(crate) fn storage(spec: Option<&StorageSpec>, name: &str) -> Storage {
    let Some(spec) = spec else {
        return Storage::Volume(Box::new(volume::empty_dir(name)));
    };
    if spec.empty_dir.is_some() || spec.ephemeral.is_some() {
        // Of both, the empty directory counts.
        let ephemeral = if spec.empty_dir.is_some() { None } else { spec.ephemeral.clone() };
        let volume = Volume {
            name: name.to_owned(),
            empty_dir: spec.empty_dir.clone(),
            ephemeral,
            ..Default::default()
        };
        return Storage::Volume(Box::new(volume));
    }
    let EmbeddedPersistentVolumeClaim { metadata, spec, status, .. } = spec.volume_claim_template.clone();
    let mut spec = spec;
    spec.access_modes.get_or_insert_with(|| vec!["ReadWriteOnce".to_owned()]);
    Storage::Claim(Box::new(PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(if metadata.name.is_empty() { name.to_owned() } else { metadata.name }),
            labels: (!metadata.labels.is_empty()).then_some(metadata.labels),
            annotations: (!metadata.annotations.is_empty()).then_some(metadata.annotations),
            ..Default::default()
        },
        spec: Some(spec),
        status: Some(status),
    }))
}

/// The mount of the data, below `directory` of the volume unless the resource wants none.
pub(crate) fn mount(
    spec: Option<&StorageSpec>,
    name: &str,
    path: &str,
    directory: Option<&str>,
) -> VolumeMount {
    let template = spec.map_or("", |spec| spec.volume_claim_template.metadata.name.as_str());
    let below = spec.filter(|spec| !spec.disable_mount_sub_path).and(directory);
    VolumeMount {
        sub_path: below.map(str::to_owned),
        ..volume::mount(if template.is_empty() { name } else { template }, path)
    }
}

/// The StatefulSet as it is sent. k8s-openapi writes `apiVersion` and `kind` into templates of claims, which cannot change afterwards:
/// they are what the resource says, which is mostly nothing.
pub fn manifest(statefulset: &StatefulSet, fields: &PodFields) -> serde_json::Result<Value> {
    let mut manifest = serde_json::to_value(statefulset)?;
    let claim = fields.storage.as_ref().map(|storage| &storage.volume_claim_template);
    if let Some(Value::Array(templates)) = manifest.pointer_mut("/spec/volumeClaimTemplates") {
        for template in templates.iter_mut().filter_map(Value::as_object_mut) {
            for (field, given) in [
                ("apiVersion", claim.and_then(|claim| claim.api_version.clone())),
                ("kind", claim.and_then(|claim| claim.kind.clone())),
            ] {
                match given.filter(|given| !given.is_empty()) {
                    Some(given) => template.insert(field.to_owned(), given.into()),
                    None => template.remove(field),
                };
            }
        }
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::StatefulSetSpec;
    use serde_json::json;

    use super::*;

    fn template(storage_spec: Value) -> Value {
        let fields: PodFields = serde_json::from_value(json!({ "storage": storage_spec })).unwrap();
        let Storage::Claim(claim) = storage(fields.storage.as_ref(), "db") else { panic!("no claim") };
        let spec = StatefulSetSpec { volume_claim_templates: Some(vec![*claim]), ..Default::default() };
        let statefulset = StatefulSet { spec, ..Default::default() };
        manifest(&statefulset, &fields).unwrap()["spec"]["volumeClaimTemplates"][0].take()
    }

    #[test]
    fn templates_of_claims_have_no_type_unless_the_resource_gives_one() {
        let spec = json!({"accessModes": ["ReadWriteOnce"]});
        let plain = template(json!({"volumeClaimTemplate": {}}));
        assert_eq!(plain, json!({"metadata": {"name": "db"}, "spec": spec, "status": {}}));
        let typed = template(
            json!({"volumeClaimTemplate": {"kind": "PersistentVolumeClaim", "metadata": {"name": "own"}}}),
        );
        assert_eq!(
            typed,
            json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "own"}, "spec": spec, "status": {}})
        );
    }
}
