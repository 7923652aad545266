//! Date-tiered policy: files are grouped in windows of time by their newest timestamp, and merged
//! with files of the same window only (HBase: `DateTieredCompactionPolicy` and
//! `ExponentialCompactionWindowFactory`).
//!
//! The windows end at multiples of their length. Some windows of the base length are followed,
//! going back in time, by windows that are longer by a factor, and so on. A major compaction writes
//! one file for each window, so that later ones leave the old windows alone and reads of a time
//! range skip their files.

use halite_types::Result;

use super::exploring::{best_run, expired_files};
use super::plan::{CompactionPlan, CompactionPolicy, FileStats};
use crate::compaction::store_settings::StoreSettings;

/// Windows that are examined, at most: a factor of 1 never reaches old timestamps.
const MAX_WINDOWS: usize = 10_000;
/// Output files of one compaction, at most: all are written at the same time.
const MAX_OUTPUT_FILES: usize = 100;

/// Settings of the policy, under HBase's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateTiered {
    /// Age of the newest cell from which files are no longer merged, in milliseconds.
    max_age_ms: i64,
    /// Minimum files that are merged in the window of the present.
    incoming_min_files: usize,
    base_window_ms: i64,
    windows_per_tier: i64,
    /// Age from which windows do not become longer, in milliseconds.
    max_tier_age_ms: i64,
    /// `true` if a minor compaction writes one file, even of cells that are older than its window.
    has_single_output: bool,
    /// Number of files from which a window is merged whatever the sizes of its files.
    blocking_files: usize,
}

impl DateTiered {
    /// Parses the settings of a family.
    ///
    /// # Errors
    /// `InvalidRequest` with the setting, its value and the allowed ones.
    pub(crate) fn new(settings: &StoreSettings<'_>) -> Result<Self> {
        const PREFIX: &str = "hbase.hstore.compaction.date.tiered";
        let number =
            |name: &str, default: i64| settings.number(&format!("{PREFIX}.{name}"), default);
        let files = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
        let max_age_ms = number("max.storefile.age.millis", i64::MAX)?;
        Ok(Self {
            max_age_ms,
            incoming_min_files: files(number("incoming.window.min", 6)?),
            base_window_ms: number("base.window.millis", 6 * 3600 * 1000)?,
            windows_per_tier: number("windows.per.tier", 4)?,
            max_tier_age_ms: number("max.tier.age.millis", max_age_ms)?,
            has_single_output: settings
                .flag(&format!("{PREFIX}.single.output.for.minor.compaction"), true),
            blocking_files: files(settings.number("hbase.hstore.blockingStoreFiles", 16)?),
        })
    }

