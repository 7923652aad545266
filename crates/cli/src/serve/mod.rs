//! `halite serve`: from options to a server that runs until a signal stops it.
//!
//! ```text
//! flags, config_file, hbase_settings, refused -> options -> layers -> config    requested settings
//! data_dir.rs   location of the store            banner.rs      output for operators and scripts
//! signals.rs    signals and other stop causes    open_files.rs  limit of files and sockets
//! pg.rs         SQL port, or no_pg.rs in builds without it
//! ```

mod banner;
mod config;
mod config_file;
mod data_dir;
#[cfg(test)]
mod docs_test;
mod flags;
mod hbase_settings;
mod layers;
mod open_files;
mod options;
#[cfg(feature = "pg")]
mod pg;
#[cfg(not(feature = "pg"))]
#[path = "no_pg.rs"]
mod pg;
mod refused;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use halite::{Builder, Store};
use halite_server::{Advertise, Server};
use halite_web::{WebConfig, WebSources};

pub(crate) use flags::ServeFlags;
pub(crate) use options::option_names;

use config::ServeConfig;
use data_dir::DataDir;
use layers::LayeredConfig;
use signals::ShutdownSignal;

use crate::demo::DemoTraffic;
use crate::web::{StoreExtension, WebToken, choose_token};
use crate::wrong_arguments::WrongArguments;

/// Maximum time to close connections, or to finish opening a store after a stop request.
/// Acknowledged writes are in the log by then.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the store, serves it until a signal or a client stops the server, and closes it.
///
/// # Errors
/// Returns an error for invalid options, a store that cannot be opened, a port in use, or a failed
/// write at the end.
pub(crate) fn run(flags: &ServeFlags) -> anyhow::Result<()> {
    let LayeredConfig { config: settings, warnings } =
        layers::resolve(flags).map_err(WrongArguments)?;
    tracing_subscriber::fmt()
        .with_max_level(settings.log_level)
        .with_ansi(false)
        .with_target(false)
        .with_writer(std::io::stderr)
        .init();
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    open_files::raise_limit(settings.server.limits.max_connections);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(settings.io_threads)
        .enable_all()
        .build()
        .context("starting threads")?;
    // Signals are handled before anything exists that a sudden exit would leave behind.
    let ending = {
        let _guard = runtime.enter();
        let ending = ShutdownSignal::listen()?;
        ending.limit_opening(SHUTDOWN_TIMEOUT);
        ending
    };
    let place = DataDir::from_config(&settings)?;
    if place.is_temporary() {
        ending.remove_on_exit(place.path());
    }
    let store = Builder::new()
        .options(engine_options(&settings))
        .open(place.path())
        .with_context(|| format!("store {}", place.path().display()))?;
    ending.mark_open();
    banner::warn(store.open_report(), place.path());
    let served = prepare(&store, &settings, &ending).and_then(|()| {
        let _traffic = demo_traffic(&store, &settings, &ending)?;
        runtime.block_on(serve(&store, &settings, &place, &ending))
    });
    // The second signal is still handled while the store closes.
    let closed =
        store.close().with_context(|| format!("closing the store {}", place.path().display()));
    served.and(closed)?;
    place.remove()
}

/// Returns the options of the engine. The little traffic of the demo is logged more densely, so
/// that the page has causes and operations to redraw.
fn engine_options(settings: &ServeConfig) -> halite::Options {
    const MAX_DEMO_LOG_RATE: u64 = 8;
    let mut options = settings.engine.clone();
    if settings.demo {
        options.operation_log_rate = options.operation_log_rate.min(MAX_DEMO_LOG_RATE);
    }
    options
}

fn prepare(store: &Store, settings: &ServeConfig, ending: &ShutdownSignal) -> anyhow::Result<()> {
    if settings.demo {
        let loaded = crate::demo::load_tables(store, &|| ending.is_requested())?;
        if !ending.is_requested() {
            tracing::info!("demo: {loaded}");
        }
    }
    Ok(())
}

/// Starts the traffic on the demo's tables, if it is wanted.
fn demo_traffic(
    store: &Store,
    settings: &ServeConfig,
    ending: &ShutdownSignal,
) -> anyhow::Result<Option<DemoTraffic>> {
    let Some(rate) = settings.demo_traffic.filter(|_| settings.demo && !ending.is_requested())
    else {
        return Ok(None);
    };
    tracing::info!("demo: traffic of {rate} operations per second; --demo-traffic off for none");
    let ending = ending.clone();
    DemoTraffic::start(store, rate, move || ending.is_requested()).map(Some)
}

async fn serve(
    store: &Store,
    settings: &ServeConfig,
    place: &DataDir,
    ending: &ShutdownSignal,
) -> anyhow::Result<()> {
    // A server that was stopped during startup does not become ready.
    if ending.is_requested() {
        return Ok(());
    }
    let extension = Arc::new(StoreExtension::new(store.clone()));
    let token = choose_token(settings.web.token_file.as_deref(), settings.server.listen_addr)?;
    let mut config = settings.server.clone();
    if config.http_port.is_some() {
        config.web = Some(web_router(store, settings, &extension, &token));
    }
    let server = Server::start(store.engine().clone(), config).await?;
    let of_pg = (store.clone(), place.path().to_owned(), settings.clone());
    let pg = tokio::task::spawn_blocking(move || pg::start(&of_pg.0, &of_pg.1, &of_pg.2)).await??;
    extension.set_server(server.server_name(), server.slow_calls());
    banner::print(&banner::ServerInfo {
        addresses: server.addresses(),
        config: settings,
        data_dir: place,
        store,
        token: &token,
        sql: pg.as_ref().map(pg::ServerHandle::address),
    });
    tokio::select! {
        () = ending.requested() => {}
        why = server.stop_requested() => drop(ending.request(&why)),
        Some(reason) = server.store_stopped(), if settings.exit_on_log_failure => ending.exit_on_failure(reason.message()),
    }
    if let Some(pg) = pg {
        // Its statements end before the store closes.
        tokio::task::spawn_blocking(move || pg.shutdown()).await?;
    }
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, server.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end within {} s", SHUTDOWN_TIMEOUT.as_secs());
    }
    Ok(())
}

/// Returns the router of the web page over the store.
fn web_router(
    store: &Store,
    settings: &ServeConfig,
    extension: &Arc<StoreExtension>,
    token: &WebToken,
) -> halite_web::Router {
    let sources = WebSources {
        cluster: Arc::clone(store.cluster()),
        extension: Arc::clone(extension) as Arc<dyn halite_web::Extension>,
    };
    let mut config = WebConfig::default();
    config.token.clone_from(&token.token);
    config.shows_rows = settings.web.shows_rows;
    config.hosts.clone_from(&settings.web.hosts);
    config.hosts.push(banner::machine_name());
    if let Advertise::Host(host) = &settings.server.advertise_host {
        config.hosts.push(host.clone());
    }
    halite_web::router(sources, config)
}
