//! `RegionServer,sub=Server`, `sub=IPC` and `sub=WAL`.

use std::sync::atomic::Ordering::Relaxed;

use halite_engine::BlockLookups;
use halite_engine::hfile::BlockKind;
use halite_wire::service::{Method, Service};

use super::super::figures::Figures;
use super::super::json::Value;
use super::super::summary::Summary;
use super::{Bean, percent, share};
use crate::metrics::Thrown;
use crate::operations::Operation;

/// The services of a region server.
const SERVICES: &[Service] = &[Service::Client, Service::Admin, Service::ClientMeta, Service::BootstrapNode];

pub(super) fn server(figures: &Figures<'_>) -> Bean {
    let bean = Bean::hbase("RegionServer,sub=Server", "regionserver", figures)
        .with("tag.zookeeperQuorum", zookeeper_quorum(figures))
        .with("tag.serverName", figures.identity.region_server_text())
        .with("tag.clusterId", figures.cluster_id);
    requests(cache(stores(bean, figures), figures), figures)
}

/// Where clients find ZooKeeper; empty if there is none.
pub(super) fn zookeeper_quorum(figures: &Figures<'_>) -> String {
    figures.context.addresses.zookeeper.map_or_else(String::new, |zookeeper| format!("{}:{}", figures.identity.host, zookeeper.port()))
}

fn stores(bean: Bean, figures: &Figures<'_>) -> Bean {
    let totals = &figures.totals;
    bean.with("regionCount", totals.regions)
        .with("storeCount", totals.stores)
        .with("storeFileCount", totals.store_files)
        .with("maxStoreFileCount", totals.store_files_max)
        .with("memStoreSize", totals.memstore_data_bytes)
        .with("memStoreHeapSize", totals.memstore_bytes)
        .with("memStoreOffHeapSize", 0_u64)
        .with("storeFileSize", totals.store_file_bytes)
        .with("numReferenceFiles", totals.reference_files)
        .with("maxStoreFileAge", oldest_file_age(figures))
        .with("hlogFileCount", figures.log.segments)
        .with("hlogFileSize", figures.log.bytes)
        .with("flushQueueLength", figures.queues.0)
        .with("compactionQueueLength", figures.queues.1)
        .with("regionServerStartTime", figures.context.start_code)
        .with("averageRegionSize", (totals.store_file_bytes + totals.memstore_data_bytes) / totals.regions.max(1))
        .with("storeFileIndexSize", totals.root_index_bytes)
        .with("staticIndexSize", totals.static_index_bytes)
        .with("staticBloomSize", totals.static_bloom_bytes)
        .with("percentFilesLocal", 100.0)
        .with("flushedOutputBytes", figures.status.flushed_bytes)
        .with("compactedOutputBytes", figures.status.compacted_bytes)
        .with_all(upkeep(figures))
}

/// In milliseconds; 0 without files.
fn oldest_file_age(figures: &Figures<'_>) -> u64 {
    let with_files = figures.status.regions.iter().filter(|load| load.store_files > 0);
    let oldest = with_files.filter_map(|load| u64::try_from(load.oldest_file_ms).ok()).min();
    oldest.map_or(0, |oldest| figures.now_ms.saturating_sub(oldest))
}

fn cache(bean: Bean, figures: &Figures<'_>) -> Bean {
    let status = &figures.status;
    let (hits, misses) = (status.block_cache_hits, status.block_cache_misses);
    let free = figures.context.engine.options().block_cache_bytes.saturating_sub(status.block_cache_bytes);
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

/// Lookups by kind of block. What a file holds in memory while it is open is never looked up.
fn lookups(figures: &Figures<'_>) -> Vec<(String, Value)> {
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
        let BlockLookups { hits, misses } = figures.context.engine.block_lookups(kind);
        [(format!("blockCache{name}HitCount"), hits.load(Relaxed).into()), (format!("blockCache{name}MissCount"), misses.load(Relaxed).into())]
    });
    told.collect()
}

