//! Where to listen: `:8080`, `127.0.0.1:8080`, or `0` for nowhere, as controller-runtime's flags have it.

use std::{fmt, io, str::FromStr};

use tokio::net::TcpListener;

/// An address to listen on, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere: the server is off.
    Off,
    /// On `host` (empty: all addresses) and `port` (0: any free one).
    At {
        /// An IP address or a name.
        host: String,
        /// A TCP port.
        port: u16,
    },
}

/// An address that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address to listen on: write `:8080`, `127.0.0.1:8080`, `[::1]:8080`, or `0` to switch it off"
)]
pub struct BadListen(String);

/// A port that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {why}")]
pub struct BindError {
    address: Listen,
    why: String,
    #[source]
    source: io::Error,
}

impl Listen {
    /// Opens the port; `None` when off. `flag` is what people would change when that fails.
    pub async fn bind(&self, flag: &str) -> Result<Option<TcpListener>, BindError> {
        let Self::At { host, port } = self else { return Ok(None) };
        let bound = match host.as_str() {
            // `[::]` takes IPv4, too, except where there is no IPv6 at all.
            "" => match TcpListener::bind(("::", *port)).await {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind(("0.0.0.0", *port)).await
                }
                bound => bound,
            },
            host => TcpListener::bind((host, *port)).await,
        };
        bound.map(Some).map_err(|source| BindError {
            address: self.clone(),
            why: match source.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("another process has it. Set {flag} to a free port, or to 0")
                }
                io::ErrorKind::PermissionDenied => format!("not permitted. Set {flag} to a port above 1023"),
                io::ErrorKind::AddrNotAvailable => format!("this machine has no such address. Change {flag}"),
                _ => format!("change {flag}"),
            },
            source,
        })
    }
}

impl FromStr for Listen {
    type Err = BadListen;

    fn from_str(text: &str) -> Result<Self, BadListen> {
        if matches!(text, "0" | "") {
            return Ok(Self::Off);
        }
        let bad = || BadListen(text.into());
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port = port.parse().map_err(|_| bad())?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        match bare.unwrap_or(host) {
            // Without brackets it is not clear which colon is before the port.
            host if host.contains(':') != bare.is_some() => Err(bad()),
            host => Ok(Self::At { host: host.into(), port }),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::At { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::At { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_the_same_way() {
        for text in ["0", ":8080", "127.0.0.1:8080", "[::1]:8080", "localhost:0"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
        for text in ["8080", "::1:8080", "127.0.0.1:", ":99999", "[::1]", "[a]:1"] {
            assert_eq!(text.parse::<Listen>(), Err(BadListen(text.into())));
        }
    }

    #[tokio::test]
    async fn a_taken_port_names_the_flag_to_change() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let listen: Listen = address.to_string().parse().unwrap();
        let error = listen.bind("--metrics-bind-address").await.unwrap_err();
        let expected = format!(
            "cannot listen on {address}: another process has it. Set --metrics-bind-address to a free port, or to 0"
        );
        assert_eq!(error.to_string(), expected);
    }
}
