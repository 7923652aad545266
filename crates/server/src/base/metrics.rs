//! Server metrics: calls by method with their durations, connections, bytes. All are atomic and can
//! be read at any time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use halite_engine::Histogram;
use halite_wire::exception::ExceptionKind;
use halite_wire::service::{Method, Service};

use crate::base::operations::OperationTimes;

/// Value that goes up and down.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(crate) fn subtract(&self, count: u64) {
        self.0.fetch_sub(count, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Counts one more until the returned guard is dropped.
    pub(crate) fn count_one(&self) -> GaugeGuard<'_> {
        self.add(1);
        GaugeGuard(self)
    }
}

/// Guard that is counted until dropped.
pub(crate) struct GaugeGuard<'a>(&'a Gauge);

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.subtract(1);
    }
}

/// Metrics of the server.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Connections accepted since the start.
    pub(crate) connections_accepted: Gauge,
    /// Connections rejected because there were too many.
    pub(crate) connections_rejected: Gauge,
    /// Connections closed because of a protocol error.
    pub(crate) protocol_errors: Gauge,
    /// Bytes of requests and of responses.
    pub(crate) received_bytes: Gauge,
    pub(crate) sent_bytes: Gauge,
    /// Bytes of the calls that wait for a thread.
    pub(crate) queued_bytes: Gauge,
    /// Calls rejected because a queue was full.
    pub(crate) calls_rejected: Gauge,
    /// Calls dropped because their client had stopped waiting.
    pub(crate) calls_timed_out: Gauge,
    /// Metrics of the ZooKeeper endpoint.
    pub(crate) zookeeper: ZooKeeperMetrics,
    /// Mutations by kind.
    pub(crate) operations: OperationTimes,
    methods: OnceLock<Box<[OnceLock<Box<MethodMetrics>>]>>,
    /// Exceptions returned before the method was known, by service.
    rejected: [Exceptions; Service::ALL.len()],
}

/// Metrics of the ZooKeeper endpoint.
#[derive(Default)]
pub(crate) struct ZooKeeperMetrics {
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Connections rejected because there were too many.
    pub(crate) connections_rejected: Gauge,
    /// Packets from clients, including four-letter words.
    pub(crate) packets_received: Gauge,
    /// Packets to clients.
    pub(crate) packets_sent: Gauge,
}

/// Metrics of one method.
#[derive(Default)]
pub(crate) struct MethodMetrics {
    /// Time from the last byte of the request until the response is ready to send, in microseconds.
    pub(crate) total_us: Histogram,
    /// Wait for a thread, in microseconds.
    pub(crate) queued_us: Histogram,
    /// Processing time without that wait, in microseconds.
    pub(crate) process_us: Histogram,
    /// Sizes of requests and responses on the wire, in bytes.
    pub(crate) request_bytes: Histogram,
    pub(crate) response_bytes: Histogram,
    /// Responses that were exceptions, and actions and regions of a multi that returned one.
    pub(crate) exceptions: Exceptions,
}

/// Exceptions returned to clients.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// Number of all exceptions.
    pub(crate) all: Gauge,
    /// Number of exceptions by class.
    pub(crate) by_class: [Gauge; ExceptionClass::ALL.len()],
}

/// Class of an exception, for those that HBase counts separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExceptionClass(usize);

impl ExceptionClass {
    /// HBase's names, with the exceptions they count.
    pub(crate) const ALL: [(&str, Option<ExceptionKind>); 13] = [
        ("NotServingRegionException", Some(ExceptionKind::NotServingRegion)),
        ("RegionMovedException", Some(ExceptionKind::RegionMoved)),
        ("RegionTooBusyException", Some(ExceptionKind::RegionTooBusy)),
        ("UnknownScannerException", Some(ExceptionKind::UnknownScanner)),
        ("ScannerResetException", Some(ExceptionKind::ScannerReset)),
        ("OutOfOrderScannerNextException", Some(ExceptionKind::OutOfOrderScannerNext)),
        ("FailedSanityCheckException", Some(ExceptionKind::FailedSanityCheck)),
        ("multiResponseTooLarge", Some(ExceptionKind::MultiActionResultTooLarge)),
        ("requestTooBig", Some(ExceptionKind::RequestTooBig)),
        ("callQueueTooBig", Some(ExceptionKind::CallQueueTooBig)),
        ("quotaExceeded", Some(ExceptionKind::QuotaExceeded)),
        ("rpcThrottling", Some(ExceptionKind::RpcThrottling)),
        ("otherExceptions", None),
    ];

