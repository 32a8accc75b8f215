//! The numbers by which members and clusters are known.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A member's number within its cluster. Given once, never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Serial(pub u64);

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// etcd's ID of a member. It dies with the member: a removed one never comes back under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

/// As etcdctl prints it.
impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// etcd's ID of a cluster. Once it is known, nobody founds a cluster under this name again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u64);

/// As etcdctl prints it, and as it is latched.
impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Text that is no ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no hexadecimal ID")]
pub struct NoId(String);

impl FromStr for ClusterId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        u64::from_str_radix(text, 16).map(Self).map_err(|_| NoId(text.to_owned()))
    }
}

impl TryFrom<String> for ClusterId {
    type Error = NoId;

    fn try_from(text: String) -> Result<Self, NoId> {
        text.parse()
    }
}

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_id_is_read_as_it_is_written() {
        let id = ClusterId(0x09d3_f000_0000_00ab);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(
            "not hex".parse::<ClusterId>().unwrap_err().to_string(),
            "\"not hex\" is no hexadecimal ID"
        );
    }
}
