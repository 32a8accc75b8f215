//! What the server made of an intent and will always make of it: asking again would change nothing.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// How many oddities are remembered. One that is forgotten costs one needless request.
const MAX: usize = 20_000;

/// Remembers, for objects that still differ from their intent after the server took it, how they differ. Server-side
/// normalisation that the comparison does not know, and fields that an admission webhook always rewrites, end up here; nothing
/// else does. As long as an object differs from the same intent in the same way, the intent is not sent again.
#[derive(Debug, Default)]
pub(crate) struct Applied(Mutex<HashMap<String, Accepted>>);

/// The fingerprints of an intent, and of what the server's answer did not show of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) intent: u64,
    pub(super) differences: u64,
}

impl Applied {
    /// Whether the object `uid` was seen to stay like this.
    pub(super) fn knows(&self, uid: &str, accepted: Accepted) -> bool {
        self.lock().get(uid) == Some(&accepted)
    }

    pub(super) fn remember(&self, uid: &str, accepted: Accepted) {
        let mut known = self.lock();
        if known.len() >= MAX
            && !known.contains_key(uid)
            && let Some(any) = known.keys().next().cloned()
        {
            known.remove(&any);
        }
        known.insert(uid.to_owned(), accepted);
    }

    /// The object is gone, or is now as it was meant to be.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Accepted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_memory_is_bounded() {
        let applied = Applied::default();
        for n in 0..MAX + 10 {
            applied.remember(&n.to_string(), Accepted { intent: 1, differences: 2 });
        }
        assert_eq!(applied.lock().len(), MAX);
    }
}
