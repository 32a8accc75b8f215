//! The built-in kinds that operators work with, in one place instead of four.

pub use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, StatefulSet},
        batch::v1::{CronJob, Job, JobSpec},
        core::v1::{
            ConfigMap, Container, PersistentVolumeClaim, Pod, PodSpec, ResourceRequirements, Secret, Service,
            ServiceAccount, ServiceSpec,
        },
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, ObjectMeta, Time},
    },
};
