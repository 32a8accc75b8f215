//! Finds kinds by path or by name; custom ones come and go with their definitions.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::Value;

use crate::{
    Cause, Schema,
    kinds::{Generation, Kind, ScalePaths, builtins},
};

/// The kinds that are served.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// By the name of the definition.
    custom: RwLock<BTreeMap<String, Vec<Arc<Kind>>>>,
}

impl Registry {
    /// The kind at `/apis/<group>/<version>/<plural>`.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.search(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// The kind that an object or an owner reference names.
    pub(crate) fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Kind>> {
        self.search(|known| known.group == group && known.version == version && known.kind == kind)
    }

    /// The kind in the version that its objects are stored in.
    pub(crate) fn storage(&self, group: &str, plural: &str) -> Option<Arc<Kind>> {
        self.search(|kind| kind.storage && kind.group == group && kind.plural == plural)
    }

    /// Everything, built-in kinds first.
    pub(crate) fn all(&self) -> Vec<Arc<Kind>> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        builtins().iter().chain(custom.values().flatten()).cloned().collect()
    }

    /// Serves what the definition says from now on.
    pub(crate) fn serve(&self, definition: &Value) -> Result<(), Vec<Cause>> {
        let kinds = kinds_of(definition)?;
        let mut custom = self.custom.write().unwrap_or_else(PoisonError::into_inner);
        custom.insert(crate::meta::name(definition).to_owned(), kinds);
        Ok(())
    }

    /// Serves nothing of the definition any more.
    pub(crate) fn withdraw(&self, name: &str) {
        self.custom.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn search(&self, wanted: impl Fn(&Kind) -> bool) -> Option<Arc<Kind>> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        builtins().iter().chain(custom.values().flatten()).find(|kind| wanted(kind)).cloned()
    }
}

/// The kinds, one per served version and the stored one, that a definition describes.
fn kinds_of(definition: &Value) -> Result<Vec<Arc<Kind>>, Vec<Cause>> {
    let text =
        |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |pointer: &str| -> Vec<String> {
        let items = definition.pointer(pointer).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let kind_name = text("/spec/names/kind");
    let or = |value: String, default: String| if value.is_empty() { default } else { value };
    let mut kinds = Vec::new();
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    for version in versions.into_iter().flatten() {
        let flag = |name: &str| version.get(name).and_then(Value::as_bool).unwrap_or_default();
        if !flag("served") {
            continue;
        }
        let schema = match version.pointer("/schema/openAPIV3Schema") {
            Some(schema) => Schema::parse(schema)?,
            None => Schema::any(),
        };
        let selectable = version.get("selectableFields").and_then(Value::as_array);
        let selectable = selectable.into_iter().flatten().filter_map(|field| field.get("jsonPath")?.as_str());
        kinds.push(Arc::new(Kind {
            group: text("/spec/group"),
            version: version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            list_kind: or(text("/spec/names/listKind"), format!("{kind_name}List")),
            plural: text("/spec/names/plural"),
            singular: or(text("/spec/names/singular"), kind_name.to_lowercase()),
            short_names: list("/spec/names/shortNames"),
            categories: list("/spec/names/categories"),
            namespaced: text("/spec/scope") == "Namespaced",
            status: version.pointer("/subresources/status").is_some(),
            scale: version.pointer("/subresources/scale").map(scale_paths),
            selectable: selectable
                .map(|path| (path.trim_start_matches('.').to_owned(), path.to_owned()))
                .collect(),
            generation: Generation::OnAnyChangeButMetaAndStatus,
            custom: true,
            storage: flag("storage"),
            schema: Arc::new(schema),
            kind: kind_name.clone(),
        }));
    }
    Ok(kinds)
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |name: &str| scale.get(name).and_then(Value::as_str).map(str::to_owned);
    ScalePaths {
        spec_replicas: path("specReplicasPath").unwrap_or_default(),
        status_replicas: path("statusReplicasPath").unwrap_or_default(),
        selector: path("labelSelectorPath"),
    }
}
