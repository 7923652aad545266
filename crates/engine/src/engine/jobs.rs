//! Carrying out work that nobody waits for: a panic ends the piece of work, not the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use halite_types::{CompactionKind, Error, ErrorKind, Result};

use super::{Engine, quarantine};
use crate::background::Job;
use crate::compaction::Requested;
use crate::region::Region;
use crate::shared::Shared;

/// How long a thread waits before failed work is tried again: first, and at most.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(100);
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Failed work that is worth another try.
pub(super) enum Again {
    Flush(Arc<Region>),
    Compact(Arc<Region>),
    /// With the family and the kind that were asked for.
    CompactAsAsked(Arc<Region>, Option<Vec<u8>>, CompactionKind),
}

impl Again {
    fn region(&self) -> &Arc<Region> {
        match self {
            Self::Flush(region) | Self::Compact(region) | Self::CompactAsAsked(region, ..) => region,
        }
    }

    /// Puts it back on the list.
    pub(super) fn request(self, shared: &Shared) {
        match self {
            Self::Flush(region) => shared.background.request_flush(&region),
            Self::Compact(region) => shared.background.request_compaction(&region),
            Self::CompactAsAsked(region, family, kind) => shared.background.request(Requested::new(&region, family.as_deref(), kind)),
        }
    }
}

/// Does a piece of work.
///
/// # Errors
/// What the work met; a panic is `Stopped`.
pub(super) fn run(shared: &Arc<Shared>, engine: &Engine, job: Job) -> Result<()> {
    let (name, kind) = (job.name(), job.kind());
    let result = catch_unwind(AssertUnwindSafe(|| do_job(shared, engine, job))).unwrap_or_else(|payload| {
        shared.background.add_panic();
        let error = panicked(&name, payload.as_ref());
        if kind == Kind::Flush {
            shared.background.flush_ended(&Err(error.clone()));
        }
        Err(error)
    });
    if kind == Kind::Compact {
        shared.background.compaction_ended(&result);
    }
    result
}

/// Does a piece of work, and returns what is to be tried again: flushes, and compactions that failed for want of room or in a panic.
/// Damage is not mended by reading it once more.
pub(super) fn run_and_keep(shared: &Arc<Shared>, engine: &Engine, job: Job) -> Option<Again> {
    let again = job.again();
    let error = run(shared, engine, job).err()?;
    let again = again?;
    again.region().check_open().ok()?;
    let is_worth_it = match &again {
        Again::Flush(_) => true,
        // Where nothing can be written any more, only opening the store again helps.
        _ => matches!(error.kind(), ErrorKind::DiskFull | ErrorKind::Stopped) && shared.write_failure().is_ok(),
    };
    is_worth_it.then_some(again)
}

/// The groups of work that fail in their own ways.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flush,
    Condense,
    Compact,
    Remove,
}

impl Job {
    fn kind(&self) -> Kind {
        match self {
            Self::Flush(_) => Kind::Flush,
            Self::Condense(_) => Kind::Condense,
            Self::Compact(_) | Self::CompactAsAsked(_) => Kind::Compact,
            Self::Remove(_) => Kind::Remove,
        }
    }

    fn region(&self) -> Option<&Arc<Region>> {
        match self {
            Self::Flush(region) | Self::Condense(region) | Self::Compact(region) => Some(region),
            Self::CompactAsAsked(asked) => Some(&asked.region),
            Self::Remove(_) => None,
        }
    }

    /// The same work once more, of those kinds for which that may make sense.
    fn again(&self) -> Option<Again> {
        match self {
            Self::Flush(region) => Some(Again::Flush(Arc::clone(region))),
            Self::Compact(region) => Some(Again::Compact(Arc::clone(region))),
            Self::CompactAsAsked(asked) => Some(Again::CompactAsAsked(Arc::clone(&asked.region), asked.family.clone(), asked.kind)),
            Self::Condense(_) | Self::Remove(_) => None,
        }
    }

    /// What it is called in an error.
    fn name(&self) -> String {
        let what = match (self, self.kind()) {
            (Self::Remove(directory), _) => return format!("removing {directory}"),
            (_, Kind::Flush) => "flushing",
            (_, Kind::Condense) => "condensing",
            (_, Kind::Compact | Kind::Remove) => "compacting",
        };
        format!("{what} region {}", self.region().map(|region| region.info().display_name()).unwrap_or_default())
    }
}

fn panicked(name: &str, payload: &(dyn std::any::Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = format!("{name}: a panic ({}); nothing is lost, and it is tried again; report this", text.unwrap_or("no message"));
    Error::new(ErrorKind::Stopped, text)
}

fn do_job(shared: &Arc<Shared>, engine: &Engine, job: Job) -> Result<()> {
    match job {
        Job::Flush(region) => {
            let result = region.flush();
            shared.background.flush_ended(&result);
            result?;
            flush_for_the_log(shared, engine);
            if region.wants_compaction() {
                shared.background.request_compaction(&region);
            }
            Ok(())
        }
        Job::Condense(region) => {
            region.condense()?;
            // What never grows enough to be flushed keeps the log.
            flush_for_the_log(shared, engine);
            Ok(())
        }
        Job::Compact(region) => compact(shared, engine, &region, None, CompactionKind::Minor),
        Job::Remove(directory) => quarantine::remove(shared, &directory),
        Job::CompactAsAsked(asked) => compact(shared, engine, &asked.region, asked.family.as_deref(), asked.kind),
    }
}

/// Asks for flushes of the regions whose writes keep too many segments of the log.
fn flush_for_the_log(shared: &Arc<Shared>, engine: &Engine) {
    let old = shared.wal.regions_to_flush(shared.options.wal_segments_max);
    if !old.is_empty() {
        shared.background.request_flushes(engine.open_regions().into_iter().filter(|region| old.contains(&region.number)));
    }
}

/// Compacts a region that is still there, and asks for what it wants then.
fn compact(shared: &Arc<Shared>, engine: &Engine, region: &Arc<Region>, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
    if region.check_open().is_err() || !shared.background.permits.compactions() {
        return Ok(());
    }
    region.compact(family, kind)?;
    if region.wants_split() {
        return engine.split_region(&region.info().encoded_name, None);
    }
    if region.wants_compaction() {
        shared.background.request_compaction(region);
    }
    Ok(())
}
