//! The RBAC objects that give an operator what it declares.

use std::collections::BTreeSet;

use k8s_openapi::{
    api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::Serialize;

use super::{Access, Reach, rules};
use crate::{Error, Result};

/// Where an operator is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The operator's name, and that of its roles.
    pub name: String,
    /// Its own namespace.
    pub namespace: String,
    /// The service account that it runs as.
    pub service_account: String,
    /// The namespaces that it looks after.
    pub watched: Watched,
}

/// The namespaces that an operator looks after, as far as its rights are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// All: one ClusterRole.
    All,
    /// Only these: a Role in each.
    Only(BTreeSet<String>),
}

/// The RBAC objects of an installation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manifests {
    /// At most one.
    pub cluster_roles: Vec<ClusterRole>,
    /// Gives it to the service account.
    pub cluster_role_bindings: Vec<ClusterRoleBinding>,
    /// In the operator's own namespace, and in each watched one.
    pub roles: Vec<Role>,
    /// Give them to the service account.
    pub role_bindings: Vec<RoleBinding>,
}

/// What has to be applied so that the operator may do what it declares, and nothing else.
pub fn manifests(accesses: &[Access], install: &Install) -> Manifests {
    let reaching = |reaches: &[Reach]| {
        let reaching: Vec<Access> = accesses.iter().filter(|a| reaches.contains(&a.reach)).cloned().collect();
        rules(&reaching)
    };
    let mut manifests = Manifests::default();
    match &install.watched {
        Watched::All => manifests.cluster_role(install, reaching(&[Reach::Cluster, Reach::Watched])),
        Watched::Only(namespaces) => {
            manifests.cluster_role(install, reaching(&[Reach::Cluster]));
            for namespace in namespaces {
                manifests.role(install, install.name.clone(), namespace, reaching(&[Reach::Watched]));
            }
        }
    }
    manifests.role(install, format!("{}-home", install.name), &install.namespace, reaching(&[Reach::Home]));
    manifests
}

impl Manifests {
    /// All of them, as one YAML stream.
    pub fn to_yaml(&self) -> Result<String> {
        let mut documents = Vec::new();
        self.cluster_roles.iter().try_for_each(|object| push(&mut documents, object))?;
        self.cluster_role_bindings.iter().try_for_each(|object| push(&mut documents, object))?;
        self.roles.iter().try_for_each(|object| push(&mut documents, object))?;
        self.role_bindings.iter().try_for_each(|object| push(&mut documents, object))?;
        Ok(documents.join("---\n"))
    }

    fn cluster_role(&mut self, install: &Install, rules: Vec<PolicyRule>) {
        if rules.is_empty() {
            return;
        }
        let metadata = ObjectMeta { name: Some(install.name.clone()), ..ObjectMeta::default() };
        self.cluster_role_bindings.push(ClusterRoleBinding {
            metadata: metadata.clone(),
            role_ref: reference("ClusterRole", &install.name),
            subjects: Some(vec![install.subject()]),
        });
        self.cluster_roles.push(ClusterRole { metadata, rules: Some(rules), aggregation_rule: None });
    }

    fn role(&mut self, install: &Install, name: String, namespace: &str, rules: Vec<PolicyRule>) {
        if rules.is_empty() {
            return;
        }
        let role_ref = reference("Role", &name);
        let metadata =
            ObjectMeta { name: Some(name), namespace: Some(namespace.to_owned()), ..ObjectMeta::default() };
        let subjects = Some(vec![install.subject()]);
        self.role_bindings.push(RoleBinding { metadata: metadata.clone(), role_ref, subjects });
        self.roles.push(Role { metadata, rules: Some(rules) });
    }
}

impl Install {
    fn subject(&self) -> Subject {
        Subject {
            kind: "ServiceAccount".to_owned(),
            name: self.service_account.clone(),
            namespace: Some(self.namespace.clone()),
            api_group: None,
        }
    }
}

fn reference(kind: &str, name: &str) -> RoleRef {
    let api_group = Some("rbac.authorization.k8s.io".to_owned());
    RoleRef { api_group, kind: kind.to_owned(), name: name.to_owned() }
}

fn push(documents: &mut Vec<String>, object: &impl Serialize) -> Result<()> {
    documents.push(serde_saphyr::to_string(object).map_err(Error::other)?);
    Ok(())
}
