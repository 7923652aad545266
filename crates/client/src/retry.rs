//! The one loop in which everything is tried again: what to do about a failure, how long to wait, when to give up.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use halite_types::Error;
use halite_wire::exception::Action;

use crate::config::Config;
use crate::deadline::Deadline;
use crate::failure::{Cause, Failure};

/// Pauses before the second try, the third and so on, as multiples of `hbase.client.pause` (`HConstants.RETRY_BACKOFF`).
const BACKOFF: [u32; 13] = [1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200];

/// A call that failed and is about to be made again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retry {
    /// Why it failed.
    pub error: Error,
    /// How often it was tried since the operation began or last came on.
    pub tries: u32,
    /// Milliseconds since then.
    pub elapsed_ms: u64,
    /// Milliseconds until the next try; never 0: what is tried again at once is not told.
    pub wait_ms: u64,
}

/// Who is told of calls that have to wait for their next try. It is called on the thread of the operation, by all at once.
#[derive(Clone)]
pub struct RetryObserver(Arc<dyn Fn(&Retry) + Send + Sync>);

impl RetryObserver {
    /// Calls this function, which must not block.
    pub fn new(told: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl fmt::Debug for RetryObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryObserver")
    }
}

/// Something that may have to be tried several times.
pub(crate) trait Work: Send {
    /// What it comes to.
    type Output: Send;

    /// One try. What a failure means for what is known of regions and servers, it sees to itself.
    fn attempt(&mut self, deadline: &Deadline) -> impl Future<Output = Result<Self::Output, Failure>> + Send;

    /// How much of it is done. A failure after some progress counts as the first.
    fn progress(&self) -> usize {
        0
    }
}

/// Tries until it succeeds, fails for good, or tries or time run out.
///
/// # Errors
/// The last failure.
pub(crate) async fn run<W: Work>(config: &Config, deadline: &Deadline, work: &mut W) -> Result<W::Output, Failure> {
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
        let wait = pause(config, &failure, failures).filter(|wait| failures <= config.retries_max && !deadline.is_over_after(*wait));
        match wait {
            None => return Err(failure.after(tries, deadline.elapsed_ms())),
            Some(wait) if wait.is_zero() => {}
            Some(wait) => {
                tell(config, &failure, failures, deadline.elapsed_ms().saturating_sub(since_ms), wait);
                tokio::time::sleep(wait).await;
            }
        }
    }
}

fn tell(config: &Config, failure: &Failure, tries: u32, elapsed_ms: u64, wait: Duration) {
    if let Some(RetryObserver(told)) = &config.retry_observer {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
        told(&Retry { error: failure.clone().into_error(), tries, elapsed_ms, wait_ms });
    }
}

/// How long to wait after so many failures; `None` if another try would end the same way.
fn pause(config: &Config, failure: &Failure, failures: u32) -> Option<Duration> {
    Some(match failure.action() {
        Action::GiveUp => return None,
        Action::RetryNow => Duration::ZERO,
        // What is known of the region or the scanner is old, as a rule, and asking again helps at once.
        Action::Relocate | Action::ReopenScanner => failures.checked_sub(2).map_or(Duration::ZERO, |index| backoff(config.pause_ms, index)),
        Action::Wait | Action::DropServer => backoff(config.pause_ms, failures - 1),
        Action::WaitOverloaded => backoff(config.pause_overloaded_ms, failures - 1),
        Action::WaitAsTold => match &failure.cause {
            Cause::Exception(exception) => exception.wait_ms().map_or_else(|| backoff(config.pause_ms, failures - 1), Duration::from_millis),
            _ => backoff(config.pause_ms, failures - 1),
        },
    })
}

/// HBase's pause, with up to a hundredth more so that clients do not come all at once (`ConnectionUtils.getPauseTime`).
fn backoff(pause_ms: u64, index: u32) -> Duration {
    let factor = usize::try_from(index).ok().and_then(|index| BACKOFF.get(index)).unwrap_or(&200);
    let pause = Duration::from_millis(pause_ms).saturating_mul(*factor);
    pause + pause.mul_f64(fastrand::f64() * 0.01)
}

#[cfg(test)]
mod tests {
    use halite_types::ErrorKind;
    use halite_wire::exception::{Exception, ExceptionKind, Throttled};

    use super::*;
    use crate::config::Lookup;

    struct Fails(Vec<Failure>, usize);

    impl Work for Fails {
        type Output = &'static str;

