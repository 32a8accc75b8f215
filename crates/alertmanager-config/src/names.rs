//! Names in the whole configuration: those of a resource carry the resource's own, so that no two resources collide.

/// The resource that a name belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Owner<'_> {
    /// `namespace/name/given`; nothing stays nothing.
    pub(crate) fn name(&self, given: &str) -> String {
        if given.is_empty() { String::new() } else { format!("{}/{}/{given}", self.namespace, self.name) }
    }
}
