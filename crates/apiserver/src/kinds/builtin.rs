//! The table of built-in kinds.

use std::sync::Arc;

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling,
    batch::v1 as batch, coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    events::v1 as events, networking::v1 as networking, policy::v1 as policy, rbac::v1 as rbac,
    scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::schemars::JsonSchema;
use k8s_openapi::{NamespaceResourceScope, Resource, ResourceScope};

use super::definitions::Definitions;
use super::{Generation, Kind, ScalePaths};

/// One row: what the type itself does not say.
struct Row {
    short: &'static [&'static str],
    categories: &'static [&'static str],
    status: bool,
    scale: bool,
    generation: Generation,
    /// Field selectors; each is also the path of the field.
    selectable: &'static [&'static str],
}

const PLAIN: Row = Row {
    short: &[],
    categories: &[],
    status: false,
    scale: false,
    generation: Generation::None,
    selectable: &[],
};

/// A workload: everything counts and scales.
const WORKLOAD: Row =
    Row { categories: &["all"], status: true, scale: true, generation: Generation::OnSpecChange, ..PLAIN };

const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

const REGARDING: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

pub(super) fn build() -> Vec<Arc<Kind>> {
    use Generation::{OnAnyChangeButMetaAndStatus as OnContent, OnSpecChange};
    let mut kinds = Kinds::default();

    kinds.add::<core::ConfigMap>(&Row { short: &["cm"], ..PLAIN });
    kinds.add::<core::Endpoints>(&Row { short: &["ep"], ..PLAIN });
    kinds.add::<core::Event>(&Row { short: &["ev"], selectable: EVENT, ..PLAIN });
    kinds.add::<core::LimitRange>(&Row { short: &["limits"], ..PLAIN });
    kinds.add::<core::Namespace>(&Row {
        short: &["ns"],
        status: true,
        selectable: &["status.phase"],
        ..PLAIN
    });
    kinds.add::<core::Node>(&Row {
        short: &["no"],
        status: true,
        selectable: &["spec.unschedulable"],
        ..PLAIN
    });
    kinds.add::<core::PersistentVolume>(&Row { short: &["pv"], status: true, ..PLAIN });
    kinds.add::<core::PersistentVolumeClaim>(&Row { short: &["pvc"], status: true, ..PLAIN });
    kinds.add::<core::Pod>(&Row { short: &["po"], scale: false, selectable: POD, ..WORKLOAD });
    kinds.add::<core::PodTemplate>(&Row { generation: OnContent, ..PLAIN });
    kinds.add::<core::ResourceQuota>(&Row { short: &["quota"], status: true, ..PLAIN });
    kinds.add::<core::Secret>(&Row { selectable: &["type"], ..PLAIN });
    kinds.add::<core::Service>(&Row {
        short: &["svc"],
        categories: &["all"],
        status: true,
        selectable: &["spec.clusterIP", "spec.type"],
        ..PLAIN
    });
    kinds.add::<core::ServiceAccount>(&Row { short: &["sa"], ..PLAIN });

    kinds.add::<apps::ControllerRevision>(&PLAIN);
    kinds.add::<apps::DaemonSet>(&Row { short: &["ds"], scale: false, ..WORKLOAD });
    kinds.add::<apps::Deployment>(&Row { short: &["deploy"], ..WORKLOAD });
    kinds.add::<apps::ReplicaSet>(&Row { short: &["rs"], selectable: &["status.replicas"], ..WORKLOAD });
    kinds.add::<apps::StatefulSet>(&Row { short: &["sts"], ..WORKLOAD });

    kinds.add::<batch::CronJob>(&Row { short: &["cj"], scale: false, ..WORKLOAD });
    kinds.add::<batch::Job>(&Row { scale: false, selectable: &["status.successful"], ..WORKLOAD });

    kinds.add::<admission::MutatingWebhookConfiguration>(&Row {
        categories: &["api-extensions"],
        generation: OnContent,
        ..PLAIN
    });
    kinds.add::<admission::ValidatingWebhookConfiguration>(&Row {
        categories: &["api-extensions"],
        generation: OnContent,
        ..PLAIN
    });
    kinds.add::<apiextensions::CustomResourceDefinition>(&Row {
        short: &["crd", "crds"],
        categories: &["api-extensions"],
        status: true,
        generation: OnSpecChange,
        ..PLAIN
    });
    kinds.add::<autoscaling::HorizontalPodAutoscaler>(&Row {
        short: &["hpa"],
        categories: &["all"],
        status: true,
        ..PLAIN
    });
    kinds.add::<coordination::Lease>(&PLAIN);
    kinds.add::<discovery::EndpointSlice>(&Row { generation: OnContent, ..PLAIN });
    kinds.add::<events::Event>(&Row { short: &["ev"], selectable: REGARDING, ..PLAIN });
    kinds.add::<networking::Ingress>(&Row {
        short: &["ing"],
        status: true,
        generation: OnSpecChange,
        ..PLAIN
    });
    kinds.add::<networking::NetworkPolicy>(&Row { short: &["netpol"], generation: OnSpecChange, ..PLAIN });
    kinds.add::<policy::PodDisruptionBudget>(&Row {
        short: &["pdb"],
        status: true,
        generation: OnSpecChange,
        ..PLAIN
    });
    kinds.add::<rbac::ClusterRole>(&PLAIN);
    kinds.add::<rbac::ClusterRoleBinding>(&PLAIN);
    kinds.add::<rbac::Role>(&PLAIN);
    kinds.add::<rbac::RoleBinding>(&PLAIN);
    kinds.add::<scheduling::PriorityClass>(&Row { short: &["pc"], generation: OnContent, ..PLAIN });
    kinds.add::<storage::StorageClass>(&Row { short: &["sc"], ..PLAIN });

    kinds.finish()
}

#[derive(Default)]
struct Kinds {
    definitions: Definitions,
    rows: Vec<(String, Kind)>,
}

impl Kinds {
    fn add<T: Resource<Scope: ScopeName> + JsonSchema>(&mut self, row: &Row) {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        let kind = Kind {
            group: T::GROUP.to_owned(),
            version: T::VERSION.to_owned(),
            kind: T::KIND.to_owned(),
            list_kind: format!("{}List", T::KIND),
            plural: T::URL_PATH_SEGMENT.to_owned(),
            singular: T::KIND.to_lowercase(),
            short_names: owned(row.short),
            categories: owned(row.categories),
            namespaced: <T::Scope as ScopeName>::NAMESPACED,
            status: row.status,
            scale: row.scale.then(|| ScalePaths {
                spec_replicas: ".spec.replicas".into(),
                status_replicas: ".status.replicas".into(),
                selector: Some(".spec.selector".into()),
            }),
            selectable: row
                .selectable
                .iter()
                .map(|field| ((*field).to_owned(), format!(".{field}")))
                .collect(),
            generation: row.generation,
            custom: false,
            storage: true,
            schema: Arc::default(),
        };
        self.rows.push((self.definitions.add::<T>(), kind));
    }

    fn finish(mut self) -> Vec<Arc<Kind>> {
        let rows = std::mem::take(&mut self.rows).into_iter();
        rows.map(|(name, kind)| Arc::new(Kind { schema: self.definitions.build(&name), ..kind })).collect()
    }
}

/// Whether objects of the kind live in namespaces.
trait ScopeName: ResourceScope {
    const NAMESPACED: bool;
}

impl ScopeName for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl ScopeName for k8s_openapi::ClusterResourceScope {
    const NAMESPACED: bool = false;
}
