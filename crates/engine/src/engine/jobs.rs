//! Carrying out work that nobody waits for: a panic ends the piece of work, not the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use halite_types::{CompactionKind, Error, ErrorKind, Result};

use super::{Engine, quarantine};
use crate::background::{Background, Job};
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

/// Does a piece of work, and then what it gives reason to.
///
/// # Errors
/// What the work met; a panic is `Stopped`.
pub(super) fn run(shared: &Arc<Shared>, engine: &Engine, job: Job) -> Result<()> {
    let (name, kind) = (job.name(), job.kind());
    let flushed = job.region().cloned();
    let work = || do_job(shared, engine, job);
    carry_out(&shared.background, (&name, kind), work, || follow(shared, kind, flushed.as_ref()))
}

/// Does the work and, if that is done, what follows it. A panic in what follows is counted and told, and takes nothing back.
fn carry_out(background: &Background, (name, kind): (&str, Kind), work: impl FnOnce() -> Result<()>, next: impl FnOnce()) -> Result<()> {
    let result = guarded(background, name, kind.after_a_panic(), work);
    match kind {
        Kind::Flush => background.flush_ended(&result),
        Kind::Compact => background.compaction_ended(&result),
        Kind::Condense | Kind::Remove => {}
    }
    result?;
    let what = format!("what follows {name}");
    let _ = guarded(background, &what, "and the next flush makes up for it", || {
        next();
        Ok(())
    });
    Ok(())
}

/// Does something and makes an error of its panic, which is counted.
fn guarded(background: &Background, name: &str, after: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let error = panicked(name, after, payload.as_ref());
        background.add_panic(error.clone());
        Err(error)
    })
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

impl Kind {
    /// What becomes of the work if it panics.
    fn after_a_panic(self) -> &'static str {
        match self {
            Self::Flush | Self::Compact => "and it is tried again",
            Self::Condense => "the region's next flush frees the memory",
            Self::Remove => "the next start removes what is left",
        }
    }
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

fn panicked(name: &str, after: &str, payload: &(dyn std::any::Any + Send)) -> Error {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = format!("{name}: a panic ({}); nothing is lost, {after}; report this", text.unwrap_or("no message"));
    Error::new(ErrorKind::Stopped, text)
}

fn do_job(shared: &Arc<Shared>, engine: &Engine, job: Job) -> Result<()> {
    match job {
        Job::Flush(region) => region.flush_memstores().map(drop),
        Job::Condense(region) => region.condense().map(drop),
        Job::Compact(region) => compact(shared, engine, &region, None, CompactionKind::Minor),
        Job::Remove(directory) => quarantine::remove(shared, &directory),
        Job::CompactAsAsked(asked) => compact(shared, engine, &asked.region, asked.family.as_deref(), asked.kind),
    }
}

/// What a piece of work gives reason to.
fn follow(shared: &Shared, kind: Kind, region: Option<&Arc<Region>>) {
    match kind {
        Kind::Flush => region.into_iter().for_each(Region::request_wanted_compaction),
        // What never grows enough to be flushed keeps the log. A flush asks by itself.
        Kind::Condense => shared.request_flushes_for_the_log(true),
        Kind::Compact | Kind::Remove => {}
    }
}

/// Compacts a region that is still there, and asks for what it wants then.
fn compact(shared: &Arc<Shared>, engine: &Engine, region: &Arc<Region>, family: Option<&[u8]>, kind: CompactionKind) -> Result<()> {
    if region.check_open().is_err() || !shared.background.permits.compactions() {
        return Ok(());
    }
    match region.compact(family, kind) {
        // It has gone meanwhile, and what it held with it or to others.
        Err(error) if error.kind() == ErrorKind::NoSuchRegion => return Ok(()),
        done => done?,
    }
    if region.wants_split() {
        return engine.split_region(&region.info().encoded_name, None);
    }
    if region.wants_compaction() {
        shared.background.request_compaction(region);
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
    fn a_panic_in_what_follows_a_flush_is_none_of_the_flush() {
        let background = Background::default();
        carry_out(&background, ("flushing region r", Kind::Flush), || Ok(()), broken).unwrap();
        let (panics, last) = background.panics();
        assert!(panics == 1 && last.unwrap().message().starts_with("what follows flushing region r: a panic (what follows is broken)"));
        assert_eq!(background.failure(), None);
        // Of work that has failed nothing follows.
        let failed = carry_out(&background, ("flushing region r", Kind::Flush), || panic!("the flush is broken"), broken);
        assert_eq!((failed.as_ref().err(), background.panics().0), (background.failure().as_ref(), 2));
        assert!(failed.unwrap_err().message().contains("the flush is broken"));
    }
}
