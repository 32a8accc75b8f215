//! One copy of each string that many rows share: namespaces, label sets, owners.

use std::{
    collections::HashSet,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

/// The process's table. It is shared by all informers: the namespaces are the same for all kinds.
pub(super) static INTERNED: LazyLock<Interner> = LazyLock::new(Interner::default);

/// The table is swept when it has grown to this size, and then each time it has doubled.
const SWEEP_FROM: usize = 1024;

#[derive(Default)]
pub(super) struct Interner(Mutex<Table>);

#[derive(Default)]
struct Table {
    strings: HashSet<Arc<str>, ahash::RandomState>,
    sweep_at: usize,
}

impl Interner {
    /// The one copy of `text`.
    pub(super) fn intern(&self, text: &str) -> Arc<str> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.strings.get(text) {
            return known.clone();
        }
        if table.strings.len() >= table.sweep_at {
            table.sweep();
        }
        let fresh: Arc<str> = text.into();
        table.strings.insert(fresh.clone());
        fresh
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).strings.len()
    }
}

impl Table {
    /// Forgets what no row uses any more. A count of one is the table's own, and only the table could raise it again.
    fn sweep(&mut self) {
        self.strings.retain(|text| Arc::strong_count(text) > 1);
        self.strings.shrink_to(2 * self.strings.len());
        self.sweep_at = SWEEP_FROM.max(2 * self.strings.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_allocation() {
        let table = Interner::default();
        assert!(Arc::ptr_eq(&table.intern("kube-system"), &table.intern("kube-system")));
        assert!(!Arc::ptr_eq(&table.intern("kube-system"), &table.intern("default")));
    }

    #[test]
    fn strings_that_nobody_uses_are_swept_and_the_others_stay() {
        let table = Interner::default();
        let kept: Vec<_> = (0..10).map(|i| table.intern(&format!("kept-{i}"))).collect();
        for i in 0..100_000 {
            table.intern(&format!("passing-{i}"));
        }
        assert!(table.len() <= 2 * SWEEP_FROM, "{} strings", table.len());
        for text in &kept {
            assert!(Arc::ptr_eq(text, &table.intern(text)));
        }
    }
}
