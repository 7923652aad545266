//! Which files of a store to compact: a pure function of their figures.
//!
//! The rules are those of HBase's exploring policy: among all runs of neighbouring files whose sizes are alike, the one
//! with most files, and among those the smallest. Files are given oldest first, by sequence id.

use crate::options::Options;
use crate::region::Family;

/// What the decision rests on for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that say nothing of one another")]
pub(crate) struct FileFacts {
    pub(crate) bytes: u64,
    /// A part of another region's file: to be rewritten soon.
    pub(crate) is_reference: bool,
    /// Result of a compaction of all files.
    pub(crate) is_major: bool,
    /// Made for bulk loading so that only a compaction of all files rewrites it.
    pub(crate) is_excluded: bool,
    /// Oldest and newest timestamp in it.
    pub(crate) oldest: Option<i64>,
    /// See above.
    pub(crate) newest: Option<i64>,
    /// Whether it holds delete markers.
    pub(crate) has_deletes: bool,
    /// When it was written, milliseconds.
    pub(crate) created_ms: i64,
}

/// What the decision rests on beside the files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) files_min: usize,
    pub(crate) files_max: usize,
    pub(crate) ratio: f64,
    /// Runs of files below this size in total are always alike.
    pub(crate) small_bytes: u64,
    pub(crate) major_ms: i64,
    pub(crate) now: i64,
    /// Older cells have expired; `None` when nothing does.
    pub(crate) oldest_unexpired: Option<i64>,
    /// Whether a file goes unread once all its cells have expired: not where the newest versions outlive their time.
    pub(crate) drops_expired: bool,
}

impl Policy {
    /// The policy of a store as of `now`.
    pub(crate) fn new(options: &Options, family: &Family, now: i64) -> Self {
        let (ttl_ms, own) = (family.ttl_ms, family.compaction);
        let expires = own.delete_expired_files.unwrap_or(options.delete_expired_files) && family.min_versions == 0;
        let files_min = own.files_min.unwrap_or(options.compaction_files_min);
        Self {
            files_min,
            files_max: own.files_max.unwrap_or(options.compaction_files_max).max(files_min),
            ratio: own.ratio.unwrap_or(options.compaction_ratio),
            small_bytes: options.memstore_flush_bytes,
            major_ms: options.major_compaction_ms,
            now,
            oldest_unexpired: ttl_ms.map(|ttl| now.saturating_sub(ttl)),
            drops_expired: expires,
        }
    }
}

/// What to do with a store; the numbers are places in the list of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Every cell in these has expired: take them away unread.
    Drop(Vec<usize>),
    /// Merge these; markers stay.
    Minor(Vec<usize>),
    /// Merge all files; what no read can see goes.
    Major,
}

/// The decision for a store's files, oldest first; `None` if there is nothing to do.
pub(crate) fn select(files: &[FileFacts], policy: &Policy) -> Option<Plan> {
    if let Some(oldest) = policy.oldest_unexpired.filter(|_| policy.drops_expired) {
        let expired: Vec<usize> = (0..files.len()).filter(|&i| files[i].newest.is_some_and(|newest| newest < oldest)).collect();
        if !expired.is_empty() {
            return Some(Plan::Drop(expired));
        }
    }
    if files.iter().any(|file| file.is_reference) || is_major_due(files, policy) {
        return Some(Plan::Major);
    }
    let run = best_run(files, policy)?;
    // As in HBase, a run of all files may drop what no read can see.
    Some(if run.len() == files.len() { Plan::Major } else { Plan::Minor(run.collect()) })
}

/// Whether the oldest file has not been rewritten for so long that everything is. One file that was is, if cells of it have
/// expired since (`RatioBasedCompactionPolicy.shouldPerformMajorCompaction`).
fn is_major_due(files: &[FileFacts], policy: &Policy) -> bool {
    let old = policy.major_ms > 0 && files.iter().any(|file| policy.now.saturating_sub(file.created_ms) > policy.major_ms);
    let has_expired = |file: &FileFacts| policy.oldest_unexpired.is_some_and(|least| file.oldest.is_none_or(|oldest| oldest < least));
    let settled = matches!(files, [only] if only.is_major && !only.has_deletes && !has_expired(only));
    old && !settled
}

