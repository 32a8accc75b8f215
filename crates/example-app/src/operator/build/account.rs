//! The ServiceAccount: an identity without a token. The application never talks to Kubernetes.

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt as _;

use super::owned;
use crate::operator::{names, observe::World};

pub(crate) fn account(world: &World) -> ServiceAccount {
    let app = &*world.app;
    let account = ServiceAccount {
        metadata: names::meta(app, app.name_any(), names::APP),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    owned(account, app)
}
