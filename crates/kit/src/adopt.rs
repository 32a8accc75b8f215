//! Taking over a Deployment that somebody else made: what cannot change, and what is its creator's, stays.

use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::LabelSelector};

/// Which pods belong to a Deployment. It cannot change: one that is taken over keeps its own.
pub fn selector(live: Option<&Deployment>, own: LabelSelector) -> LabelSelector {
    live.map_or(own, |live| live.spec.selector.clone())
}

/// `desired`, with what stays of `live`: the selector; the strategy, because the parameters of a rolling update are its creator's,
/// and `Recreate` may not stand beside them; the name of the first container, so that it is changed, not another one added. A
/// Deployment that selects its pods as `desired` does is our own already, and nothing of it stays.
pub fn keep(mut desired: Deployment, live: Option<&Deployment>) -> Deployment {
    let Some(live) = live.filter(|live| live.spec.selector != desired.spec.selector) else { return desired };
    let labels = live.spec.selector.match_labels.clone().unwrap_or_default();
    let template = &mut desired.spec.template;
    template.metadata.get_or_insert_default().labels.get_or_insert_default().extend(labels);
    let theirs = live.spec.template.spec.as_ref().and_then(|pod| pod.containers.first());
    let ours = template.spec.as_mut().and_then(|pod| pod.containers.first_mut());
    if let (Some(ours), Some(theirs)) = (ours, theirs) {
        ours.name.clone_from(&theirs.name);
    }
    desired.spec.selector = live.spec.selector.clone();
    desired.spec.strategy = live.spec.strategy.clone();
    desired
}

/// The claim that the pods of a Deployment have their data on: the first that they mount.
pub fn claim(live: &Deployment) -> Option<&str> {
    let volumes = live.spec.template.spec.as_ref()?.volumes.as_ref()?;
    volumes.iter().find_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::parts;

    fn deployment(app: &str, container: &str, strategy: Value) -> Deployment {
        let template =
            json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": container}]}});
        let spec =
            json!({"selector": {"matchLabels": {"app": app}}, "strategy": strategy, "template": template});
        serde_json::from_value(json!({ "spec": spec })).unwrap()
    }

    #[test]
    fn of_a_deployment_made_by_hand_selector_strategy_and_container_stay() {
        let own = deployment("ours", "app", json!({"type": "Recreate"}));
        let theirs = deployment("theirs", "web", json!({"type": "RollingUpdate"}));
        assert_eq!(keep(own.clone(), None), own);
        let mut again = own.clone();
        again.spec.strategy = None;
        assert_eq!(keep(own.clone(), Some(&again)), own, "what is our own is put right");
        assert_eq!(keep(own.clone(), Some(&theirs)), theirs);
        assert_eq!(selector(Some(&theirs), own.spec.selector.clone()), theirs.spec.selector);
        assert_eq!(selector(None, own.spec.selector.clone()), own.spec.selector);
    }

    #[test]
    fn the_data_is_on_the_claim_that_the_pods_mount() {
        let mut live = deployment("theirs", "web", json!({}));
        assert_eq!(claim(&live), None);
        let volumes = [parts::secret_volume("tls", "t".to_owned()), parts::claim_volume("data", "old")];
        live.spec.template.spec.get_or_insert_default().volumes = Some(volumes.into());
        assert_eq!(claim(&live), Some("old"));
    }
}
