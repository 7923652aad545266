//! What scans examine and read, counted while they run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// Counter of the rows that scans examine, returned or not, shared by the scans of one question.
///
/// The store adds to it while a scan runs, in steps of some ten thousand rows at most; a remote
/// cluster with each response. It may end the scans: at a limit, and when their caller has gone.
#[derive(Debug)]
pub struct ScanMeter {
    examined: AtomicU64,
    max_examined: u64,
    is_stopped: AtomicBool,
    regions: AtomicU64,
    calls: Counted,
    blocks_read: Counted,
    blocks_cached: Counted,
    /// Meter of which this one is a part.
    whole: Option<Arc<Self>>,
}

/// Number that not every store counts.
#[derive(Debug, Default)]
struct Counted {
    is_counted: AtomicBool,
    number: AtomicU64,
}

impl Counted {
    fn add(&self, more: u64) {
        self.number.fetch_add(more, Ordering::Relaxed);
        self.is_counted.store(true, Ordering::Relaxed);
    }

    fn get(&self) -> Option<u64> {
        let number = self.number.load(Ordering::Relaxed);
        self.is_counted.load(Ordering::Relaxed).then_some(number)
    }
}

impl Default for ScanMeter {
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

impl ScanMeter {
    /// Creates a meter whose scans end when they have examined more than `max_examined` rows.
    pub fn new(max_examined: u64) -> Self {
        Self {
            examined: AtomicU64::new(0),
            max_examined,
            is_stopped: AtomicBool::new(false),
            regions: AtomicU64::new(0),
            calls: Counted::default(),
            blocks_read: Counted::default(),
            blocks_cached: Counted::default(),
            whole: None,
        }
    }

    /// Creates a meter of some of the scans of `whole`, which counts their rows, too, and ends them.
    pub fn part_of(whole: &Arc<Self>) -> Self {
        Self { whole: Some(Arc::clone(whole)), ..Self::default() }
    }

    /// Returns the number of rows that were examined so far.
    pub fn examined(&self) -> u64 {
        self.examined.load(Ordering::Relaxed)
    }

    /// Returns how many times a scan came to the end of its part of a region.
    pub fn regions(&self) -> u64 {
        self.regions.load(Ordering::Relaxed)
    }

    /// Adds the end of a region, for implementations of [`Table`](crate::Table).
    pub fn add_region(&self) {
        self.regions.fetch_add(1, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.add_region();
        }
    }

    /// Returns the answers of servers so far; `None` from a store in this process.
    pub fn calls(&self) -> Option<u64> {
        self.calls.get()
    }

    /// Returns the blocks of store files that were read from the disk; `None` if the store does not
    /// tell.
    pub fn blocks_read(&self) -> Option<u64> {
        self.blocks_read.get()
    }

    /// Returns the blocks of store files that were found in the cache; `None` if the store does not
    /// tell.
    pub fn blocks_cached(&self) -> Option<u64> {
        self.blocks_cached.get()
    }

    /// Adds answers of servers, for implementations of [`Table`](crate::Table).
    pub fn add_calls(&self, calls: u64) {
        self.calls.add(calls);
    }

    /// Adds blocks that were read from the disk, for implementations of [`Table`](crate::Table).
    pub fn add_blocks_read(&self, blocks: u64) {
        self.blocks_read.add(blocks);
    }

    /// Adds blocks that were found in the cache, for implementations of [`Table`](crate::Table).
    pub fn add_blocks_cached(&self, blocks: u64) {
        self.blocks_cached.add(blocks);
    }

    /// Returns `true` if the scans examined more rows than they may.
    pub fn is_exceeded(&self) -> bool {
        self.examined() > self.max_examined
            || self.whole.as_ref().is_some_and(|whole| whole.is_exceeded())
    }

    /// Ends the scans at their next step.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Adds rows that a scan examined, for implementations of [`Table`](crate::Table).
    ///
    /// # Errors
    /// The scan is to end with it: `InvalidRequest` beyond the limit, `Stopped` after
    /// [`Self::stop`].
    pub fn add(&self, rows: u64) -> Result<()> {
        let examined = self.examined.fetch_add(rows, Ordering::Relaxed) + rows;
        if self.is_stopped.load(Ordering::Relaxed) {
            let text = "the scan was ended by its caller, who no longer wants its rows";
            return Err(Error::new(ErrorKind::Stopped, text));
        }
        if examined > self.max_examined {
            let most = self.max_examined;
            return Err(Error::invalid(format!(
                "the scan has examined {examined} rows, and may examine {most}: narrow its range, \
                 or permit more"
            )));
        }
        self.whole.as_ref().map_or(Ok(()), |whole| whole.add(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_parts_count_toward_the_limit_of_the_whole() {
        let whole = Arc::new(ScanMeter::new(10));
        let (one, two) = (ScanMeter::part_of(&whole), ScanMeter::part_of(&whole));
        one.add(6).unwrap();
        two.add(4).unwrap();
        assert!(!whole.is_exceeded());
        assert_eq!(two.add(1).unwrap_err().kind(), ErrorKind::InvalidRequest);
        assert!(one.is_exceeded() && whole.is_exceeded());
        assert_eq!((one.examined(), two.examined(), whole.examined()), (6, 5, 11));
        one.add_region();
        assert_eq!((one.regions(), two.regions(), whole.regions()), (1, 0, 1));
    }

    #[test]
    fn what_the_store_does_not_count_is_unknown_and_not_zero() {
        let meter = ScanMeter::default();
        assert_eq!((meter.calls(), meter.blocks_read(), meter.blocks_cached()), (None, None, None));
        meter.add_calls(1);
        meter.add_blocks_read(0);
        meter.add_calls(2);
        assert_eq!(
            (meter.calls(), meter.blocks_read(), meter.blocks_cached()),
            (Some(3), Some(0), None)
        );
    }

    #[test]
    fn stopped_whole_ends_the_scans_of_its_parts() {
        let whole = Arc::new(ScanMeter::default());
        let part = ScanMeter::part_of(&whole);
        part.add(1).unwrap();
        whole.stop();
        assert_eq!(part.add(1).unwrap_err().kind(), ErrorKind::Stopped);
        assert!(!part.is_exceeded());
    }
}
