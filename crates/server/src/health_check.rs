//! Checks every second if the store accepts writes.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use halite_engine::{Health, StoreState};
use halite_types::{Error, ErrorKind};
use tokio::time::MissedTickBehavior;
use tracing::Level;

use crate::base::context::Context;
use crate::base::shutdown::Shutdown;

/// Interval of the checks. If the store refuses writes because the disk is full, this is also the
/// time until it detects free space.
const CHECK_PERIOD: Duration = Duration::from_secs(1);

/// Maximum time for the disk to return its free space.
const DISK_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks the store until shutdown, and logs each change once.
pub(crate) async fn watch(context: Arc<Context>, mut shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(CHECK_PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut logger = HealthLogger::default();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => return,
            _ = ticks.tick() => {}
        }
        let engine = Arc::clone(&context.engine);
        let look = pin!(context.machine.block(move || engine.health()));
        if let Some(health) = wait_for_disk(&context, look, &mut shutdown).await {
            logger.log_changes(&health);
            context.health.set(health.state, health.reason);
        }
    }
}

/// Waits for the result of a check. While the disk does not respond, the state is `Refusing`, or
/// `Stopped` if the store has stopped.
async fn wait_for_disk(
    context: &Context,
    mut look: Pin<&mut impl Future<Output = Option<Health>>>,
    shutdown: &mut Shutdown,
) -> Option<Health> {
    tokio::select! {
        biased;
        health = &mut look => return health,
        () = shutdown.requested() => return None,
        () = tokio::time::sleep(DISK_TIMEOUT) => {}
    }
    let failure = context.engine.write_failure();
    let state = if failure.is_some() { StoreState::Stopped } else { StoreState::Refusing };
    let reason = failure.unwrap_or_else(|| {
        Error::new(
            ErrorKind::Io,
            format!("the disk has not answered for {} s", DISK_TIMEOUT.as_secs()),
        )
    });
    tracing::error!("the store is not well: {reason}");
    context.health.set(state, Some(reason));
    tokio::select! {
        biased;
        health = look => health,
        () = shutdown.requested() => None,
    }
}

/// Health conditions already logged.
#[derive(Default)]
struct HealthLogger {
    state: Option<StoreState>,
    log_stays: bool,
    flush_fails: bool,
    compaction_fails: bool,
    panics: u64,
    damaged_files: Vec<Error>,
    bloom_failures: usize,
    part_failures: usize,
}

impl HealthLogger {
    fn log_changes(&mut self, health: &Health) {
        for (level, line) in self.take_changes(health) {
            match level {
                Level::INFO => tracing::info!("{line}"),
                Level::WARN => tracing::warn!("{line}"),
                _ => tracing::error!("{line}"),
            }
        }
    }

    /// Returns the changes since the last check as log lines.
    fn take_changes(&mut self, health: &Health) -> Vec<(Level, String)> {
        let mut news = Vec::new();
        let before = self.state.replace(health.state);
        if before.unwrap_or(StoreState::Open) != health.state {
            let reason = health.reason.as_ref().map(Error::message).unwrap_or_default();
            news.push(match health.state {
                StoreState::Open => (Level::INFO, "the store takes writes again".to_owned()),
                StoreState::Refusing => {
                    (Level::WARN, format!("the store refuses writes: {reason}"))
                }
                StoreState::Stopped => {
                    (Level::ERROR, format!("the store has stopped writing: {reason}"))
                }
            });
        }
        let stays = std::mem::replace(&mut self.log_stays, health.wal_removal_failure.is_some());
        if let Some(error) = health.wal_removal_failure.as_ref().filter(|_| !stays) {
            news.push((
                Level::WARN,
                format!("log segments that are no longer needed cannot be removed: {error}"),
            ));
        }
        news.extend(work_change("flush", &mut self.flush_fails, health.flush_failure.as_ref()));
        news.extend(work_change(
            "compaction",
            &mut self.compaction_fails,
            health.compaction_failure.as_ref(),
        ));
        let panics = health.panics - std::mem::replace(&mut self.panics, health.panics);
        if panics > 0 {
            let last = health
                .last_panic
                .as_ref()
                .or(health.reason.as_ref())
                .map(Error::message)
                .unwrap_or_default();
            news.push((
                Level::ERROR,
                format!("{panics} panics since the last look, the newest: {last}"),
            ));
        }
        news.extend(self.damage(health));
        news
    }

