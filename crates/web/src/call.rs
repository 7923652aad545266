//! One request of the API, and its answer.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halite_types::hash::murmur3;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::extension::Mode;
use crate::gate::{Deadline, Weight};
use crate::params::Params;
use crate::problem::{Answered, Kind, Problem};
use crate::site::{KnownTable, Site};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Request without its body.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) site: Arc<Site>,
    pub(crate) params: Params,
    path: Vec<(String, String)>,
    headers: HeaderMap,
}

impl FromRequestParts<Arc<Site>> for Call {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Answered<Self> {
        let wrong = |what: &'static str, text: String| {
            Problem::field(what, format!("the {what} of the request cannot be read")).detail(text)
        };
        let path = RawPathParams::from_request_parts(parts, site)
            .await
            .map_err(|error| wrong("path", error.body_text()))?;
        let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let Query(params) = Query::from_request_parts(parts, site)
            .await
            .map_err(|error| wrong("query", error.body_text()))?;
        let headers = parts.headers.clone();
        Ok(Self { site: Arc::clone(site), params: Params(params), path, headers })
    }
}

/// Body of an answer that is not JSON.
pub(crate) struct Document {
    pub(crate) content_type: &'static str,
    /// Name of the file in which a browser saves it.
    pub(crate) file_name: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

impl Call {
    /// Returns a part of the path.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Returns the table of the path. Blocks.
    pub(crate) fn table(&self) -> Answered<KnownTable> {
        self.site.table(self.path("t"))
    }

    /// Returns `true` if the client asks for this content type by name.
    pub(crate) fn accepts(&self, content_type: &str) -> bool {
        accepts(&self.headers, content_type)
    }

    /// Checks that rows may be read.
    pub(crate) fn check_rows(&self) -> Answered<()> {
        if self.site.config.shows_rows {
            return Ok(());
        }
        let text = "rows and values are not shown by this server";
        let problem = Problem::new(StatusCode::FORBIDDEN, Kind::Token, text);
        Err(problem.detail("its operator can start it with --web-rows on"))
    }

    /// Checks that the client may change something.
    pub(crate) fn check_token(&self) -> Answered<()> {
        let Some(token) = &self.site.config.token else {
            let text = "this page is read-only: its server has no token for changes";
            let problem = Problem::new(StatusCode::FORBIDDEN, Kind::Token, text);
            return Err(problem.detail("its operator can start it with --web-token-file"));
        };
        let given = self.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let bearer = given.and_then(|value| value.strip_prefix(b"Bearer "));
        if bearer.is_some_and(|bearer| token.is(bearer)) {
            return Ok(());
        }
        let text = if given.is_some() {
            "the token is not the one of this server"
        } else {
            "changes need the token that the server printed when it started, or that of its \
             --web-token-file"
        };
        let problem = Problem::new(StatusCode::UNAUTHORIZED, Kind::Token, text);
        Err(problem.of("authorization"))
    }

    /// Answers with JSON made on a thread that may block.
    pub(crate) async fn json<T: Serialize>(
        self,
        weight: Weight,
        work: impl FnOnce(&Self, Deadline) -> Answered<T> + Send + 'static,
    ) -> Response {
        self.json_as(StatusCode::OK, weight, work).await
    }

    /// As [`Self::json`], with another status.
    pub(crate) async fn json_as<T: Serialize>(
        self,
        status: StatusCode,
        weight: Weight,
        work: impl FnOnce(&Self, Deadline) -> Answered<T> + Send + 'static,
    ) -> Response {
        let call = self.clone();
        let body = self.site.gate.run(weight, move |deadline| to_json(&work(&call, deadline)?));
        match body.await {
            Ok(body) if status == StatusCode::OK => self.tagged(JSON, body),
            Ok(body) => untagged(status, body),
            Err(problem) => self.failed(problem),
        }
    }

    /// Answers with a problem.
    pub(crate) fn failed(&self, problem: Problem) -> Response {
        match self.site.extension().about().mode {
            Mode::Attached => problem.of_cluster_elsewhere().into_response(),
            Mode::Standalone => problem.into_response(),
        }
    }

    /// Answers with a document made on a thread that may block.
    pub(crate) async fn document(
        self,
        weight: Weight,
        work: impl FnOnce(&Self, Deadline) -> Answered<Document> + Send + 'static,
    ) -> Response {
        let call = self.clone();
        let made = self.site.gate.run(weight, move |deadline| work(&call, deadline)).await;
        let document = match made {
            Ok(document) => document,
            Err(problem) => return self.failed(problem),
        };
        let content_type = HeaderValue::from_static(document.content_type);
        let mut response = self.tagged(content_type, document.bytes);
        if let Some(name) = document.file_name
            && let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\""))
        {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
        }
        response
    }

    /// Answers with a body and its tag, or that the client has it already.
    fn tagged(&self, content_type: HeaderValue, body: Vec<u8>) -> Response {
        let tag = etag(&body);
        if has_tag(&self.headers, &tag) {
            return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
        }
        ([(header::CONTENT_TYPE, content_type), (header::ETAG, header_value(&tag))], body)
            .into_response()
    }
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// Returns the entity tag of a body.
pub(crate) fn etag(body: &[u8]) -> String {
    format!("\"{:08x}{:08x}-{:x}\"", murmur3(body, 1), murmur3(body, 2), body.len())
}

/// Returns `true` if the client has a body with this tag.
pub(crate) fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| {
        known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)
    })
}

/// Returns `true` if the client names this content type among those that it accepts.
pub(crate) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|range| range.trim().eq_ignore_ascii_case(content_type))
}

/// Reads the JSON of a body; an empty body is an empty object.
pub(crate) fn read_json<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Answered<T> {
    let body = read_body(body)?;
    let text = if body.is_empty() { &b"{}"[..] } else { &body };
    serde_json::from_slice(text)
        .map_err(|error| Problem::field("body", format!("the body cannot be read: {error}")))
}

/// Returns the bytes of a body.
pub(crate) fn read_body(body: Result<Bytes, BytesRejection>) -> Answered<Bytes> {
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let text = "the body is longer than 64 KB";
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, Kind::TooLarge, text).of("body")
        }
        _ => Problem::field("body", rejection.body_text()),
    })
}

fn to_json<T: Serialize>(answer: &T) -> Answered<Vec<u8>> {
    serde_json::to_vec(answer).map_err(|error| {
        tracing::error!(%error, "writing an answer of the web page as JSON");
        Problem::defect()
    })
}

fn untagged(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// Answers with a small value.
pub(crate) fn json_response<T: Serialize>(status: StatusCode, answer: &T) -> Response {
    to_json(answer).map_or_else(IntoResponse::into_response, |body| untagged(status, body))
}
