//! The only retry loop: reaction to a failure, pause, and when to give up.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use halite_types::Error;
use halite_wire::exception::RetryAction;

use crate::config::Config;
use crate::deadline::Deadline;
use crate::error::{RpcError, RpcErrorKind};

/// Pauses before the second attempt, the third and so on, as multiples of `hbase.client.pause`
/// (`HConstants.RETRY_BACKOFF`).
const BACKOFF: [u32; 13] = [1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200];

/// Failed call that is about to be retried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retry {
    /// Cause of the failure.
    pub error: Error,
    /// Attempts since the operation began or last made progress.
    pub tries: u32,
    /// Milliseconds since then.
    pub elapsed_ms: u64,
    /// Milliseconds until the next attempt; never 0, since immediate retries are not reported.
    pub wait_ms: u64,
}

/// Observer of calls that wait for a retry. It is called on the operation's thread, concurrently by
/// all operations.
#[derive(Clone)]
pub struct RetryObserver(Arc<dyn Fn(&Retry) + Send + Sync>);

impl RetryObserver {
    /// Creates an observer from this function, which must not block.
    pub fn new(observer: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observer))
    }
}

impl fmt::Debug for RetryObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryObserver")
    }
}

/// Operation that may need several attempts.
pub(crate) trait Retryable: Send {
    /// Result of the operation.
    type Output: Send;

    /// Makes one attempt. It also updates the cached regions and servers after a failure.
    fn attempt(
        &mut self,
        deadline: &Deadline,
    ) -> impl Future<Output = Result<Self::Output, RpcError>> + Send;

    /// Returns the amount of work done. A failure after some progress counts as the first.
    fn progress(&self) -> usize {
        0
    }
}

/// Attempts the operation until it succeeds, fails permanently, or attempts or time are exhausted.
///
/// # Errors
/// The last failure.
pub(crate) async fn retry<W: Retryable>(
    config: &Config,
    deadline: &Deadline,
    work: &mut W,
) -> Result<W::Output, RpcError> {
    let (mut tries, mut failures, mut done, mut since_ms) = (0, 0, work.progress(), 0);
    loop {
        let failure = match work.attempt(deadline).await {
            Ok(output) => return Ok(output),
            Err(failure) => failure,
        };
        tries += 1;
        failures += 1;
        if work.progress() > done {
            (failures, done, since_ms) = (1, work.progress(), deadline.elapsed_ms());
        }
        let wait = pause(config, &failure, failures)
            .filter(|wait| failures <= config.max_retries && !deadline.is_over_after(*wait));
        match wait {
            None => return Err(failure.retries_exhausted(tries, deadline.elapsed_ms())),
            Some(wait) if wait.is_zero() => {}
            Some(wait) => {
                notify_observer(
                    config,
                    &failure,
                    failures,
                    deadline.elapsed_ms().saturating_sub(since_ms),
                    wait,
                );
                tokio::time::sleep(wait).await;
            }
        }
    }
}

fn notify_observer(
    config: &Config,
    failure: &RpcError,
    tries: u32,
    elapsed_ms: u64,
    wait: Duration,
) {
    if let Some(RetryObserver(observer)) = &config.retry_observer {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        observer(&Retry { error: failure.clone().into_error(), tries, elapsed_ms, wait_ms });
    }
}

/// Returns the pause after this many failures; `None` if another attempt would fail in the same
/// way.
fn pause(config: &Config, failure: &RpcError, failures: u32) -> Option<Duration> {
    Some(match failure.action() {
        RetryAction::GiveUp => return None,
        RetryAction::RetryNow => Duration::ZERO,
        // Usually the cached region or scanner is outdated, and an immediate retry succeeds.
        RetryAction::Relocate | RetryAction::ReopenScanner => {
            failures.checked_sub(2).map_or(Duration::ZERO, |index| backoff(config.pause_ms, index))
        }
        RetryAction::Wait | RetryAction::DropServer => backoff(config.pause_ms, failures - 1),
        RetryAction::WaitOverloaded => backoff(config.pause_overloaded_ms, failures - 1),
        RetryAction::WaitAsSpecified => match &failure.kind {
            RpcErrorKind::Exception(exception) => exception
                .wait_ms()
                .map_or_else(|| backoff(config.pause_ms, failures - 1), Duration::from_millis),
            _ => backoff(config.pause_ms, failures - 1),
        },
    })
}

/// Returns HBase's pause plus up to 1 percent, so that clients do not retry simultaneously
/// (`ConnectionUtils.getPauseTime`).
fn backoff(pause_ms: u64, index: u32) -> Duration {
    let factor = usize::try_from(index).ok().and_then(|index| BACKOFF.get(index)).unwrap_or(&200);
    let pause = Duration::from_millis(pause_ms).saturating_mul(*factor);
    pause + pause.mul_f64(fastrand::f64() * 0.01)
}

#[cfg(test)]
mod tests {
    use halite_types::ErrorKind;
    use halite_wire::exception::{Exception, ExceptionKind, ThrottleType};

    use super::*;
    use crate::config::RegistryKind;

    struct Fails(Vec<RpcError>, usize);

    impl Retryable for Fails {
        type Output = &'static str;

