//! `halite serve`: from options to a server that runs until a signal ends it.
//!
//! ```text
//! flags, file, hbase_names, refused -> options -> layers -> settings      what was asked for
//! place.rs      where the store lies                             announce.rs  what a person and a script are told
//! ending.rs     signals, and what else ends it                   open_files.rs how many files and sockets there may be
//! ```

mod announce;
mod ending;
mod file;
mod flags;
mod hbase_names;
mod layers;
mod open_files;
mod options;
#[cfg(test)]
mod page;
mod place;
mod refused;
mod settings;

use std::time::Duration;

use anyhow::Context as _;
use halite::{Builder, Store};
use halite_server::Server;

pub(crate) use flags::Flags;

use ending::Ending;
use layers::Layered;
use place::Place;
use settings::Settings;

/// More threads than these are a mistake, and the system may have no room for them.
const IO_THREADS_MAX: usize = 4096;
/// How long connections may take to end, and an opening that is not wanted any more. What was answered is in the log by then.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Opens the store, serves it until a signal or a client ends it, and closes it.
///
/// # Errors
/// Options that cannot be, a store that cannot be opened, a port that is taken, a failed write at the end.
pub(crate) fn run(flags: &Flags) -> anyhow::Result<()> {
    let Layered { settings, warnings } = layers::settings(flags)?;
    tracing_subscriber::fmt().with_max_level(settings.log_level).with_ansi(false).with_target(false).with_writer(std::io::stderr).init();
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    open_files::raise_limit(settings.server.limits.connections_max);
    anyhow::ensure!((1..=IO_THREADS_MAX).contains(&settings.io_threads), "io-threads must be from 1 to {IO_THREADS_MAX}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(settings.io_threads).enable_all().build().context("starting threads")?;
    // Before there is anything that a death would leave behind.
    let ending = {
        let _guard = runtime.enter();
        let ending = Ending::hear()?;
        ending.bounds_opening(SHUTDOWN);
        ending
    };
    let place = Place::of(&settings)?;
    if place.is_temporary() {
        ending.takes(place.path());
    }
    let store = Builder::new().options(settings.engine.clone()).open(place.path()).with_context(|| format!("store {}", place.path().display()))?;
    ending.opened();
    announce::warn(store.report(), place.path());
    let served = prepare(&store, &settings, &ending).and_then(|()| runtime.block_on(serve(&store, &settings, &place, &ending)));
    // The second signal is heard while the store closes.
    let closed = store.close().with_context(|| format!("closing the store {}", place.path().display()));
    served.and(closed)?;
    place.remove()
}

fn prepare(store: &Store, settings: &Settings, ending: &Ending) -> anyhow::Result<()> {
    if settings.demo {
        let loaded = crate::demo::load_tables(store, &|| ending.is_asked())?;
        if !ending.is_asked() {
            tracing::info!("demo: {loaded}");
        }
    }
    Ok(())
}

async fn serve(store: &Store, settings: &Settings, place: &Place, ending: &Ending) -> anyhow::Result<()> {
    // Who was asked to end while it started does not become ready.
    if ending.is_asked() {
        return Ok(());
    }
    let server = Server::start(store.engine().clone(), settings.server.clone()).await?;
    announce::print(&announce::Facts { addresses: server.addresses(), settings, place, store });
    tokio::select! {
        () = ending.asked() => {}
        why = server.stop_requested() => drop(ending.ask(&why)),
        Some(reason) = server.store_stopped(), if settings.exit_on_log_failure => ending.end_for_failure(reason.message()),
    }
    if tokio::time::timeout(SHUTDOWN, server.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end within {} s", SHUTDOWN.as_secs());
    }
    Ok(())
}
