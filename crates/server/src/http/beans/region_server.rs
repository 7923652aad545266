//! `RegionServer,sub=Server`, `sub=IPC` and `sub=WAL`.

use std::sync::atomic::Ordering::Relaxed;

use halite_engine::CacheStats;
use halite_engine::hfile::BlockKind;
use halite_wire::service::{Method, Service};

use super::super::histogram_summary::HistogramSummary;
use super::super::json::Value;
use super::super::snapshot::MetricsSnapshot;
use super::bean::{Bean, percent, share};
use crate::base::metrics::ExceptionClass;
use crate::base::operations::Operation;

/// Services of a region server.
const SERVICES: &[Service] =
    &[Service::Client, Service::Admin, Service::ClientMeta, Service::BootstrapNode];

pub(super) fn server(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("RegionServer,sub=Server", "regionserver", snapshot)
        .with("tag.zookeeperQuorum", zookeeper_quorum(snapshot))
        .with("tag.serverName", snapshot.identity.region_server_text())
        .with("tag.clusterId", snapshot.cluster_id);
    requests(cache(stores(bean, snapshot), snapshot), snapshot)
}

/// Returns the ZooKeeper address for clients; empty if the endpoint is disabled.
pub(super) fn zookeeper_quorum(snapshot: &MetricsSnapshot<'_>) -> String {
    snapshot.context.addresses.zookeeper.map_or_else(String::new, |zookeeper| {
        format!("{}:{}", snapshot.identity.host, zookeeper.port())
    })
}

fn stores(bean: Bean, snapshot: &MetricsSnapshot<'_>) -> Bean {
    let totals = &snapshot.totals;
    bean.with("regionCount", totals.regions)
        .with("storeCount", totals.stores)
        .with("storeFileCount", totals.store_files)
        .with("maxStoreFileCount", totals.max_store_files)
        .with("memStoreSize", totals.memstore_data_bytes)
        .with("memStoreHeapSize", totals.memstore_bytes)
        .with("memStoreOffHeapSize", 0_u64)
        .with("storeFileSize", totals.store_file_bytes)
        .with("numReferenceFiles", totals.reference_files)
        .with("maxStoreFileAge", oldest_file_age(snapshot))
        .with("hlogFileCount", snapshot.wal.segments)
        .with("hlogFileSize", snapshot.wal.bytes)
        .with("flushQueueLength", snapshot.queues.0)
        .with("compactionQueueLength", snapshot.queues.1)
        .with("regionServerStartTime", snapshot.context.start_code)
        .with(
            "averageRegionSize",
            (totals.store_file_bytes + totals.memstore_data_bytes) / totals.regions.max(1),
        )
        .with("storeFileIndexSize", totals.root_index_bytes)
        .with("staticIndexSize", totals.static_index_bytes)
        .with("staticBloomSize", totals.static_bloom_bytes)
        .with("percentFilesLocal", 100.0)
        .with("flushedOutputBytes", snapshot.status.flushed_bytes)
        .with("compactedOutputBytes", snapshot.status.compacted_bytes)
        .with_all(maintenance(snapshot))
}

/// Returns the age of the oldest store file in milliseconds; 0 without files.
fn oldest_file_age(snapshot: &MetricsSnapshot<'_>) -> u64 {
    let with_files = snapshot.status.regions.iter().filter(|load| load.store_files > 0);
    let oldest = with_files.filter_map(|load| u64::try_from(load.oldest_file_ms).ok()).min();
    oldest.map_or(0, |oldest| snapshot.now_ms.saturating_sub(oldest))
}

fn cache(bean: Bean, snapshot: &MetricsSnapshot<'_>) -> Bean {
    let status = &snapshot.status;
    let (hits, misses) = (status.block_cache_hits, status.block_cache_misses);
    let free = snapshot
        .context
        .engine
        .options()
        .block_cache_bytes
        .saturating_sub(status.block_cache_bytes);
    bean.with("blockCacheFreeSize", free)
        .with("blockCacheSize", status.block_cache_bytes)
        .with("blockCacheHitCount", hits)
        .with("blockCacheMissCount", misses)
        .with("blockCacheCountHitPercent", percent(hits, misses))
        .with("blockCacheExpressHitPercent", percent(hits, misses))
        .with("l1CacheSize", status.block_cache_bytes)
        .with("l1CacheFreeSize", free)
        .with("l1CacheHitCount", hits)
        .with("l1CacheMissCount", misses)
        .with("l1CacheHitRatio", share(hits, misses))
        .with("l1CacheMissRatio", share(misses, hits))
        .with_all(lookups(snapshot))
}

