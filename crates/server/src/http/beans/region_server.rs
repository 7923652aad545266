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

pub(super) fn server(figures: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("RegionServer,sub=Server", "regionserver", figures)
        .with("tag.zookeeperQuorum", zookeeper_quorum(figures))
        .with("tag.serverName", figures.identity.region_server_text())
        .with("tag.clusterId", figures.cluster_id);
    requests(cache(stores(bean, figures), figures), figures)
}

/// Returns the ZooKeeper address for clients; empty if the endpoint is disabled.
pub(super) fn zookeeper_quorum(figures: &MetricsSnapshot<'_>) -> String {
    figures.context.addresses.zookeeper.map_or_else(String::new, |zookeeper| {
        format!("{}:{}", figures.identity.host, zookeeper.port())
    })
}

fn stores(bean: Bean, figures: &MetricsSnapshot<'_>) -> Bean {
    let totals = &figures.totals;
    bean.with("regionCount", totals.regions)
        .with("storeCount", totals.stores)
        .with("storeFileCount", totals.store_files)
        .with("maxStoreFileCount", totals.max_store_files)
        .with("memStoreSize", totals.memstore_data_bytes)
        .with("memStoreHeapSize", totals.memstore_bytes)
        .with("memStoreOffHeapSize", 0_u64)
        .with("storeFileSize", totals.store_file_bytes)
        .with("numReferenceFiles", totals.reference_files)
        .with("maxStoreFileAge", oldest_file_age(figures))
        .with("hlogFileCount", figures.wal.segments)
        .with("hlogFileSize", figures.wal.bytes)
        .with("flushQueueLength", figures.queues.0)
        .with("compactionQueueLength", figures.queues.1)
        .with("regionServerStartTime", figures.context.start_code)
        .with(
            "averageRegionSize",
            (totals.store_file_bytes + totals.memstore_data_bytes) / totals.regions.max(1),
        )
        .with("storeFileIndexSize", totals.root_index_bytes)
        .with("staticIndexSize", totals.static_index_bytes)
        .with("staticBloomSize", totals.static_bloom_bytes)
        .with("percentFilesLocal", 100.0)
        .with("flushedOutputBytes", figures.status.flushed_bytes)
        .with("compactedOutputBytes", figures.status.compacted_bytes)
        .with_all(maintenance(figures))
}

/// Returns the age of the oldest store file in milliseconds; 0 without files.
fn oldest_file_age(figures: &MetricsSnapshot<'_>) -> u64 {
    let with_files = figures.status.regions.iter().filter(|load| load.store_files > 0);
    let oldest = with_files.filter_map(|load| u64::try_from(load.oldest_file_ms).ok()).min();
    oldest.map_or(0, |oldest| figures.now_ms.saturating_sub(oldest))
}

fn cache(bean: Bean, figures: &MetricsSnapshot<'_>) -> Bean {
    let status = &figures.status;
    let (hits, misses) = (status.block_cache_hits, status.block_cache_misses);
    let free =
        figures.context.engine.options().block_cache_bytes.saturating_sub(status.block_cache_bytes);
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
        .with_all(lookups(figures))
}

/// Returns cache lookups by kind of block. Parts of a file that are held in memory while it is open
/// are never looked up.
fn lookups(figures: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
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
    let told = kinds.into_iter().flat_map(|(kind, name)| {
        let CacheStats { hits, misses } = figures.context.engine.block_cache_stats(kind);
        [
            (format!("blockCache{name}HitCount"), hits.load(Relaxed).into()),
            (format!("blockCache{name}MissCount"), misses.load(Relaxed).into()),
        ]
    });
    told.collect()
}

/// Returns the durations of flushes and compactions, and the bytes and files they read and wrote.
fn maintenance(figures: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
    let upkeep = figures.context.engine.maintenance_stats();
    let mut told = HistogramSummary::from_histograms([&upkeep.flush_us]).attributes("FlushTime");
    told.extend(
        HistogramSummary::from_histograms([&upkeep.flush_memstore_bytes])
            .sizes("FlushMemstoreSize"),
    );
    told.extend(
        HistogramSummary::from_histograms([&upkeep.flush_output_bytes]).sizes("FlushOutputSize"),
    );
    told.push(("flushedMemstoreBytes".to_owned(), upkeep.flush_memstore_bytes.sum().into()));
    for (prefix, compactions) in [("", &upkeep.compactions), ("Major", &upkeep.major_compactions)] {
        told.extend(
            HistogramSummary::from_histograms([&compactions.duration_us])
                .attributes(&format!("{prefix}CompactionTime")),
        );
        told.extend(
            HistogramSummary::from_histograms([&compactions.input_files])
                .sizes(&format!("{prefix}CompactionInputFileCount")),
        );
        told.extend(
            HistogramSummary::from_histograms([&compactions.input_bytes])
                .sizes(&format!("{prefix}CompactionInputSize")),
        );
        told.extend(
            HistogramSummary::from_histograms([&compactions.output_files])
                .sizes(&format!("{prefix}CompactionOutputFileCount")),
        );
        told.extend(
            HistogramSummary::from_histograms([&compactions.output_bytes])
                .sizes(&format!("{prefix}CompactionOutputSize")),
        );
    }
    told.push(("compactedInputBytes".to_owned(), upkeep.compactions.input_bytes.sum().into()));
    told.push((
        "majorCompactedInputBytes".to_owned(),
        upkeep.major_compactions.input_bytes.sum().into(),
    ));
    told.push((
        "majorCompactedOutputBytes".to_owned(),
        upkeep.major_compactions.output_bytes.sum().into(),
    ));
    told
}