    /// Returns the plan for a store's files, oldest first; `None` if there is nothing to do.
    pub(crate) fn select(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Option<CompactionPlan> {
        let expired = expired_files(files, policy);
        if expired.is_some() {
            return expired;
        }
        if files.iter().any(|file| file.is_reference) || self.is_major_due(files, policy) {
            return Some(CompactionPlan::Major);
        }
        let run = self.minor_run(files, policy)?;
        Some(if run.len() == files.len() {
            CompactionPlan::Major
        } else {
            CompactionPlan::Minor(run.collect())
        })
    }

    /// Returns `true` if a file is older than the major compaction interval and the files are not
    /// yet one major-compacted file per window.
    fn is_major_due(&self, files: &[FileStats], policy: &CompactionPolicy) -> bool {
        let is_old = policy.major_interval_ms > 0
            && files.len() < policy.max_files
            && files
                .iter()
                .any(|file| policy.now.saturating_sub(file.created_ms) > policy.major_interval_ms);
        if !is_old {
            return false;
        }
        let bounds = self.bounds_down_to(oldest_of(files), policy.now);
        let window = |time: Option<i64>| {
            bounds.partition_point(|bound| *bound <= time.unwrap_or(i64::MAX)).saturating_sub(1)
        };
        let mut taken = vec![false; bounds.len()];
        files.iter().any(|file| {
            let has_expired = policy
                .oldest_unexpired
                .is_some_and(|least| file.oldest.is_none_or(|oldest| oldest < least));
            let (first, last) = (window(file.oldest), window(file.newest));
            let is_taken = taken.get_mut(last).is_none_or(|taken| std::mem::replace(taken, true));
            has_expired || !file.is_major || file.is_excluded || first != last || is_taken
        })
    }

    /// Returns the files to merge in the newest window that has enough of them.
    fn minor_run(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Option<std::ops::Range<usize>> {
        // Of a file before a newer one, the window is not earlier: a merge takes adjacent files.
        let mut newest_so_far = i64::MIN;
        let newest: Vec<i64> = files
            .iter()
            .map(|file| {
                newest_so_far = newest_so_far.max(file.newest.unwrap_or(i64::MIN));
                newest_so_far
            })
            .collect();
        let oldest_to_merge = policy.now.saturating_sub(self.max_age_ms);
        let mut at = files.len();
        for (index, window) in self.windows(policy.now).enumerate() {
            if at == 0 || window.is_before(oldest_to_merge) {
                break;
            }
            let end = at;
            while at > 0 && !window.is_after(newest[at - 1]) {
                at -= 1;
            }
            let min_files = if index == 0 { self.incoming_min_files } else { policy.min_files };
            let min_files = min_files.max(2);
            if end - at >= min_files
                && let Some(run) = self.run_of_window(files, at..end, min_files, policy)
            {
                return Some(run);
            }
        }
        None
    }

    fn run_of_window(
        &self,
        files: &[FileStats],
        window: std::ops::Range<usize>,
        min_files: usize,
        policy: &CompactionPolicy,
    ) -> Option<std::ops::Range<usize>> {
        let max_files = policy.max_files.max(min_files);
        let of_window = &files[window.clone()];
        if files.len() >= self.blocking_files && !of_window.iter().any(|file| file.is_excluded) {
            return Some(window.start..window.end.min(window.start.saturating_add(max_files)));
        }
        let run = best_run(of_window, &CompactionPolicy { min_files, max_files, ..*policy })?;
        Some(window.start + run.start..window.start + run.end)
    }

    /// Returns the first timestamps of the files that a compaction writes, in ascending order: a
    /// cell is written to the last file that does not begin after it. `is_major` is `true` if all
    /// files of the store are merged.
    ///
    /// The files have one sequence id, and a later run may merge some of them only. Reads are right
    /// nevertheless: cells keep their own ids in every file, and these decide among equal keys.
    pub(crate) fn output_bounds(&self, inputs: &[FileStats], is_major: bool, now: i64) -> Vec<i64> {
        if is_major {
            return self.bounds_down_to(oldest_of(inputs), now);
        }
        let newest = inputs.iter().filter_map(|file| file.newest).max().unwrap_or(i64::MIN);
        let window = self.windows(now).find(|window| !window.is_after(newest));
        let start = window.map(|window| window.start_ms()).filter(|_| !self.has_single_output);
        std::iter::once(i64::MIN).chain(start).collect()
    }

    /// Returns the starts of the windows back to the one with the timestamp `oldest`, which has no
    /// start, in ascending order.
    fn bounds_down_to(&self, oldest: i64, now: i64) -> Vec<i64> {
        let mut bounds: Vec<i64> = self
            .windows(now)
            .take_while(|window| window.is_after(oldest))
            .take(MAX_OUTPUT_FILES - 1)
            .map(|window| window.start_ms())
            .collect();
        bounds.push(i64::MIN);
        bounds.reverse();
        bounds.dedup();
        bounds
    }

    /// Returns the windows, that of `now` first.
    fn windows(&self, now: i64) -> impl Iterator<Item = Window> {
        let tier_cutoff = now.saturating_sub(self.max_tier_age_ms);
        let per_tier = self.windows_per_tier;
        let first = Window { length_ms: self.base_window_ms, position: now / self.base_window_ms };
        std::iter::successors(Some(first), move |window| window.earlier(per_tier, tier_cutoff))
            .take(MAX_WINDOWS)
    }
}

fn oldest_of(files: &[FileStats]) -> i64 {
    files.iter().map(|file| file.oldest.unwrap_or(i64::MAX)).min().unwrap_or(i64::MAX)
}

/// Window of time: `length_ms` milliseconds from `position * length_ms` on.
#[derive(Clone, Copy, Debug)]
struct Window {
    length_ms: i64,
    position: i64,
}

impl Window {
    fn position_of(&self, time: i64) -> i64 {
        time.div_euclid(self.length_ms)
    }

    /// Returns `true` if the window begins after a timestamp.
    fn is_after(&self, time: i64) -> bool {
        self.position > self.position_of(time)
    }

    /// Returns `true` if the window ends before a timestamp.
    fn is_before(&self, time: i64) -> bool {
        self.position < self.position_of(time)
    }

    fn start_ms(&self) -> i64 {
        self.position.saturating_mul(self.length_ms)
    }

    /// Returns the window before this one; `None` once numbers overflow. Windows after
    /// `tier_cutoff` become longer where a longer one ends.
    fn earlier(&self, per_tier: i64, tier_cutoff: i64) -> Option<Self> {
        let tier_ms = self.length_ms.checked_mul(per_tier)?;
        let is_inside = self.position.rem_euclid(per_tier) > 0;
        if is_inside || self.start_ms().checked_sub(tier_ms)? < tier_cutoff {
            return Some(Self { position: self.position.checked_sub(1)?, ..*self });
        }
        let position = self.position.div_euclid(per_tier).checked_sub(1)?;
        Some(Self { length_ms: tier_ms, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 10 ms, four of a length: at 165 they begin at 160, then 120 and 80 (40 ms), ...
    const TIERS: DateTiered = DateTiered {
        max_age_ms: i64::MAX,
        incoming_min_files: 3,
        base_window_ms: 10,
        windows_per_tier: 4,
        max_tier_age_ms: i64::MAX,
        has_single_output: true,
        blocking_files: 16,
    };
    const POLICY: CompactionPolicy = CompactionPolicy {
        min_files: 2,
        max_files: 10,
        ratio: 1.2,
        small_bytes: 0,
        flush_bytes: 0,
        major_interval_ms: 0,
        now: 165,
        oldest_unexpired: None,
        drops_expired: true,
    };

    /// Returns files of 10 bytes with these oldest and newest timestamps.
    fn files(times: &[(i64, i64)]) -> Vec<FileStats> {
        let file = |&(oldest, newest): &(i64, i64)| FileStats {
            bytes: 10,
            cells: 1,
            sequence: 1,
            is_reference: false,
            is_major: true,
            is_excluded: false,
            is_claimed: false,
            oldest: Some(oldest),
            newest: Some(newest),
            has_deletes: false,
            created_ms: 100,
            stripe: None,
        };
        times.iter().map(file).collect()
    }

    fn newest(times: &[i64]) -> Vec<FileStats> {
        files(&times.iter().map(|time| (*time, *time)).collect::<Vec<_>>())
    }

    #[test]
    fn windows_grow_with_age_at_their_multiples() {
        let starts = |tiers: DateTiered, now: i64| -> Vec<(i64, i64)> {
            tiers.windows(now).take(7).map(|w| (w.start_ms(), w.length_ms)).collect()
        };
        assert_eq!(
            starts(TIERS, 189),
            [(180, 10), (170, 10), (160, 10), (120, 40), (80, 40), (40, 40), (0, 40)]
        );
        let short = DateTiered { max_tier_age_ms: 80, ..TIERS };
        assert_eq!(starts(short, 165)[..3], [(160, 10), (120, 40), (80, 40)]);
        assert_eq!(
            starts(DateTiered { max_tier_age_ms: 20, ..TIERS }, 165)[..3],
            [(160, 10), (150, 10), (140, 10)]
        );
        assert!(TIERS.windows(i64::MAX).count() < MAX_WINDOWS);
    }

    #[test]
    fn files_of_one_window_are_merged() {
        let plan = |files: &[FileStats]| TIERS.select(files, &POLICY);
        // The present window waits for three files, an earlier one for two.
        assert_eq!(plan(&newest(&[161, 162])), None);
        assert_eq!(plan(&newest(&[81, 161, 162, 163])), Some(CompactionPlan::Minor(vec![1, 2, 3])));
        assert_eq!(plan(&newest(&[30, 81, 90, 130])), Some(CompactionPlan::Minor(vec![1, 2])));
        assert_eq!(plan(&newest(&[30, 81, 130, 161])), None);
        assert_eq!(plan(&newest(&[161, 162, 900])), Some(CompactionPlan::Major));
        // An older file that was written later is in the window of the files before it.
        assert_eq!(plan(&newest(&[10, 161, 30, 162])), Some(CompactionPlan::Minor(vec![1, 2, 3])));
        let young = DateTiered { max_age_ms: 40, ..TIERS };
        assert_eq!(young.select(&newest(&[30, 81, 90, 130]), &POLICY), None);
    }

    #[test]
    fn window_of_unlike_files_is_merged_once_writes_wait() {
        let mut unlike = newest(&[1, 161, 162, 163]);
        (unlike[1].bytes, unlike[2].bytes, unlike[3].bytes) = (10_000, 100, 1);
        assert_eq!(TIERS.select(&unlike, &POLICY), None);
        let blocked = DateTiered { blocking_files: 4, ..TIERS };
        assert_eq!(blocked.select(&unlike, &POLICY), Some(CompactionPlan::Minor(vec![1, 2, 3])));
    }

    #[test]
    fn major_compaction_is_due_until_each_window_has_one_file() {
        let due = CompactionPolicy { major_interval_ms: 50, ..POLICY };
        let settled = files(&[(5, 39), (81, 119), (161, 164)]);
        assert_eq!(TIERS.select(&settled, &due), None);
        let mut fresh = settled.clone();
        fresh[2].is_major = false;
        let crossing = files(&[(5, 100), (161, 164)]);
        let expired = CompactionPolicy { oldest_unexpired: Some(6), drops_expired: false, ..due };
        for (files, policy) in [(&fresh, &due), (&crossing, &due), (&settled, &expired)] {
            assert_eq!(TIERS.select(files, policy), Some(CompactionPlan::Major));
        }
        assert_eq!(TIERS.select(&fresh, &POLICY), None, "no interval");
    }

    #[test]
    fn major_compaction_writes_file_per_window() {
        let of = files(&[(5, 39), (81, 119), (161, 164)]);
        assert_eq!(TIERS.output_bounds(&of, true, 165), [i64::MIN, 40, 80, 120, 160]);
        assert_eq!(TIERS.output_bounds(&of, false, 165), [i64::MIN]);
        let several = DateTiered { has_single_output: false, ..TIERS };
        assert_eq!(several.output_bounds(&of[1..2], false, 165), [i64::MIN, 80]);
        let dense = DateTiered { windows_per_tier: 1, ..TIERS };
        assert_eq!(dense.output_bounds(&of, true, 1 << 40).len(), MAX_OUTPUT_FILES);
    }
}