/// Returns cache lookups by kind of block. Parts of a file that are held in memory while it is open
/// are never looked up.
fn lookups(snapshot: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
    let kinds = [
        (BlockKind::Data, "Data"),
        (BlockKind::LeafIndex, "LeafIndex"),
        (BlockKind::IntermediateIndex, "IntermediateIndex"),
        (BlockKind::RootIndex, "RootIndex"),
        (BlockKind::BloomChunk, "BloomChunk"),
        (BlockKind::GeneralBloomMeta, "GeneralBloomMeta"),
        (BlockKind::DeleteFamilyBloomMeta, "DeleteFamilyBloom"),
        (BlockKind::Meta, "Meta"),
        (BlockKind::FileInfo, "FileInfo"),
    ];
    let attributes = kinds.into_iter().flat_map(|(kind, name)| {
        let CacheStats { hits, misses } = snapshot.context.engine.block_cache_stats(kind);
        [
            (format!("blockCache{name}HitCount"), hits.load(Relaxed).into()),
            (format!("blockCache{name}MissCount"), misses.load(Relaxed).into()),
        ]
    });
    attributes.collect()
}

/// Returns the durations of flushes and compactions, and the bytes and files they read and wrote.
fn maintenance(snapshot: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
    let upkeep = snapshot.context.engine.maintenance_stats();
    let mut attributes =
        HistogramSummary::from_histograms([&upkeep.flush_us]).attributes("FlushTime");
    attributes.extend(
        HistogramSummary::from_histograms([&upkeep.flush_memstore_bytes])
            .sizes("FlushMemstoreSize"),
    );
    attributes.extend(
        HistogramSummary::from_histograms([&upkeep.flush_output_bytes]).sizes("FlushOutputSize"),
    );
    attributes.push(("flushedMemstoreBytes".to_owned(), upkeep.flush_memstore_bytes.sum().into()));
    for (prefix, compactions) in [("", &upkeep.compactions), ("Major", &upkeep.major_compactions)] {
        attributes.extend(
            HistogramSummary::from_histograms([&compactions.duration_us])
                .attributes(&format!("{prefix}CompactionTime")),
        );
        attributes.extend(
            HistogramSummary::from_histograms([&compactions.input_files])
                .sizes(&format!("{prefix}CompactionInputFileCount")),
        );
        attributes.extend(
            HistogramSummary::from_histograms([&compactions.input_bytes])
                .sizes(&format!("{prefix}CompactionInputSize")),
        );
        attributes.extend(
            HistogramSummary::from_histograms([&compactions.output_files])
                .sizes(&format!("{prefix}CompactionOutputFileCount")),
        );
        attributes.extend(
            HistogramSummary::from_histograms([&compactions.output_bytes])
                .sizes(&format!("{prefix}CompactionOutputSize")),
        );
    }
    attributes
        .push(("compactedInputBytes".to_owned(), upkeep.compactions.input_bytes.sum().into()));
    attributes.push((
        "majorCompactedInputBytes".to_owned(),
        upkeep.major_compactions.input_bytes.sum().into(),
    ));
    attributes.push((
        "majorCompactedOutputBytes".to_owned(),
        upkeep.major_compactions.output_bytes.sum().into(),
    ));
    attributes
}

fn requests(bean: Bean, snapshot: &MetricsSnapshot<'_>) -> Bean {
    let totals = &snapshot.totals;
    let calls = |method: Method| snapshot.call_count(method);
    let summary = |method: Method| {
        HistogramSummary::from_histograms(
            snapshot
                .context
                .metrics
                .called()
                .filter(|(called, _)| *called == method)
                .map(|(_, metrics)| &metrics.total_us),
        )
    };
    bean.with("readRequestRatePerSecond", snapshot.rates.0)
        .with("writeRequestRatePerSecond", snapshot.rates.1)
        .with("activeScanners", snapshot.open_scanners)
        .with("totalRequestCount", snapshot.calls(SERVICES).count())
        .with("totalRowActionRequestCount", totals.read_requests + totals.write_requests)
        .with("readRequestCount", totals.read_requests)
        .with("filteredReadRequestCount", totals.filtered_read_requests)
        .with("writeRequestCount", totals.write_requests)
        .with("rpcGetRequestCount", calls(Method::ClientGet))
        .with("rpcScanRequestCount", calls(Method::ClientScan))
        .with("rpcMultiRequestCount", calls(Method::ClientMulti))
        .with("rpcMutateRequestCount", calls(Method::ClientMutate))
        .with_all(summary(Method::ClientGet).attributes("Get"))
        .with_all(summary(Method::ClientScan).attributes("ScanTime"))
        .with_all(response_sizes(snapshot, Method::ClientScan).sizes("ScanSize"))
        .with_all(operations(snapshot))
}

