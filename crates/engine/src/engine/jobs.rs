//! Execution of background jobs: a panic ends the job, not the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use halite_types::{Bytes, CompactionKind, Error, ErrorKind, Result};

use super::{Engine, quarantine};
use crate::compaction::CompactionRequest;
use crate::events::{EventKind, NewEvent};
use crate::region::Region;
use crate::scheduler::{Job, JobScheduler, RunningJob};
use crate::shared::EngineInner;

/// Initial and maximum pauses before failed work is retried.
pub(super) const MIN_RETRY_PAUSE: Duration = Duration::from_millis(100);
pub(super) const MAX_RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Failed job that can be retried.
pub(super) enum RetryJob {
    Flush(Arc<Region>),
    Compact(Arc<Region>),
    /// With the requested family and kind.
    RequestedCompaction(Arc<Region>, Bytes, CompactionKind),
}

impl RetryJob {
    fn region(&self) -> &Arc<Region> {
        match self {
            Self::Flush(region) | Self::Compact(region) | Self::RequestedCompaction(region, ..) => {
                region
            }
        }
    }

    /// Requests the job again.
    pub(super) fn request(self, shared: &EngineInner) {
        match self {
            Self::Flush(region) => shared.scheduler.request_flush(&region),
            Self::Compact(region) => shared.scheduler.request_compaction(&region),
            Self::RequestedCompaction(region, family, kind) => {
                shared.scheduler.request(CompactionRequest::new(&region, &family, kind));
            }
        }
    }
}

/// Looks at the regions if it is time. A panic is counted and reported.
pub(super) fn watch_regions(shared: &EngineInner, engine: &Engine) {
    let _ = guarded(&shared.scheduler, "looking at the regions", "and it is tried again", || {
        engine.watch_regions();
        Ok(())
    });
}

/// Records the load of the tables, and returns the time until it is to be recorded again. A panic
/// is counted and reported.
#[cfg(feature = "heat")]
pub(super) fn record_heat(shared: &EngineInner, engine: &Engine) -> Duration {
    let mut pause = MAX_RETRY_PAUSE;
    let _ = guarded(&shared.scheduler, "recording the load", "and it is tried again", || {
        pause = Duration::from_millis(engine.record_heat());
        Ok(())
    });
    pause
}

/// Runs a job and then schedules its follow-up.
///
/// # Errors
/// The error of the job; a panic is `Stopped`.
pub(super) fn run(shared: &Arc<EngineInner>, engine: &Engine, job: Job) -> Result<()> {
    let (name, kind) = (job.name(), job.kind());
    let (region, compaction) = (job.region().cloned(), job.compaction());
    let work = || do_job(shared, engine, job);
    let done = execute(&shared.scheduler, (&name, kind), compaction.as_ref(), work, || {
        schedule_followup(shared, kind, region.as_ref());
    });
    if let (Err(error), Some(region)) = (&done, &region) {
        record_failure(shared, region, &name, error);
    }
    done
}

/// Records that a job failed. One that a split or the closing of the store overtook did not.
fn record_failure(shared: &EngineInner, region: &Region, name: &str, error: &Error) {
    if region.check_open().is_ok() && !shared.scheduler.is_closing() {
        let text = format!("{name} failed: {}", error.message());
        shared.record(NewEvent::of_region(EventKind::Error, region.info(), text));
    }
}

/// Runs the job and, if it succeeds, its follow-up. A panic in the follow-up is counted and
/// reported, and reverts nothing.
fn execute(
    background: &JobScheduler,
    (name, kind): (&str, JobKind),
    compaction: Option<&RunningJob>,
    work: impl FnOnce() -> Result<()>,
    next: impl FnOnce(),
) -> Result<()> {
    let result = guarded(background, name, kind.after_a_panic(), work);
    match kind {
        JobKind::Flush => background.flush_finished(&result),
        JobKind::Compact => {
            background.compaction_finished(compaction, &result);
        }
        JobKind::InMemoryCompaction | JobKind::Remove => {}
    }
    result?;
    let what = format!("what follows {name}");
    let _ = guarded(background, &what, "and the next flush makes up for it", || {
        next();
        Ok(())
    });
    Ok(())
}

/// Runs a closure, converting a panic to an error and counting it.
fn guarded(
    background: &JobScheduler,
    name: &str,
    after: &str,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let error = panicked(name, after, payload.as_ref());
        background.add_panic(error.clone());
        Err(error)
    })
}

/// Runs a job and returns the job to retry: flushes, and compactions that failed for lack of space
/// or in a panic. Damage is not retried, because reading it again does not repair it.
pub(super) fn run_for_retry(
    shared: &Arc<EngineInner>,
    engine: &Engine,
    job: Job,
) -> Option<RetryJob> {
    let again = job.retry_job();
    let error = run(shared, engine, job).err()?;
    let again = again?;
    again.region().check_open().ok()?;
    let is_worth_it = match &again {
        RetryJob::Flush(_) => true,
        // If the store no longer accepts writes, only reopening it helps.
        _ => {
            matches!(error.kind(), ErrorKind::DiskFull | ErrorKind::Stopped)
                && shared.write_failure().is_ok()
        }
    };
    is_worth_it.then_some(again)
}

/// Job kinds with their own failure handling.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JobKind {
    Flush,
    InMemoryCompaction,
    Compact,
    Remove,
}

