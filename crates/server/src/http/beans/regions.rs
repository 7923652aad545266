//! `RegionServer,sub=Regions` and `sub=Tables`: a few attributes for each region and each table, in
//! one bean.

use halite_types::{CompactionState, RegionLoad, TableName};

use super::super::json::Value;
use super::super::snapshot::{MetricsSnapshot, RegionTotals};
use super::bean::Bean;

pub(super) fn regions(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("RegionServer,sub=Regions", "regionserver", snapshot);
    snapshot
        .status
        .regions
        .iter()
        .fold(bean, |bean, load| bean.with_all(region(load, snapshot.now_ms)))
}

fn region(load: &RegionLoad, now_ms: u64) -> Vec<(String, Value)> {
    let prefix =
        format!("{}_region_{}_metric", table_prefix(&load.region.table), load.region.encoded_name);
    let since = |ms: i64| u64::try_from(ms).map_or(now_ms, |ms| now_ms.saturating_sub(ms));
    let is_compacting = u64::from(load.compaction_state != CompactionState::None);
    let mut attributes: Vec<(String, Value)> = [
        ("storeCount", load.stores),
        ("storeFileCount", load.store_files),
        ("memStoreSize", load.memstore_data_bytes),
        ("maxStoreFileAge", if load.store_files == 0 { 0 } else { since(load.oldest_file_ms) }),
        ("numReferenceFiles", load.reference_files),
        ("storeFileSize", load.store_file_bytes),
        ("compactionsCompletedCount", load.compactions),
        // Without a major compaction HBase counts from 1970, too.
        ("lastMajorCompactionAge", since(load.last_major_compaction_ms)),
        ("readRequestCount", load.read_requests),
        ("filteredReadRequestCount", load.filtered_read_requests),
        ("writeRequestCount", load.write_requests),
        ("compactionsQueuedCount", is_compacting),
    ]
    .map(|(name, count)| (format!("{prefix}_{name}"), count.into()))
    .into();
    attributes.push((format!("{prefix}_replicaid"), 0_u64.into()));
    attributes
}

pub(super) fn tables(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("RegionServer,sub=Tables", "regionserver", snapshot)
        .with("numTables", snapshot.tables.len());
    snapshot.tables.iter().fold(bean, |bean, (name, totals)| bean.with_all(table(name, totals)))
}

fn table(name: &TableName, totals: &RegionTotals) -> Vec<(String, Value)> {
    let prefix = format!("{}_metric", table_prefix(name));
    let bytes = totals.store_file_bytes + totals.memstore_data_bytes;
    [
        ("readRequestCount", totals.read_requests),
        ("filteredReadRequestCount", totals.filtered_read_requests),
        ("writeRequestCount", totals.write_requests),
        ("totalRequestCount", totals.read_requests + totals.write_requests),
        ("memStoreSize", totals.memstore_data_bytes),
        ("storeFileCount", totals.store_files),
        ("maxStoreFileCount", totals.max_store_files),
        ("storeFileSize", totals.store_file_bytes),
        ("tableSize", bytes),
        ("averageRegionSize", bytes / totals.regions.max(1)),
        ("regionCount", totals.regions),
        ("storeCount", totals.stores),
        ("staticBloomSize", totals.static_bloom_bytes),
        ("staticIndexSize", totals.static_index_bytes),
        ("numReferenceFiles", totals.reference_files),
    ]
    .map(|(name, count)| (format!("{prefix}_{name}"), count.into()))
    .into()
}

fn table_prefix(name: &TableName) -> String {
    format!("Namespace_{}_table_{}", name.namespace(), name.qualifier())
}
