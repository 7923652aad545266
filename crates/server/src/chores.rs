//! What is done now and then without anybody asking for it, as HBase's chores do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::context::Context;
use crate::master_service::{clean_catalog as clean, delete_expired_snapshots, measure_tables as measure, roll_regions as roll};
use crate::outside::Machine;
use crate::shutdown::Shutdown;

/// How often tables are measured where there are limits of space, in milliseconds; HBase takes minutes
/// (`hbase.master.quotas.observer.chore.period`).
const MEASURE_MS: u64 = 5_000;

/// Measures the tables in every period until everything ends, where there are limits of space (HBase:
/// `QuotaObserverChore`).
pub(crate) async fn measure_tables(context: Arc<Context>, shutdown: Shutdown) {
    repeat(context.machine.clone(), Duration::from_millis(MEASURE_MS), shutdown, move || {
        if let Err(error) = measure(&context) {
            tracing::warn!("limits of space were not looked after: {error}");
        }
    })
    .await;
}

/// Deletes snapshots whose time to live is over, at once and then in every period until everything ends (HBase:
/// `SnapshotCleanerChore`).
pub(crate) async fn clean_snapshots(context: Arc<Context>, shutdown: Shutdown) {
    repeat(context.machine.clone(), Duration::from_millis(context.config.snapshot_cleaner_ms), shutdown, move || {
        drop(delete_expired_snapshots(&context));
    })
    .await;
}

/// Lets merged regions forget what they were merged from, in every period until everything ends (HBase: `CatalogJanitor`).
pub(crate) async fn clean_catalog(context: Arc<Context>, shutdown: Shutdown) {
    repeat(context.machine.clone(), Duration::from_millis(context.config.catalog_janitor_ms), shutdown, move || clean(&context)).await;
}

/// Makes the regions of times to come in every period until everything ends, of tables that declare them.
pub(crate) async fn roll_regions(context: Arc<Context>, shutdown: Shutdown) {
    let ending = shutdown.clone();
    repeat(context.machine.clone(), Duration::from_millis(context.config.rolling_ms), shutdown, move || roll(&context, &ending)).await;
}

async fn repeat(machine: Machine, period: Duration, mut shutdown: Shutdown, work: impl Fn() + Clone + Send + 'static) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => return,
            _ = ticks.tick() => {}
        }
        let work = work.clone();
        // A panic was reported where it happened; the next round may do better.
        let _ = machine.block(work).await;
    }
}
