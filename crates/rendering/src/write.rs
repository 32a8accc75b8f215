//! The YAML writer: block style, two blanks of indentation, lists at the column of their key, everything into one String.

use std::fmt::Write;

use crate::scalar::{is_block, is_plain, write_quoted};
use crate::tree::{Map, Tree};

/// Readers of YAML look no further than 1024 characters for the colon of a simple key.
const LONGEST_SIMPLE_KEY: usize = 500;

const BLANKS: &str = "                                                                ";

impl Tree {
    /// The document as text; the same tree gives the same bytes.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        self.write_yaml(&mut out);
        out
    }

    /// Appends the document to a text.
    pub fn write_yaml(&self, out: &mut String) {
        match self {
            Self::Map(map) if !map.is_empty() => map.write(0, out),
            Self::List(items) if !items.is_empty() => write_list(items, 0, out),
            scalar => {
                scalar.write_scalar(out);
                out.push('\n');
            }
        }
    }

    /// Appends the tree as one item, `- …`, of a list that begins at the left margin: the form in which fragments of a
    /// document are kept and put together.
    pub fn write_yaml_item(&self, out: &mut String) {
        self.write_item(0, out);
    }

    fn write_item(&self, indent: usize, out: &mut String) {
        out.push('-');
        match self {
            Self::Map(map) if !map.is_empty() => {
                out.push(' ');
                map.write_from_here(indent + 2, out);
            }
            Self::List(items) if !items.is_empty() => {
                out.push(' ');
                write_list_from_here(items, indent + 2, out);
            }
            scalar => scalar.write_value(indent, out),
        }
    }

    /// What follows `key:` or `-`, a blank or a line break included.
    fn write_value(&self, indent: usize, out: &mut String) {
        match self {
            Self::Map(map) if !map.is_empty() => {
                out.push('\n');
                map.write(indent + 2, out);
            }
            Self::List(items) if !items.is_empty() => {
                out.push('\n');
                write_list(items, indent, out);
            }
            Self::Str(text) if is_block(text) => write_block(text, indent + 2, out),
            scalar => {
                out.push(' ');
                scalar.write_scalar(out);
                out.push('\n');
            }
        }
    }

    fn write_scalar(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            // Writing to a String cannot fail.
            Self::Int(number) => {
                let _ = write!(out, "{number}");
            }
            Self::Float(number) => write_float(*number, out),
            Self::Str(text) => write_string(text, out),
            Self::List(_) => out.push_str("[]"),
            Self::Map(_) => out.push_str("{}"),
        }
    }
}

impl Map {
    /// The map as a document.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        self.write_yaml(&mut out);
        out
    }

    /// Appends the map's keys at the left margin; nothing when it has none.
    pub fn write_yaml(&self, out: &mut String) {
        self.write(0, out);
    }

    fn write(&self, indent: usize, out: &mut String) {
        for (key, value) in self.iter() {
            write_indent(indent, out);
            write_entry(key, value, indent, out);
        }
    }

    fn write_from_here(&self, indent: usize, out: &mut String) {
        for (at, (key, value)) in self.iter().enumerate() {
            if at > 0 {
                write_indent(indent, out);
            }
            write_entry(key, value, indent, out);
        }
    }
}

fn write_entry(key: &str, value: &Tree, indent: usize, out: &mut String) {
    if key.len() > LONGEST_SIMPLE_KEY {
        out.push_str("? ");
        write_string(key, out);
        out.push('\n');
        write_indent(indent, out);
    } else {
        write_string(key, out);
    }
    out.push(':');
    value.write_value(indent, out);
}

fn write_list(items: &[Tree], indent: usize, out: &mut String) {
    for item in items {
        write_indent(indent, out);
        item.write_item(indent, out);
    }
}

fn write_list_from_here(items: &[Tree], indent: usize, out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            write_indent(indent, out);
        }
        item.write_item(indent, out);
    }
}

fn write_indent(indent: usize, out: &mut String) {
    let mut left = indent;
    while left > 0 {
        let blanks = BLANKS.get(..left).unwrap_or(BLANKS);
        out.push_str(blanks);
        left -= blanks.len();
    }
}

