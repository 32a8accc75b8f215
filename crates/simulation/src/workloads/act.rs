//! Carries out what a turn decided, as a client does.

use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy},
};

use super::turn::{Action, What};

const MANAGER: &str = "kube-controller-manager";

/// What is refused was overtaken by somebody else: the change that they made brings the next turn.
pub(super) async fn carry_out(client: &Client, action: Action) {
    let Action { resource, namespace, name, what } = action;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
    let patching = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
    let done = match what {
        What::Create(object) => match serde_json::from_value::<DynamicObject>(object) {
            Ok(object) => {
                let params = PostParams { field_manager: Some(MANAGER.into()), ..PostParams::default() };
                api.create(&params, &object).await.map(drop)
            }
            Err(error) => Err(kube::Error::SerdeError(error)),
        },
        What::Patch(patch) => api.patch(&name, &patching, &Patch::Merge(patch)).await.map(drop),
        What::Status(patch) => api.patch_status(&name, &patching, &Patch::Merge(patch)).await.map(drop),
        What::Delete { uid, grace_seconds } => {
            let params = DeleteParams {
                grace_period_seconds: grace_seconds,
                propagation_policy: Some(PropagationPolicy::Background),
                preconditions: Some(Preconditions { uid: Some(uid), resource_version: None }),
                ..DeleteParams::default()
            };
            api.delete(&name, &params).await.map(drop)
        }
    };
    match done {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
        Err(error) => {
            tracing::error!(kind = resource.kind, %namespace, %name, %error, "the simulated cluster was refused");
        }
        Ok(()) => {}
    }
}
