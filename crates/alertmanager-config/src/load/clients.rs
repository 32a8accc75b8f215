//! HTTP clients of a raw configuration: what Alertmanager would not load, wherever a client stands.

use rendering::client::{self, ClientFault};
use rendering::{Map, Tree};

use crate::invalid::{Invalid, Within};

/// Judges every `http_config` and every TLS setting below a section.
pub(crate) fn check(section: &Map) -> Result<(), Invalid> {
    for (key, value) in section.iter() {
        match value {
            Tree::Map(client) if key == "http_config" => {
                client::check(client).map_err(invalid).within(key)?;
            }
            Tree::Map(tls) if key.ends_with("tls_config") => {
                client::check_tls(tls).map_err(invalid).within(key)?;
            }
            Tree::Map(below) => check(below).within(key)?,
            Tree::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.as_map().map_or(Ok(()), check).at(key, index)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn invalid(fault: ClientFault) -> Invalid {
    Invalid::new(fault.path, fault.problem.said(str::to_owned))
}
