//! Rows that scans examine, counted while they run.

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
    /// Meter of which this one is a part.
    whole: Option<Arc<Self>>,
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
