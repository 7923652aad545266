//! HTTP endpoint: a human-readable page at `/`, `/metrics` for Prometheus, `/jmx` for dashboards
//! made for HBase.
//!
//! ```text
//! snapshot.rs     all metrics, gathered at once       process.rs            process and machine
//! status_page.rs  human-readable page                 prometheus.rs         OpenMetrics
//! probes.rs       health probes for supervisors       json.rs               JSON output
//! beans/          HBase's beans and their attributes  query.rs              selection of beans
//! tasks.rs        running tasks for HBase's shell     histogram_summary.rs  HBase's histograms
//! ```

mod beans;
mod histogram_summary;
mod json;
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
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;

use self::snapshot::{MetricsSnapshot, RequestRates};
use crate::base::buffers::Buffers;
use crate::base::shutdown::Shutdown;
use crate::outside::{Listener, Stream};
use crate::services::Services;

/// Maximum concurrent connections; more wait.
const MAX_CONNECTIONS: usize = 64;

/// Maximum connections of one address among them; more are closed.
const MAX_CONNECTIONS_PER_ADDRESS: usize = MAX_CONNECTIONS / 2;

/// Time that a client may take to send a request, and to send the next one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum age of a connection, active or not.
const MAX_CONNECTION_AGE: Duration = Duration::from_mins(10);

/// Pause before the next accept if the operating system has no free sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// State for the pages of one connection.
#[derive(Clone)]
struct HttpContext {
    services: Arc<Services>,
    rates: Arc<RequestRates>,
    /// Address that the client connected to.
    local: SocketAddr,
}

/// Serves clients until shutdown.
pub(crate) async fn serve(listener: Listener, services: Arc<Services>, mut shutdown: Shutdown) {
    let (rates, addresses) =
        (Arc::new(RequestRates::default()), Buffers::for_connections(MAX_CONNECTIONS_PER_ADDRESS));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, peer)) => {
                    let Some(account) = addresses.connect(peer.ip()) else { continue };
                    let Ok(local) = stream.local_addr() else { continue };
                    let site = HttpContext { services: Arc::clone(&services), rates: Arc::clone(&rates), local };
                    connections.spawn(async move {
                        serve_connection(stream, site).await;
                        drop(account);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection to the web page");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    connections.shutdown().await;
}

async fn serve_connection(stream: Stream, site: HttpContext) {
    let service = TowerToHyperService::new(router(site));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(MAX_CONNECTION_AGE, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection to the web page broke"),
    }
}

fn router(site: HttpContext) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/metrics", get(metrics))
        .route("/jmx", get(jmx))
        .route("/rs-status", get(server_status))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .with_state(site)
}

async fn overview(State(site): State<HttpContext>) -> Response {
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
) -> Response {
    if !asked.is_for_tasks() {
        return overview(State(site)).await;
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
