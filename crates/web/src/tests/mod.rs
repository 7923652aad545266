//! The router over a store, asked without a socket.

mod actions;
mod fake;
mod heat;
mod hostile;
mod large;
mod load;
mod pages;
mod regions;
mod rows;
mod what_if;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use halite::{FamilyDescriptor, Store, TableDescriptor};
use halite_types::Cluster;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::{NoExtension, Token, WebConfig, WebSources, router};

const TOKEN: &str = "0123456789abcdef";

/// Router over a store, or over another cluster.
struct Web {
    router: Router,
    store: Option<Store>,
    _directory: Option<tempfile::TempDir>,
}

/// Answer of the router.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    fn json(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.text());
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns status, kind and field of a problem document.
    #[track_caller]
    fn problem(&self) -> (u16, String, String) {
        assert_eq!(
            self.headers[header::CONTENT_TYPE],
            "application/problem+json",
            "{}",
            self.text()
        );
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status.as_u16());
        assert!(problem["title"].is_string());
        let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("kind"), text("field"))
    }
}

impl Web {
    /// Opens a store without tables, with a token.
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut WebConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let web = Self::over(Arc::clone(store.cluster()), change);
        Self { store: Some(store), _directory: Some(directory), ..web }
    }

    fn over(cluster: Arc<dyn Cluster>, change: impl FnOnce(&mut WebConfig)) -> Self {
        let mut config = WebConfig {
            token: Some(Token::new(TOKEN).unwrap()),
            status_max_age: Duration::ZERO,
            ..WebConfig::default()
        };
        change(&mut config);
        let sources = WebSources { cluster, extension: Arc::new(NoExtension) };
        Self { router: router(sources, config), store: None, _directory: None }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Creates a table with the family `f`.
    fn create_table(&self, name: &str, splits: &[&[u8]]) {
        let table = TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
        self.store().create_table(table, splits).unwrap();
    }

    /// Creates a table with this declared key and the family `f`.
    fn create_declared(&self, name: &str, key: &str) {
        let key: halite::rowkey::KeySchema = key.parse().unwrap();
        let table = TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
        self.store().create_table(key.declared_in(table), &[]).unwrap();
    }

    async fn ask(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    async fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[]).await
    }

    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask(request(Method::GET, path, headers, Body::empty())).await
    }

    async fn post(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.ask(request(Method::POST, path, &headers, Body::from(body.to_owned()))).await
    }
}

/// Returns a request of this host, unless the headers name another one.
fn request(method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if headers.iter().all(|(name, _)| *name != "host") {
        request = request.header("host", "localhost:16010");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

/// Returns the texts of one member of all elements of a list.
fn texts<'v>(list: &'v Value, path: &str) -> Vec<&'v str> {
    let elements = list.as_array().unwrap().iter();
    elements.map(|element| element.pointer(path).unwrap().as_str().unwrap()).collect()
}
