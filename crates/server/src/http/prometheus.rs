//! Metrics as `OpenMetrics` text.
//!
//! Names start with `halite_` and end in their unit. Process metrics have the standard names, such
//! as `process_resident_memory_bytes`.

use std::fmt::Error;

use halite_engine::{Health, StoreState};
use halite_wire::service::Service;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::snapshot::{MetricsSnapshot, RegionTotals};
use crate::base::health::name;
use crate::base::metrics::{ExceptionClass, Histogram};
use crate::base::operations::Operation;

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram buckets of calls, in microseconds.
const BOUNDS_US: [u64; 17] = [
    50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000, 60_000_000,
];

/// Metrics of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, MetricValue)>,
}

#[derive(Debug)]
enum MetricValue {
    Counter(u64),
    Seconds(f64),
    Gauge(f64),
    Histogram { sum: f64, count: u64, buckets: Vec<(f64, u64)> },
}

/// Returns all metrics; those that cannot be written are omitted.
pub(super) fn text(snapshot: &MetricsSnapshot<'_>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families(snapshot))));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut out, &registry);
    out
}

fn families(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let mut families = server(snapshot);
    families.extend(calls(snapshot));
    families.extend(health(&snapshot.health));
    families.extend(store(snapshot));
    families.extend(tables(snapshot));
    families.extend(process(snapshot));
    families
}

fn one(name: &'static str, help: &'static str, sample: MetricValue) -> Family {
    Family { name, help, samples: vec![(Vec::new(), sample)] }
}

fn counter(name: &'static str, help: &'static str, count: u64) -> Family {
    one(name, help, MetricValue::Counter(count))
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    one(name, help, MetricValue::Gauge(value as f64))
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn by_queue(name: &'static str, help: &'static str, values: &[(&str, u64)]) -> Family {
    let sample = |(queue, value): &(&str, u64)| {
        (vec![("queue", (*queue).to_owned())], MetricValue::Gauge(*value as f64))
    };
    Family { name, help, samples: values.iter().map(sample).collect() }
}

fn server(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let metrics = &snapshot.context.metrics;
    let about = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("cluster_id", snapshot.cluster_id.to_owned()),
    ];
    vec![
        Family {
            name: "halite_build_info",
            help: "Version and cluster id of the server",
            samples: vec![(about, MetricValue::Gauge(1.0))],
        },
        gauge("halite_rpc_connections", "Open RPC connections", metrics.connections.get()),
        counter(
            "halite_rpc_connections_accepted",
            "RPC connections accepted",
            metrics.connections_accepted.get(),
        ),
        counter(
            "halite_rpc_connections_rejected",
            "RPC connections rejected at the connection limit",
            metrics.connections_rejected.get(),
        ),
        counter(
            "halite_rpc_protocol_errors",
            "RPC connections closed after a protocol error",
            metrics.protocol_errors.get(),
        ),
        counter(
            "halite_rpc_received_bytes",
            "Bytes received from RPC clients",
            metrics.received_bytes.get(),
        ),
        counter("halite_rpc_sent_bytes", "Bytes sent to RPC clients", metrics.sent_bytes.get()),
        gauge(
            "halite_network_buffer_bytes",
            "Bytes of partially received requests and unsent responses",
            snapshot.context.buffers.used() as u64,
        ),
        gauge(
            "halite_network_buffer_waiters",
            "Connections and calls waiting for network buffer space",
            snapshot.context.buffers.waiting() as u64,
        ),
        by_queue(
            "halite_rpc_queued_calls",
            "Queued calls",
            &[("handler", snapshot.queued_handler_calls), ("admin", snapshot.queued_admin_calls)],
        ),
        by_queue(
            "halite_rpc_active_handlers",
            "Threads executing a call",
            &[("handler", snapshot.active_handlers)],
        ),
        gauge("halite_rpc_queued_bytes", "Bytes of queued calls", metrics.queued_bytes.get()),
        counter(
            "halite_rpc_calls_rejected",
            "Calls rejected because a call queue was full",
            metrics.calls_rejected.get(),
        ),
        counter(
            "halite_rpc_calls_timed_out",
            "Calls dropped after their client timeout",
            metrics.calls_timed_out.get(),
        ),
        gauge("halite_open_scanners", "Open scanners", snapshot.open_scanners),
        gauge(
            "halite_zookeeper_connections",
            "Open ZooKeeper connections",
            metrics.zookeeper.connections.get(),
        ),
        counter(
            "halite_zookeeper_packets_received",
            "ZooKeeper packets received",
            metrics.zookeeper.packets_received.get(),
        ),
    ]
}

