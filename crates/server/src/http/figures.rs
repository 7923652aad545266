//! What there is to tell, gathered at once so that a page agrees with itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_engine::{Health, LogFigures};
use halite_types::{ClusterStatus, RegionLoad, TableName};
use halite_wire::service::{Method, Service};

use super::process::{Machine, Process};
use super::summary::Summary;
use crate::context::Context;
use crate::identity::Identity;
use crate::metrics::MethodMetrics;
use crate::outside::Instant;

/// Figures of this moment.
pub(super) struct Figures<'a> {
    pub(super) context: &'a Context,
    /// Who the server is to the client that asks.
    pub(super) identity: Identity,
    pub(super) cluster_id: &'a str,
    pub(super) status: ClusterStatus,
    /// The regions of each table together.
    pub(super) tables: BTreeMap<TableName, Totals>,
    /// All regions together.
    pub(super) totals: Totals,
    /// Reads and writes of the last seconds.
    pub(super) rates: (f64, f64),
    /// Scanners that are open.
    pub(super) scanners: u64,
    /// Calls that wait for a thread that reads, and for one that administrates.
    pub(super) queued_readers: u64,
    pub(super) queued_admin: u64,
    /// Those threads that are at work.
    pub(super) busy_readers: u64,
    pub(super) busy_admin: u64,
    pub(super) log: LogFigures<'a>,
    pub(super) health: Health,
    /// Flushes and compactions that wait.
    pub(super) queues: (u64, u64),
    pub(super) process: Process,
    pub(super) machine: Machine,
    /// Milliseconds since 1970.
    pub(super) now_ms: u64,
}

impl<'a> Figures<'a> {
    pub(super) fn gather(context: &'a Context, local: SocketAddr, rates: &Rates) -> Self {
        let status = context.engine.status();
        let mut tables: BTreeMap<TableName, Totals> = BTreeMap::new();
        let mut totals = Totals::default();
        for load in &status.regions {
            tables.entry(load.region.table.clone()).or_default().add(load);
            totals.add(load);
        }
        Self {
            identity: context.identity(local),
            cluster_id: &context.cluster_id,
            scanners: context.scanners.len() as u64,
            queued_readers: context.reader_pool.len() as u64,
            queued_admin: context.admin_pool.len() as u64,
            busy_readers: context.reader_pool.busy() as u64,
            busy_admin: context.admin_pool.busy() as u64,
            log: context.engine.log_figures(),
            health: context.engine.health(),
            queues: context.engine.queue_lengths(),
            rates: rates.next(Instant::now(), (totals.read_requests, totals.write_requests)),
            status,
            tables,
            totals,
            process: Process::look(),
            machine: Machine::look(),
            now_ms: context.engine.now_ms(),
            context,
        }
    }

    /// The methods of some services that have been called.
    pub(super) fn methods(&self, services: &'static [Service]) -> impl Iterator<Item = &MethodMetrics> {
        self.context.metrics.called().filter(|(method, _)| services.contains(&method.service())).map(|(_, figures)| figures)
    }

    /// How long the calls of some services took.
    pub(super) fn calls(&self, services: &'static [Service]) -> Summary {
        Summary::of(self.methods(services).map(|figures| &figures.total_us))
    }

    /// How often a method was called.
    pub(super) fn call_count(&self, method: Method) -> u64 {
        self.context.metrics.called().find(|(called, _)| *called == method).map_or(0, |(_, figures)| figures.total_us.count())
    }

    pub(super) fn uptime(&self) -> Duration {
        Duration::from_millis(self.now_ms.saturating_sub(self.context.start_code))
    }
}

/// Regions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) regions: u64,
    pub(super) stores: u64,
    pub(super) store_files: u64,
    /// Of the region that has most.
    pub(super) store_files_max: u64,
    pub(super) store_file_bytes: u64,
    pub(super) reference_files: u64,
    pub(super) root_index_bytes: u64,
    pub(super) static_index_bytes: u64,
    pub(super) static_bloom_bytes: u64,
    pub(super) memstore_bytes: u64,
    pub(super) memstore_data_bytes: u64,
    pub(super) read_requests: u64,
    pub(super) filtered_read_requests: u64,
    pub(super) write_requests: u64,
    pub(super) refused_rows: u64,
    pub(super) flushes: u64,
    pub(super) condensations: u64,
    pub(super) compactions: u64,
}

impl Totals {
    pub(super) fn add(&mut self, load: &RegionLoad) {
        self.regions += 1;
        self.stores += load.stores;
        self.store_files += load.store_files;
        self.store_files_max = self.store_files_max.max(load.store_files);
        self.store_file_bytes += load.store_file_bytes;
        self.reference_files += load.reference_files;
        self.root_index_bytes += load.root_index_bytes;
        self.static_index_bytes += load.static_index_bytes;
        self.static_bloom_bytes += load.static_bloom_bytes;
        self.memstore_bytes += load.memstore_bytes;
        self.memstore_data_bytes += load.memstore_data_bytes;
        self.read_requests += load.read_requests;
        self.filtered_read_requests += load.filtered_read_requests;
        self.write_requests += load.write_requests;
        self.refused_rows += load.refused_rows;
        self.flushes += load.flushes;
        self.condensations += load.condensations;
        self.compactions += load.compactions;
    }
}

/// Over how long a rate is taken at least, HBase's period.
const RATE_PERIOD: Duration = Duration::from_secs(5);

/// Reads and writes a second, from the counts that pages were made of.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<Vec<Sample>>);

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    counts: (u64, u64),
}

impl Rates {
    /// Takes a sample and returns the rates since an earlier one, of 5 seconds ago or the nearest to that before it.
    fn next(&self, at: Instant, counts: (u64, u64)) -> (f64, f64) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = samples.last().is_none_or(|newest| at.duration_since(newest.at) >= RATE_PERIOD);
        let base = samples.iter().rev().find(|sample| at.duration_since(sample.at) >= RATE_PERIOD).or(samples.first()).copied();
        if is_due {
            samples.push(Sample { at, counts });
            let extra = samples.len().saturating_sub(2);
            samples.drain(..extra);
        }
        let Some(base) = base else { return (0.0, 0.0) };
        let seconds = at.duration_since(base.at).as_secs_f64();
        // A region that goes takes its counts along.
        #[expect(clippy::cast_precision_loss, reason = "requests of some seconds")]
        let rate = |now: u64, before: u64| if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 };
        (rate(counts.0, base.counts.0), rate(counts.1, base.counts.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let rates = Rates::default();
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(rates.next(at(0), (100, 10)), (0.0, 0.0));
        assert_eq!(rates.next(at(2), (120, 10)), (10.0, 0.0));
        assert_eq!(rates.next(at(10), (300, 60)), (20.0, 5.0));
        assert_eq!(rates.next(at(20), (300, 60)), (0.0, 0.0));
        assert_eq!(rates.next(at(22), (312, 60)), (1.0, 0.0));
        assert_eq!(rates.next(at(30), (0, 0)), (0.0, 0.0));
    }
}
