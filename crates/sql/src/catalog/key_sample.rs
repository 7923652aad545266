//! Some keys of a table, and the time at which they are read.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite_rowkey::{rows_of_regions, spread_regions};
use halite_types::{Bytes, Filter, RegionInfo, Scan, Table};

use crate::error::Result;

/// Keys that are compared with a declared key, and the regions they are of.
const SAMPLED_KEYS: usize = 1000;
const SAMPLED_REGIONS: usize = 16;

/// Returns the first keys of regions spread over the table.
pub(super) async fn sample(table: &Arc<dyn Table>) -> Result<Vec<Bytes>> {
    let regions: Vec<RegionInfo> = table.regions().await?;
    let few = spread_regions(&regions, SAMPLED_REGIONS);
    let each = SAMPLED_KEYS / few.len().max(1);
    let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
    let scan = |scan: Scan| scan.limit(each).filter(filter.clone());
    let rows = rows_of_regions(&**table, &few, scan).await?;
    Ok(rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect())
}

/// Returns the present in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