fn response_sizes(snapshot: &MetricsSnapshot<'_>, method: Method) -> HistogramSummary {
    HistogramSummary::from_histograms(
        snapshot
            .context
            .metrics
            .called()
            .filter(|(called, _)| *called == method)
            .map(|(_, metrics)| &metrics.response_bytes),
    )
}

/// Returns the durations of puts, deletes and other operations that have been executed.
fn operations(snapshot: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
    let times = &snapshot.context.metrics.operations;
    Operation::ALL
        .into_iter()
        .flat_map(|operation| {
            HistogramSummary::from_histograms([times.histogram(operation)])
                .attributes(operation.name())
        })
        .collect()
}

pub(super) fn ipc(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let metrics = &snapshot.context.metrics;
    calls(Bean::hbase("RegionServer,sub=IPC", "regionserver", snapshot), snapshot, SERVICES)
        .with("numActiveHandler", snapshot.active_handlers)
        .with("numActiveGeneralHandler", snapshot.active_handlers)
        .with("queueSize", metrics.queued_bytes.get())
        .with("numCallsInGeneralQueue", snapshot.queued_handler_calls)
        .with("numOpenConnections", metrics.connections.get())
        .with("receivedBytes", metrics.received_bytes.get())
        .with("sentBytes", metrics.sent_bytes.get())
        .with("exceptions.callTimedOut", metrics.calls_timed_out.get())
}

/// Adds the call metrics of the services of a region server or a master.
pub(super) fn calls(
    bean: Bean,
    snapshot: &MetricsSnapshot<'_>,
    services: &'static [Service],
) -> Bean {
    let exceptions: u64 =
        snapshot.context.metrics.exceptions(services).map(|exceptions| exceptions.all.get()).sum();
    let queued = HistogramSummary::from_histograms(
        snapshot.methods(services).map(|metrics| &metrics.queued_us),
    );
    let processed = HistogramSummary::from_histograms(
        snapshot.methods(services).map(|metrics| &metrics.process_us),
    );
    let requests = HistogramSummary::from_histograms(
        snapshot.methods(services).map(|metrics| &metrics.request_bytes),
    );
    let answers = HistogramSummary::from_histograms(
        snapshot.methods(services).map(|metrics| &metrics.response_bytes),
    );
    bean.with("exceptions", exceptions)
        .with_all(exception_counts(snapshot, services))
        .with_all(snapshot.calls(services).attributes("TotalCallTime"))
        .with_all(queued.attributes("QueueCallTime"))
        .with_all(processed.attributes("ProcessCallTime"))
        .with_all(requests.sizes("RequestSize"))
        .with_all(answers.sizes("ResponseSize"))
}

/// Returns exceptions by class.
fn exception_counts(
    snapshot: &MetricsSnapshot<'_>,
    services: &'static [Service],
) -> Vec<(String, Value)> {
    let count = |index: usize| {
        snapshot
            .context
            .metrics
            .exceptions(services)
            .map(|exceptions| exceptions.by_class[index].get())
            .sum::<u64>()
    };
    ExceptionClass::ALL
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (format!("exceptions.{name}"), count(index).into()))
        .collect()
}

/// HBase measures each append. This server measures each group of appends, which is one write to
/// the operating system.
pub(super) fn wal(snapshot: &MetricsSnapshot<'_>) -> Bean {
    Bean::hbase("RegionServer,sub=WAL", "regionserver", snapshot)
        .with("writtenBytes", snapshot.status.wal_bytes)
        .with("appendCount", snapshot.wal.appends)
        .with("successfulLogRolls", snapshot.wal.rolls)
        .with_all(
            HistogramSummary::from_histograms([snapshot.wal.write_us]).attributes("AppendTime"),
        )
        .with_all(HistogramSummary::from_histograms([snapshot.wal.sync_us]).attributes("SyncTime"))
}
