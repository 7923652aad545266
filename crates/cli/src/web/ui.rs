//! The page over a cluster elsewhere, with a listener of its own.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use halite::{BlockingCluster, ClientConfig};
use halite_server::WebListener;
use halite_web::{WebConfig, WebSources, router};

use super::attached::AttachedExtension;
use super::token::{WebToken, choose_token};

/// Options of `halite ui`.
pub(crate) struct UiOptions {
    /// URI of the cluster.
    pub(crate) connect: String,
    /// Port on this machine, 0 for any free port.
    pub(crate) port: u16,
    /// File with the token of those who may change something.
    pub(crate) token_file: Option<PathBuf>,
    /// `true` if rows and values may be read.
    pub(crate) shows_rows: bool,
}

/// Serves the page on this machine until a signal stops it.
///
/// # Errors
/// Returns an error if the cluster cannot be reached or the port is in use.
pub(crate) fn run_ui(options: &UiOptions) -> anyhow::Result<()> {
    // Connected outside of the runtime below, so that the client has threads of its own.
    let connected = ClientConfig::from_uri(&options.connect)
        .map(impatient)
        .and_then(BlockingCluster::connect_with)
        .with_context(|| format!("cluster {}", options.connect))?;
    let cluster = Arc::clone(connected.cluster());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("starting threads")?;
    runtime.block_on(async {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), options.port);
        let listener = WebListener::bind(address).await?;
        let token = choose_token(options.token_file.as_deref(), address.ip())?;
        let mut config = WebConfig::default();
        config.token.clone_from(&token.token);
        config.shows_rows = options.shows_rows;
        let extension = Arc::new(AttachedExtension::new(Arc::clone(&cluster)));
        let router = router(WebSources { cluster, extension }, config);
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .context("listening for signals")?;
        print_banner(listener.address(), &options.connect, &token);
        let stop = async move {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        };
        listener.serve(router, stop).await;
        anyhow::Ok(())
    })?;
    // A call to the cluster may still wait for an answer that no client needs.
    runtime.shutdown_background();
    Ok(())
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

/// Prints where the page is. Standard output may be closed; the page is served all the same.
fn print_banner(address: SocketAddr, cluster: &str, token: &WebToken) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "Web page of {cluster}: http://{address}/").and_then(|()| {
        match token.token.as_ref().filter(|_| token.is_generated) {
            Some(token) => writeln!(out, "Token for changes: {}", token.text()),
            None => Ok(()),
        }
    });
    let _ = writeln!(out, "ready http={address}").and_then(|()| out.flush());
}
