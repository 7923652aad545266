//! What is done now and then without anybody asking for it, as HBase's chores do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::context::Context;
use crate::master_service::delete_expired_snapshots;
use crate::shutdown::Shutdown;

/// Deletes snapshots whose time to live is over, at once and then in every period until everything ends (HBase:
/// `SnapshotCleanerChore`).
pub(crate) async fn clean_snapshots(context: Arc<Context>, mut shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(Duration::from_millis(context.config.snapshot_cleaner_ms));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.requested() => return,
            _ = ticks.tick() => {}
        }
        let context = Arc::clone(&context);
        // A panic was reported where it happened; the next round may do better.
        let _ = tokio::task::spawn_blocking(move || delete_expired_snapshots(&context)).await;
    }
}
