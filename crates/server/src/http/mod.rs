//! The web port: text for people at `/`, `/metrics` for Prometheus, `/jmx` for dashboards made for HBase.
//!
//! ```text
//! figures.rs  what there is to tell, gathered at once      process.rs     this process and its machine
//! page.rs     text                                         prometheus.rs  OpenMetrics
//! probes.rs   whether it is well, for supervisors
//! beans/      HBase's beans and their attributes           json.rs        as JSON
//! query.rs    which beans                               tasks.rs       what runs, for HBase's shell
//! ```

mod beans;
mod figures;
mod json;
mod page;
mod probes;
mod process;
mod prometheus;
mod query;
mod summary;
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

use self::figures::{Figures, Rates};
use crate::buffers::Buffers;
use crate::context::Context;
use crate::outside::{Listener, Stream};
use crate::shutdown::Shutdown;

/// Browsers and monitors that are connected at once; more wait.
const CONNECTIONS_MAX: usize = 64;

/// Of those, connections of one address; more are closed.
const ADDRESS_CONNECTIONS_MAX: usize = CONNECTIONS_MAX / 2;

/// How long a client may take to send a request, and to send the next one.
const REQUEST: Duration = Duration::from_secs(30);

/// How long a connection lasts, whatever happens on it.
const CONNECTION: Duration = Duration::from_mins(10);

/// How long to wait before accepting again when the system has no more sockets.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the pages of one connection are made from.
#[derive(Clone)]
struct Site {
    context: Arc<Context>,
    rates: Arc<Rates>,
    /// The address the client has connected to.
    local: SocketAddr,
}

/// Serves clients until everything is to end.
pub(crate) async fn serve(listener: Listener, context: Arc<Context>, mut shutdown: Shutdown) {
    let (rates, addresses) = (Arc::new(Rates::default()), Buffers::for_connections(ADDRESS_CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, peer)) => {
                    let Some(account) = addresses.connect(peer.ip()) else { continue };
                    let Ok(local) = stream.local_addr() else { continue };
                    let site = Site { context: Arc::clone(&context), rates: Arc::clone(&rates), local };
                    connections.spawn(async move {
                        converse(stream, site).await;
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

async fn converse(stream: Stream, site: Site) {
    let service = TowerToHyperService::new(router(site));
    let connection = http1::Builder::new().timer(TokioTimer::new()).header_read_timeout(REQUEST).serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(CONNECTION, connection).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection to the web page broke"),
    }
}

fn router(site: Site) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/metrics", get(metrics))
        .route("/jmx", get(jmx))
        .route("/rs-status", get(server_status))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .with_state(site)
}

async fn overview(State(site): State<Site>) -> Response {
    respond(site, "text/plain; charset=utf-8", |site| (StatusCode::OK, page::text(&site.figures()))).await
}

async fn metrics(State(site): State<Site>) -> Response {
    respond(site, prometheus::CONTENT_TYPE, |site| (StatusCode::OK, prometheus::text(&site.figures()))).await
}

async fn jmx(State(site): State<Site>, Query(asked): Query<query::Asked>) -> Response {
    respond(site, "application/json; charset=utf8", move |site| query::answer(&beans::all(&site.figures()), &asked)).await
}

async fn health(State(site): State<Site>) -> Response {
    respond(site, probes::CONTENT_TYPE, |site| probes::health(&site.context.engine.health())).await
}

async fn ready(State(site): State<Site>) -> Response {
    respond(site, probes::CONTENT_TYPE, |site| probes::ready(&site.context.engine.health())).await
}

/// HBase's page of a region server, and behind it what its shell's `processlist` reads.
async fn server_status(State(site): State<Site>, Query(asked): Query<tasks::Asked>) -> Response {
    if !asked.is_for_tasks() {
        return overview(State(site)).await;
    }
    respond(site, "application/json; charset=utf8", move |site| (StatusCode::OK, tasks::tasks(&site.context, &asked))).await
}

impl Site {
    fn figures(&self) -> Figures<'_> {
        Figures::gather(&self.context, self.local, &self.rates)
    }
}

/// Makes a page on a thread that may take its time.
async fn respond(site: Site, content_type: &'static str, write: impl FnOnce(&Site) -> (StatusCode, String) + Send + 'static) -> Response {
    let machine = site.context.machine.clone();
    let page = machine.block(move || write(&site));
    let headers: [(HeaderName, &str); 3] =
        [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-cache"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    if let Some((status, body)) = page.await {
        (status, headers, body).into_response()
    } else {
        tracing::error!("a page could not be made for a defect of the server");
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}
