//! What the server counts: calls by method with their times, connections, bytes. All atomic; anybody may read at any time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use halite_engine::Histogram;
use halite_wire::exception::ExceptionKind;
use halite_wire::service::{Method, Service};

use crate::operations::OperationTimes;

/// A number that goes up and down.
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

    /// Counts one more until it is dropped, however that comes.
    pub(crate) fn count_one(&self) -> Counted<'_> {
        self.add(1);
        Counted(self)
    }
}

/// Something that is counted as long as it lives.
pub(crate) struct Counted<'a>(&'a Gauge);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.subtract(1);
    }
}

/// Everything that is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Connections that are open.
    pub(crate) connections: Gauge,
    /// Connections accepted since the start.
    pub(crate) connections_accepted: Gauge,
    /// Connections refused because there were too many.
    pub(crate) connections_refused: Gauge,
    /// Connections that were closed for what they sent.
    pub(crate) connections_faulty: Gauge,
    /// Bytes of requests and of answers.
    pub(crate) bytes_received: Gauge,
    pub(crate) bytes_sent: Gauge,
    /// Bytes of the calls that wait for a thread.
    pub(crate) queue_bytes: Gauge,
    /// Calls refused because a queue was full.
    pub(crate) calls_refused: Gauge,
    /// Calls dropped because their client had stopped waiting.
    pub(crate) calls_expired: Gauge,
    /// The ZooKeeper endpoint's figures.
    pub(crate) zookeeper: ZooKeeperMetrics,
    /// Mutations by kind.
    pub(crate) operations: OperationTimes,
    methods: OnceLock<Box<[OnceLock<Box<MethodMetrics>>]>>,
    /// Exceptions that were answered before it was known which method was called, by service.
    refused: [Exceptions; Service::ALL.len()],
}

/// What is counted of the ZooKeeper endpoint.
#[derive(Default)]
pub(crate) struct ZooKeeperMetrics {
    /// Connections that are open.
    pub(crate) connections: Gauge,
    /// Connections refused because there were too many.
    pub(crate) connections_refused: Gauge,
    /// Packets from clients, four-letter words among them.
    pub(crate) packets_received: Gauge,
    /// Packets to clients.
    pub(crate) packets_sent: Gauge,
}

/// What is counted of one method.
#[derive(Default)]
pub(crate) struct MethodMetrics {
    /// From the last byte of the request to the first of the answer's way out, in microseconds.
    pub(crate) total_us: Histogram,
    /// The wait for a thread, in microseconds.
    pub(crate) queued_us: Histogram,
    /// Work without that wait, in microseconds.
    pub(crate) process_us: Histogram,
    /// Sizes of requests and answers as they were on the wire, in bytes.
    pub(crate) request_bytes: Histogram,
    pub(crate) answer_bytes: Histogram,
    /// Answers that were exceptions, and in a multi the actions and regions that were answered with one.
    pub(crate) exceptions: Exceptions,
}

/// Exceptions that clients were told.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// All of them.
    pub(crate) all: Gauge,
    /// The same by what they said.
    pub(crate) thrown: [Gauge; Thrown::ALL.len()],
}

/// What an exception said, as far as HBase counts it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thrown(usize);

impl Thrown {
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

    /// What an exception counts as.
    pub(crate) fn of(kind: Option<ExceptionKind>) -> Self {
        let known = Self::ALL.iter().position(|(_, counted)| counted.is_some() && *counted == kind);
        Self(known.unwrap_or(Self::ALL.len() - 1))
    }
}

impl Exceptions {
    /// An exception was the answer.
    pub(crate) fn add(&self, thrown: Thrown) {
        self.all.add(1);
        self.thrown[thrown.0].add(1);
    }
}

impl Metrics {
    /// The figures of a method.
    pub(crate) fn method(&self, method: Method) -> &MethodMetrics {
        let methods = self.methods.get_or_init(|| (0..method_count()).map(|_| OnceLock::new()).collect());
        methods[method as usize].get_or_init(Box::default)
    }

    /// What the calls of a service were refused with before it was known which method was called.
    pub(crate) fn refused(&self, service: Service) -> &Exceptions {
        &self.refused[service as usize]
    }

    /// Everything that clients of some services were told, by method and before.
    pub(crate) fn exceptions(&self, services: &[Service]) -> impl Iterator<Item = &Exceptions> {
        let of_methods = self.called().filter(|(method, _)| services.contains(&method.service())).map(|(_, figures)| &figures.exceptions);
        of_methods.chain(services.iter().map(|service| self.refused(*service)))
    }

    /// The methods that have been called, with their figures.
    pub(crate) fn called(&self) -> impl Iterator<Item = (Method, &MethodMetrics)> {
        let all = Service::ALL.iter().flat_map(|service| service.methods());
        all.filter_map(|&method| Some((method, self.methods.get()?[method as usize].get()?.as_ref())))
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
    fn a_connection_that_ends_in_a_panic_is_counted_no_more() {
        let gauge = Gauge::default();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _counted = gauge.count_one();
            assert_eq!(gauge.get(), 1);
            std::panic::resume_unwind(Box::new("expected by this test"));
        }));
        assert_eq!((ended.is_err(), gauge.get()), (true, 0));
    }
    #[test]
    fn an_exception_counts_under_its_name_or_as_another() {
        let figures = Exceptions::default();
        for kind in [Some(ExceptionKind::RegionTooBusy), Some(ExceptionKind::Io), None] {
            figures.add(Thrown::of(kind));
        }
        let counts: Vec<_> = Thrown::ALL.iter().zip(&figures.thrown).map(|((name, _), count)| (*name, count.get())).filter(|(_, n)| *n > 0).collect();
        assert_eq!((counts, figures.all.get()), (vec![("RegionTooBusyException", 1), ("otherExceptions", 2)], 3));
    }

    #[test]
    fn a_method_is_listed_once_it_was_called() {
        let metrics = Metrics::default();
        assert_eq!(metrics.called().count(), 0);
        metrics.method(Method::ClientGet).exceptions.all.add(1);
        let called: Vec<_> = metrics.called().map(|(method, _)| method).collect();
        assert_eq!(called, [Method::ClientGet]);
    }
}
