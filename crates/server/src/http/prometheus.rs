//! The figures as `OpenMetrics` text.
//!
//! Names begin with `halite_`, units stand at their ends. What a program tells of itself has the names every exporter uses
//! (`process_resident_memory_bytes`).

use std::fmt::Error;

use halite_engine::{Health, StoreState};
use halite_wire::service::Service;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::figures::{Figures, Totals};
use crate::health::name;
use crate::metrics::{Histogram, Thrown};
use crate::operations::Operation;

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets that calls are sorted into, in microseconds.
const BOUNDS_US: [u64; 17] =
    [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000, 60_000_000];

/// Metrics of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, Sample)>,
}

#[derive(Debug)]
enum Sample {
    Counter(u64),
    Seconds(f64),
    Gauge(f64),
    Histogram { sum: f64, count: u64, buckets: Vec<(f64, u64)> },
}

/// All of them; what cannot be written is left out.
pub(super) fn text(figures: &Figures<'_>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families(figures))));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut out, &registry);
    out
}

fn families(figures: &Figures<'_>) -> Vec<Family> {
    let mut families = server(figures);
    families.extend(calls(figures));
    families.extend(health(&figures.health));
    families.extend(store(figures));
    families.extend(tables(figures));
    families.extend(process(figures));
    families
}

fn one(name: &'static str, help: &'static str, sample: Sample) -> Family {
    Family { name, help, samples: vec![(Vec::new(), sample)] }
}

fn counter(name: &'static str, help: &'static str, count: u64) -> Family {
    one(name, help, Sample::Counter(count))
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    one(name, help, Sample::Gauge(value as f64))
}

fn server(figures: &Figures<'_>) -> Vec<Family> {
    let metrics = &figures.context.metrics;
    let about = vec![("version", env!("CARGO_PKG_VERSION").to_owned()), ("cluster_id", figures.cluster_id.to_owned())];
    vec![
        Family { name: "halite_build", help: "What runs, and for which cluster", samples: vec![(about, Sample::Gauge(1.0))] },
        gauge("halite_connections", "Connections of clients that are open", metrics.connections.get()),
        counter("halite_connections_accepted", "Connections accepted", metrics.connections_accepted.get()),
        counter("halite_connections_refused", "Connections refused because there were too many", metrics.connections_refused.get()),
        counter("halite_connections_faulty", "Connections closed for what they sent", metrics.connections_faulty.get()),
        counter("halite_received_bytes", "Bytes of requests", metrics.bytes_received.get()),
        counter("halite_sent_bytes", "Bytes of answers", metrics.bytes_sent.get()),
        gauge("halite_network_buffer_bytes", "Bytes of partially received requests and unsent responses", figures.context.buffers.used() as u64),
        gauge("halite_network_buffer_waiters", "Connections and calls that wait for network buffers", figures.context.buffers.waiting() as u64),
        gauge("halite_queued_calls_readers", "Calls that wait for a thread that reads", figures.queued_readers),
        gauge("halite_queued_calls_admin", "Calls that wait for a thread that administrates", figures.queued_admin),
        gauge("halite_busy_readers", "Threads that read and are at work", figures.busy_readers),
        gauge("halite_queued_bytes", "Bytes of the calls that wait", metrics.queue_bytes.get()),
        counter("halite_calls_refused", "Calls refused because too many waited", metrics.calls_refused.get()),
        counter("halite_calls_expired", "Calls dropped because their client had stopped waiting", metrics.calls_expired.get()),
        gauge("halite_scanners", "Scanners that are open", figures.scanners),
        gauge("halite_zookeeper_connections", "ZooKeeper connections that are open", metrics.zookeeper.connections.get()),
        counter("halite_zookeeper_packets_received", "ZooKeeper requests", metrics.zookeeper.packets_received.get()),
    ]
}

fn calls(figures: &Figures<'_>) -> Vec<Family> {
    let mut seconds = Family { name: "halite_call_seconds", help: "From a request's last byte to its answer", samples: Vec::new() };
    let mut queued = Family { name: "halite_call_queued_seconds", help: "The wait for a thread", samples: Vec::new() };
    let help = "Answers that were exceptions, those to parts of a multi included; without a method before it was known";
    let mut exceptions = Family { name: "halite_call_exceptions", help, samples: Vec::new() };
    for (method, counted) in figures.context.metrics.called() {
        let labels = vec![("service", method.service().name().to_owned()), ("method", method.name().to_owned())];
        seconds.samples.push((labels.clone(), distribution(&counted.total_us)));
        queued.samples.push((labels.clone(), distribution(&counted.queued_us)));
        exceptions.samples.push((labels, Sample::Counter(counted.exceptions.all.get())));
    }
    for service in Service::ALL {
        let refused = figures.context.metrics.refused(*service).all.get();
        if refused > 0 {
            exceptions.samples.push((vec![("service", service.name().to_owned())], Sample::Counter(refused)));
        }
    }
    let mut operations = Family { name: "halite_operation_seconds", help: "Mutations by kind, without the wait for a thread", samples: Vec::new() };
    for operation in Operation::ALL {
        let sample = distribution(figures.context.metrics.operations.of(operation));
        operations.samples.push((vec![("operation", operation.name().to_owned())], sample));
    }
    vec![seconds, queued, exceptions, thrown(figures), operations]
}

