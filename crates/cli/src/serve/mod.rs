//! `halite serve`: from options to a server that runs until a signal ends it.
//!
//! ```text
//! flags, file, hbase_names -> options -> layers -> settings      what was asked for
//! place.rs      where the store lies                             announce.rs  what a person and a script are told
//! ```

mod announce;
mod file;
mod flags;
mod hbase_names;
mod layers;
mod options;
#[cfg(test)]
mod page;
mod place;
mod settings;
mod units;

use std::time::Duration;

use anyhow::Context as _;
use halite::{Builder, Store};
use halite_server::Server;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use flags::Flags;

use layers::Layered;
use place::Place;
use settings::Settings;

/// How long connections may take to end. What they were answered is in the log by then.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Opens the store, serves it until SIGTERM, SIGINT or a client ends it, and closes it.
///
/// # Errors
/// Options that cannot be, a store that cannot be opened, a port that is taken, a failed write at the end.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    let Layered { settings, warnings } = layers::settings(flags)?;
    tracing_subscriber::fmt().with_max_level(settings.log_level).with_ansi(false).with_target(false).with_writer(std::io::stderr).init();
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let place = Place::of(&settings)?;
    let store = Builder::new().options(settings.engine.clone()).open(place.path()).with_context(|| format!("store {}", place.path().display()))?;
    anyhow::ensure!(settings.io_threads > 0, "io-threads is 0; give at least 1");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(settings.io_threads).enable_all().build().context("starting threads")?;
    let served = prepare(&store, &settings).and_then(|()| runtime.block_on(serve(&store, &settings, &place)));
    let closed = close(store, &place, &runtime);
    served.and(closed)?;
    place.remove()
}

fn prepare(store: &Store, settings: &Settings) -> anyhow::Result<()> {
    if settings.demo {
        let loaded = crate::demo::load_tables(store)?;
        tracing::info!("demo: {loaded}");
    }
    Ok(())
}

async fn serve(store: &Store, settings: &Settings, place: &Place) -> anyhow::Result<()> {
    // From here on a signal is an end, not a death.
    let mut signals = Signals::new()?;
    let server = Server::start(store.engine().clone(), settings.server.clone()).await?;
    announce::print(&announce::Facts { addresses: server.addresses(), settings, place, store });
    let why = tokio::select! {
        name = signals.next() => name.to_owned(),
        why = server.stop_requested() => why,
    };
    tracing::info!("{why}: ending; a signal from now on ends at once and leaves what is in memory to the log");
    tokio::spawn(async move {
        let name = signals.next().await;
        tracing::warn!("{name}: ended at once; the next start reads the log");
        std::process::exit(1);
    });
    if tokio::time::timeout(SHUTDOWN, server.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end within {} s", SHUTDOWN.as_secs());
    }
    Ok(())
}

fn close(store: Store, place: &Place, runtime: &Runtime) -> anyhow::Result<()> {
    // The second signal is heard while the store closes.
    let _guard = runtime.enter();
    store.close().with_context(|| format!("closing the store {}", place.path().display()))
}

/// The signals that end a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let hear = |kind| signal(kind).context("listening for signals");
        Ok(Self { terminate: hear(SignalKind::terminate())?, interrupt: hear(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