fn requests(bean: Bean, figures: &MetricsSnapshot<'_>) -> Bean {
    let totals = &figures.totals;
    let calls = |method: Method| figures.call_count(method);
    let summary = |method: Method| {
        HistogramSummary::from_histograms(
            figures
                .context
                .metrics
                .called()
                .filter(|(called, _)| *called == method)
                .map(|(_, figures)| &figures.total_us),
        )
    };
    bean.with("readRequestRatePerSecond", figures.rates.0)
        .with("writeRequestRatePerSecond", figures.rates.1)
        .with("activeScanners", figures.open_scanners)
        .with("totalRequestCount", figures.calls(SERVICES).count())
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
        .with_all(response_sizes(figures, Method::ClientScan).sizes("ScanSize"))
        .with_all(operations(figures))
}

fn response_sizes(figures: &MetricsSnapshot<'_>, method: Method) -> HistogramSummary {
    HistogramSummary::from_histograms(
        figures
            .context
            .metrics
            .called()
            .filter(|(called, _)| *called == method)
            .map(|(_, figures)| &figures.response_bytes),
    )
}

/// Returns the durations of puts, deletes and other operations that have been executed.
fn operations(figures: &MetricsSnapshot<'_>) -> Vec<(String, Value)> {
    let times = &figures.context.metrics.operations;
    Operation::ALL
        .into_iter()
        .flat_map(|operation| {
            HistogramSummary::from_histograms([times.histogram(operation)])
                .attributes(operation.name())
        })
        .collect()
}

pub(super) fn ipc(figures: &MetricsSnapshot<'_>) -> Bean {
    let metrics = &figures.context.metrics;
    calls(Bean::hbase("RegionServer,sub=IPC", "regionserver", figures), figures, SERVICES)
        .with("numActiveHandler", figures.active_handlers)
        .with("numActiveGeneralHandler", figures.active_handlers)
        .with("queueSize", metrics.queued_bytes.get())
        .with("numCallsInGeneralQueue", figures.queued_handler_calls)
        .with("numOpenConnections", metrics.connections.get())
        .with("receivedBytes", metrics.received_bytes.get())
        .with("sentBytes", metrics.sent_bytes.get())
        .with("exceptions.callTimedOut", metrics.calls_timed_out.get())
}

/// Adds the call metrics of the services of a region server or a master.
pub(super) fn calls(
    bean: Bean,
    figures: &MetricsSnapshot<'_>,
    services: &'static [Service],
) -> Bean {
    let exceptions: u64 =
        figures.context.metrics.exceptions(services).map(|exceptions| exceptions.all.get()).sum();
    let queued = HistogramSummary::from_histograms(
        figures.methods(services).map(|figures| &figures.queued_us),
    );
    let processed = HistogramSummary::from_histograms(
        figures.methods(services).map(|figures| &figures.process_us),
    );
    let requests = HistogramSummary::from_histograms(
        figures.methods(services).map(|figures| &figures.request_bytes),
    );
    let answers = HistogramSummary::from_histograms(
        figures.methods(services).map(|figures| &figures.response_bytes),
    );
    bean.with("exceptions", exceptions)
        .with_all(exception_counts(figures, services))
        .with_all(figures.calls(services).attributes("TotalCallTime"))
        .with_all(queued.attributes("QueueCallTime"))
        .with_all(processed.attributes("ProcessCallTime"))
        .with_all(requests.sizes("RequestSize"))
        .with_all(answers.sizes("ResponseSize"))
}

/// Returns exceptions by class.
fn exception_counts(
    figures: &MetricsSnapshot<'_>,
    services: &'static [Service],
) -> Vec<(String, Value)> {
    let count = |at: usize| {
        figures
            .context
            .metrics
            .exceptions(services)
            .map(|exceptions| exceptions.by_class[at].get())
            .sum::<u64>()
    };
    ExceptionClass::ALL
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (format!("exceptions.{name}"), count(at).into()))
        .collect()
}

/// HBase measures each append. This server measures each group of appends, which is one write to
/// the operating system.
pub(super) fn wal(figures: &MetricsSnapshot<'_>) -> Bean {
    Bean::hbase("RegionServer,sub=WAL", "regionserver", figures)
        .with("writtenBytes", figures.status.wal_bytes)
        .with("appendCount", figures.wal.appends)
        .with("successfulLogRolls", figures.wal.rolls)
        .with_all(
            HistogramSummary::from_histograms([figures.wal.write_us]).attributes("AppendTime"),
        )
        .with_all(HistogramSummary::from_histograms([figures.wal.sync_us]).attributes("SyncTime"))
}
