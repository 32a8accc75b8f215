//! Secondary indexes of a store: which objects have a value, kept up to date with each change.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::Key;

type Values<R> = Box<dyn Fn(&R) -> Vec<String> + Send + Sync>;

/// One index. A flat ordered set costs a third of a map of sets when values are nearly unique, as owner UIDs are.
pub(super) struct Index<R> {
    pub(super) name: &'static str,
    values_of: Values<R>,
    entries: BTreeSet<(Arc<str>, Key)>,
}

impl<R> Index<R> {
    pub(super) fn new(
        name: &'static str,
        values_of: impl Fn(&R) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, values_of: Box::new(values_of), entries: BTreeSet::new() }
    }

    /// The object `key` was `old` and is `new`.
    pub(super) fn update(&mut self, key: &Key, old: Option<&R>, new: Option<&R>) {
        let values = |row: Option<&R>| row.map(|row| self.values(key, row)).unwrap_or_default();
        let (before, after) = (values(old), values(new));
        for gone in before.iter().filter(|value| !after.contains(value)) {
            self.entries.remove(&(gone.as_str().into(), key.clone()));
        }
        for fresh in after.iter().filter(|value| !before.contains(value)) {
            self.entries.insert((fresh.as_str().into(), key.clone()));
        }
    }

    /// The values are the application's code: where it panics, the object is not found by this index, and all others are.
    fn values(&self, key: &Key, row: &R) -> Vec<String> {
        catch_unwind(AssertUnwindSafe(|| (self.values_of)(row))).unwrap_or_else(|_| {
            tracing::error!(object = %key, index = self.name, "an index panicked: it will not find this object");
            Vec::new()
        })
    }

    /// The keys of the objects that have `value`, in order.
    pub(super) fn get(&self, value: &str) -> impl Iterator<Item = &Key> {
        let value: Arc<str> = value.into();
        let from_here = self.entries.range((value.clone(), Key::cluster(""))..);
        from_here.take_while(move |entry| entry.0 == value).map(|(_, key)| key)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Index<&'static str> {
        Index::new("word", |row: &&str| row.split_whitespace().map(String::from).collect())
    }

    fn found(index: &Index<&'static str>, value: &str) -> Vec<String> {
        index.get(value).map(ToString::to_string).collect()
    }

    #[test]
    fn an_index_follows_additions_changes_and_removals() {
        let (a, b) = (Key::new("ns", "a"), Key::new("ns", "b"));
        let mut index = words();
        index.update(&b, None, Some(&"red blue"));
        index.update(&a, None, Some(&"blue"));
        assert_eq!(found(&index, "blue"), ["ns/a", "ns/b"]);
        index.update(&b, Some(&"red blue"), Some(&"red green"));
        assert_eq!(found(&index, "blue"), ["ns/a"]);
        assert_eq!(found(&index, "green"), ["ns/b"]);
        index.update(&b, Some(&"red green"), None);
        index.update(&a, Some(&"blue"), None);
        assert_eq!(index.len(), 0, "nothing is left behind");
    }

    #[test]
    fn an_object_whose_values_panic_is_not_found_and_all_others_are() {
        let mut index = Index::new("picky", |row: &&str| {
            assert_ne!(*row, "bad", "a bug");
            vec![(*row).to_owned()]
        });
        let (a, b) = (Key::new("ns", "a"), Key::new("ns", "b"));
        index.update(&a, None, Some(&"good"));
        index.update(&a, Some(&"good"), Some(&"bad"));
        index.update(&b, None, Some(&"good"));
        assert_eq!(found(&index, "good"), ["ns/b"]);
    }

    #[test]
    fn a_value_is_no_prefix() {
        let mut index = words();
        index.update(&Key::new("ns", "a"), None, Some(&"blue bluegreen blue"));
        assert_eq!(found(&index, "blue"), ["ns/a"]);
        assert_eq!(found(&index, "blu"), [""; 0]);
    }
}