impl JobKind {
    /// Returns the consequence of a panic, for the error message.
    fn after_a_panic(self) -> &'static str {
        match self {
            Self::Flush | Self::Compact => "and it is tried again",
            Self::InMemoryCompaction => "the region's next flush frees the memory",
            Self::Remove => "the next start removes what is left",
        }
    }
}

impl Job {
    fn kind(&self) -> JobKind {
        match self {
            Self::Flush(_) => JobKind::Flush,
            Self::InMemoryCompaction(_) => JobKind::InMemoryCompaction,
            Self::Compact(_) | Self::RequestedCompaction(_) => JobKind::Compact,
            Self::Remove(_) => JobKind::Remove,
        }
    }

    fn region(&self) -> Option<&Arc<Region>> {
        match self {
            Self::Flush(region) | Self::InMemoryCompaction(region) | Self::Compact(region) => {
                Some(region)
            }
            Self::RequestedCompaction(asked) => Some(&asked.region),
            Self::Remove(_) => None,
        }
    }

    /// Returns the job to retry, for kinds that can be retried.
    fn retry_job(&self) -> Option<RetryJob> {
        match self {
            Self::Flush(region) => Some(RetryJob::Flush(Arc::clone(region))),
            Self::Compact(region) => Some(RetryJob::Compact(Arc::clone(region))),
            Self::RequestedCompaction(asked) => Some(RetryJob::RequestedCompaction(
                Arc::clone(&asked.region),
                asked.family.clone(),
                asked.kind,
            )),
            Self::InMemoryCompaction(_) | Self::Remove(_) => None,
        }
    }

    /// Returns the name of the job in error messages.
    fn name(&self) -> String {
        let what = match (self, self.kind()) {
            (Self::Remove(directory), _) => return format!("removing {directory}"),
            (_, JobKind::Flush) => "flushing",
            (_, JobKind::InMemoryCompaction) => "compacting the memstores of",
            (_, JobKind::Compact | JobKind::Remove) => "compacting",
        };
        format!(
            "{what} region {}",
            self.region().map(|region| region.info().display_name()).unwrap_or_default()
        )
    }
}

fn panicked(name: &str, after: &str, payload: &(dyn std::any::Any + Send)) -> Error {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = format!(
        "{name}: a panic ({}); nothing is lost, {after}; report this",
        text.unwrap_or("no message")
    );
    Error::new(ErrorKind::Stopped, text)
}

fn do_job(shared: &Arc<EngineInner>, engine: &Engine, job: Job) -> Result<()> {
    match job {
        Job::Flush(region) => region.flush_chosen(),
        Job::InMemoryCompaction(region) => region.compact_memstores().map(drop),
        Job::Compact(region) => {
            region.prefetch();
            compact(shared, engine, &region, None, CompactionKind::Minor)
        }
        Job::Remove(directory) => quarantine::remove(shared, &directory),
        Job::RequestedCompaction(asked) => {
            compact(shared, engine, &asked.region, Some(&asked.family), asked.kind)
        }
    }
}

/// Schedules the follow-up of a job.
fn schedule_followup(shared: &EngineInner, kind: JobKind, region: Option<&Arc<Region>>) {
    match kind {
        JobKind::Flush => region.into_iter().for_each(Region::request_needed_compaction),
        // A region that never reaches the flush size retains the log. A flush requests this itself.
        JobKind::InMemoryCompaction => shared.request_flushes_for_wal(true),
        JobKind::Compact | JobKind::Remove => {}
    }
}

/// Compacts a region that still exists, then splits it or requests another compaction as needed.
fn compact(
    shared: &Arc<EngineInner>,
    engine: &Engine,
    region: &Arc<Region>,
    family: Option<&[u8]>,
    kind: CompactionKind,
) -> Result<()> {
    if region.check_open().is_err() || !shared.scheduler.switches.compactions_enabled() {
        return Ok(());
    }
    let done = match kind {
        CompactionKind::Minor => region.compact_at_pace(family, kind),
        // Requested by a caller, who may be waiting.
        CompactionKind::Major => region.compact(family, kind),
    };
    match done {
        // The region was removed concurrently; its files were deleted or passed to its successors.
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => return Ok(()),
        // The compaction of an idle region is optional.
        Err(error) if error.kind() == ErrorKind::DiskFull && region.is_idle() => {
            region.set_idle(false);
            return Ok(());
        }
        done => done?,
    }
    if region.should_split() {
        return match engine.split_region(&region.info().encoded_name, None) {
            // Another thread has compacted other files of the region, and was first.
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => Ok(()),
            done => done,
        };
    }
    if region.needs_file_check() {
        shared.scheduler.request_compaction(region);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() {
        panic!("what follows is broken");
    }

    #[test]
    fn panic_in_follow_up_is_no_flush_failure() {
        let background = JobScheduler::default();
        execute(&background, ("flushing region r", JobKind::Flush), None, || Ok(()), broken)
            .unwrap();
        let (panics, last) = background.panics();
        assert!(
            panics == 1
                && last.unwrap().message().starts_with(
                    "what follows flushing region r: a panic (what follows is broken)"
                )
        );
        assert_eq!(background.flush_failure(), None);
        // Failed work has no follow-up.
        let failed = execute(
            &background,
            ("flushing region r", JobKind::Flush),
            None,
            || panic!("the flush is broken"),
            broken,
        );
        assert_eq!(
            (failed.as_ref().err(), background.panics().0),
            (background.flush_failure().as_ref(), 2)
        );
        assert!(failed.unwrap_err().message().contains("the flush is broken"));
    }
}