        async fn attempt(&mut self, _: &Deadline) -> Result<&'static str, RpcError> {
            self.1 += 1;
            if self.0.is_empty() { Ok("done") } else { Err(self.0.remove(0)) }
        }
    }

    fn config() -> Config {
        Config { max_retries: 3, ..Config::new(RegistryKind::Rpc { servers: vec!["h:1".into()] }) }
    }

    fn rpc_error(kind: ExceptionKind) -> RpcError {
        Exception::new(kind, "so").into()
    }

    async fn tried(
        failures: Vec<RpcError>,
        operation_ms: u64,
    ) -> (Result<&'static str, RpcError>, usize, u128) {
        let deadline = Deadline::new(operation_ms, Duration::from_secs(1));
        let mut work = Fails(failures, 0);
        let begun = tokio::time::Instant::now();
        let outcome = retry(&config(), &deadline, &mut work).await;
        (outcome, work.1, begun.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn busy_server_is_retried_with_hbases_pauses() {
        let (outcome, tries, ms) =
            tried(vec![rpc_error(ExceptionKind::RegionTooBusy); 3], 60_000).await;
        assert_eq!((outcome.unwrap(), tries), ("done", 4));
        assert!((600..=610).contains(&ms), "{ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn unserved_region_is_retried_immediately_then_with_pauses() {
        let (_, _, ms) = tried(vec![rpc_error(ExceptionKind::NotServingRegion)], 60_000).await;
        assert_eq!(ms, 0);
        let (_, _, ms) = tried(vec![rpc_error(ExceptionKind::NotServingRegion); 3], 60_000).await;
        assert!((300..=305).contains(&ms), "{ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn throttled_call_waits_for_the_requested_time() {
        let throttled = RpcError::from(Exception::throttled(ThrottleType::NumberOfRequests, 1234));
        assert_eq!(tried(vec![throttled], 60_000).await.2, 1234);
    }

    #[tokio::test(start_paused = true)]
    async fn retries_end_by_count_or_deadline_with_try_count() {
        let (outcome, tries, _) =
            tried(vec![rpc_error(ExceptionKind::RegionTooBusy); 9], 60_000).await;
        let error = outcome.unwrap_err().at("table t").into_error();
        assert_eq!((tries, error.kind()), (4, ErrorKind::Busy));
        assert!(
            error.message().starts_with("table t: ")
                && error.message().contains("given up after 4 tries in 60"),
            "{error}"
        );
        let (outcome, tries, ms) =
            tried(vec![rpc_error(ExceptionKind::RegionTooBusy); 9], 250).await;
        assert!(outcome.is_err() && tries == 2 && ms < 250, "{tries} {ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn observer_receives_each_wait_only() {
        let waits = Arc::new(std::sync::Mutex::new(Vec::new()));
        let observed = Arc::clone(&waits);
        let mut config = config();
        config.retry_observer =
            Some(RetryObserver::new(move |retry| observed.lock().unwrap().push(retry.clone())));
        let failures = vec![
            rpc_error(ExceptionKind::NotServingRegion),
            rpc_error(ExceptionKind::RegionTooBusy),
            rpc_error(ExceptionKind::RegionTooBusy),
        ];
        let deadline = Deadline::new(60_000, Duration::from_secs(1));
        assert_eq!(retry(&config, &deadline, &mut Fails(failures, 0)).await.unwrap(), "done");
        let waits = waits.lock().unwrap();
        let [first, second] = &waits[..] else { panic!("{waits:?}") };
        assert_eq!(
            (first.tries, first.elapsed_ms, second.tries, first.error.kind()),
            (2, 0, 3, ErrorKind::Busy)
        );
        assert!(
            (200..=202).contains(&first.wait_ms) && (200..=202).contains(&second.elapsed_ms),
            "{waits:?}"
        );
    }

    /// Operation whose attempts take one second. All but the third make progress.
    struct MakesProgress(usize, usize);

    impl Retryable for MakesProgress {
        type Output = ();

        async fn attempt(&mut self, _: &Deadline) -> Result<(), RpcError> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.0 += 1;
            self.1 += usize::from(self.0 != 3);
            if self.0 > 3 { Ok(()) } else { Err(rpc_error(ExceptionKind::RegionTooBusy)) }
        }

        fn progress(&self) -> usize {
            self.1
        }
    }

    #[tokio::test(start_paused = true)]
    async fn observed_tries_and_time_restart_at_progress() {
        let waits = Arc::new(std::sync::Mutex::new(Vec::new()));
        let observed = Arc::clone(&waits);
        let mut config = config();
        config.retry_observer = Some(RetryObserver::new(move |retry| {
            observed.lock().unwrap().push((retry.tries, retry.elapsed_ms / 1000));
        }));
        retry(&config, &Deadline::new(60_000, Duration::from_secs(1)), &mut MakesProgress(0, 0))
            .await
            .unwrap();
        assert_eq!(*waits.lock().unwrap(), [(1, 0), (1, 0), (2, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_failure_is_not_retried() {
        for failure in
            [rpc_error(ExceptionKind::NoSuchColumnFamily), RpcError::from(Error::invalid("no"))]
        {
            let (outcome, tries, _) = tried(vec![failure], 60_000).await;
            assert!(outcome.is_err() && tries == 1);
        }
    }
}
