//! The address of a prober, as upstream takes it: no scheme, no path.

use std::net::IpAddr;

/// The address of a prober: a host, or a host and a port.
pub(crate) fn check_prober(address: &str) -> Result<(), String> {
    let refuse = || Err(format!("{address:?} is no host and no host:port; write it without scheme and path"));
    match split_host_port(address) {
        None if is_host(address) => Ok(()),
        Some((host, port)) if is_host(host) && is_port(port) => Ok(()),
        _ => refuse(),
    }
}

/// `host:port` with the colons of IPv6 in brackets, as Go's `net.SplitHostPort`; `None` where there is no port.
fn split_host_port(address: &str) -> Option<(&str, &str)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']').filter(|inside| !inside.contains(['[', ']']))?,
        None if host.contains([':', '[', ']']) => return None,
        None => host,
    };
    (!port.contains([']', '['])).then_some((host, port))
}

fn is_port(port: &str) -> bool {
    port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_host(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok() || is_dns_name(host)
}

/// Labels of letters, digits, `-` and `_`, with a dot or underscore at the end where users put one.
fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        let first = label.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        first
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    };
    let without_end = name.strip_suffix('.').unwrap_or(name);
    name.replace('.', "").len() <= 255 && without_end.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prober_is_a_host_with_or_without_a_port() {
        for address in ["blackbox", "blackbox:9115", "10.0.0.1:80", "::1", "[::1]:80", "a.b.svc.", "a_b:1"] {
            assert!(check_prober(address).is_ok(), "{address}");
        }
        for address in ["", "http://a", "a/b", "a:0", "a:70000", "a:", "[::1]", "a b", "-a", "a:b"] {
            assert!(check_prober(address).is_err(), "{address}");
        }
    }
}
