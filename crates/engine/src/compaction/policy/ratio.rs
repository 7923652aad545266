//! Ratio policy: from the first file that is not much larger than the newer ones together, all
//! files are merged (HBase: `RatioBasedCompactionPolicy`).

use super::exploring::{is_in_ratio, select_run};
use super::plan::{CompactionPlan, CompactionPolicy, FileStats};

/// Returns the plan for a store's files, oldest first; `None` if there is nothing to do.
pub(crate) fn select_ratio(
    files: &[FileStats],
    policy: &CompactionPolicy,
) -> Option<CompactionPlan> {
    select_run(files, policy, ratio_run)
}

/// Returns the oldest run that ends with the newest file, or before one that is excluded.
fn ratio_run(files: &[FileStats], policy: &CompactionPolicy) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for end in 0..=files.len() {
        if files.get(end).is_some_and(|file| !file.is_excluded) {
            continue;
        }
        if let Some(run) = run_within(files, start..end, policy) {
            return Some(run);
        }
        start = end + 1;
    }
    None
}

fn run_within(
    files: &[FileStats],
    within: std::ops::Range<usize>,
    policy: &CompactionPolicy,
) -> Option<std::ops::Range<usize>> {
    let min_files = policy.min_files.max(2);
    let bytes = |range: std::ops::Range<usize>| -> u64 {
        files[range].iter().map(|file| file.bytes).fold(0, u64::saturating_add)
    };
    // A file is compared with the newer ones of the same merge, and the last of these, as in HBase.
    let is_small = |start: usize| {
        let newer_end = (start + 1).saturating_add(policy.max_files.saturating_sub(1));
        let newer = bytes(start + 1..newer_end.min(within.end));
        files[start].bytes <= policy.small_bytes
            || is_in_ratio(files[start].bytes, newer, policy.ratio)
    };
    let start = within.clone().find(|start| within.end - start < min_files || is_small(*start))?;
    let length = within.end - start;
    (length >= min_files).then(|| start..start + length.min(policy.max_files.max(min_files)))
}

#[cfg(test)]
mod tests {
    use super::super::exploring::tests::{POLICY, files};
    use super::*;

    #[test]
    fn files_after_the_large_ones_are_merged() {
        let plan = |sizes: &[u64]| select_ratio(&files(sizes), &POLICY);
        assert_eq!(plan(&[1000, 100, 12, 10, 9]), Some(CompactionPlan::Minor(vec![2, 3, 4])));
        assert_eq!(plan(&[1000, 100, 10]), None);
        assert_eq!(plan(&[10, 11]), None);
        assert_eq!(plan(&[10, 10, 10]), Some(CompactionPlan::Major));
        // Unlike the exploring policy, it never leaves out the newest file.
        assert_eq!(plan(&[9, 9, 9, 500]), Some(CompactionPlan::Major));
        assert_eq!(plan(&[10; 14]), Some(CompactionPlan::Minor((0..10).collect())));
    }

    #[test]
    fn small_files_are_merged_and_excluded_ones_are_not() {
        let small = CompactionPolicy { small_bytes: 200, ..POLICY };
        assert_eq!(
            select_ratio(&files(&[1000, 190, 10, 1]), &small),
            Some(CompactionPlan::Minor(vec![1, 2, 3]))
        );
        let mut some = files(&[10, 10, 10, 10, 10, 10]);
        some[1].is_excluded = true;
        assert_eq!(select_ratio(&some, &POLICY), Some(CompactionPlan::Minor(vec![2, 3, 4, 5])));
    }
}