    /// Returns the class that an exception is counted in.
    pub(crate) fn from_kind(kind: Option<ExceptionKind>) -> Self {
        let known = Self::ALL.iter().position(|(_, counted)| counted.is_some() && *counted == kind);
        Self(known.unwrap_or(Self::ALL.len() - 1))
    }
}

impl Exceptions {
    /// Counts an exception that was returned.
    pub(crate) fn add(&self, thrown: ExceptionClass) {
        self.all.add(1);
        self.by_class[thrown.0].add(1);
    }
}

impl Metrics {
    /// Returns the metrics of a method.
    pub(crate) fn method(&self, method: Method) -> &MethodMetrics {
        let methods =
            self.methods.get_or_init(|| (0..method_count()).map(|_| OnceLock::new()).collect());
        methods[method as usize].get_or_init(Box::default)
    }

    /// Returns the exceptions of a service returned before the method was known.
    pub(crate) fn rejected(&self, service: Service) -> &Exceptions {
        &self.rejected[service as usize]
    }

    /// Returns the exceptions of these services, by method and before the method was known.
    pub(crate) fn exceptions(&self, services: &[Service]) -> impl Iterator<Item = &Exceptions> {
        let of_methods = self
            .called()
            .filter(|(method, _)| services.contains(&method.service()))
            .map(|(_, metrics)| &metrics.exceptions);
        of_methods.chain(services.iter().map(|service| self.rejected(*service)))
    }

    /// Returns the methods that have been called, with their metrics.
    pub(crate) fn called(&self) -> impl Iterator<Item = (Method, &MethodMetrics)> {
        let all = Service::ALL.iter().flat_map(|service| service.methods());
        all.filter_map(|&method| {
            Some((method, self.methods.get()?[method as usize].get()?.as_ref()))
        })
    }
}

fn method_count() -> usize {
    let all = Service::ALL.iter().flat_map(|service| service.methods());
    all.map(|method| *method as usize + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauge_is_decremented_after_panic() {
        let gauge = Gauge::default();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _counted = gauge.count_one();
            assert_eq!(gauge.get(), 1);
            std::panic::resume_unwind(Box::new("expected by this test"));
        }));
        assert_eq!((ended.is_err(), gauge.get()), (true, 0));
    }
    #[test]
    fn exception_is_counted_by_name_or_as_other() {
        let metrics = Exceptions::default();
        for kind in [Some(ExceptionKind::RegionTooBusy), Some(ExceptionKind::Io), None] {
            metrics.add(ExceptionClass::from_kind(kind));
        }
        let counts: Vec<_> = ExceptionClass::ALL
            .iter()
            .zip(&metrics.by_class)
            .map(|((name, _), count)| (*name, count.get()))
            .filter(|(_, n)| *n > 0)
            .collect();
        assert_eq!(
            (counts, metrics.all.get()),
            (vec![("RegionTooBusyException", 1), ("otherExceptions", 2)], 3)
        );
    }

    #[test]
    fn method_is_listed_after_first_call() {
        let metrics = Metrics::default();
        assert_eq!(metrics.called().count(), 0);
        metrics.method(Method::ClientGet).exceptions.all.add(1);
        let called: Vec<_> = metrics.called().map(|(method, _)| method).collect();
        assert_eq!(called, [Method::ClientGet]);
    }
}