fn write_string(text: &str, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
    } else {
        write_quoted(text, out);
    }
}

fn write_block(text: &str, indent: usize, out: &mut String) {
    out.push_str(if text.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in text.lines() {
        if !line.is_empty() {
            write_indent(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// With a point and, where there is an exponent, its sign: YAML 1.1 takes nothing else for a float.
fn write_float(number: f64, out: &mut String) {
    if number.is_nan() {
        out.push_str(".nan");
    } else if number.is_infinite() {
        out.push_str(if number > 0.0 { ".inf" } else { "-.inf" });
    } else {
        let shortest = format!("{number:?}");
        match shortest.split_once('e') {
            None => out.push_str(&shortest),
            Some((mantissa, exponent)) => {
                out.push_str(mantissa);
                if !mantissa.contains('.') {
                    out.push_str(".0");
                }
                out.push('e');
                if !exponent.starts_with('-') {
                    out.push('+');
                }
                out.push_str(exponent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_that_of_the_configurations_people_know() {
        let job = Map::new()
            .with("job_name", "a/b/0")
            .with("params", Map::new().with("module", vec!["http_2xx"]))
            .with("empty", Vec::<Tree>::new())
            .with("none", Map::new())
            .with("nested", vec![Tree::from(vec![1, 2]), Tree::Null])
            .with(
                "relabel_configs",
                vec![Map::new().with("regex", "0|1").with("action", "keep"), Map::new().with("modulus", 2)],
            );
        let tree =
            Tree::from(Map::new().with("scrape_configs", vec![job]).with("factor", 1.0).with("big", 1e21));
        let text = "\
scrape_configs:
- job_name: a/b/0
  params:
    module:
    - http_2xx
  empty: []
  none: {}
  nested:
  - - 1
    - 2
  - null
  relabel_configs:
  - regex: \"0|1\"
    action: keep
  - modulus: 2
factor: 1.0
big: 1.0e+21
";
        assert_eq!(tree.to_yaml(), text);
        assert_eq!(Tree::parse(text).unwrap(), tree);
    }

    #[test]
    fn every_string_survives_as_key_as_value_and_as_item() {
        let long = "k".repeat(3000);
        for text in [
            "",
            " ",
            "a\nb",
            "a\nb\n",
            "a\nb\n\n",
            "\na",
            " a\nb",
            "a \nb",
            "a\n\nb",
            "a\n b\n",
            "a\tb\nc",
            "\t",
            "#",
            "a: b",
            "- a",
            "yes",
            "0x1F",
            "1_000",
            "12:30",
            "~",
            "=",
            "<<",
            "'",
            "\"",
            "\\",
            "a\r\nb",
            "\u{0}\u{1}\u{1f}\u{7f}\u{85}\u{a0}\u{2028}\u{feff}\u{fffe}",
            "😀",
            "{a: b}",
            "[a]",
            "${A}",
            "%TAG",
            "...",
            "---",
            "a\n---\nb",
            "!!str a",
            "&a *a",
            "| a",
            "> a",
            &long,
        ] {
            let tree = Tree::from(
                Map::new()
                    .with(text.to_owned(), Tree::text(text))
                    .with("list", vec![Tree::text(text), Tree::from(Map::new().with("x", Tree::text(text)))]),
            );
            let yaml = tree.to_yaml();
            assert_eq!(
                Tree::parse(&yaml).unwrap_or_else(|error| panic!("{text:?}: {error}\n{yaml}")),
                tree,
                "{yaml}"
            );
        }
    }

    #[test]
    fn fragments_put_together_are_the_list() {
        let items = [Tree::from(Map::new().with("a", 1).with("b", vec!["x"])), Tree::from("y")];
        let mut text = String::from("list:\n");
        for item in &items {
            item.write_yaml_item(&mut text);
        }
        assert_eq!(text, Tree::from(Map::new().with("list", Tree::List(items.to_vec()))).to_yaml());
    }
}