fn calls(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let mut seconds = Family {
        name: "halite_rpc_call_duration_seconds",
        help: "Time from the last byte of a request to its response",
        samples: Vec::new(),
    };
    let mut queued = Family {
        name: "halite_rpc_queue_duration_seconds",
        help: "Time in a call queue",
        samples: Vec::new(),
    };
    let help = "Exception responses by method, including those to the actions of a multi; without \
                a method if it was unknown";
    let mut exceptions = Family { name: "halite_rpc_exceptions", help, samples: Vec::new() };
    for (method, counted) in snapshot.context.metrics.called() {
        let labels = vec![
            ("service", method.service().name().to_owned()),
            ("method", method.name().to_owned()),
        ];
        seconds.samples.push((labels.clone(), distribution(&counted.total_us)));
        queued.samples.push((labels.clone(), distribution(&counted.queued_us)));
        exceptions.samples.push((labels, MetricValue::Counter(counted.exceptions.all.get())));
    }
    for service in Service::ALL {
        let refused = snapshot.context.metrics.rejected(*service).all.get();
        if refused > 0 {
            exceptions.samples.push((
                vec![("service", service.name().to_owned())],
                MetricValue::Counter(refused),
            ));
        }
    }
    let mut operations = Family {
        name: "halite_operation_duration_seconds",
        help: "Duration of mutations by kind, queue time excluded",
        samples: Vec::new(),
    };
    for operation in Operation::ALL {
        let sample = distribution(snapshot.context.metrics.operations.histogram(operation));
        operations.samples.push((vec![("operation", operation.name().to_owned())], sample));
    }
    vec![seconds, queued, exceptions, exceptions_by_class(snapshot), operations]
}

