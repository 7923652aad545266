//! What the server counts: calls by method with their times, connections, bytes. All atomic; anybody may read at any time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use halite_wire::service::{Method, Service};

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
    /// Calls that wait for a thread, by lane, and their bytes in all.
    pub(crate) reader_queue: Gauge,
    pub(crate) admin_queue: Gauge,
    pub(crate) queue_bytes: Gauge,
    /// Calls refused because a queue was full.
    pub(crate) calls_refused: Gauge,
    /// Calls dropped because their client had stopped waiting.
    pub(crate) calls_expired: Gauge,
    /// Scanners that are open.
    pub(crate) scanners: Gauge,
    /// The ZooKeeper endpoint's figures.
    pub(crate) zookeeper: ZooKeeperMetrics,
    methods: OnceLock<Box<[OnceLock<Box<MethodMetrics>>]>>,
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
    /// Answers that were exceptions.
    pub(crate) exceptions: Gauge,
}

impl Metrics {
    /// The figures of a method.
    pub(crate) fn method(&self, method: Method) -> &MethodMetrics {
        let methods = self.methods.get_or_init(|| (0..method_count()).map(|_| OnceLock::new()).collect());
        methods[method as usize].get_or_init(Box::default)
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

/// Buckets for each doubling: a value is known to an eighth.
const STEPS: usize = 8;
const BUCKETS: usize = STEPS * 40;

/// Durations in microseconds, in buckets that grow with them.
pub(crate) struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum_us: AtomicU64::new(0) }
    }
}

impl Histogram {
    pub(crate) fn record(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket_of(us)].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    /// How many were recorded.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }

    /// Their sum, in microseconds.
    pub(crate) fn sum_us(&self) -> u64 {
        self.sum_us.load(Relaxed)
    }

    /// Upper bounds in microseconds with how many were recorded there, those that have any.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.buckets.iter().enumerate().map(|(at, bucket)| (bound_of(at), bucket.load(Relaxed)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// The bound in microseconds below which `share` of them lie, from 0.0 to 1.0; 0 if none was recorded.
    pub(crate) fn quantile_us(&self, share: f64) -> u64 {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let rank = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bound, count) in self.filled() {
            seen += count;
            if seen >= rank {
                return bound;
            }
        }
        0
    }
}

/// Values below [`STEPS`] have a bucket each; from there on each doubling has [`STEPS`].
fn bucket_of(us: u64) -> usize {
    let doubling = (us / STEPS as u64).checked_ilog2().map_or(0, |log| log as usize + 1);
    if doubling == 0 {
        return usize::try_from(us).unwrap_or(0);
    }
    let step = usize::try_from(us >> (doubling - 1)).map_or(0, |step| step % STEPS);
    (doubling * STEPS + step).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn bound_of(bucket: usize) -> u64 {
    let (doubling, step) = (bucket / STEPS, (bucket % STEPS) as u64);
    if doubling == 0 { step } else { ((STEPS as u64 + step + 1) << (doubling - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_the_bucket_whose_bound_is_the_next_above_it() {
        for us in (0..5000).chain([1 << 20, (1 << 20) + 1, 60_000_000]) {
            let bucket = bucket_of(us);
            assert!(us <= bound_of(bucket), "{us} in bucket {bucket}");
            assert!(bucket == 0 || us > bound_of(bucket - 1), "{us} in bucket {bucket}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_come_from_the_counts() {
        let histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        let p50 = histogram.quantile_us(0.5);
        assert!((50_000..57_000).contains(&p50), "{p50}");
        assert_eq!((histogram.count(), histogram.sum_us()), (100, 5_050_000));
    }

    #[test]
    fn a_method_is_listed_once_it_was_called() {
        let metrics = Metrics::default();
        assert_eq!(metrics.called().count(), 0);
        metrics.method(Method::ClientGet).exceptions.add(1);
        let called: Vec<_> = metrics.called().map(|(method, _)| method).collect();
        assert_eq!(called, [Method::ClientGet]);
    }
}
