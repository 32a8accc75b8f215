//! An ordered YAML value, and the map that keeps its keys as they were added.

use std::borrow::Cow;

/// Text of a key or a value: borrowed for the names that programs know, owned for what users wrote.
pub type Text = Cow<'static, str>;

/// A YAML value. Maps keep the order in which keys were added.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Text),
    List(Vec<Tree>),
    Map(Map),
}

/// The keys and values of a mapping, in order. A key occurs once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Vec<(Text, Tree)>);

impl Tree {
    /// A string value of what a user wrote (names known to the program convert by `into()`, without a copy).
    pub fn text(text: &str) -> Self {
        Self::Str(Cow::Owned(text.to_owned()))
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Tree]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is what Go calls the zero value: nothing, empty, zero or false.
    pub fn says_nothing(&self) -> bool {
        match self {
            Self::Null | Self::Bool(false) | Self::Int(0) => true,
            Self::Str(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Bool(true) | Self::Int(_) | Self::Float(_) => false,
        }
    }

    /// The value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.as_map()?.get(key)
    }
}

impl Map {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_capacity(keys: usize) -> Self {
        Self(Vec::with_capacity(keys))
    }

    /// Sets a key: at its place when it is there, at the end otherwise.
    pub fn set(&mut self, key: impl Into<Text>, value: impl Into<Tree>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
        self
    }

    /// Sets a key when there is a value for it.
    pub fn set_some<T: Into<Tree>>(&mut self, key: impl Into<Text>, value: Option<T>) -> &mut Self {
        if let Some(value) = value {
            self.set(key, value);
        }
        self
    }

    /// Sets a key to a user's text unless that is empty.
    pub fn set_text(&mut self, key: impl Into<Text>, value: &str) -> &mut Self {
        if !value.is_empty() {
            self.set(key, Tree::text(value));
        }
        self
    }

    /// [`Map::set`] for building in one expression.
    pub fn with(mut self, key: impl Into<Text>, value: impl Into<Tree>) -> Self {
        self.set(key, value);
        self
    }

    /// [`Map::set_some`] for building in one expression.
    pub fn with_some<T: Into<Tree>>(mut self, key: impl Into<Text>, value: Option<T>) -> Self {
        self.set_some(key, value);
        self
    }

    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether a key has a value that says something.
    pub fn given(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.says_nothing())
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Takes a key out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Tree> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Adds the keys of another map, which win over those that are there.
    pub fn extend(&mut self, other: Map) -> &mut Self {
        for (key, value) in other.0 {
            self.set(key, value);
        }
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tree)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Tree)> {
        self.0.iter_mut().map(|(key, value)| (&**key, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The map itself, or nothing when it has no key.
    pub fn non_empty(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }
}

impl IntoIterator for Map {
    type Item = (Text, Tree);
    type IntoIter = std::vec::IntoIter<(Text, Tree)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<Text>, V: Into<Tree>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        for (key, value) in pairs {
            map.set(key, value);
        }
        map
    }
}

impl From<Map> for Tree {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl<T: Into<Tree>> From<Vec<T>> for Tree {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Tree>> FromIterator<T> for Tree {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<bool> for Tree {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

macro_rules! from_integers {
    ($($integer:ty),+) => {$(
        impl From<$integer> for Tree {
            fn from(value: $integer) -> Self {
                Self::Int(value.into())
            }
        }
    )+};
}
from_integers!(i32, i64, i128, u8, u16, u32, u64);

impl From<f64> for Tree {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&'static str> for Tree {
    fn from(text: &'static str) -> Self {
        Self::Str(Cow::Borrowed(text))
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::Str(Cow::Owned(text))
    }
}

impl From<&String> for Tree {
    fn from(text: &String) -> Self {
        Self::text(text)
    }
}

impl From<Text> for Tree {
    fn from(text: Text) -> Self {
        Self::Str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_keeps_the_order_and_a_key_occurs_once() {
        let mut map = Map::new().with("b", 1).with("a", "x").with_some("none", None::<bool>);
        map.set("b", 2).set_text("empty", "").set_text("c", "y");
        assert_eq!(map.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["b", "a", "c"]);
        assert_eq!(map.get("b").and_then(Tree::as_int), Some(2));
        assert_eq!(map.remove("b"), Some(Tree::Int(2)));
        assert_eq!(map.len(), 2);
    }
}
