//! Metrics snapshot, gathered at once so that a page is consistent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use halite_engine::{Health, WalStats};
use halite_types::{ClusterStatus, RegionLoad, TableName};
use halite_wire::service::{Method, Service};

use super::histogram_summary::HistogramSummary;
use super::process::{Machine, Process};
use crate::base::context::Context;
use crate::base::identity::Identity;
use crate::base::metrics::MethodMetrics;
use crate::master_service::state::procedures::ProcedureTimes;
use crate::outside::Instant;
use crate::services::Services;

/// Current metrics.
pub(super) struct MetricsSnapshot<'a> {
    pub(super) context: &'a Context,
    /// Identity of the server for the requesting client.
    pub(super) identity: Identity,
    pub(super) cluster_id: &'a str,
    pub(super) status: ClusterStatus,
    /// Totals of the regions of each table.
    pub(super) tables: BTreeMap<TableName, RegionTotals>,
    /// Totals of all regions.
    pub(super) totals: RegionTotals,
    /// Reads and writes per second, over the last seconds.
    pub(super) rates: (f64, f64),
    /// Open scanners.
    pub(super) open_scanners: u64,
    /// Calls that wait for a handler thread, and for an administration thread.
    pub(super) queued_handler_calls: u64,
    pub(super) queued_admin_calls: u64,
    /// Handler threads, and administration threads, that are running a call.
    pub(super) active_handlers: u64,
    pub(super) active_admin_handlers: u64,
    /// Counters and durations of the master's procedures.
    pub(super) procedures: &'a [ProcedureTimes],
    pub(super) wal: WalStats<'a>,
    pub(super) health: Health,
    /// Waiting flushes and compactions.
    pub(super) queues: (u64, u64),
    pub(super) process: Process,
    pub(super) machine: Machine,
    /// Milliseconds since 1970.
    pub(super) now_ms: u64,
}

impl<'a> MetricsSnapshot<'a> {
    pub(super) fn gather(services: &'a Services, local: SocketAddr, rates: &RequestRates) -> Self {
        let context = &*services.context;
        let status = context.engine.status();
        let mut tables: BTreeMap<TableName, RegionTotals> = BTreeMap::new();
        let mut totals = RegionTotals::default();
        for load in &status.regions {
            tables.entry(load.region.table.clone()).or_default().add(load);
            totals.add(load);
        }
        Self {
            identity: context.identity(local),
            cluster_id: &context.cluster_id,
            open_scanners: services.client.scanners.len() as u64,
            queued_handler_calls: context.handler_pool.len() as u64,
            queued_admin_calls: context.admin_pool.len() as u64,
            active_handlers: context.handler_pool.active_handlers() as u64,
            active_admin_handlers: context.admin_pool.active_handlers() as u64,
            procedures: services.master.procedure_times(),
            wal: context.engine.wal_stats(),
            health: context.engine.health(),
            queues: context.engine.queue_lengths(),
            rates: rates.next(Instant::now(), (totals.read_requests, totals.write_requests)),
            status,
            tables,
            totals,
            process: Process::read(),
            machine: Machine::read(),
            now_ms: context.engine.now_ms(),
            context,
        }
    }

    /// Returns the called methods of these services.
    pub(super) fn methods(
        &self,
        services: &'static [Service],
    ) -> impl Iterator<Item = &MethodMetrics> {
        self.context
            .metrics
            .called()
            .filter(|(method, _)| services.contains(&method.service()))
            .map(|(_, metrics)| metrics)
    }

    /// Returns the durations of the calls of these services.
    pub(super) fn calls(&self, services: &'static [Service]) -> HistogramSummary {
        HistogramSummary::from_histograms(self.methods(services).map(|metrics| &metrics.total_us))
    }

    /// Returns the number of calls of a method.
    pub(super) fn call_count(&self, method: Method) -> u64 {
        self.context
            .metrics
            .called()
            .find(|(called, _)| *called == method)
            .map_or(0, |(_, metrics)| metrics.total_us.count())
    }

    pub(super) fn uptime(&self) -> Duration {
        Duration::from_millis(self.now_ms.saturating_sub(self.context.start_code))
    }
}

/// Totals over regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegionTotals {
    pub(super) regions: u64,
    pub(super) stores: u64,
    pub(super) store_files: u64,
    /// Maximum over all regions.
    pub(super) max_store_files: u64,
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
    pub(super) in_memory_compactions: u64,
    pub(super) compactions: u64,
}

impl RegionTotals {
    pub(super) fn add(&mut self, load: &RegionLoad) {
        self.regions += 1;
        self.stores += load.stores;
        self.store_files += load.store_files;
        self.max_store_files = self.max_store_files.max(load.store_files);
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
        self.in_memory_compactions += load.in_memory_compactions;
        self.compactions += load.compactions;
    }
}

/// Minimum period of a rate, HBase's period.
const RATE_PERIOD: Duration = Duration::from_secs(5);

/// Reads and writes per second, from the counts of earlier pages.
#[derive(Debug, Default)]
pub(super) struct RequestRates(Mutex<Vec<RateSample>>);

#[derive(Clone, Copy, Debug)]
struct RateSample {
    time: Instant,
    counts: (u64, u64),
}

impl RequestRates {
    /// Takes a sample and returns the rates since an earlier one, taken 5 seconds ago or at the
    /// latest time before that.
    fn next(&self, now: Instant, counts: (u64, u64)) -> (f64, f64) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due =
            samples.last().is_none_or(|newest| now.duration_since(newest.time) >= RATE_PERIOD);
        let base = samples
            .iter()
            .rev()
            .find(|sample| now.duration_since(sample.time) >= RATE_PERIOD)
            .or(samples.first())
            .copied();
        if is_due {
            samples.push(RateSample { time: now, counts });
            let extra = samples.len().saturating_sub(2);
            samples.drain(..extra);
        }
        let Some(base) = base else { return (0.0, 0.0) };
        let seconds = now.duration_since(base.time).as_secs_f64();
        // A region that no longer exists removes its counts from the totals.
        #[expect(clippy::cast_precision_loss, reason = "requests of some seconds")]
        let rate = |now: u64, before: u64| {
            if seconds > 0.0 { now.saturating_sub(before) as f64 / seconds } else { 0.0 }
        };
        (rate(counts.0, base.counts.0), rate(counts.1, base.counts.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_rates_cover_last_seconds() {
        let rates = RequestRates::default();
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
