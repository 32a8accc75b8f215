//! TLS material that resources refer to: checked, and gathered into the files of a Secret.
//!
//! ```text
//! SafeTlsConfig ── validate ──▶ references ── Assets ──▶ PEM ── material ──▶ TlsAssets: file name → bytes
//! ```
//!
//! Operands read TLS material from files below one directory, so every key that is referred to becomes a file there, under
//! a name that says where it came from ([`Reference::file_name`]). What does not parse is refused here, with the resource
//! that brought it, for an operand that meets it would refuse its whole configuration.

mod gather;
mod material;
mod reference;

pub use gather::{TlsAssets, TlsError};
pub use material::{MaterialError, check_authority, check_pair};
pub use prometheus_types::validity::tls::{InvalidTls, validate, validate_safe, validate_web};
pub use reference::Reference;
