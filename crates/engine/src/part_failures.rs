//! Record of the damaged parts of data blocks, in place of which the whole blocks were read.

use halite_types::Error;

use crate::ranked_lock::RankedMutex;

/// Damaged parts, or part indexes, of data blocks since the store was opened. The reads succeed, as
/// long as the whole blocks are sound.
#[derive(Clone, Debug, Default)]
pub struct PartFailures {
    /// Number of reads of a part that read the whole block instead.
    pub reads: u64,
    /// The first errors that differ, each with file and offset.
    pub first: Vec<Error>,
}

/// Number of errors in [`PartFailures::first`].
const MAX_ERRORS: usize = 100;

/// Collector of [`PartFailures`].
#[derive(Debug, Default)]
pub(crate) struct PartFailureLog(RankedMutex<PartFailures>);

impl PartFailureLog {
    /// Records one read that found damage.
    pub(crate) fn add(&self, error: Error) {
        let mut failures = self.0.lock();
        failures.reads += 1;
        let is_known = |known: &Error| known.message() == error.message();
        if failures.first.len() < MAX_ERRORS && !failures.first.iter().any(is_known) {
            failures.first.push(error);
        }
    }

    /// Returns what is recorded.
    pub(crate) fn failures(&self) -> PartFailures {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_read_counts_and_each_damage_is_kept_once() {
        let log = PartFailureLog::default();
        for read in 0..3 * MAX_ERRORS {
            log.add(Error::corrupt(format!("file a, part at {}", read / 2)));
        }
        let failures = log.failures();
        assert_eq!((failures.reads, failures.first.len()), (300, MAX_ERRORS));
        assert_eq!(failures.first[1].message(), "file a, part at 1");
    }
}