fn exceptions_by_class(snapshot: &MetricsSnapshot<'_>) -> Family {
    let samples = ExceptionClass::ALL.iter().enumerate().map(|(index, (name, _))| {
        let count = snapshot
            .context
            .metrics
            .exceptions(Service::ALL)
            .map(|exceptions| exceptions.by_class[index].get())
            .sum();
        (vec![("exception", (*name).to_owned())], MetricValue::Counter(count))
    });
    Family {
        name: "halite_rpc_exceptions_by_class",
        help: "Exception responses by exception class",
        samples: samples.collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn distribution(histogram: &Histogram) -> MetricValue {
    let bounds = BOUNDS_US.map(|us| us as f64 / 1e6).into_iter().chain([f64::INFINITY]);
    let mut buckets: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
    let mut count = 0;
    for (bound, here) in histogram.buckets() {
        buckets[BOUNDS_US.partition_point(|us| *us < bound)].1 += here;
        count += here;
    }
    MetricValue::Histogram { sum: histogram.sum() as f64 / 1e6, count, buckets }
}

fn health(health: &Health) -> Vec<Family> {
    let is = |truth: bool| MetricValue::Gauge(f64::from(u8::from(truth)));
    let states = [StoreState::Open, StoreState::Refusing, StoreState::Stopped];
    let samples = states
        .map(|state| (vec![("state", name(state).to_owned())], is(state == health.state)))
        .into();
    let mut families = vec![
        Family {
            name: "halite_store_state",
            help: "State of the store: 1 for the current state; only the state open accepts writes",
            samples,
        },
        one(
            "halite_last_flush_failed",
            "Result of the last background flush: 1 if it failed",
            is(health.flush_failure.is_some()),
        ),
        one(
            "halite_last_compaction_failed",
            "Result of the last background compaction: 1 if it failed",
            is(health.compaction_failure.is_some()),
        ),
        counter(
            "halite_panics",
            "Panics in background jobs, the WAL writer or a region change",
            health.panics,
        ),
        gauge(
            "halite_damaged_store_files",
            "Store files whose damage prevents reads of a family in a region",
            health.damaged_files.len() as u64,
        ),
        counter(
            "halite_bloom_failures",
            "Store files read without their Bloom filter, because it could not be read",
            health.bloom_failures.files,
        ),
        counter(
            "halite_part_failures",
            "Reads of a part of a data block that read the whole block instead, because the part or \
             its part index was damaged",
            health.part_failures.reads,
        ),
    ];
    if let Some(disk) = health.disk {
        families.extend([
            gauge(
                "halite_disk_free_bytes",
                "Free bytes of the file system that contains the store",
                disk.free_bytes,
            ),
            gauge(
                "halite_disk_total_bytes",
                "Size of the file system that contains the store",
                disk.total_bytes,
            ),
            gauge(
                "halite_disk_reserve_bytes",
                "Reserved bytes of the file system: with less free, writes are rejected",
                health.disk_reserve_bytes,
            ),
        ]);
    }
    families
}

fn store(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let (status, report) = (&snapshot.status, snapshot.context.engine.open_report());
    vec![
        gauge("halite_block_cache_bytes", "Bytes of cached blocks", status.block_cache_bytes),
        gauge(
            "halite_block_cache_capacity_bytes",
            "Maximum bytes of cached blocks",
            snapshot.context.engine.options().block_cache_bytes,
        ),
        gauge(
            "halite_memstore_bytes",
            "Memory of all memstores, in chunks that the system gives and gets back",
            snapshot.totals.memstore_bytes,
        ),
        counter("halite_block_cache_hits", "Block cache hits", status.block_cache_hits),
        counter("halite_block_cache_misses", "Block cache misses", status.block_cache_misses),
        counter("halite_wal_written_bytes", "Bytes written to the WAL", status.wal_bytes),
        gauge("halite_wal_segments", "WAL segment files", snapshot.wal.segments),
        gauge("halite_wal_size_bytes", "Size of the WAL segment files", snapshot.wal.bytes),
        counter("halite_wal_appends", "Writes appended to the WAL", snapshot.wal.appends),
        counter("halite_wal_stalls", "WAL writes delayed by a full disk", snapshot.wal.stalls),
        one(
            "halite_wal_write_duration_seconds",
            "Duration of WAL write calls, one per commit group",
            distribution(snapshot.wal.write_us),
        ),
        one(
            "halite_wal_fsync_duration_seconds",
            "Duration of WAL fsync calls",
            distribution(snapshot.wal.sync_us),
        ),
        gauge(
            "halite_wal_replayed_writes",
            "Writes replayed from the WAL at the last open",
            report.replayed_writes,
        ),
        gauge(
            "halite_wal_truncated_bytes",
            "WAL bytes skipped at the last open: a torn tail, or damage skipped on request",
            report.truncated_wal_bytes,
        ),
        gauge(
            "halite_wal_truncated_writes",
            "Complete writes in the WAL bytes skipped at the last open",
            report.truncated_wal_writes,
        ),
        gauge("halite_flush_queue_length", "Queued flushes", snapshot.queues.0),
        gauge("halite_compaction_queue_length", "Queued compactions", snapshot.queues.1),
        counter("halite_flushed_bytes", "Bytes written by flushes", status.flushed_bytes),
        counter("halite_compacted_bytes", "Bytes written by compactions", status.compacted_bytes),
    ]
}

fn tables(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let each = |name, help, sample: fn(&RegionTotals) -> MetricValue| Family {
        name,
        help,
        samples: snapshot
            .tables
            .iter()
            .map(|(table, totals)| (vec![("table", table.to_string())], sample(totals)))
            .collect(),
    };
    vec![
        each("halite_table_regions", "Regions", |totals| number(totals.regions)),
        each("halite_table_store_files", "Store files", |totals| number(totals.store_files)),
        each("halite_table_store_file_bytes", "Bytes of store files", |totals| {
            number(totals.store_file_bytes)
        }),
        each("halite_table_memstore_bytes", "Memory of unflushed cells", |totals| {
            number(totals.memstore_bytes)
        }),
        each("halite_table_read_requests", "Gets and rows returned by scans", |totals| {
            MetricValue::Counter(totals.read_requests)
        }),
        each("halite_table_filtered_read_requests", "Rows excluded by filters", |totals| {
            MetricValue::Counter(totals.filtered_read_requests)
        }),
        each("halite_table_write_requests", "Mutations applied", |totals| {
            MetricValue::Counter(totals.write_requests)
        }),
        each("halite_table_refused_rows", "Writes rejected by ROW_KEY_STRICT", |totals| {
            MetricValue::Counter(totals.refused_rows)
        }),
        each("halite_table_flushes", "Completed flushes", |totals| {
            MetricValue::Counter(totals.flushes)
        }),
        each("halite_table_in_memory_compactions", "Completed in-memory compactions", |totals| {
            MetricValue::Counter(totals.in_memory_compactions)
        }),
        each("halite_table_compactions", "Completed compactions", |totals| {
            MetricValue::Counter(totals.compactions)
        }),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floating point numbers only")]
fn number(value: u64) -> MetricValue {
    MetricValue::Gauge(value as f64)
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970")]
fn process(snapshot: &MetricsSnapshot<'_>) -> Vec<Family> {
    let process = &snapshot.process;
    let known = |name, help, value: Option<u64>| value.map(|value| gauge(name, help, value));
    let started = one(
        "process_start_time_seconds",
        "Start time of the process since the Unix epoch",
        MetricValue::Gauge(snapshot.context.start_code as f64 / 1e3),
    );
    let cpu = process.cpu.map(|cpu| {
        one(
            "process_cpu_seconds",
            "Total user and system CPU time",
            MetricValue::Seconds(cpu.as_secs_f64()),
        )
    });
    let memory =
        known("process_resident_memory_bytes", "Resident memory size", process.resident_bytes);
    let allocator = known(
        "halite_allocator_bytes",
        "Resident memory that the allocator holds, the block cache included",
        process.anonymous_bytes.map(|bytes| bytes.saturating_sub(snapshot.totals.memstore_bytes)),
    );
    let virtual_memory =
        known("process_virtual_memory_bytes", "Virtual memory size", process.virtual_bytes);
    let files = known("process_open_fds", "Open file descriptors", process.open_files);
    let max_files =
        known("process_max_fds", "Maximum open file descriptors", process.max_open_files);
    let threads = known("process_threads", "Threads", process.threads);
    [Some(started), cpu, memory, allocator, virtual_memory, files, max_files, threads]
        .into_iter()
        .flatten()
        .collect()
}

#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        for family in &self.0 {
            let Some((_, first)) = family.samples.first() else { continue };
            let mut metric =
                encoder.encode_descriptor(family.name, family.help, None, first.kind())?;
            for (labels, sample) in &family.samples {
                if labels.is_empty() {
                    sample.encode(&mut metric)?;
                } else {
                    sample.encode(&mut metric.encode_family(labels)?)?;
                }
            }
        }
        Ok(())
    }
}

impl MetricValue {
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
            Self::Histogram { sum, count, buckets } => {
                metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn histogram_buckets_are_cumulative() {
        let histogram = Histogram::default();
        for us in [1, 40, 90, 400, 2_000_000, 100_000_000] {
            histogram.record(Duration::from_micros(us));
        }
        let MetricValue::Histogram { count, buckets, sum } = distribution(&histogram) else {
            panic!("no histogram")
        };
        let filled: Vec<(f64, u64)> = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.000_05, 2), (0.0001, 1), (0.0005, 1), (2.5, 1), (f64::INFINITY, 1)]);
        assert_eq!(count, 6);
        assert!((sum - 102.000_531).abs() < 1e-9, "{sum}");
    }
}
