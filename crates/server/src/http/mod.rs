//! HTTP endpoint: a human-readable page at `/` and `/status.txt`, `/metrics` for Prometheus, `/jmx`
//! for dashboards made for HBase. All other paths are those of the router in
//! [`Config::web`](crate::Config::web).
//!
//! ```text
//! connections.rs  sockets and their limits            listener.rs           the same for any router
//! patient_stream.rs  clients that do not read
//! snapshot.rs     all metrics, gathered at once       process.rs            process and machine
//! status_page.rs  human-readable page                 prometheus.rs         OpenMetrics
//! probes.rs       health probes for supervisors       json.rs               JSON output
//! beans/          HBase's beans and their attributes  query.rs              selection of beans
//! tasks.rs        running tasks for HBase's shell     histogram_summary.rs  HBase's histograms
//! ```

mod beans;
mod connections;
mod histogram_summary;
mod json;
mod listener;
mod patient_stream;
mod probes;
mod process;
mod prometheus;
mod query;
mod snapshot;
mod status_page;
mod tasks;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;

pub use self::listener::WebListener;
use self::snapshot::{MetricsSnapshot, RequestRates};
use crate::base::shutdown::Shutdown;
use crate::outside::Listener;
use crate::services::Services;

/// State for the pages of one connection.
#[derive(Clone)]
struct HttpContext {
    services: Arc<Services>,
    rates: Arc<RequestRates>,
    /// Router of the paths that are not known here.
    web: Option<Router>,
    /// Address that the client connected to.
    local: SocketAddr,
}

/// Serves clients until shutdown. `web` answers the paths that are not known here.
pub(crate) async fn serve(
    listener: Listener,
    services: Arc<Services>,
    web: Option<Router>,
    shutdown: Shutdown,
) {
    let rates = Arc::new(RequestRates::default());
    let router_for = move |local| {
        let (services, rates) = (Arc::clone(&services), Arc::clone(&rates));
        router(HttpContext { services, rates, web: web.clone(), local })
    };
    connections::serve(listener, router_for, shutdown).await;
}

fn router(site: HttpContext) -> Router {
    let web = site.web.clone();
    let own = Router::new()
        .route("/", get(overview))
        .route("/status.txt", get(status))
        .route("/metrics", get(metrics))
        .route("/jmx", get(jmx))
        .route("/rs-status", get(server_status))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .with_state(site);
    match web {
        Some(web) => own.fallback_service(web),
        None => own,
    }
}

/// Serves the page of the router to browsers, and text to others.
async fn overview(State(site): State<HttpContext>, request: Request) -> Response {
    match &site.web {
        Some(web) if accepts_html(request.headers()) => page(web.clone(), request).await,
        _ => status(State(site)).await,
    }
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| range.trim().starts_with("text/html"))
}

async fn page(web: Router, request: Request) -> Response {
    TowerToHyperService::new(web).call(request).await.into_response()
}

async fn status(State(site): State<HttpContext>) -> Response {
    respond(site, "text/plain; charset=utf-8", |site| {
        (StatusCode::OK, status_page::text(&site.snapshot()))
    })
    .await
}

async fn metrics(State(site): State<HttpContext>) -> Response {
    respond(site, prometheus::CONTENT_TYPE, |site| {
        (StatusCode::OK, prometheus::text(&site.snapshot()))
    })
    .await
}

async fn jmx(State(site): State<HttpContext>, Query(asked): Query<query::BeanQuery>) -> Response {
    respond(site, "application/json; charset=utf8", move |site| {
        query::answer(&beans::all(&site.snapshot()), &asked)
    })
    .await
}

async fn health(State(site): State<HttpContext>) -> Response {
    respond(site, probes::CONTENT_TYPE, |site| {
        probes::health(&site.services.context.engine.health())
    })
    .await
}

async fn ready(State(site): State<HttpContext>) -> Response {
    respond(site, probes::CONTENT_TYPE, |site| {
        probes::ready(&site.services.context.engine.health())
    })
    .await
}

/// Serves HBase's page of a region server, and the task list for `processlist` of its shell.
async fn server_status(
    State(site): State<HttpContext>,
    Query(asked): Query<tasks::TaskQuery>,
    request: Request,
) -> Response {
    if !asked.is_for_tasks() {
        return match &site.web {
            Some(web) => page(web.clone(), request).await,
            None => status(State(site)).await,
        };
    }
    respond(site, "application/json; charset=utf8", move |site| {
        (StatusCode::OK, tasks::tasks(&site.services.context, &asked))
    })
    .await
}

impl HttpContext {
    fn snapshot(&self) -> MetricsSnapshot<'_> {
        MetricsSnapshot::gather(&self.services, self.local, &self.rates)
    }
}

/// Renders a page on a thread that may block.
async fn respond(
    site: HttpContext,
    content_type: &'static str,
    write: impl FnOnce(&HttpContext) -> (StatusCode, String) + Send + 'static,
) -> Response {
    let machine = site.services.context.machine.clone();
    let page = machine.block(move || write(&site));
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    if let Some((status, body)) = page.await {
        (status, headers, body).into_response()
    } else {
        tracing::error!("a page could not be made for a defect of the server");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
