//! Forms: tables that say how the fields of a resource become keys of Alertmanager's configuration.
//!
//! ```text
//!   name in the resource ─┐
//!   key in the file ──────┼─ Field ─┐
//!   kind of its value ────┤         ├─ Form ──> validate: is it right in itself?
//!   version that has it ──┘  Rule ──┘       ──> select:   do its references exist, does this version have it?
//!                                           ──> render:   the keys and values
//! ```
//!
//! A receiver that gains a field gains a row.

use rendering::{Gate, Map, Tree, since};

use crate::http;
use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::url;
use crate::value::{duration, is_present, is_true, text, texts};

/// An object of a resource.
pub(crate) struct Form {
    pub(crate) fields: &'static [Field],
    pub(crate) rules: &'static [Rule],
}

/// A field of an object, and what it becomes.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    /// Versions of Alertmanager in which the field may be used; in others an object that has it is refused.
    gate: Gate,
    /// Versions in which it is written; in others it is passed over, whatever it holds.
    written: Gate,
}

pub(crate) const fn field(name: &'static str, key: &'static str, kind: Kind) -> Field {
    Field { name, key, kind, gate: Gate::Always, written: Gate::Always }
}

impl Field {
    pub(crate) const fn since(mut self, release: &str) -> Self {
        self.gate = since(release);
        self
    }

    pub(crate) const fn written_since(mut self, release: &str) -> Self {
        self.written = since(release);
        self
    }
}