fn best_run(files: &[FileFacts], policy: &Policy) -> Option<std::ops::Range<usize>> {
    let mut best: Option<(std::ops::Range<usize>, u64)> = None;
    for start in 0..files.len() {
        let (mut total, mut largest) = (0_u64, 0);
        for (at, file) in files.iter().enumerate().skip(start).take(policy.files_max).take_while(|(_, file)| !file.is_excluded) {
            total = total.saturating_add(file.bytes);
            largest = largest.max(file.bytes);
            let length = at + 1 - start;
            if length < policy.files_min {
                continue;
            }
            // What holds for the largest holds for the others: each is smaller, and has more beside it.
            let alike = total < policy.small_bytes || is_in_ratio(largest, total - largest, policy.ratio);
            let better = match &best {
                None => true,
                Some((known, bytes)) => length > known.len() || length == known.len() && total < *bytes,
            };
            if alike && better {
                best = Some((start..at + 1, total));
            }
        }
    }
    best.map(|(run, _)| run)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of sizes needs no more than 53 bits")]
fn is_in_ratio(bytes: u64, others: u64, ratio: f64) -> bool {
    bytes as f64 <= others as f64 * ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy =
        Policy { files_min: 3, files_max: 10, ratio: 1.2, small_bytes: 0, major_ms: 0, now: 1000, oldest_unexpired: None, drops_expired: true };

    fn files(sizes: &[u64]) -> Vec<FileFacts> {
        let file = |&bytes| FileFacts {
            bytes,
            is_reference: false,
            is_major: false,
            is_excluded: false,
            oldest: Some(400),
            newest: Some(500),
            has_deletes: false,
            created_ms: 900,
        };
        sizes.iter().map(file).collect()
    }

    #[test]
    fn a_run_of_like_files_is_merged_and_a_large_old_one_left_alone() {
        assert_eq!(select(&files(&[1000, 10, 11, 9]), &POLICY), Some(Plan::Minor(vec![1, 2, 3])));
        assert_eq!(select(&files(&[10, 11]), &POLICY), None);
        assert_eq!(select(&files(&[1000, 100, 10]), &POLICY), None);
        assert_eq!(select(&files(&[10, 10, 10]), &POLICY), Some(Plan::Major));
        assert_eq!(select(&files(&[10; 12]), &POLICY), Some(Plan::Minor((0..10).collect())));
        assert_eq!(select(&files(&[1000, 10, 1, 1]), &Policy { small_bytes: 100, ..POLICY }), Some(Plan::Minor(vec![1, 2, 3])));
    }

    #[test]
    fn references_are_rewritten_and_expired_files_dropped() {
        let mut some = files(&[10, 20]);
        some[1].is_reference = true;
        assert_eq!(select(&some, &POLICY), Some(Plan::Major));
        some[0].newest = Some(3);
        assert_eq!(select(&some, &Policy { oldest_unexpired: Some(4), ..POLICY }), Some(Plan::Drop(vec![0])));
    }

    #[test]
    fn an_excluded_file_waits_for_a_compaction_of_all() {
        let mut some = files(&[10, 10, 10, 10, 10, 10]);
        some[1].is_excluded = true;
        assert_eq!(select(&some, &POLICY), Some(Plan::Minor(vec![2, 3, 4, 5])));
        assert_eq!(select(&some[..4], &POLICY), None);
        assert_eq!(select(&some, &Policy { major_ms: 50, ..POLICY }), Some(Plan::Major));
    }

    #[test]
    fn an_old_store_is_rewritten_unless_that_changes_nothing() {
        let policy = Policy { major_ms: 50, ..POLICY };
        assert_eq!(select(&files(&[10]), &policy), Some(Plan::Major));
        let mut settled = files(&[10]);
        settled[0].is_major = true;
        assert_eq!(select(&settled, &policy), None);
        settled[0].has_deletes = true;
        assert_eq!(select(&settled, &policy), Some(Plan::Major));
    }

    #[test]
    fn a_settled_file_is_rewritten_when_cells_of_it_have_expired_whether_or_not_files_go_unread() {
        let mut settled = files(&[10]);
        settled[0].is_major = true;
        for drops_expired in [true, false] {
            let policy = Policy { major_ms: 50, drops_expired, ..POLICY };
            assert_eq!(select(&settled, &Policy { oldest_unexpired: Some(400), ..policy }), None);
            assert_eq!(select(&settled, &Policy { oldest_unexpired: Some(401), ..policy }), Some(Plan::Major));
        }
        let outlived = Policy { major_ms: 50, drops_expired: false, oldest_unexpired: Some(501), ..POLICY };
        assert_eq!(select(&settled, &outlived), Some(Plan::Major), "the newest versions are kept");
        assert_eq!(select(&settled, &Policy { drops_expired: true, ..outlived }), Some(Plan::Drop(vec![0])));
    }

    #[test]
    fn numbers_without_sense_and_thousands_of_files_are_no_trouble() {
        let no_limit = Policy { files_min: usize::MAX, files_max: usize::MAX, ..POLICY };
        assert_eq!(select(&files(&[10, 10, 10]), &no_limit), None);
        let many = files(&vec![10; 5000]);
        assert_eq!(select(&many, &Policy { files_max: usize::MAX, ..POLICY }), Some(Plan::Major));
        assert_eq!(select(&files(&[u64::MAX, u64::MAX, u64::MAX]), &POLICY), None);
    }
}
