//! What an application's own HTTP needs: a password from a file that may change under the running process, a count of requests, and
//! refusals that say why.

use std::{fs, path::PathBuf, sync::Arc};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use crate::{
    metrics::Rate,
    run::{Failure, exit},
};

/// An answer other than what was asked for: its status, and why, as `{"error": …}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub StatusCode, pub String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        tracing::error!("{failure}");
        let status = match failure.exit_code() {
            exit::FULL => StatusCode::INSUFFICIENT_STORAGE,
            exit::USAGE => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, failure.to_string())
    }
}

/// A door to routes: it counts who knocks, and lets in who has the password.
#[derive(Debug)]
pub struct Door {
    realm: String,
    /// Its first line is the password. It is read for each request: a new one counts at once, and none stays in memory.
    password: PathBuf,
    /// Those at this door; probes and scrapes, which need no password, are not load.
    pub requests: Rate,
}

impl Door {
    /// A door to `realm`, if there is a password for it at present.
    pub fn new(realm: &str, password: PathBuf) -> Result<Self, Failure> {
        let door = Self { realm: format!("Basic realm={realm:?}"), password, requests: Rate::default() };
        door.password().map(|_| door).map_err(Failure::setup)
    }

    /// Puts the door before these routes.
    pub fn before<S: Clone + Send + Sync + 'static>(self: &Arc<Self>, routes: Router<S>) -> Router<S> {
        routes.layer(from_fn_with_state(self.clone(), admit))
    }

    /// Does this `Authorization` header carry the password? The user's name does not matter.
    fn admits(&self, authorization: &str) -> Result<bool, String> {
        let current = self.password()?;
        let given = || {
            let (scheme, encoded) = authorization.split_once(' ')?;
            let decoded = STANDARD.decode(encoded.trim()).ok()?;
            let colon = decoded.iter().position(|byte| *byte == b':')?;
            scheme.eq_ignore_ascii_case("basic").then(|| decoded.get(colon + 1..).map(<[u8]>::to_vec))?
        };
        Ok(given().is_some_and(|given| is_same(&given, current.as_bytes())))
    }

    fn password(&self) -> Result<String, String> {
        let path = self.password.display();
        let text = fs::read_to_string(&self.password)
            .map_err(|error| format!("the password file {path} cannot be read: {error}"))?;
        let first = text.lines().next().filter(|line| !line.is_empty()).map(str::to_owned);
        first.ok_or_else(|| {
            format!("the password file {path} is empty: write the password into its first line")
        })
    }
}

/// Takes as long whichever byte differs: only the length can be guessed from the time.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    given.len() == wanted.len() && given.iter().zip(wanted).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

async fn admit(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    door.requests.count();
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match door.admits(given.unwrap_or_default()) {
        Ok(true) => next.run(request).await,
        Ok(false) => {
            let refused = Refused(StatusCode::UNAUTHORIZED, "the password is missing or wrong".to_owned());
            ([(header::WWW_AUTHENTICATE, &*door.realm)], refused).into_response()
        }
        Err(why) => Refused(StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_first_line_of_the_file_comes_in() {
        let file = std::env::temp_dir().join(format!("capstan-door-{:016x}", fastrand::u64(..)));
        let door = || Door::new("notes", file.clone());
        assert!(door().unwrap_err().to_string().contains("cannot be read"));
        fs::write(&file, "s3cret\nsecond line\n").unwrap();
        let door = door().unwrap();
        let with = |credentials: &str| door.admits(&format!("basic {}", STANDARD.encode(credentials)));
        assert_eq!((with("anyone:s3cret"), with("s3cret"), with(":s3cre")), (Ok(true), Ok(false), Ok(false)));
        assert_eq!(
            (door.admits(""), door.admits("Basic !"), door.admits("Bearer x")),
            (Ok(false), Ok(false), Ok(false))
        );
        fs::write(&file, "new:one").unwrap();
        assert_eq!((with("a:s3cret"), with("a:new:one")), (Ok(false), Ok(true)));
        fs::write(&file, "\n").unwrap();
        assert!(with(":").unwrap_err().contains("is empty"), "an emptied file lets nobody in");
        fs::remove_file(file).unwrap();
    }
}
