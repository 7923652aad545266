//! The page over clusters elsewhere, with a listener of its own for each.

use std::fmt::Write as _;
use std::future::Future;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use halite::{ClientConfig, RemoteCluster, block_on, connect_with};
use halite_server::WebListener;
use halite_web::{Router, WebConfig, WebSources, router};
use tokio::task::JoinSet;

use super::attached::AttachedExtension;
use super::token::{WebToken, choose_token};

/// Maximum clusters of one process.
const MAX_CLUSTERS: usize = 16;

/// Options of `halite ui`.
pub(crate) struct UiOptions {
    /// URIs of the clusters.
    pub(crate) connect: Vec<String>,
    /// Port on this machine of the first cluster, the others have the next ones; 0 for any free
    /// ports.
    pub(crate) port: u16,
    /// File with the token of those who may change something.
    pub(crate) token_file: Option<PathBuf>,
    /// `true` if rows and values may be read.
    pub(crate) shows_rows: bool,
}

/// Clients of a cluster.
struct Attached {
    uri: String,
    cluster: RemoteCluster,
    extension: Arc<AttachedExtension>,
}

/// Serves the pages on this machine until a signal stops them.
///
/// # Errors
/// Returns an error if a cluster cannot be reached or a port is in use.
pub(crate) fn run_ui(options: &UiOptions) -> anyhow::Result<()> {
    ensure!(options.connect.len() <= MAX_CLUSTERS, "more than {MAX_CLUSTERS} clusters");
    // Connected outside of the runtime below, so that the clients have threads of their own.
    let attached = options.connect.iter().map(|uri| attach(uri)).collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("starting threads")?;
    runtime.block_on(serve(attached, options))?;
    // A call to a cluster may still wait for an answer that no client needs.
    runtime.shutdown_background();
    Ok(())
}

fn attach(uri: &str) -> anyhow::Result<Attached> {
    let attached = || {
        let config = ClientConfig::from_uri(uri)?;
        let cluster = block_on(connect_with(impatient(config.clone())))?;
        let patient = block_on(connect_with(config))?;
        let extension = AttachedExtension::start(cluster.clone(), patient)?;
        anyhow::Ok(Attached { uri: uri.to_owned(), cluster, extension })
    };
    attached().with_context(|| format!("cluster {uri}"))
}

async fn serve(attached: Vec<Attached>, options: &UiOptions) -> anyhow::Result<()> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let token = choose_token(options.token_file.as_deref(), loopback)?;
    let mut pages = Vec::new();
    for (place, attached) in attached.into_iter().enumerate() {
        let port = port_of(options.port, place)?;
        let listener = WebListener::bind(SocketAddr::new(loopback, port)).await?;
        let mut config = WebConfig::default();
        config.token.clone_from(&token.token);
        config.shows_rows = options.shows_rows;
        let Attached { uri, cluster, extension } = attached;
        let sources = WebSources { cluster: Arc::new(cluster), extension };
        pages.push((uri, listener, router(sources, config)));
    }
    let stop = stop_signal()?;
    print_banner(&pages, &token);
    let (sender, stopped) = tokio::sync::watch::channel(false);
    let mut served = JoinSet::new();
    for (_, listener, router) in pages {
        let mut stopped = stopped.clone();
        served.spawn(listener.serve(router, async move {
            // The sender ends after it has sent.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }));
    }
    stop.await;
    sender.send_replace(true);
    while served.join_next().await.is_some() {}
    Ok(())
}

/// Returns the port of a cluster's page.
fn port_of(first: u16, place: usize) -> anyhow::Result<u16> {
    if first == 0 {
        return Ok(0);
    }
    let port = u16::try_from(place).ok().and_then(|place| first.checked_add(place));
    port.with_context(|| format!("there are not enough ports after {first}"))
}

/// Returns what completes when a signal asks the process to stop.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("listening for signals")?;
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns the settings of a client whose users wait seconds, not minutes: a request of the page
/// that was given up occupies a thread until its calls end.
fn impatient(mut config: ClientConfig) -> ClientConfig {
    config.rpc_timeout_ms = config.rpc_timeout_ms.min(10_000);
    config.scanner_timeout_ms = config.scanner_timeout_ms.min(10_000);
    config.operation_timeout_ms = config.operation_timeout_ms.min(60_000);
    config.max_retries = config.max_retries.min(3);
    config
}

/// Prints where the pages are. Standard output may be closed; they are served all the same.
fn print_banner(pages: &[(String, WebListener, Router)], token: &WebToken) {
    let mut out = std::io::stdout().lock();
    let mut text = String::new();
    for (cluster, listener, _) in pages {
        let _ = writeln!(text, "Web page of {cluster}: http://{}/", listener.address());
    }
    if let Some(token) = token.token.as_ref().filter(|_| token.is_generated) {
        let _ = writeln!(text, "Token for changes: {}", token.text());
    }
    text += "ready";
    for (_, listener, _) in pages {
        let _ = write!(text, " http={}", listener.address());
    }
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_clusters_have_next_ports() {
        assert_eq!(port_of(16010, 0).unwrap(), 16010);
        assert_eq!(port_of(16010, 3).unwrap(), 16013);
        assert_eq!(port_of(0, 3).unwrap(), 0);
        assert!(port_of(u16::MAX, 1).is_err());
    }
}
