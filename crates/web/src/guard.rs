//! Checks of every request before it is answered, and headers of every answer.
//!
//! The page has no accounts. What protects it is that it listens on this machine only unless told
//! otherwise, and that other sites in the same browser cannot use it: a request names a host of the
//! allow list, a request that changes something is no simple request of a form, contains a token,
//! and comes from the page itself if the browser says where it comes from.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::params::short;
use crate::problem::{Answered, Kind, Problem};
use crate::site::Site;

/// Maximum bytes of a path with its parameters.
const MAX_TARGET_BYTES: usize = 16 << 10;

/// Maximum bytes of a body.
const MAX_BODY_BYTES: usize = 64 << 10;

/// Scripts, styles and pictures of the page itself only, and nothing that text could become.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the checks and the headers to all routes.
pub(crate) fn protect(pages: Router<Arc<Site>>, site: &Arc<Site>) -> Router<Arc<Site>> {
    pages
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(Arc::clone(site), guard))
}

async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api");
    let mut response = match check(&site, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = response.headers().get(header::ALLOW).cloned();
        let text = "the path does not have this method";
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, Kind::FixRequest, text);
        response = problem.of("method").into_response();
        response.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_api {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn check(site: &Site, request: &Request) -> Answered<()> {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET_BYTES {
        let text = format!("the path and its parameters are longer than {MAX_TARGET_BYTES} bytes");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, Kind::FixRequest, text).of("path"));
    }
    check_host(site, request)?;
    check_length(request.headers())?;
    if request.method() == Method::GET || request.method() == Method::HEAD {
        return Ok(());
    }
    check_origin(request)
}

/// Refuses a body that will be too long before it has arrived.
fn check_length(headers: &HeaderMap) -> Answered<()> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length
        .and_then(|length| length.parse().ok())
        .is_some_and(|bytes: u64| bytes > MAX_BODY_BYTES as u64)
    {
        let text = format!("the body is longer than {MAX_BODY_BYTES} bytes");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, Kind::TooLarge, text).of("body"));
    }
    Ok(())
}

/// Checks the host that the client believes to ask. Addresses pass: only a name can be made to mean
/// this machine by its owner.
fn check_host(site: &Site, request: &Request) -> Answered<()> {
    let wrong = |text: String| {
        let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, Kind::WrongHost, text);
        problem.of("host").detail("its operator can allow the name with --web-hosts")
    };
    let authority = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(header::HOST).and_then(|host| host.to_str().ok()),
    };
    let Some(authority) = authority else {
        return Err(wrong("the request names no host".to_owned()));
    };
    let host = host_of(authority);
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_listed = |known: &String| known.trim_end_matches('.').eq_ignore_ascii_case(host);
    if is_address
        || host.eq_ignore_ascii_case("localhost")
        || site.config.hosts.iter().any(is_listed)
    {
        return Ok(());
    }
    Err(wrong(format!("this server is not served under the name {:?}", short(host))))
}

/// Returns the host of `host:port`, without a dot at its end.
fn host_of(authority: &str) -> &str {
    let host = match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => authority.get(..colon).unwrap_or(authority),
        _ => authority,
    };
    host.trim_end_matches('.')
}

/// Checks that a request with a body comes from the page or from a program, not from another site.
fn check_origin(request: &Request) -> Answered<()> {
    let headers = request.headers();
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin") {
        let text = "the request comes from another site";
        return Err(Problem::new(StatusCode::FORBIDDEN, Kind::Token, text).of("sec-fetch-site"));
    }
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next()).map(str::trim);
    // Forms of other sites can send the content types of forms and plain text only, and only POST.
    if request.method() != Method::POST {
        return Ok(());
    }
    if essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let text = "the content type of the body is application/json";
    let problem = Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Kind::FixRequest, text);
    Err(problem.of("content-type"))
}

/// Answers paths that nothing is found under.
pub(crate) async fn unknown_path(request: Request) -> Problem {
    let path = short(request.uri().path());
    let problem = Problem::not_found("path", format!("there is nothing under {path}"));
    problem.detail("/api/openapi.json lists the paths of the API")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_read_without_port() {
        for (authority, host) in [
            ("localhost:16010", "localhost"),
            ("localhost.", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:1:2", "evil.example:1"),
            ("", ""),
        ] {
            assert_eq!(host_of(authority), host, "{authority}");
        }
    }
}
