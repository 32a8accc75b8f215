//! The application's HTTP.
//!
//! | path | what |
//! |---|---|
//! | `/notes` | the keys |
//! | `/notes/<key>` | GET, PUT, DELETE one note, as text |
//! | `/search?q=` | the keys of notes that contain the text (exampleFeature1) |
//! | `/export` | all notes, as a backup has them (exampleFeature2) |
//! | `/healthz`, `/readyz`, `/metrics` | without password |

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query, Request, State, rejection::BytesRejection},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use kit::{
    metrics::{Rate, page},
    run::{Failure, exit},
};
use serde_json::json;

use super::{archive, format::Key, notes::Notes, password::Password, versions::AppVersion};

const LARGEST_NOTE: usize = 1 << 20;

pub(super) struct App {
    pub(super) version: &'static AppVersion,
    /// The switches that are on.
    pub(super) features: Vec<String>,
    pub(super) notes: Notes,
    pub(super) password: Password,
    /// Those for notes; probes and scrapes are not load.
    pub(super) requests: Rate,
}

type Shared = State<Arc<App>>;

pub(super) fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/notes", get(list))
        .route("/notes/", get(no_key).put(no_key).delete(no_key))
        .route("/notes/{*key}", get(read).put(write).delete(delete))
        .route("/search", get(search))
        .route("/export", get(export))
        .layer(DefaultBodyLimit::max(LARGEST_NOTE))
        .layer(middleware::from_fn_with_state(app.clone(), admit))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(app)
}

/// An answer other than what was asked for.
struct Refused(StatusCode, String);

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

async fn admit(State(app): Shared, request: Request, next: Next) -> Response {
    app.requests.count();
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match app.password.admits(given.unwrap_or_default()) {
        Ok(true) => next.run(request).await,
        Ok(false) => {
            let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"notes\"")];
            let refused = Refused(StatusCode::UNAUTHORIZED, "the password is missing or wrong".to_owned());
            (ask, refused).into_response()
        }
        Err(why) => Refused(StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

impl App {
    /// Runs `work`, which waits for the disk, where it holds up no other request.
    async fn with_notes<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Notes) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Refused> {
        let done = tokio::task::spawn_blocking(move || work(&self.notes)).await;
        Ok(done.map_err(|error| Refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??)
    }

    fn health(&self) -> Result<(), Refused> {
        let health = self.version.broken.map_or_else(|| self.notes.health(), |why| Err(why.to_owned()));
        health.map_err(|wrong| Refused(StatusCode::SERVICE_UNAVAILABLE, wrong))
    }

    fn needs(&self, feature: &str) -> Result<(), Refused> {
        match self.features.iter().any(|on| on == feature) {
            true => Ok(()),
            false => Err(Refused(StatusCode::NOT_FOUND, format!("the feature {feature} is off"))),
        }
    }
}

fn bad(why: impl Into<String>) -> Refused {
    Refused(StatusCode::BAD_REQUEST, why.into())
}

fn missing(key: &str) -> Refused {
    Refused(StatusCode::NOT_FOUND, format!("there is no note {key:?}"))
}

async fn no_key() -> Result<(), Refused> {
    Key::new("").map(drop).map_err(bad)
}

async fn list(State(app): Shared) -> Result<Json<Vec<Key>>, Refused> {
    app.with_notes(Notes::keys).await.map(Json)
}

async fn read(State(app): Shared, Path(path): Path<String>) -> Result<String, Refused> {
    let key = Key::new(&*path).map_err(bad)?;
    let note = app.with_notes(move |notes| notes.get(&key)).await?;
    note.map(|note| note.text).ok_or_else(|| missing(&path))
}

async fn write(
    State(app): Shared,
    Path(path): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<StatusCode, Refused> {
    let key = Key::new(path).map_err(bad)?;
    let body = body.map_err(|rejection| match rejection.status() {
        too_large @ StatusCode::PAYLOAD_TOO_LARGE => {
            Refused(too_large, format!("a note has at most {LARGEST_NOTE} bytes"))
        }
        status => Refused(status, rejection.body_text()),
    })?;
    let text = String::from_utf8(body.into()).map_err(|_| bad("a note is UTF-8 text"))?;
    let is_new = app.with_notes(move |notes| notes.put(&key, text)).await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
}

async fn delete(State(app): Shared, Path(path): Path<String>) -> Result<StatusCode, Refused> {
    let key = Key::new(&*path).map_err(bad)?;
    match app.with_notes(move |notes| notes.delete(&key)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(missing(&path)),
    }
}

async fn search(
    State(app): Shared,
    Query(mut query): Query<HashMap<String, String>>,
) -> Result<Json<Vec<Key>>, Refused> {
    app.needs("exampleFeature1")?;
    let text = query.remove("q").filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| bad("say what to search for: /search?q=milk"))?;
    app.with_notes(move |notes| notes.search(&text)).await.map(Json)
}

async fn export(State(app): Shared) -> Result<Response, Refused> {
    app.needs("exampleFeature2")?;
    let (archive, _) = app.with_notes(|notes| archive::encode(&notes.tree()?)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], archive).into_response())
}

async fn healthz(State(app): Shared) -> Result<Response, Refused> {
    app.health()?;
    let AppVersion { version, format, .. } = app.version;
    Ok(Json(json!({ "version": version, "format": format.number() })).into_response())
}

async fn readyz(State(app): Shared) -> Result<&'static str, Refused> {
    app.health().map(|()| "ok")
}

async fn metrics(State(app): Shared) -> Response {
    let notes = app.clone().with_notes(Notes::keys).await.map_or(0, |keys| keys.len());
    let AppVersion { version, format, .. } = app.version;
    let build = format!("{{version=\"{version}\",format=\"{}\"}}", format.number());
    let healthy = f64::from(u8::from(app.health().is_ok()));
    let (total, rate) = app.requests.read();
    let cache = app.notes.cache();
    let (hits, misses, bytes) = (cache.hits as f64, cache.misses as f64, cache.bytes as f64);
    let text = page(&[
        ("notes_total", "", "gauge", "Notes on the volume.", notes as f64),
        ("notes_healthy", "", "gauge", "1 as long as the data is as it was written.", healthy),
        ("notes_requests_total", "", "counter", "Requests for notes.", total as f64),
        ("notes_requests_per_second", "", "gauge", "Requests for notes, average of 10 s.", rate),
        ("notes_cache_hits_total", "", "counter", "Notes found in the cache.", hits),
        ("notes_cache_misses_total", "", "counter", "Notes read from the volume.", misses),
        ("notes_cache_bytes", "", "gauge", "Size of the cache.", bytes),
        ("notes_build_info", &build, "gauge", "The application's version.", 1.0),
    ]);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
