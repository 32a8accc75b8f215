//! Which log lines are written: `info`, or `info,kit=debug`.

use std::{fmt, str::FromStr};

use tracing_subscriber::EnvFilter;

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// A level, and levels for single modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter(String);

/// A filter that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` is no log level: write one of {}, and if need be `module=level` after a comma", LEVELS.join(", "))]
pub struct BadFilter {
    part: String,
}

impl Filter {
    pub(super) fn to_env_filter(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
    }
}

impl Default for Filter {
    fn default() -> Self {
        Self("info".into())
    }
}

impl FromStr for Filter {
    type Err = BadFilter;

    /// Stricter than `EnvFilter`, for which any word that is no level is a module to be traced: `verbose` would silence all.
    fn from_str(text: &str) -> Result<Self, BadFilter> {
        for part in text.split(',').map(str::trim) {
            let (module, level) = match part.split_once('=') {
                Some((module, level)) => (module, level),
                None => ("all", part),
            };
            let named =
                !module.is_empty() && module.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
            if !named || !LEVELS.contains(&level) {
                return Err(BadFilter { part: part.into() });
            }
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_typing_errors_are_not() {
        for text in ["info", "off", "info,kit=debug", "warn, kube_client::client=trace", "info,my-op=debug"] {
            assert_eq!(text.parse::<Filter>().map(|f| f.to_string()), Ok(text.into()));
        }
        for (text, part) in
            [("verbose", "verbose"), ("", ""), ("info,kit=loud", "kit=loud"), ("info,=debug", "=debug")]
        {
            assert_eq!(text.parse::<Filter>(), Err(BadFilter { part: part.into() }));
        }
        assert_eq!(
            "verbose".parse::<Filter>().unwrap_err().to_string(),
            "`verbose` is no log level: write one of off, error, warn, info, debug, trace, and if need be `module=level` after a comma"
        );
    }
}