/// What a value is. Texts and numbers that are empty or zero are left out of the configuration unless said otherwise.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// A text that is written even when it is empty.
    AnyText,
    Texts,
    TextMap,
    Number,
    /// Yes, no, or not said.
    Flag,
    /// A flag that is written when it is set.
    Switch,
    /// A flag that is always written.
    AlwaysFlag,
    /// A flag that is always written, as `null` when it is not said.
    FlagOrNull,
    Url,
    /// An address, or the template of one.
    TemplateUrl,
    /// An address of any scheme.
    Address,
    Duration,
    /// A key of a Secret.
    Secret,
    /// A key of a Secret whose value is written even when it is empty.
    AnySecret,
    /// A key of a Secret that must hold something.
    FullSecret,
    SecretUrl,
    SecretTemplateUrl,
    /// An address of any scheme.
    SecretAddress,
    /// A list of keys with values, which becomes a map.
    Pairs,
    Object(&'static Form),
    Objects(&'static Form),
    HostPort,
    Http,
    Tls,
    Special(fn(&Tree) -> Tree),
    /// A field of the resource that upstream never writes. Neither do we, so that both make the same configuration.
    Unwritten,
}

/// What must hold between the fields of an object.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    AnyOf(&'static [&'static str]),
    NotBoth(&'static str, &'static str),
    /// Two flags of which one at most may be set.
    NotBothSet(&'static str, &'static str),
    NotEmpty(&'static str),
    Check(fn(&Tree) -> Result<(), Invalid>),
    /// A rule for which the contents of Secrets must be known.
    CheckReferences(fn(&Tree, &References<'_>) -> Result<(), Invalid>),
}

impl Form {
    /// Is the object right in itself, whatever it refers to and whichever version it is for?
    pub(crate) fn validate(&self, object: &Tree) -> Result<(), Invalid> {
        for rule in self.rules {
            rule.validate(object)?;
        }
        for (field, value) in self.fields_of(object) {
            field.validate(value).within(field.name)?;
        }
        Ok(())
    }

    /// Do its references exist, and does this version of Alertmanager have what it uses?
    pub(crate) fn select(&self, object: &Tree, references: &References<'_>) -> Result<(), Invalid> {
        for (field, value) in self.fields_of(object) {
            references
                .demand(field.gate)
                .and_then(|()| field.select(value, references))
                .within(field.name)?;
        }
        for rule in self.rules {
            if let Rule::CheckReferences(check) = rule {
                check(object, references)?;
            }
        }
        Ok(())
    }

    pub(crate) fn render(&self, object: &Tree, references: &References<'_>) -> Result<Map, Invalid> {
        let mut out = Map::with_capacity(self.fields.len());
        for field in self.fields.iter().filter(|field| field.written.admits(references.version)) {
            let value = object.get(field.name).filter(|value| is_present(value));
            if let Some(tree) = field.render(value, references).within(field.name)? {
                out.set(field.key, tree);
            }
        }
        Ok(out)
    }

    /// Renders a list of objects.
    pub(crate) fn render_all(&self, list: &Tree, references: &References<'_>) -> Result<Vec<Map>, Invalid> {
        let objects = list.as_list().unwrap_or_default().iter().enumerate();
        objects
            .map(|(index, object)| self.render(object, references).map_err(|invalid| invalid.at(index)))
            .collect()
    }

    fn fields_of<'a>(&self, object: &'a Tree) -> impl Iterator<Item = (&'static Field, &'a Tree)> {
        self.fields
            .iter()
            .filter_map(|field| Some((field, object.get(field.name).filter(|value| is_present(value))?)))
    }
}

impl Field {
    fn validate(&self, value: &Tree) -> Result<(), Invalid> {
        let wrong = |problem| Invalid::new("", problem);
        match self.kind {
            Kind::Url if !text(value).is_empty() => url::check(text(value)).map_err(wrong),
            Kind::TemplateUrl if !text(value).is_empty() => url::check_template(text(value)).map_err(wrong),
            Kind::Address => url::parses(text(value)).map_err(wrong),
            Kind::Object(form) => form.validate(value),
            Kind::Objects(form) => each(value, |object| form.validate(object)),
            Kind::Http => http::validate(&http::read(value)?),
            Kind::HostPort if !text(value).is_empty() => split_host_port(text(value)).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn select(&self, value: &Tree, references: &References<'_>) -> Result<(), Invalid> {
        let wrong = |problem| Invalid::new("", problem);
        match self.kind {
            Kind::Secret | Kind::AnySecret => references.secret(value).map(|_| ()),
            Kind::FullSecret => full_secret(value, references).map(|_| ()),
            Kind::SecretUrl => url::check_secret(references.secret(value)?.trim()).map_err(wrong),
            Kind::SecretTemplateUrl => url::check_template(references.secret(value)?.trim()).map_err(wrong),
            Kind::SecretAddress => url::parses(references.secret(value)?.trim()).map_err(wrong),
            Kind::Object(form) => form.select(value, references),
            Kind::Objects(form) => each(value, |object| form.select(object, references)),
            Kind::Http => http::select(&http::read(value)?, references),
            Kind::Tls => http::select_tls(&http::read_tls(value)?, references),
            _ => Ok(()),
        }
    }

    /// What is written for the field; nothing, when there is nothing to say.
    fn render(&self, value: Option<&Tree>, references: &References<'_>) -> Result<Option<Tree>, Invalid> {
        match (self.kind, value) {
            (Kind::AlwaysFlag, value) => return Ok(Some(value.is_some_and(is_true).into())),
            (Kind::FlagOrNull, None) => return Ok(Some(Tree::Null)),
            _ => {}
        }
        let Some(value) = value else { return Ok(None) };
        let wrong = |problem| Invalid::new("", problem);
        Ok(match self.kind {
            Kind::Text | Kind::Url | Kind::TemplateUrl | Kind::Address => some_text(text(value)),
            Kind::AnyText => Some(Tree::text(text(value))),
            Kind::Texts => Some(texts(value)).filter(|list| !list.is_empty()).map(Tree::from),
            Kind::TextMap => value.as_map().filter(|map| !map.is_empty()).map(|_| value.clone()),
            Kind::Number => value.as_int().filter(|number| *number != 0).map(Tree::Int),
            Kind::Flag | Kind::AlwaysFlag | Kind::FlagOrNull => value.as_bool().map(Tree::Bool),
            Kind::Switch => is_true(value).then_some(Tree::Bool(true)),
            Kind::Duration if text(value).is_empty() => None,
            Kind::Duration => Some(duration(text(value)).map_err(wrong)?.into()),
            Kind::Secret => some_text(references.secret(value)?),
            Kind::AnySecret => Some(Tree::text(references.secret(value)?)),
            Kind::FullSecret => Some(Tree::text(full_secret(value, references)?)),
            Kind::SecretUrl => {
                let address = references.secret(value)?.trim();
                url::check_secret(address).map_err(wrong)?;
                some_text(address)
            }
            Kind::SecretTemplateUrl | Kind::SecretAddress => some_text(references.secret(value)?.trim()),
            Kind::Pairs => pairs(value).non_empty().map(Tree::Map),
            Kind::Object(form) => Some(form.render(value, references)?.into()),
            Kind::Objects(form) => {
                let objects = form.render_all(value, references)?;
                (!objects.is_empty()).then(|| objects.into())
            }
            Kind::HostPort if text(value).is_empty() => None,
            Kind::HostPort => Some(split_host_port(text(value))?.into()),
            Kind::Http => Some(http::render(&http::read(value)?, references)?.into()),
            Kind::Tls => Some(http::render_tls(&http::read_tls(value)?, references).into()),
            Kind::Special(become_) => Some(become_(value)),
            Kind::Unwritten => None,
        })
    }
}

impl Rule {
    fn validate(&self, object: &Tree) -> Result<(), Invalid> {
        let there = |name: &str| object.get(name).is_some_and(is_present);
        let set = |name: &str| object.get(name).is_some_and(is_true);
        match *self {
            Self::AnyOf(names) if !names.iter().any(|name| there(name)) => {
                Err(Invalid::new("", format!("needs one of {}", names.join(", "))))
            }
            Self::NotBoth(one, other) if there(one) && there(other) => {
                Err(Invalid::new(other, format!("cannot be used together with {one}; remove one of them")))
            }
            Self::NotBothSet(one, other) if set(one) && set(other) => {
                Err(Invalid::new(other, format!("cannot be used together with {one}; remove one of them")))
            }
            Self::NotEmpty(name) if object.get(name).map_or("", text).is_empty() => {
                Err(Invalid::new(name, "must not be empty"))
            }
            Self::Check(check) => check(object),
            _ => Ok(()),
        }
    }
}

/// Calls `check` with each object of a list.
pub(crate) fn each(list: &Tree, mut check: impl FnMut(&Tree) -> Result<(), Invalid>) -> Result<(), Invalid> {
    for (index, object) in list.as_list().unwrap_or_default().iter().enumerate() {
        check(object).map_err(|invalid| invalid.at(index))?;
    }
    Ok(())
}

fn some_text(text: &str) -> Option<Tree> {
    (!text.is_empty()).then(|| Tree::text(text))
}

fn full_secret<'a>(value: &Tree, references: &References<'a>) -> Result<&'a str, Invalid> {
    match references.secret(value)? {
        "" => Err(Invalid::new("", "refers to a key that is empty; fill it")),
        secret => Ok(secret),
    }
}

/// `[{key, value}]` as a map; the last value of a key wins.
fn pairs(list: &Tree) -> Map {
    let pairs = list.as_list().unwrap_or_default().iter();
    let mut sorted: Vec<(String, Tree)> = Vec::new();
    for pair in pairs {
        let part = |name| pair.get(name).map_or("", text);
        let (key, value) = (part("key"), Tree::text(part("value")));
        match sorted.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => sorted.push((key.to_owned(), value)),
        }
    }
    sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
    sorted.into_iter().collect()
}

/// Host and port put together again as Go does, which drops brackets that are not needed.
pub(crate) fn split_host_port(address: &str) -> Result<String, Invalid> {
    let wrong = |problem: &str| Invalid::new("", format!("{address:?} is not a host with a port: {problem}"));
    let (host, port) = address.rsplit_once(':').ok_or_else(|| wrong("the port is missing"))?;
    let host = match (host.strip_prefix('['), host.strip_suffix(']')) {
        (Some(inner), Some(_)) => inner.strip_suffix(']').unwrap_or(inner),
        (None, None) if host.contains(':') => return Err(wrong("it has too many colons")),
        (None, None) => host,
        _ => return Err(wrong("a bracket is missing")),
    };
    if host.contains(['[', ']']) || port.contains(['[', ']']) {
        return Err(wrong("it has a bracket too many"));
    }
    Ok(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_a_sorted_map_in_which_the_last_value_wins() {
        let pair = |key: &'static str, value: &'static str| Map::new().with("key", key).with("value", value);
        let list: Tree = vec![pair("b", "1"), pair("a", "2"), pair("b", "3")].into();
        assert_eq!(Tree::from(pairs(&list)).to_yaml(), "a: \"2\"\nb: \"3\"\n");
    }

    #[test]
    fn a_secret_that_is_no_address_is_not_written() {
        const FORM: Form = Form { fields: &[field("apiURL", "api_url", Kind::SecretUrl)], rules: &[] };
        let (mut assets, version) = (rendering::Assets::new(), rendering::Version::parse("0.34.0").unwrap());
        let data = [("good", " http://a\n"), ("bad", "://hush")];
        assets.add_secret("ns", "s", data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())));
        let references = References { assets: &assets, namespace: "ns", version: &version, tls: None };
        let rendered = |key: &str| {
            let object = Tree::parse(&format!("apiURL: {{name: s, key: {key}}}")).unwrap();
            FORM.render(&object, &references).map(|map| map.to_yaml())
        };
        assert_eq!(rendered("good").unwrap(), "api_url: http://a\n");
        assert_eq!(rendered("bad").unwrap_err().field, "apiURL");
    }

    #[test]
    fn an_address_needs_a_port_and_brackets_only_around_colons() {
        assert_eq!(split_host_port("smtp:25").unwrap(), "smtp:25");
        assert_eq!(split_host_port("[::1]:25").unwrap(), "[::1]:25");
        assert_eq!(split_host_port("[host]:25").unwrap(), "host:25");
        for address in ["smtp", "a:b:c", "[::1", "::1]:25"] {
            assert!(split_host_port(address).is_err(), "{address}");
        }
    }
}
