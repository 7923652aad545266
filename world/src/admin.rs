//! Administrator: schema and region changes that make the clients' cached region locations stale.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use halite_client::{RemoteCluster, connect_over};
use halite_types::{Bytes, Cluster, CompactionKind, Result, TableName};
use tokio::time::Instant;

use crate::history::SharedHistory;
use crate::net::Network;
use crate::server::TABLE;
use crate::workload::Client;

/// Number of regions from which on none is split.
const MAX_REGIONS: usize = 7;

/// Splits, merges, flushes, compacts, disables and enables until the callers have finished.
///
/// # Errors
/// Never returns an error: failures are recorded, and are allowed.
pub async fn run(client: Client, history: SharedHistory) -> turmoil::Result {
    let until = Instant::now() + client.duration;
    let mut rng = Rng::with_seed(client.seed);
    let mut cluster = None;
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(rng.u64(20..700))).await;
        let connected = match cluster.take() {
            Some(cluster) => Ok(cluster),
            None => connect_over(Arc::new(Network), client.config.clone()).await,
        };
        let outcome = match &connected {
            Ok(cluster) => change(cluster, &mut rng).await,
            Err(error) => Err(error.clone()),
        };
        cluster = connected.ok();
        let mut history = history.borrow_mut();
        history.changes += u64::from(outcome.is_ok());
        history.record(match outcome {
            Ok(what) => format!("admin: {what}"),
            Err(error) => format!("admin: {error}"),
        });
    }
    history.borrow_mut().finished += 1;
    Ok(())
}

async fn change(cluster: &RemoteCluster, rng: &mut Rng) -> Result<&'static str> {
    let (admin, name) = (cluster.admin(), TABLE.parse::<TableName>()?);
    match rng.u8(..16) {
        0..=3 => {
            let regions = cluster.table(&name).regions().await?;
            let region = &regions[rng.usize(..regions.len())];
            let at = Bytes::from(format!("{}{:03}", char::from(b'a' + rng.u8(..26)), rng.u8(..60)));
            if regions.len() >= MAX_REGIONS || !region.contains(&at) || region.start == at {
                return Ok("nothing");
            }
            admin.split_region(&region.encoded_name, Some(at)).await?;
            Ok("split")
        }
        4..=6 => {
            let regions = cluster.table(&name).regions().await?;
            let first = rng.usize(..regions.len());
            let Some([first, second]) = regions.get(first..first + 2) else { return Ok("nothing") };
            admin.merge_regions(&first.encoded_name, &second.encoded_name, false).await?;
            Ok("merge")
        }
        7..=9 => admin.flush(&name).await.map(|()| "flush"),
        10 | 11 => admin.compact(&name, None, CompactionKind::Minor).await.map(|()| "compaction"),
        12 | 13 => {
            admin.compact(&name, None, CompactionKind::Major).await.map(|()| "major compaction")
        }
        _ => {
            // A table left disabled by an earlier failed attempt is enabled, too.
            let disabled = admin.disable_table(&name).await;
            tokio::time::sleep(Duration::from_millis(rng.u64(..300))).await;
            admin.enable_table(&name).await?;
            disabled.map(|()| "closed and opened")
        }
    }
}
