//! Periodic background work, like HBase's chores.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::base::shutdown::Shutdown;
use crate::master_service::{
    Master, clean_catalog as clean, delete_expired_snapshots, measure_tables as measure,
    roll_regions as roll,
};
use crate::outside::Machine;

/// Period in which tables are measured if there are space quotas, in milliseconds. HBase uses
/// minutes (`hbase.master.quotas.observer.chore.period`).
const MEASURE_MS: u64 = 5_000;

/// Measures the tables in every period until shutdown, if there are space quotas (HBase:
/// `QuotaObserverChore`).
pub(crate) async fn measure_tables(master: Arc<Master>, shutdown: Shutdown) {
    repeat(
        master.context.machine.clone(),
        Duration::from_millis(MEASURE_MS),
        shutdown,
        move || {
            if let Err(error) = measure(&master) {
                tracing::warn!("limits of space were not looked after: {error}");
            }
        },
    )
    .await;
}

/// Deletes snapshots whose time to live has expired, at once and then in every period until
/// shutdown (HBase: `SnapshotCleanerChore`).
pub(crate) async fn clean_snapshots(master: Arc<Master>, shutdown: Shutdown) {
    repeat(
        master.context.machine.clone(),
        Duration::from_millis(master.context.config.snapshot_cleaner_interval_ms),
        shutdown,
        move || {
            drop(delete_expired_snapshots(&master));
        },
    )
    .await;
}

/// Removes the parents of merged regions from the catalog, in every period until shutdown (HBase:
/// `CatalogJanitor`).
pub(crate) async fn clean_catalog(master: Arc<Master>, shutdown: Shutdown) {
    repeat(
        master.context.machine.clone(),
        Duration::from_millis(master.context.config.catalog_janitor_interval_ms),
        shutdown,
        move || clean(&master),
    )
    .await;
}

/// Creates the regions of future time ranges in every period until shutdown, for tables that
/// declare them.
pub(crate) async fn roll_regions(master: Arc<Master>, shutdown: Shutdown) {
    let ending = shutdown.clone();
    repeat(
        master.context.machine.clone(),
        Duration::from_millis(master.context.config.rolling_split_interval_ms),
        shutdown,
        move || roll(&master, &ending),
    )
    .await;
}

async fn repeat(
    machine: Machine,
    period: Duration,
    mut shutdown: Shutdown,
    work: impl Fn() + Clone + Send + 'static,
) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => return,
            _ = ticks.tick() => {}
        }
        let work = work.clone();
        // A panic has already been reported; the next period tries again.
        let _ = machine.block(work).await;
    }
}