        async fn attempt(&mut self, _: &Deadline) -> Result<&'static str, Failure> {
            self.1 += 1;
            if self.0.is_empty() { Ok("done") } else { Err(self.0.remove(0)) }
        }
    }

    fn config() -> Config {
        Config { retries_max: 3, ..Config::new(Lookup::Rpc { servers: vec!["h:1".into()] }) }
    }

    fn of(kind: ExceptionKind) -> Failure {
        Exception::new(kind, "so").into()
    }

    async fn tried(failures: Vec<Failure>, operation_ms: u64) -> (Result<&'static str, Failure>, usize, u128) {
        let deadline = Deadline::new(operation_ms, Duration::from_secs(1));
        let mut work = Fails(failures, 0);
        let begun = tokio::time::Instant::now();
        let outcome = run(&config(), &deadline, &mut work).await;
        (outcome, work.1, begun.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_busy_is_asked_again_after_the_pauses_of_hbase() {
        let (outcome, tries, ms) = tried(vec![of(ExceptionKind::RegionTooBusy); 3], 60_000).await;
        assert_eq!((outcome.unwrap(), tries), ("done", 4));
        assert!((600..=610).contains(&ms), "{ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_region_that_is_elsewhere_is_looked_for_at_once_and_then_with_pauses() {
        let (_, _, ms) = tried(vec![of(ExceptionKind::NotServingRegion)], 60_000).await;
        assert_eq!(ms, 0);
        let (_, _, ms) = tried(vec![of(ExceptionKind::NotServingRegion); 3], 60_000).await;
        assert!((300..=305).contains(&ms), "{ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_throttled_waits_as_long_as_he_is_told() {
        let told = Failure::from(Exception::throttled(Throttled::NumberOfRequests, 1234));
        assert_eq!(tried(vec![told], 60_000).await.2, 1234);
    }

    #[tokio::test(start_paused = true)]
    async fn tries_and_time_run_out_and_the_error_says_how_often_it_was_tried() {
        let (outcome, tries, _) = tried(vec![of(ExceptionKind::RegionTooBusy); 9], 60_000).await;
        let error = outcome.unwrap_err().at("table t").into_error();
        assert_eq!((tries, error.kind()), (4, ErrorKind::Busy));
        assert!(error.message().starts_with("table t: ") && error.message().contains("given up after 4 tries in 60"), "{error}");
        let (outcome, tries, ms) = tried(vec![of(ExceptionKind::RegionTooBusy); 9], 250).await;
        assert!(outcome.is_err() && tries == 2 && ms < 250, "{tries} {ms}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_wants_to_know_is_told_of_each_wait_and_of_nothing_else() {
        let waits = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = Arc::clone(&waits);
        let mut config = config();
        config.retry_observer = Some(RetryObserver::new(move |retry| told.lock().unwrap().push(retry.clone())));
        let failures = vec![of(ExceptionKind::NotServingRegion), of(ExceptionKind::RegionTooBusy), of(ExceptionKind::RegionTooBusy)];
        let deadline = Deadline::new(60_000, Duration::from_secs(1));
        assert_eq!(run(&config, &deadline, &mut Fails(failures, 0)).await.unwrap(), "done");
        let waits = waits.lock().unwrap();
        let [first, second] = &waits[..] else { panic!("{waits:?}") };
        assert_eq!((first.tries, first.elapsed_ms, second.tries, first.error.kind()), (2, 0, 3, ErrorKind::Busy));
        assert!((200..=202).contains(&first.wait_ms) && (200..=202).contains(&second.elapsed_ms), "{waits:?}");
    }

    /// Each try but the third gets some of it done, in a second.
    struct ComesOn(usize, usize);

    impl Work for ComesOn {
        type Output = ();

        async fn attempt(&mut self, _: &Deadline) -> Result<(), Failure> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.0 += 1;
            self.1 += usize::from(self.0 != 3);
            if self.0 > 3 { Ok(()) } else { Err(of(ExceptionKind::RegionTooBusy)) }
        }

        fn progress(&self) -> usize {
            self.1
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_and_time_that_are_told_count_from_the_last_progress() {
        let waits = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = Arc::clone(&waits);
        let mut config = config();
        config.retry_observer = Some(RetryObserver::new(move |retry| told.lock().unwrap().push((retry.tries, retry.elapsed_ms / 1000))));
        run(&config, &Deadline::new(60_000, Duration::from_secs(1)), &mut ComesOn(0, 0)).await.unwrap();
        assert_eq!(*waits.lock().unwrap(), [(1, 0), (1, 0), (2, 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_final_is_tried_once() {
        for failure in [of(ExceptionKind::NoSuchColumnFamily), Failure::from(Error::invalid("no"))] {
            let (outcome, tries, _) = tried(vec![failure], 60_000).await;
            assert!(outcome.is_err() && tries == 1);
        }
    }
}
