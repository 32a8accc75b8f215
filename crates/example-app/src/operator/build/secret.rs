//! The Secret for the password. It is created once, and never read or changed by the operator afterwards.

use k8s_openapi::api::core::v1::Secret;

use super::owned;
use crate::operator::{names, observe::World};

/// The Secret, still without its password: that is no part of a plan, because plans are printed.
pub(crate) fn secret(world: &World) -> Secret {
    let app = &*world.app;
    owned(Secret { metadata: names::meta(app, names::secret(app), names::APP), ..Secret::default() }, app)
}