    /// Returns the damage of files that was not there at the last check.
    fn damage(&mut self, health: &Health) -> Vec<(Level, String)> {
        let damaged = std::mem::replace(&mut self.damaged_files, health.damaged_files.clone());
        let new = health.damaged_files.iter().filter(|file| !damaged.contains(file));
        let mut news: Vec<_> = new.map(|file| (Level::ERROR, file.to_string())).collect();
        let failures = &health.bloom_failures.first;
        let logged = std::mem::replace(&mut self.bloom_failures, failures.len());
        news.extend(failures.iter().skip(logged).map(|error| {
            (Level::ERROR, format!("a file is read without its Bloom filter: {error}"))
        }));
        let failures = &health.part_failures.first;
        let logged = std::mem::replace(&mut self.part_failures, failures.len());
        news.extend(failures.iter().skip(logged).map(|error| {
            (Level::ERROR, format!("a whole block is read in place of a damaged part: {error}"))
        }));
        news
    }
}

fn work_change(what: &str, fails: &mut bool, failure: Option<&Error>) -> Option<(Level, String)> {
    let failed = std::mem::replace(fails, failure.is_some());
    match failure {
        Some(error) if !failed => {
            Some((Level::WARN, format!("a {what} failed, nothing is lost: {error}")))
        }
        None if failed => Some((Level::INFO, format!("a {what} has succeeded again"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use halite_engine::{BloomFailures, PartFailures};

    use super::*;

    #[test]
    fn each_change_is_logged_once() {
        let mut logger = HealthLogger::default();
        let mut look = |change: &dyn Fn(&mut Health)| {
            let mut health = Health {
                state: StoreState::Open,
                reason: None,
                disk: None,
                disk_reserve_bytes: 0,
                wal_removal_failure: None,
                flush_failure: None,
                compaction_failure: None,
                panics: 0,
                last_panic: None,
                damaged_files: Vec::new(),
                bloom_failures: BloomFailures::default(),
                part_failures: PartFailures::default(),
            };
            change(&mut health);
            logger
                .take_changes(&health)
                .into_iter()
                .map(|(level, line)| format!("{level} {line}"))
                .collect::<Vec<_>>()
        };
        let full = || Some(Error::new(ErrorKind::DiskFull, "no room"));
        let refuses = |health: &mut Health| {
            (health.state, health.reason, health.flush_failure) =
                (StoreState::Refusing, full(), full());
        };
        let panicked = |health: &mut Health| {
            (health.panics, health.last_panic) =
                (2, Some(Error::new(ErrorKind::Stopped, "flushing")));
        };
        assert!(look(&|_| {}).is_empty());
        assert_eq!(
            look(&refuses),
            [
                "WARN the store refuses writes: no room",
                "WARN a flush failed, nothing is lost: no room"
            ]
        );
        assert!(look(&refuses).is_empty());
        assert_eq!(
            look(&|_| {}),
            ["INFO the store takes writes again", "INFO a flush has succeeded again"]
        );
        assert_eq!(look(&panicked), ["ERROR 2 panics since the last look, the newest: flushing"]);
        assert!(look(&panicked).is_empty());
        let damaged = |health: &mut Health| {
            panicked(health);
            health.damaged_files = vec![Error::corrupt("file a")];
            health.bloom_failures.first = vec![Error::corrupt("file b")];
            health.part_failures.first = vec![Error::corrupt("file c")];
        };
        assert_eq!(
            look(&damaged),
            [
                "ERROR file a",
                "ERROR a file is read without its Bloom filter: file b",
                "ERROR a whole block is read in place of a damaged part: file c"
            ]
        );
        assert!(look(&damaged).is_empty());
        let stopped = |health: &mut Health| {
            panicked(health);
            (health.state, health.reason) = (StoreState::Stopped, full());
        };
        assert_eq!(look(&stopped), ["ERROR the store has stopped writing: no room"]);
    }
}
