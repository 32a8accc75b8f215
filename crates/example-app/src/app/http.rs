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
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;

use super::{
    Feature, archive,
    failure::Failure,
    format::Key,
    metrics::{Gauges, Metrics},
    notes::Notes,
    password::Password,
    versions::AppVersion,
};

const LARGEST_NOTE: usize = 1 << 20;

pub(super) struct App {
    pub(super) version: &'static AppVersion,
    pub(super) features: Vec<Feature>,
    pub(super) notes: Notes,
    pub(super) password: Password,
    pub(super) metrics: Metrics,
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
        let status = match &failure {
            Failure::Volume { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            Failure::Usage(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, failure.to_string())
    }
}

async fn admit(State(app): Shared, request: Request, next: Next) -> Response {
    app.metrics.request();
    let given = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    match app.password.admits(given) {
        Ok(true) => next.run(request).await,
        Ok(false) => {
            let mut response =
                Refused(StatusCode::UNAUTHORIZED, "the password is missing or wrong".into()).into_response();
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"notes\""));
            response
        }
        Err(why) => Refused(StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
    }
}

/// Runs `work`, which waits for the disk, where it holds up no other request.
async fn with_notes<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&Notes) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Refused> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || work(&app.notes)).await;
    Ok(done.map_err(|error| Refused(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??)
}

fn key(key: String) -> Result<Key, Refused> {
    Key::new(key).map_err(|bad| Refused(StatusCode::BAD_REQUEST, bad.to_string()))
}

fn missing(key: &Key) -> Refused {
    Refused(StatusCode::NOT_FOUND, format!("there is no note {:?}", key.as_str()))
}

async fn no_key() -> Result<(), Refused> {
    key(String::new()).map(|_| ())
}

async fn list(State(app): Shared) -> Result<Json<Vec<Key>>, Refused> {
    with_notes(&app, Notes::keys).await.map(Json)
}

async fn read(State(app): Shared, Path(path): Path<String>) -> Result<String, Refused> {
    let key = key(path)?;
    let wanted = key.clone();
    let note = with_notes(&app, move |notes| notes.get(&wanted)).await?;
    note.map(|note| note.text).ok_or_else(|| missing(&key))
}

async fn write(
    State(app): Shared,
    Path(path): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<StatusCode, Refused> {
    let key = key(path)?;
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Refused(StatusCode::PAYLOAD_TOO_LARGE, format!("a note has at most {LARGEST_NOTE} bytes"))
        }
        status => Refused(status, rejection.body_text()),
    })?;
    let text = String::from_utf8(body.into())
        .map_err(|_| Refused(StatusCode::BAD_REQUEST, "a note is UTF-8 text".into()))?;
    match with_notes(&app, move |notes| notes.put(&key, text)).await? {
        true => Ok(StatusCode::CREATED),
        false => Ok(StatusCode::NO_CONTENT),
    }
}

async fn delete(State(app): Shared, Path(path): Path<String>) -> Result<StatusCode, Refused> {
    let key = key(path)?;
    let unwanted = key.clone();
    match with_notes(&app, move |notes| notes.delete(&unwanted)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(missing(&key)),
    }
}

async fn search(
    State(app): Shared,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Vec<Key>>, Refused> {
    app.needs(Feature::ExampleFeature1)?;
    let Some(text) = query.get("q").filter(|text| !text.is_empty()).cloned() else {
        return Err(Refused(StatusCode::BAD_REQUEST, "say what to search for: /search?q=milk".into()));
    };
    with_notes(&app, move |notes| notes.search(&text)).await.map(Json)
}

async fn export(State(app): Shared) -> Result<Response, Refused> {
    app.needs(Feature::ExampleFeature2)?;
    let archive = with_notes(&app, |notes| archive::whole(&notes.tree()?)).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], archive).into_response())
}

async fn healthz(State(app): Shared) -> Result<Response, Refused> {
    app.health().map_err(|wrong| Refused(StatusCode::SERVICE_UNAVAILABLE, wrong))?;
    let AppVersion { version, format, .. } = app.version;
    Ok(Json(json!({ "version": version, "format": format })).into_response())
}

async fn readyz(State(app): Shared) -> Result<&'static str, Refused> {
    app.health().map(|()| "ok").map_err(|wrong| Refused(StatusCode::SERVICE_UNAVAILABLE, wrong))
}

async fn metrics(State(app): Shared) -> Result<Response, Refused> {
    let notes = with_notes(&app, Notes::keys).await.map_or(0, |keys| keys.len());
    let gauges = Gauges { notes, healthy: app.health().is_ok(), cache: app.notes.cache() };
    let text = app.metrics.encode(app.version, &gauges);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

impl App {
    fn health(&self) -> Result<(), String> {
        match self.version.broken {
            Some(why) => Err(why.to_owned()),
            None => self.notes.health(),
        }
    }

    fn needs(&self, feature: Feature) -> Result<(), Refused> {
        match self.features.contains(&feature) {
            true => Ok(()),
            false => Err(Refused(StatusCode::NOT_FOUND, format!("the feature {} is off", feature.name()))),
        }
    }
}
