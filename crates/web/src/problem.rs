//! Errors of the API as problem documents (RFC 9457). Their kind says what the caller should do.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use halite_types::{Error, ErrorKind};
use serde::Serialize;
use utoipa::ToSchema;

/// What the caller should do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Change the request (400, 405, 414, 415).
    FixRequest,
    /// Send the token, or another one (401); not allowed at all (403).
    Token,
    /// Ask for something that exists (404).
    NotFound,
    /// Ask again for the present state (409).
    Conflict,
    /// Send or ask for less (413).
    TooLarge,
    /// Use a host name of the allow list (421).
    WrongHost,
    /// Send the same request again, after the seconds of `Retry-After` (429, 503).
    Retry,
    /// Nothing records this here (501).
    MissingSource,
    /// Repair the store (500).
    Repair,
}

/// Problem document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) kind: Kind,
    /// What is wrong.
    pub(crate) title: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Parameter, header or part of the body that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<Cow<'static, str>>,
    #[serde(skip)]
    retry_after_s: Option<u32>,
    /// `true` if a call of the disk or of the network failed.
    #[serde(skip)]
    is_io: bool,
}

/// Result of answering a request.
pub(crate) type Answered<T> = Result<T, Problem>;

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: Kind, title: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            kind,
            title: title.into(),
            detail: None,
            field: None,
            retry_after_s: None,
            is_io: false,
        }
    }

    /// Returns the problem of a parameter with a value that does not do.
    pub(crate) fn field(field: impl Into<Cow<'static, str>>, title: impl Into<String>) -> Self {
        let field = field.into();
        let problem = Self::new(StatusCode::BAD_REQUEST, Kind::FixRequest, title);
        Self { field: Some(field), ..problem }
    }

    pub(crate) fn not_found(field: impl Into<Cow<'static, str>>, title: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::NOT_FOUND, Kind::NotFound, title);
        Self { field: Some(field.into()), ..problem }
    }

    pub(crate) fn conflict(title: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, Kind::Conflict, title)
    }

    pub(crate) fn retry(title: impl Into<String>, after_s: u32) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, Kind::Retry, title);
        Self { retry_after_s: Some(after_s), ..problem }
    }

    pub(crate) fn missing_source(title: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, Kind::MissingSource, title)
    }

    /// Returns the problem as that of a cluster elsewhere, where a failed call means that a server
    /// does not answer now, and not that a disk is broken.
    pub(crate) fn of_cluster_elsewhere(self) -> Self {
        if !self.is_io {
            return self;
        }
        let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE.as_u16(), Kind::Retry);
        Self { status, kind, retry_after_s: Some(5), ..self }
    }

    /// Returns the problem of a defect of the program.
    pub(crate) fn defect() -> Self {
        let text = "the answer could not be made for a defect of the program";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Kind::Repair, text)
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    pub(crate) fn of(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self { field: Some(field.into()), ..self }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        use ErrorKind as E;
        let (status, kind) = match error.kind() {
            E::InvalidRequest | E::NoSuchFamily | E::IncompatibleFilter => {
                (StatusCode::BAD_REQUEST, Kind::FixRequest)
            }
            E::RowTooBig => (StatusCode::PAYLOAD_TOO_LARGE, Kind::TooLarge),
            E::NoSuchTable | E::NoSuchNamespace | E::NoSuchSnapshot | E::NoSuchRegion => {
                (StatusCode::NOT_FOUND, Kind::NotFound)
            }
            E::TableExists
            | E::TableDisabled
            | E::TableEnabled
            | E::NamespaceExists
            | E::NamespaceNotEmpty
            | E::SnapshotExists
            | E::SnapshotExpired
            | E::WrongRegion
            | E::ReadOnly => (StatusCode::CONFLICT, Kind::Conflict),
            E::Busy | E::WouldBlock | E::DiskFull | E::Stopped | E::Locked => {
                return Self::retry(error.message(), 2);
            }
            E::Unsupported => (StatusCode::NOT_IMPLEMENTED, Kind::MissingSource),
            // A failed call of the disk or of the network, damaged bytes, and later kinds.
            _ => (StatusCode::INTERNAL_SERVER_ERROR, Kind::Repair),
        };
        Self { is_io: error.kind() == E::Io, ..Self::new(status, kind, error.message()) }
    }
}

/// Content type of problem documents.
pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_cluster_become_kinds() {
        let kind = |kind| Problem::from(Error::new(kind, "text")).kind;
        assert_eq!(kind(ErrorKind::NoSuchTable), Kind::NotFound);
        assert_eq!(kind(ErrorKind::Busy), Kind::Retry);
        assert_eq!(kind(ErrorKind::Unsupported), Kind::MissingSource);
        assert_eq!(kind(ErrorKind::Corrupt), Kind::Repair);
        let elsewhere = |kind| Problem::from(Error::new(kind, "text")).of_cluster_elsewhere();
        assert_eq!((kind(ErrorKind::Io), elsewhere(ErrorKind::Io).status), (Kind::Repair, 503));
        assert_eq!(elsewhere(ErrorKind::Corrupt).kind, Kind::Repair);
        let response = Problem::retry("busy", 3).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }
}
