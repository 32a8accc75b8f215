//! Other volumes: they grow while members serve; what cannot be done is refused by name, and nothing is touched.

use expect_test::expect;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::{Truth, model::Model};

fn grow(model: &mut Model, size: &str) {
    model.edit(|spec| spec.storage.size = Quantity(size.into()));
}

fn volumes(model: &Model) -> Vec<&str> {
    model.boxes.values().filter_map(|entry| Some(&*entry.claim.as_ref()?.capacity.as_ref()?.0)).collect()
}

#[test]
fn volumes_grow_first_and_then_what_may_be_kept_on_them() {
    let mut model = Model::running(3, "3.6.16");
    grow(&mut model, "9Gi");
    let plan = model.reconcile();
    let ready = plan.conditions.iter().find(|condition| condition.kind == "VolumesReady").unwrap();
    assert_eq!(ready.truth, Truth::False);
    expect!["volumes grow to 9Gi: db-1 has 8Gi; db-2 has 8Gi; db-3 has 8Gi"].assert_eq(&ready.message);
    let told: Vec<&str> = plan.events.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(told.first(), Some(&"the volume of db-1 grows to 9Gi"));
    assert!(plan.step.is_none() && plan.status.operation.is_none(), "nobody restarts for a volume: {plan}");
    model.live();
    assert_eq!(volumes(&model), ["9Gi"; 3]);
    // The quota is a part of the volume, and a flag.
    let story = model.story();
    assert!(story.starts_with("Configure ") && story.contains("with other settings"), "{story}");
    assert!(story.ends_with("Healthy: 3 of 3 members serve etcd 3.6.16"), "{story}");
}

#[test]
fn a_class_that_lets_nothing_grow_is_named_and_nothing_is_touched() {
    let mut model = Model::running(3, "3.6.16");
    model.class_grows = false;
    grow(&mut model, "16Gi");
    expect![[r#"
        refuse spec.storage.size: volumes of the storage class fast cannot grow to 16Gi: members keep 8Gi. Set allowVolumeExpansion in the class, or set it back
        Healthy: spec.storage.size: volumes of the storage class fast cannot grow to 16Gi: members keep 8Gi. Set allowVolumeExpansion in the class, or set it back. 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    model.class_grows = true;
    model.story();
    assert_eq!(volumes(&model), ["16Gi"; 3]);
    grow(&mut model, "8Gi");
    let story = model.story();
    assert!(
        story.starts_with("refuse spec.storage.size: volumes cannot shrink to 8Gi: members keep 16Gi"),
        "{story}"
    );
}

#[test]
fn another_class_is_refused_and_newcomers_get_that_of_the_others() {
    let mut model = Model::running(1, "3.6.16");
    model.edit(|spec| {
        spec.storage.storage_class_name = Some("slow".into());
        spec.size = 3;
    });
    let plan = model.reconcile();
    expect!["spec.storage.storageClassName: the class of volumes cannot change to slow: members keep fast. Set it back, or create another EtcdCluster"]
        .assert_eq(&plan.refusals[0].to_string());
    assert_eq!(plan.objects.unwrap().wanted.storage.storage_class_name.as_deref(), Some("fast"));
    model.story();
    assert_eq!(model.members(), [1, 2, 3]);
}