fn thrown(figures: &Figures<'_>) -> Family {
    let samples = Thrown::ALL.iter().enumerate().map(|(at, (name, _))| {
        let count = figures.context.metrics.exceptions(Service::ALL).map(|exceptions| exceptions.thrown[at].get()).sum();
        (vec![("exception", (*name).to_owned())], Sample::Counter(count))
    });
    Family { name: "halite_exceptions", help: "The same by what they said", samples: samples.collect() }
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn distribution(histogram: &Histogram) -> Sample {
    let bounds = BOUNDS_US.map(|us| us as f64 / 1e6).into_iter().chain([f64::INFINITY]);
    let mut buckets: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
    let mut count = 0;
    for (bound, here) in histogram.filled() {
        buckets[BOUNDS_US.partition_point(|us| *us < bound)].1 += here;
        count += here;
    }
    Sample::Histogram { sum: histogram.sum() as f64 / 1e6, count, buckets }
}

fn health(health: &Health) -> Vec<Family> {
    let is = |truth: bool| Sample::Gauge(f64::from(u8::from(truth)));
    let states = [StoreState::Open, StoreState::Refusing, StoreState::Stopped];
    let samples = states.map(|state| (vec![("state", name(state).to_owned())], is(state == health.state))).into();
    let mut families = vec![
        Family { name: "halite_store_state", help: "1 for the state the store is in; it takes writes in the state open only", samples },
        one("halite_last_flush_failed", "1 if the last flush in the background failed", is(health.flush_failure.is_some())),
        one("halite_last_compaction_failed", "1 if the last compaction in the background failed", is(health.compaction_failure.is_some())),
        counter(
            "halite_panics",
            "Panics that ended work of the store's own threads, the writing of the log or the change of a region",
            health.panics,
        ),
    ];
    if let Some(disk) = health.disk {
        families.extend([
            gauge("halite_disk_free_bytes", "Bytes free on the disk of the store", disk.free_bytes),
            gauge("halite_disk_total_bytes", "Size of that disk", disk.total_bytes),
            gauge("halite_disk_reserve_bytes", "Bytes of it that are kept free: writes are refused below", health.disk_reserve_bytes),
        ]);
    }
    families
}

fn store(figures: &Figures<'_>) -> Vec<Family> {
    let (status, report) = (&figures.status, figures.context.engine.report());
    vec![
        gauge("halite_block_cache_bytes", "Bytes of blocks in the cache", status.block_cache_bytes),
        gauge("halite_block_cache_limit_bytes", "Bytes the cache may have", figures.context.engine.options().block_cache_bytes),
        counter("halite_block_cache_hits", "Blocks found in the cache", status.block_cache_hits),
        counter("halite_block_cache_misses", "Blocks read from the disk", status.block_cache_misses),
        counter("halite_wal_written_bytes", "Bytes written to the log", status.wal_bytes),
        gauge("halite_wal_segments", "Files of the log", figures.log.segments),
        gauge("halite_wal_bytes", "Bytes of those files", figures.log.bytes),
        counter("halite_wal_appends", "Writes appended to the log", figures.log.appends),
        counter("halite_wal_stalls", "How often writes found no room for the log on the disk and waited for it", figures.log.stalls),
        one("halite_wal_write_seconds", "Handing a group of writes to the operating system", distribution(figures.log.write_us)),
        one("halite_wal_sync_seconds", "Waiting until the log is on the disk", distribution(figures.log.sync_us)),
        gauge("halite_wal_replayed_writes", "Writes read back from the log at the last opening", report.replayed_writes),
        gauge("halite_wal_cut_bytes", "Bytes left out of the log at the last opening: a torn end, or damage that was skipped", report.cut_bytes),
        gauge("halite_wal_cut_writes", "Whole writes in those bytes", report.cut_writes),
        gauge("halite_queued_flushes", "Flushes that wait", figures.queues.0),
        gauge("halite_queued_compactions", "Compactions that wait", figures.queues.1),
        counter("halite_flushed_bytes", "Bytes written by flushes", status.flushed_bytes),
        counter("halite_compacted_bytes", "Bytes written by compactions", status.compacted_bytes),
    ]
}

fn tables(figures: &Figures<'_>) -> Vec<Family> {
    let each = |name, help, sample: fn(&Totals) -> Sample| Family {
        name,
        help,
        samples: figures.tables.iter().map(|(table, totals)| (vec![("table", table.to_string())], sample(totals))).collect(),
    };
    vec![
        each("halite_table_regions", "Regions", |totals| number(totals.regions)),
        each("halite_table_store_files", "Store files", |totals| number(totals.store_files)),
        each("halite_table_store_file_bytes", "Bytes of store files", |totals| number(totals.store_file_bytes)),
        each("halite_table_memstore_bytes", "Memory of cells that are in no store file yet", |totals| number(totals.memstore_bytes)),
        each("halite_table_read_requests", "Gets, and rows returned by scans", |totals| Sample::Counter(totals.read_requests)),
        each("halite_table_filtered_read_requests", "Rows that a filter left out", |totals| Sample::Counter(totals.filtered_read_requests)),
        each("halite_table_write_requests", "Mutations applied", |totals| Sample::Counter(totals.write_requests)),
        each("halite_table_refused_rows", "Writes refused because their rows are no keys of a table with ROW_KEY_STRICT", |totals| {
            Sample::Counter(totals.refused_rows)
        }),
        each("halite_table_flushes", "Flushes finished", |totals| Sample::Counter(totals.flushes)),
        each("halite_table_condensations", "Memstores written anew, in memory, without hidden cells", |totals| Sample::Counter(totals.condensations)),
        each("halite_table_compactions", "Compactions finished", |totals| Sample::Counter(totals.compactions)),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn number(value: u64) -> Sample {
    Sample::Gauge(value as f64)
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970")]
fn process(figures: &Figures<'_>) -> Vec<Family> {
    let process = &figures.process;
    let known = |name, help, value: Option<u64>| value.map(|value| gauge(name, help, value));
    let started = one("process_start_time_seconds", "When it started, since 1970", Sample::Gauge(figures.context.start_code as f64 / 1e3));
    let cpu = process.cpu.map(|cpu| one("process_cpu_seconds", "Time on a processor", Sample::Seconds(cpu.as_secs_f64())));
    let memory = known("process_resident_memory_bytes", "Memory in use", process.resident_bytes);
    let virtual_memory = known("process_virtual_memory_bytes", "Addresses in use", process.virtual_bytes);
    let files = known("process_open_fds", "Open files", process.open_files);
    let files_max = known("process_max_fds", "Files that may be open", process.open_files_max);
    let threads = known("process_threads", "Threads", process.threads);
    [Some(started), cpu, memory, virtual_memory, files, files_max, threads].into_iter().flatten().collect()
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for family in &self.0 {
            let Some((_, first)) = family.samples.first() else { continue };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, first.kind())?;
            for (labels, sample) in &family.samples {
                if labels.is_empty() { sample.encode(&mut metric)? } else { sample.encode(&mut metric.encode_family(labels)?)? }
            }
        }
        Ok(())
    }
}

impl Sample {
    fn kind(&self) -> MetricType {
        match self {
            Self::Counter(_) | Self::Seconds(_) => MetricType::Counter,
            Self::Gauge(_) => MetricType::Gauge,
            Self::Histogram { .. } => MetricType::Histogram,
        }
    }

    fn encode(&self, metric: &mut MetricEncoder<'_>) -> Result<(), Error> {
        match self {
            Self::Counter(count) => metric.encode_counter::<NoLabelSet, u64, f64>(count, None),
            Self::Seconds(seconds) => metric.encode_counter::<NoLabelSet, f64, f64>(seconds, None),
            Self::Gauge(value) => metric.encode_gauge(value),
            Self::Histogram { sum, count, buckets } => metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_histogram_is_sorted_into_buckets_that_add_up() {
        let histogram = Histogram::default();
        for us in [1, 40, 90, 400, 2_000_000, 100_000_000] {
            histogram.record(Duration::from_micros(us));
        }
        let Sample::Histogram { count, buckets, sum } = distribution(&histogram) else { panic!("no histogram") };
        let filled: Vec<(f64, u64)> = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.000_05, 2), (0.0001, 1), (0.0005, 1), (2.5, 1), (f64::INFINITY, 1)]);
        assert_eq!(count, 6);
        assert!((sum - 102.000_531).abs() < 1e-9, "{sum}");
    }
}
