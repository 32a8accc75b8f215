//! Strings of which the CRD knows more than that they are strings: durations, sizes, URLs, and closed lists of words.
//!
//! They are kept as the user wrote them. What a CRD refuses today may have been stored before the rule existed, and
//! upstream reads it; so a value is judged where it is used, not where it is parsed.

/// Declares string types, each with the facts its JSON schema states beside `type: string`.
macro_rules! text {
    ($($(#[$meta:meta])* pub struct $name:ident { $($schema:tt)+ })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", $($schema)+})
            }
        }
    )+};
}
pub(crate) use text;

text! {
    /// A duration as Prometheus writes it, units from years to milliseconds, largest first: `1h30m`, `2d`, `0`.
    pub struct Duration {
        "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
    }

    /// A [`Duration`] that must not be the empty string.
    pub struct NonEmptyDuration {
        "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
        "minLength": 1
    }

    /// A duration as Go's flags take it, hours being the largest unit: `120h`, `15s`.
    pub struct GoDuration {
        "pattern": "^(0|(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
    }

    /// A [`Duration`] for which `0` needs a unit.
    pub struct DurationWithUnit {
        "pattern": "^(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?$"
    }

    /// A number of bytes with a unit: `512MB`, `2GiB`, or `0`.
    pub struct ByteSize {
        "pattern": "(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$"
    }

    /// An address that begins with `http://` or `https://`.
    pub struct Url {
        "pattern": "^(http|https)://.+$"
    }

    /// The same as [`Url`], in the kinds whose CRD says it with another expression.
    pub struct HttpUrl {
        "pattern": "^https?://.+$"
    }

    /// The address of a proxy: `http://`, `https://` or `socks5://`.
    pub struct ProxyUrl {
        "pattern": "^(http|https|socks5)://.+$"
    }

    /// A moment in RFC 3339. A string, because there is no moment that stands for "not set".
    pub struct Timestamp {
        "format": "date-time"
    }

    /// A string that must not be empty, where it is an element of a list.
    pub struct NonEmpty {
        "minLength": 1
    }
}