/// How long flushes and compactions took, and what they read and wrote.
fn upkeep(figures: &Figures<'_>) -> Vec<(String, Value)> {
    let upkeep = figures.context.engine.upkeep_figures();
    let mut told = Summary::of([&upkeep.flush_us]).attributes("FlushTime");
    told.extend(Summary::of([&upkeep.flush_memstore_bytes]).sizes("FlushMemstoreSize"));
    told.extend(Summary::of([&upkeep.flush_output_bytes]).sizes("FlushOutputSize"));
    told.push(("flushedMemstoreBytes".to_owned(), upkeep.flush_memstore_bytes.sum().into()));
    for (prefix, compactions) in [("", &upkeep.compactions), ("Major", &upkeep.major_compactions)] {
        told.extend(Summary::of([&compactions.us]).attributes(&format!("{prefix}CompactionTime")));
        told.extend(Summary::of([&compactions.input_files]).sizes(&format!("{prefix}CompactionInputFileCount")));
        told.extend(Summary::of([&compactions.input_bytes]).sizes(&format!("{prefix}CompactionInputSize")));
        told.extend(Summary::of([&compactions.output_files]).sizes(&format!("{prefix}CompactionOutputFileCount")));
        told.extend(Summary::of([&compactions.output_bytes]).sizes(&format!("{prefix}CompactionOutputSize")));
    }
    told.push(("compactedInputBytes".to_owned(), upkeep.compactions.input_bytes.sum().into()));
    told.push(("majorCompactedInputBytes".to_owned(), upkeep.major_compactions.input_bytes.sum().into()));
    told.push(("majorCompactedOutputBytes".to_owned(), upkeep.major_compactions.output_bytes.sum().into()));
    told
}

fn requests(bean: Bean, figures: &Figures<'_>) -> Bean {
    let totals = &figures.totals;
    let calls = |method: Method| figures.call_count(method);
    let summary =
        |method: Method| Summary::of(figures.context.metrics.called().filter(|(called, _)| *called == method).map(|(_, figures)| &figures.total_us));
    bean.with("readRequestRatePerSecond", figures.rates.0)
        .with("writeRequestRatePerSecond", figures.rates.1)
        .with("activeScanners", figures.scanners)
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
        .with_all(answer_sizes(figures, Method::ClientScan).sizes("ScanSize"))
        .with_all(operations(figures))
}

fn answer_sizes(figures: &Figures<'_>, method: Method) -> Summary {
    Summary::of(figures.context.metrics.called().filter(|(called, _)| *called == method).map(|(_, figures)| &figures.answer_bytes))
}

/// The times of puts, deletes and so on, of those that have been done.
fn operations(figures: &Figures<'_>) -> Vec<(String, Value)> {
    let times = &figures.context.metrics.operations;
    Operation::ALL.into_iter().flat_map(|operation| Summary::of([times.of(operation)]).attributes(operation.name())).collect()
}

pub(super) fn ipc(figures: &Figures<'_>) -> Bean {
    let metrics = &figures.context.metrics;
    calls(Bean::hbase("RegionServer,sub=IPC", "regionserver", figures), figures, SERVICES)
        .with("numActiveHandler", figures.busy_readers)
        .with("numActiveGeneralHandler", figures.busy_readers)
        .with("queueSize", metrics.queue_bytes.get())
        .with("numCallsInGeneralQueue", figures.queued_readers)
        .with("numOpenConnections", metrics.connections.get())
        .with("receivedBytes", metrics.bytes_received.get())
        .with("sentBytes", metrics.bytes_sent.get())
        .with("exceptions.callTimedOut", metrics.calls_expired.get())
}

/// What is counted of calls, for the services of a region server or a master.
pub(super) fn calls(bean: Bean, figures: &Figures<'_>, services: &'static [Service]) -> Bean {
    let exceptions: u64 = figures.context.metrics.exceptions(services).map(|exceptions| exceptions.all.get()).sum();
    let queued = Summary::of(figures.methods(services).map(|figures| &figures.queued_us));
    let processed = Summary::of(figures.methods(services).map(|figures| &figures.process_us));
    let requests = Summary::of(figures.methods(services).map(|figures| &figures.request_bytes));
    let answers = Summary::of(figures.methods(services).map(|figures| &figures.answer_bytes));
    bean.with("exceptions", exceptions)
        .with_all(thrown(figures, services))
        .with_all(figures.calls(services).attributes("TotalCallTime"))
        .with_all(queued.attributes("QueueCallTime"))
        .with_all(processed.attributes("ProcessCallTime"))
        .with_all(requests.sizes("RequestSize"))
        .with_all(answers.sizes("ResponseSize"))
}

/// Exceptions by what they said.
fn thrown(figures: &Figures<'_>, services: &'static [Service]) -> Vec<(String, Value)> {
    let count = |at: usize| figures.context.metrics.exceptions(services).map(|exceptions| exceptions.thrown[at].get()).sum::<u64>();
    Thrown::ALL.iter().enumerate().map(|(at, (name, _))| (format!("exceptions.{name}"), count(at).into())).collect()
}

/// What HBase times by append is timed here by group of appends, which goes to the operating system as one.
pub(super) fn wal(figures: &Figures<'_>) -> Bean {
    Bean::hbase("RegionServer,sub=WAL", "regionserver", figures)
        .with("writtenBytes", figures.status.wal_bytes)
        .with("appendCount", figures.log.appends)
        .with("successfulLogRolls", figures.log.rolls)
        .with_all(Summary::of([figures.log.write_us]).attributes("AppendTime"))
        .with_all(Summary::of([figures.log.sync_us]).attributes("SyncTime"))
}
