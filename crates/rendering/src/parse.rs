//! YAML text into a [`Tree`], as the operands read it: unquoted `yes` is a boolean and `0777` octal, as in YAML 1.1.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::tree::{Map, Text, Tree};

/// A text is not YAML; the message says where.
#[derive(Debug, thiserror::Error)]
#[error("not valid YAML: {0}")]
pub struct ParseError(String);

impl Tree {
    /// Reads one document; an empty one is null. Aliases and merge keys are resolved, a repeated key is an error.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| ParseError(error.to_string()))
    }

    /// The same document with every scalar as it is written: `0777` and `yes` are texts. `read` is what [`Tree::parse`] made of it.
    ///
    /// A reader that knows it wants a text, as the operands do, takes what is written: a password `0777` is not `511`.
    pub fn parse_texts(text: &str, read: &Self) -> Result<Self, ParseError> {
        serde_saphyr::with_deserializer_from_str_with_options(text, options(), |document| {
            Written(read).deserialize(document)
        })
        .map_err(|error| ParseError(error.to_string()))
    }
}

fn options() -> serde_saphyr::Options {
    let budget = serde_saphyr::budget! { max_events: 20_000_000, max_nodes: 10_000_000, max_depth: 200 };
    serde_saphyr::options! {
        budget: budget,
        legacy_octal_numbers: true,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
    }
}

/// Reads a document whose form is known from a first reading, and asks for texts where that found scalars.
#[derive(Clone, Copy)]
struct Written<'t>(&'t Tree);

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        match self.0 {
            Tree::Null => deserializer.deserialize_any(TreeVisitor),
            Tree::List(_) => deserializer.deserialize_seq(self),
            Tree::Map(_) => deserializer.deserialize_map(self),
            _ => String::deserialize(deserializer).map(Tree::from),
        }
    }
}

impl<'de> Visitor<'de> for Written<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the same document")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        let mut read = self.0.as_list().unwrap_or_default().iter();
        while let Some(item) = items.next_element_seed(Written(read.next().unwrap_or(&Tree::Null)))? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Map::new();
        while let Some(Key(key)) = entries.next_key::<Key>()? {
            let read = self.0.get(&key).unwrap_or(&Tree::Null);
            map.set(key, entries.next_value_seed(Written(read))?);
        }
        Ok(Tree::Map(map))
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::text(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Map::new();
        while let Some((Key(key), value)) = entries.next_entry::<Key, Tree>()? {
            map.set(key, value);
        }
        Ok(Tree::Map(map))
    }
}

/// A key as it is written, whatever it looks like: all that we read has names for keys.
struct Key(Text);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key that is a text")
            }
            fn visit_str<E>(self, value: &str) -> Result<Key, E> {
                Ok(Key(Cow::Owned(value.to_owned())))
            }
            fn visit_string<E>(self, value: String) -> Result<Key, E> {
                Ok(Key(Cow::Owned(value)))
            }
        }
        deserializer.deserialize_string(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_read_as_the_operands_read_them() {
        let tree = Tree::parse("a: yes\nb: \"yes\"\nc: 0777\nd: 0x1F\ne: 1.5\nf: ~\ng: 30s\nh: .inf\n1: x\non: z\ni: 18446744073709551615\n").unwrap();
        let get = |key: &str| tree.get(key).cloned().unwrap();
        assert_eq!(get("a"), Tree::Bool(true));
        assert_eq!(get("b"), Tree::from("yes"));
        assert_eq!((get("c"), get("d")), (Tree::Int(0o777), Tree::Int(31)));
        assert_eq!((get("e"), get("f"), get("g")), (Tree::Float(1.5), Tree::Null, Tree::from("30s")));
        assert_eq!(get("h"), Tree::Float(f64::INFINITY));
        assert_eq!((get("1"), get("on")), (Tree::from("x"), Tree::from("z")));
        assert_eq!(get("i"), Tree::Int(u64::MAX.into()));
    }

    #[test]
    fn scalars_are_texts_as_they_are_written_where_texts_are_wanted() {
        let text = "a: 0777\nb: [yes, 1.50, 'x', 0x1F]\nc: {on: off, d: ~, e: &x 1_0}\nf: *x\n";
        let written = Tree::parse_texts(text, &Tree::parse(text).unwrap()).unwrap();
        assert_eq!(
            written.to_yaml(),
            "a: \"0777\"\nb:\n- \"yes\"\n- \"1.50\"\n- x\n- \"0x1F\"\nc:\n  \"on\": \"off\"\n  d: null\n  e: \"1_0\"\nf: \"1_0\"\n"
        );
    }

    #[test]
    fn nothing_is_null_and_what_is_no_yaml_is_an_error() {
        assert_eq!(Tree::parse("").unwrap(), Tree::Null);
        assert_eq!(Tree::parse("# only a comment\n").unwrap(), Tree::Null);
        assert!(Tree::parse("a: [").is_err());
        assert!(Tree::parse("a: 1\na: 2").is_err());
    }
}
