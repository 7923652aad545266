//! Whether the store takes writes, looked at every second: for the log, for monitors, and for whoever ends the process when it does not.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use halite_engine::{Health, StoreState};
use halite_types::{Error, ErrorKind};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tracing::Level;

use crate::context::Context;
use crate::shutdown::Shutdown;

/// How often the store is looked at. Where it refuses writes for want of room, this is also how soon it is seen that there is some.
const PERIOD: Duration = Duration::from_secs(1);

/// How long the disk may take to say how much is free.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the last look has shown.
pub(crate) struct Watched {
    state: watch::Sender<Seen>,
}

#[derive(Clone)]
struct Seen {
    state: StoreState,
    reason: Option<Error>,
}

impl Watched {
    pub(crate) fn new(health: &Health) -> Self {
        Self { state: watch::Sender::new(Seen { state: health.state, reason: health.reason.clone() }) }
    }

    /// The state at the last look, at most a second or so ago.
    pub(crate) fn state(&self) -> StoreState {
        self.state.borrow().state
    }

    /// Waits until the store takes no writes any more for good, and gives the reason.
    pub(crate) async fn stopped(&self) -> Option<Error> {
        let mut states = self.state.subscribe();
        let seen = states.wait_for(|seen| seen.state == StoreState::Stopped).await;
        seen.ok().and_then(|seen| seen.reason.clone())
    }
}

/// What a state is called in metrics and on pages.
pub(crate) fn name(state: StoreState) -> &'static str {
    match state {
        StoreState::Open => "open",
        StoreState::Refusing => "refusing",
        StoreState::Stopped => "stopped",
    }
}

/// Looks at the store until everything ends, and logs each change once.
pub(crate) async fn watch(context: Arc<Context>, mut shutdown: Shutdown) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Told::default();
    loop {
        tokio::select! {
            biased;
            () = shutdown.requested() => return,
            _ = ticks.tick() => {}
        }
        let engine = Arc::clone(&context.engine);
        let look = pin!(context.machine.block(move || engine.health()));
        if let Some(health) = answer_of_the_disk(&context, look, &mut shutdown).await {
            told.tell(&health);
            context.health.state.send_replace(Seen { state: health.state, reason: health.reason });
        }
    }
}

/// What a look shows. While the disk does not answer, the store counts as refusing writes, unless it has stopped.
async fn answer_of_the_disk(context: &Context, mut look: Pin<&mut impl Future<Output = Option<Health>>>, shutdown: &mut Shutdown) -> Option<Health> {
    tokio::select! {
        biased;
        health = &mut look => return health,
        () = shutdown.requested() => return None,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let failure = context.engine.write_failure();
    let state = if failure.is_some() { StoreState::Stopped } else { StoreState::Refusing };
    let reason = failure.unwrap_or_else(|| Error::new(ErrorKind::Io, format!("the disk has not answered for {} s", PATIENCE.as_secs())));
    tracing::error!("the store is not well: {reason}");
    context.health.state.send_replace(Seen { state, reason: Some(reason) });
    tokio::select! {
        biased;
        health = look => health,
        () = shutdown.requested() => None,
    }
}

/// What the log has been told.
#[derive(Default)]
struct Told {
    state: Option<StoreState>,
    log_stays: bool,
    flush_fails: bool,
    compaction_fails: bool,
    panics: u64,
}

impl Told {
    fn tell(&mut self, health: &Health) {
        for (level, line) in self.news(health) {
            match level {
                Level::INFO => tracing::info!("{line}"),
                Level::WARN => tracing::warn!("{line}"),
                _ => tracing::error!("{line}"),
            }
        }
    }

    /// What has changed since the last look.
    fn news(&mut self, health: &Health) -> Vec<(Level, String)> {
        let mut news = Vec::new();
        let before = self.state.replace(health.state);
        if before.unwrap_or(StoreState::Open) != health.state {
            let reason = health.reason.as_ref().map(Error::message).unwrap_or_default();
            news.push(match health.state {
                StoreState::Open => (Level::INFO, "the store takes writes again".to_owned()),
                StoreState::Refusing => (Level::WARN, format!("the store refuses writes: {reason}")),
                StoreState::Stopped => (Level::ERROR, format!("the store has stopped writing: {reason}")),
            });
        }
        let stays = std::mem::replace(&mut self.log_stays, health.log_removal_failure.is_some());
        if let Some(error) = health.log_removal_failure.as_ref().filter(|_| !stays) {
            news.push((Level::WARN, format!("segments of the log that nobody needs cannot be removed: {error}")));
        }
        news.extend(news_of_work("flush", &mut self.flush_fails, health.flush_failure.as_ref()));
        news.extend(news_of_work("compaction", &mut self.compaction_fails, health.compaction_failure.as_ref()));
        let panics = health.panics - std::mem::replace(&mut self.panics, health.panics);
        if panics > 0 {
            let last = health.last_panic.as_ref().or(health.reason.as_ref()).map(Error::message).unwrap_or_default();
            news.push((Level::ERROR, format!("{panics} panics since the last look, the newest: {last}")));
        }
        news
    }
}

fn news_of_work(what: &str, fails: &mut bool, failure: Option<&Error>) -> Option<(Level, String)> {
    let failed = std::mem::replace(fails, failure.is_some());
    match failure {
        Some(error) if !failed => Some((Level::WARN, format!("a {what} failed, nothing is lost: {error}"))),
        None if failed => Some((Level::INFO, format!("a {what} has succeeded again"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once() {
        let mut told = Told::default();
        let mut look = |change: &dyn Fn(&mut Health)| {
            let mut health = Health {
                state: StoreState::Open,
                reason: None,
                disk: None,
                disk_reserve_bytes: 0,
                log_removal_failure: None,
                flush_failure: None,
                compaction_failure: None,
                panics: 0,
                last_panic: None,
            };
            change(&mut health);
            told.news(&health).into_iter().map(|(level, line)| format!("{level} {line}")).collect::<Vec<_>>()
        };
        let full = || Some(Error::new(ErrorKind::DiskFull, "no room"));
        let refuses = |health: &mut Health| (health.state, health.reason, health.flush_failure) = (StoreState::Refusing, full(), full());
        let panicked = |health: &mut Health| (health.panics, health.last_panic) = (2, Some(Error::new(ErrorKind::Stopped, "condensing")));
        assert!(look(&|_| {}).is_empty());
        assert_eq!(look(&refuses), ["WARN the store refuses writes: no room", "WARN a flush failed, nothing is lost: no room"]);
        assert!(look(&refuses).is_empty());
        assert_eq!(look(&|_| {}), ["INFO the store takes writes again", "INFO a flush has succeeded again"]);
        assert_eq!(look(&panicked), ["ERROR 2 panics since the last look, the newest: condensing"]);
        assert!(look(&panicked).is_empty());
        let stopped = |health: &mut Health| {
            panicked(health);
            (health.state, health.reason) = (StoreState::Stopped, full());
        };
        assert_eq!(look(&stopped), ["ERROR the store has stopped writing: no room"]);
    }
}
