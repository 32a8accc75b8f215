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
    extract::{DefaultBodyLimit, Path, Query, State, rejection::StringRejection},
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use kit::{
    Clock,
    disk::Format as _,
    metrics::page,
    run::Failure,
    serve::{Door, Refused},
};
use serde_json::{Value, json};

use super::{
    format::Key,
    notes::{self, Notes},
    versions::AppVersion,
    work,
};

const LARGEST_NOTE: usize = 1 << 20;

pub(super) struct App {
    pub(super) version: &'static AppVersion,
    /// The switches that are on.
    pub(super) features: Vec<String>,
    pub(super) notes: Notes,
    pub(super) door: Arc<Door>,
    pub(super) clock: Clock,
}

type Shared = State<Arc<App>>;

pub(super) fn routes(app: Arc<App>) -> Router {
    let notes = Router::new()
        .route("/notes", get(list))
        .route("/notes/", get(no_key).put(no_key).delete(no_key))
        .route("/notes/{*key}", get(read).put(write).delete(delete))
        .route("/search", get(search))
        .route("/export", get(export))
        .layer(DefaultBodyLimit::max(LARGEST_NOTE));
    app.door
        .before(notes)
        .route("/healthz", get(healthz))
        .route("/readyz", get(healthz))
        .route("/metrics", get(metrics))
        .with_state(app)
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
        let is_on = self.features.iter().any(|on| on == feature).then_some(());
        is_on.ok_or_else(|| Refused(StatusCode::NOT_FOUND, format!("the feature {feature} is off")))
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
    body: Result<String, StringRejection>,
) -> Result<StatusCode, Refused> {
    let key = Key::new(path).map_err(bad)?;
    let text = body.map_err(|rejection| match rejection.status() {
        large @ StatusCode::PAYLOAD_TOO_LARGE => {
            Refused(large, format!("a note has at most {LARGEST_NOTE} bytes"))
        }
        StatusCode::BAD_REQUEST => bad("a note is UTF-8 text"),
        status => Refused(status, rejection.body_text()),
    })?;
    let now = app.clock.now();
    let is_new = app.with_notes(move |notes| notes::write(notes, &key, text, now)).await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT })
}

async fn delete(State(app): Shared, Path(path): Path<String>) -> Result<StatusCode, Refused> {
    let key = Key::new(&*path).map_err(bad)?;
    match app.with_notes(move |notes| notes.remove(&key)).await? {
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
    app.with_notes(move |notes| notes::search(notes, &text)).await.map(Json)
}

async fn export(State(app): Shared) -> Result<impl IntoResponse, Refused> {
    app.needs("exampleFeature2")?;
    let (archive, _) = app.with_notes(|notes| work::encode(&notes.records()?)).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], archive))
}

async fn healthz(State(app): Shared) -> Result<Json<Value>, Refused> {
    app.health()?;
    Ok(Json(json!({ "version": app.version.version, "format": app.version.format.number() })))
}

async fn metrics(State(app): Shared) -> impl IntoResponse {
    let notes = app.clone().with_notes(Notes::keys).await.map_or(0, |keys| keys.len());
    let build = format!("{{version={:?},format=\"{}\"}}", app.version.version, app.version.format.number());
    let healthy = f64::from(u8::from(app.health().is_ok()));
    let ((total, rate), cache) = (app.door.requests.read(), app.notes.cache.used());
    let text = page(&[
        ("notes_total", "", "gauge", "Notes on the volume.", notes as f64),
        ("notes_healthy", "", "gauge", "1 as long as the data is as it was written.", healthy),
        ("notes_requests_total", "", "counter", "Requests for notes.", total as f64),
        ("notes_requests_per_second", "", "gauge", "Requests for notes, average of 10 s.", rate),
        ("notes_cache_hits_total", "", "counter", "Notes found in the cache.", cache.hits as f64),
        ("notes_cache_bytes", "", "gauge", "Size of the cache.", cache.bytes as f64),
        ("notes_build_info", &build, "gauge", "The application's version.", 1.0),
    ]);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
