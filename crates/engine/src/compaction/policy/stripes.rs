//! Stripe policy: the rows of a region are divided into stripes, each with files of its own, and
//! the files of one stripe are merged with each other only (HBase: `StripeCompactionPolicy`,
//! `StripeStoreConfig`).
//!
//! Files without a stripe are in level 0: bulk-loaded ones, those from before the table had
//! stripes, and flushes if the settings say so. Once there are enough, a compaction divides their
//! cells among the stripes. A stripe that has grown is divided when all of its files are merged.
//!
//! In two cases the selection differs from HBase's. A merge that includes level 0 also includes the
//! files of each stripe that lie between its files in the order of sequence ids, and level 0 is
//! merged as soon as one of its files lies between those of a stripe: the order of the files then
//! decides between equal cells in any case. Different stripes are compacted at the same time, where
//! HBase compacts one after the other.

use std::cmp::Reverse;

use halite_types::Result;

use super::exploring::best_run;
use super::plan::{CompactionPlan, CompactionPolicy, FileStats, StripeMerge};
use super::stripe_layout::{Stripe, StripeLayout};
use crate::compaction::store_settings::StoreSettings;
use crate::store::{Division, StripeBounds, StripeFile};

/// Stripes into which files are divided because of their size, at most: each is a file.
const MAX_PARTS: f64 = 1000.0;

/// Settings of the policy, under HBase's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stripes {
    /// Files of level 0 from which they are divided among the stripes.
    level0_min_files: usize,
    flushes_to_level0: bool,
    /// Files of a stripe that are merged; `None` for those of other policies.
    min_files: Option<usize>,
    max_files: Option<usize>,
    /// Stripes that a store starts with.
    initial_count: usize,
    /// Size from which a stripe is divided; `None` for a multiple of the flush size.
    split_bytes: Option<u64>,
    /// Number of stripes into which one is divided.
    split_parts: f64,
    /// Flush size of the table, if it has its own.
    flush_bytes: Option<u64>,
    /// Ratio of the sizes of a region's halves up to which it is split between two stripes.
    max_imbalance: f64,
}

/// Where a region with stripes is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StripeSplit {
    /// At the start of a stripe.
    Border(bytes::Bytes),
    /// In the middle of the largest of these files.
    Files(Vec<usize>),
}

impl Stripes {
    /// Parses the settings of a family.
    ///
    /// # Errors
    /// `InvalidRequest` with the setting, its value and the allowed ones.
    pub(crate) fn new(settings: &StoreSettings<'_>) -> Result<Self> {
        const PREFIX: &str = "hbase.store.stripe";
        let files = |name: &str| -> Result<Option<usize>> {
            let number = settings.optional_number(&format!("{PREFIX}.{name}"))?;
            Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
        };
        // A ratio and its inverse mean the same.
        let ratio = |name: &str, default: f64| -> Result<f64> {
            let value = settings.ratio(&format!("{PREFIX}.{name}"))?.unwrap_or(default);
            Ok(if value < 1.0 { 1.0 / value } else { value })
        };
        let parts = ratio("splitPartCount", 2.0)?;
        Ok(Self {
            level0_min_files: files("compaction.minFilesL0")?.unwrap_or(4),
            flushes_to_level0: settings.flag(&format!("{PREFIX}.compaction.flushToL0"), false),
            min_files: files("compaction.minFiles")?,
            max_files: files("compaction.maxFiles")?,
            initial_count: files("initialStripeCount")?.unwrap_or(1),
            split_bytes: settings
                .optional_number(&format!("{PREFIX}.sizeToSplit"))?
                .map(i64::cast_unsigned),
            // HBase replaces 1, which would divide nothing.
            split_parts: if (parts - 1.0).abs() < 0.001 { 2.0 } else { parts },
            flush_bytes: settings.flush_bytes(),
            max_imbalance: ratio("region.split.max.imbalance", 1.5)?,
        })
    }

    /// Returns the plan for a store's files, oldest first; `None` if there is nothing to do, or
    /// only with files that are claimed.
    pub(crate) fn select(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Option<CompactionPlan> {
        let layout = StripeLayout::of(files);
        let expired = expired_files(files, &layout, policy);
        if !expired.is_empty() {
            return Some(CompactionPlan::Drop(expired));
        }
        let is_any_claimed = files.iter().any(|file| file.is_claimed);
        if files.iter().any(|file| file.is_reference) {
            return (!is_any_claimed).then_some(CompactionPlan::Major);
        }
        let level0 = &layout.level0;
        let is_level0_due = self.level0_min_files <= level0.len()
            || are_expired(files, level0, policy)
            || layout.has_level0_in_between();
        if is_level0_due {
            // It writes to all stripes.
            let plan = || self.level0_merge(files, &layout, policy);
            return (!is_any_claimed).then(plan).flatten().map(CompactionPlan::Stripes);
        }
        if level0.iter().any(|at| files[*at].is_claimed) {
            return None;
        }
        expired_merge(files, &layout, policy)
            .or_else(|| self.stripe_merge(files, &layout, policy))
            .map(CompactionPlan::Stripes)
    }

    /// Returns the merge of level 0, with the files of a stripe if these are to be merged anyway.
    /// `None` if it has no files.
    fn level0_merge(
        &self,
        files: &[FileStats],
        layout: &StripeLayout,
        policy: &CompactionPolicy,
    ) -> Option<StripeMerge> {
        let level0 = &layout.level0;
        let are_few = level0.len() <= self.max_files(policy);
        if !are_few
            && !layout.has_level0_in_between()
            && let Some(merge) = self.stripe_merge(files, layout, policy)
        {
            return Some(merge);
        }
        let selected =
            if are_few { level0.clone() } else { self.level0_run(files, level0, policy) };
        let is_all = selected.len() == level0.len();
        if layout.stripes.is_empty() {
            let (most, cells) = self.target(files, &selected, self.initial_parts(), policy);
            let bounds = StripeBounds::default();
            return Some(StripeMerge {
                inputs: selected,
                complete_rows: is_all.then(|| bounds.clone()),
                division: Division::Cells { bounds, most, cells, is_required: false },
            });
        }
        let with = self.whole_stripe(files, layout, policy).filter(|_| is_all);
        let oldest = selected.iter().map(|at| files[*at].sequence).min()?;
        let newest = selected.iter().map(|at| files[*at].sequence).max()?;
        let mut inputs = selected;
        let mut outputs = Vec::new();
        for (index, stripe) in layout.stripes.iter().enumerate() {
            let is_included = |at: &usize| {
                with == Some(index) || (oldest..=newest).contains(&files[*at].sequence)
            };
            let included: Vec<usize> = stripe.files.iter().copied().filter(is_included).collect();
            let newest_included = included.iter().map(|at| files[*at].sequence).max();
            outputs.push(StripeFile {
                bounds: stripe.bounds.clone(),
                max_sequence: newest_included.map_or(newest, |included| included.max(newest)),
                is_required: included.len() == stripe.files.len(),
            });
            inputs.extend(included);
        }
        inputs.sort_unstable();
        Some(StripeMerge {
            inputs,
            division: Division::Stripes(outputs),
            complete_rows: with.map(|index| layout.stripes[index].bounds.clone()),
        })
    }

    /// Returns some files of a level 0 that has too many for one merge: similar ones, or the
    /// oldest. Files with the sequence id of the last one are among them.
    fn level0_run(
        &self,
        files: &[FileStats],
        level0: &[usize],
        policy: &CompactionPolicy,
    ) -> Vec<usize> {
        let most = self.max_files(policy);
        let run = self.run(files, level0, self.min_files(policy), policy).unwrap_or(0..most);
        let mut end = run.end.min(level0.len());
        let sequence = |place: usize| level0.get(place).map(|at| files[*at].sequence);
        while end < level0.len() && sequence(end) == sequence(end - 1) {
            end += 1;
        }
        level0[run.start..end].to_vec()
    }

    /// Returns the stripe all of whose files are to be merged together with level 0, so that delete
    /// markers are dropped. A stripe that is about to be divided is not one.
    fn whole_stripe(
        &self,
        files: &[FileStats],
        layout: &StripeLayout,
        policy: &CompactionPolicy,
    ) -> Option<usize> {
        let is_whole = |stripe: &Stripe| {
            let min_files = self.min_files(policy).max(stripe.files.len());
            self.run(files, &stripe.files, min_files, policy).is_some()
        };
        let whole = layout.stripes.iter().enumerate().filter(|(_, stripe)| is_whole(stripe));
        let (index, stripe) = whole.max_by_key(|(_, stripe)| {
            (stripe.files.len(), Reverse(bytes_of(files, &stripe.files)))
        })?;
        (bytes_of(files, &stripe.files) < self.split_bytes(policy)).then_some(index)
    }

    /// Returns the merge of most files in one stripe, and among equal ones of the smallest. It
    /// divides the stripe if that is large enough and all of its files are merged.
    fn stripe_merge(
        &self,
        files: &[FileStats],
        layout: &StripeLayout,
        policy: &CompactionPolicy,
    ) -> Option<StripeMerge> {
        let is_free = |stripe: &&Stripe| !stripe.files.iter().any(|at| files[*at].is_claimed);
        let runs = layout.stripes.iter().filter(is_free).filter_map(|stripe| {
            let run = self.run(files, &stripe.files, self.min_files(policy), policy)?;
            let run = stripe.files[run].to_vec();
            let bytes = bytes_of(files, &run);
            Some((stripe, run, bytes))
        });
        let (stripe, inputs, bytes) =
            runs.min_by_key(|(_, run, bytes)| (Reverse(run.len()), *bytes))?;
        let is_whole = inputs.len() == stripe.files.len();
        let (most, cells) = if is_whole && bytes >= self.split_bytes(policy) {
            self.target(files, &inputs, self.split_parts, policy)
        } else {
            (1, u64::MAX)
        };
        let bounds = stripe.bounds.clone();
        Some(StripeMerge {
            inputs,
            complete_rows: (is_whole && layout.level0.is_empty()).then(|| bounds.clone()),
            division: Division::Cells { bounds, most, cells, is_required: is_whole },
        })
    }

    /// Returns the division of the cells of all files of a store, oldest first.
    pub(crate) fn major_division(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Division {
        let layout = StripeLayout::of(files);
        let has_references = files.iter().any(|file| file.is_reference);
        if has_references || layout.stripes.is_empty() {
            let all: Vec<usize> = (0..files.len()).collect();
            let (count, cells) = self.target(files, &all, self.initial_parts(), policy);
            let most = if has_references { usize::MAX } else { count };
            let bounds = StripeBounds::default();
            return Division::Cells { bounds, most, cells, is_required: false };
        }
        let level0 = layout.level0.iter().map(|at| files[*at].sequence).max().unwrap_or(0);
        let output = |stripe: &Stripe| StripeFile {
            bounds: stripe.bounds.clone(),
            max_sequence: stripe.files.iter().map(|at| files[*at].sequence).fold(level0, u64::max),
            is_required: true,
        };
        Division::Stripes(layout.stripes.iter().map(output).collect())
    }

    /// Returns the division of a flush of `cells` cells as of `sequence` to a store with these
    /// files.
    pub(crate) fn flush_division(
        &self,
        files: &[FileStats],
        cells: u64,
        sequence: u64,
    ) -> Division {
        if self.flushes_to_level0 {
            return Division::Whole;
        }
        let layout = StripeLayout::of(files);
        if layout.stripes.is_empty() {
            return Division::Cells {
                bounds: StripeBounds::default(),
                most: self.initial_count,
                cells: cells / self.initial_count as u64,
                is_required: false,
            };
        }
        let output = |stripe: Stripe| StripeFile {
            bounds: stripe.bounds,
            max_sequence: sequence,
            is_required: false,
        };
        Division::Stripes(layout.stripes.into_iter().map(output).collect())
    }

    /// Returns where a region is split whose largest store has these files: between two stripes,
    /// unless the halves would be too unequal (HBase: `StripeStoreFileManager.getSplitPoint`).
    #[expect(clippy::cast_precision_loss, reason = "a ratio of sizes needs no more than 53 bits")]
    pub(crate) fn split(&self, files: &[FileStats]) -> StripeSplit {
        let stripes = StripeLayout::of(files).stripes;
        let bytes = |stripe: &Stripe| bytes_of(files, &stripe.files) as f64;
        let (mut left, mut right) = ((0, 0.0, 0.0), (stripes.len(), 0.0, 0.0));
        while left.0 < right.0 {
            if left.1 >= right.1 {
                let last = bytes(&stripes[right.0 - 1]);
                right = (right.0 - 1, right.1 + last, last);
            } else {
                let last = bytes(&stripes[left.0]);
                left = (left.0 + 1, left.1 + last, last);
            }
        }
        if left.1 <= 0.0 || right.1 <= 0.0 {
            return StripeSplit::Files((0..files.len()).collect());
        }
        let imbalance = |a: f64, b: f64| if a < b { b / a } else { a / b };
        let is_right_larger = right.1 >= left.1;
        let (smaller, larger) = if is_right_larger { (left, right) } else { (right, left) };
        let at_border = imbalance(left.1, right.1);
        let in_stripe = imbalance(larger.1 - larger.2 / 2.0, smaller.1 + larger.2 / 2.0);
        if at_border < self.max_imbalance || in_stripe >= at_border {
            return StripeSplit::Border(stripes[right.0].bounds.start.clone());
        }
        let inner = if is_right_larger { right.0 } else { left.0 - 1 };
        StripeSplit::Files(stripes[inner].files.clone())
    }

    /// Returns the number of files that a read of one row has to consider, at most.
    pub(crate) fn files_of_row(files: &[FileStats]) -> usize {
        let layout = StripeLayout::of(files);
        let most = layout.stripes.iter().map(|stripe| stripe.files.len()).max();
        layout.level0.len() + most.unwrap_or(0)
    }

    /// Returns similar files of a list of files, as indexes in the list.
    fn run(
        &self,
        files: &[FileStats],
        list: &[usize],
        min_files: usize,
        policy: &CompactionPolicy,
    ) -> Option<std::ops::Range<usize>> {
        // HBase's stripes also merge bulk-loaded files that are excluded elsewhere.
        let stats: Vec<FileStats> =
            list.iter().map(|at| FileStats { is_excluded: false, ..files[*at].clone() }).collect();
        let max_files = self.max_files(policy).max(min_files);
        best_run(&stats, &CompactionPolicy { min_files, max_files, ..*policy })
    }

    /// Returns the number of stripes into which files are divided, at most, and the cells of each.
    /// Files larger than `parts` stripes are divided into more, until the stripes have about the
    /// size that a divided stripe has (HBase: `StripeCompactionPolicy.estimateTargetKvs`).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes need no more than 53 bits, and counts are positive"
    )]
    fn target(
        &self,
        files: &[FileStats],
        inputs: &[usize],
        parts: f64,
        policy: &CompactionPolicy,
    ) -> (usize, u64) {
        let bytes = bytes_of(files, inputs) as f64;
        let part_bytes = (self.split_bytes(policy) as f64 / self.split_parts).floor().max(1.0);
        let skipped = (bytes / part_bytes - parts - 1.0).floor().max(0.0);
        let mut parts = parts + skipped;
        let mut ratio = bytes / (parts * part_bytes);
        while ratio > 1.0 {
            let next = bytes / ((parts + 1.0) * part_bytes);
            if 1.0 / next >= ratio {
                break;
            }
            (ratio, parts) = (next, parts + 1.0);
        }
        let parts = parts.min(MAX_PARTS.max(self.initial_parts()));
        let cells: u64 = inputs.iter().map(|at| files[*at].cells).sum();
        (parts.ceil() as usize, (cells as f64 / parts) as u64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    fn initial_parts(&self) -> f64 {
        self.initial_count as f64
    }

    fn min_files(&self, policy: &CompactionPolicy) -> usize {
        // Flushes to stripes are small files.
        let least = if self.flushes_to_level0 { 3 } else { 4 };
        self.min_files.unwrap_or(policy.min_files.max(least))
    }

    fn max_files(&self, policy: &CompactionPolicy) -> usize {
        self.max_files.unwrap_or(policy.max_files)
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size needs no more than 53 bits"
    )]
    fn split_bytes(&self, policy: &CompactionPolicy) -> u64 {
        self.split_bytes.unwrap_or_else(|| {
            let flush_bytes = self.flush_bytes.unwrap_or(policy.flush_bytes) as f64;
            (flush_bytes * self.level0_min_files as f64 * 4.0 * self.split_parts) as u64
        })
    }
}

fn bytes_of(files: &[FileStats], places: &[usize]) -> u64 {
    places.iter().map(|at| files[*at].bytes).fold(0, u64::saturating_add)
}

/// Returns `true` if there are files and all of their cells have expired.
fn are_expired(files: &[FileStats], places: &[usize], policy: &CompactionPolicy) -> bool {
    let Some(oldest) = policy.expiry() else { return false };
    let has_expired = |file: &FileStats| file.cells == 0 || file.is_older_than(oldest);
    !places.is_empty() && places.iter().all(|at| has_expired(&files[*at]))
}

/// Returns the files in which every cell has expired. The newest file of each stripe stays: it
/// records the bounds of the stripe.
fn expired_files(
    files: &[FileStats],
    layout: &StripeLayout,
    policy: &CompactionPolicy,
) -> Vec<usize> {
    let lists = layout.stripes.iter().map(|stripe| &stripe.files).chain([&layout.level0]);
    let older = lists.filter_map(|list| list.split_last()).flat_map(|(_, older)| older);
    let mut expired: Vec<usize> = older
        .copied()
        .filter(|at| !files[*at].is_claimed && are_expired(files, &[*at], policy))
        .collect();
    expired.sort_unstable();
    expired
}

/// Returns the merge of the longest run of stripes without unexpired cells into one. A single one
/// is merged with the next.
fn expired_merge(
    files: &[FileStats],
    layout: &StripeLayout,
    policy: &CompactionPolicy,
) -> Option<StripeMerge> {
    let stripes = &layout.stripes;
    let has_expired = |stripe: &Stripe| are_expired(files, &stripe.files, policy);
    let (mut best, mut start) = (0..0, 0);
    for (index, stripe) in stripes.iter().enumerate() {
        if !has_expired(stripe) {
            start = index + 1;
        } else if index + 1 - start > best.len() {
            best = start..index + 1;
        }
    }
    if best.len() == 1 {
        best.end += 1;
    }
    let run = stripes.get(best).filter(|run| !run.is_empty())?;
    let mut inputs: Vec<usize> = run.iter().flat_map(|stripe| &stripe.files).copied().collect();
    if inputs.iter().any(|at| files[*at].is_claimed) {
        return None;
    }
    inputs.sort_unstable();
    // Files of level 0 between those of two stripes would lose their place.
    let span = *inputs.first()?..*inputs.last()?;
    if layout.level0.iter().any(|at| span.contains(at)) {
        return None;
    }
    let start = run.first()?.bounds.start.clone();
    let bounds = StripeBounds { start, end: run.last()?.bounds.end.clone() };
    Some(StripeMerge {
        inputs,
        complete_rows: layout.level0.is_empty().then(|| bounds.clone()),
        division: Division::Cells { bounds, most: 1, cells: u64::MAX, is_required: true },
    })
}

#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;

    use super::super::exploring::tests::{POLICY, files};
    use super::*;

    const STRIPES: Stripes = Stripes {
        level0_min_files: 3,
        flushes_to_level0: false,
        min_files: Some(2),
        max_files: Some(4),
        initial_count: 2,
        split_bytes: Some(100),
        split_parts: 2.0,
        flush_bytes: None,
        max_imbalance: 1.5,
    };

    /// Returns a file of level 0 with 10 bytes and 10 cells.
    pub(crate) fn file() -> FileStats {
        FileStats { cells: 10, ..files(&[10])[0].clone() }
    }

    /// Returns a file of a stripe.
    pub(crate) fn striped(start: &'static str, end: &'static str) -> FileStats {
        let bounds = StripeBounds { start: start.into(), end: end.into() };
        FileStats { stripe: Some(bounds), ..file() }
    }

    /// Returns files with ascending sequence ids.
    fn store(files: &[FileStats]) -> Vec<FileStats> {
        let number =
            |(at, file): (usize, &FileStats)| FileStats { sequence: at as u64 + 1, ..file.clone() };
        files.iter().enumerate().map(number).collect()
    }

    fn merge(files: &[FileStats], policy: &CompactionPolicy) -> Option<StripeMerge> {
        match STRIPES.select(&store(files), policy) {
            Some(CompactionPlan::Stripes(merge)) => Some(merge),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    fn bounds(start: &'static str, end: &'static str) -> StripeBounds {
        StripeBounds { start: start.into(), end: end.into() }
    }

    fn one(bounds: StripeBounds, is_required: bool) -> Division {
        Division::Cells { bounds, most: 1, cells: u64::MAX, is_required }
    }

    /// Returns the sequence ids of the files of a division, and whether they are required.
    fn outputs(division: &Division) -> Vec<(u64, bool)> {
        let Division::Stripes(stripes) = division else { panic!("{division:?}") };
        stripes.iter().map(|stripe| (stripe.max_sequence, stripe.is_required)).collect()
    }

    #[test]
    fn files_of_stripe_with_most_are_merged() {
        let (low, high) = (striped("", "m"), striped("m", ""));
        let of = [&low, &high, &low, &high, &high].map(Clone::clone);
        let found = merge(&of, &POLICY).unwrap();
        assert_eq!(found.inputs, [1, 3, 4]);
        assert_eq!(found.division, one(bounds("m", ""), true));
        assert_eq!(found.complete_rows, Some(bounds("m", "")));
        assert_eq!(merge(&of[..2], &POLICY), None);
        // With a file of level 0 delete markers stay.
        let with_level0 = [&of[..], &[file()]].concat();
        let found = merge(&with_level0, &POLICY).unwrap();
        assert_eq!((found.inputs, found.complete_rows), (vec![1, 3, 4], None));
        // A large file stays, so that others do too.
        let mut unlike = of.clone();
        unlike[1].bytes = 1000;
        let found = merge(&unlike, &POLICY).unwrap();
        assert_eq!(found.inputs, [0, 2], "of equally many files the first");
        unlike[0].bytes = 1000;
        let found = merge(&unlike, &POLICY).unwrap();
        assert_eq!(found.inputs, [3, 4]);
        assert_eq!(found.division, one(bounds("m", ""), false));
        assert_eq!(found.complete_rows, None);
    }

    #[test]
    fn other_stripe_is_merged_while_one_is_claimed() {
        let (low, high) = (striped("", "m"), striped("m", ""));
        let mut of = [&low, &high, &low, &high, &high].map(Clone::clone);
        of[3].is_claimed = true;
        assert_eq!(merge(&of, &POLICY).unwrap().inputs, [0, 2]);
        of[0].is_claimed = true;
        assert_eq!(merge(&of, &POLICY), None);
        // Level 0 belongs to all stripes.
        let mut with_level0 = [&of[..], &[file(), file(), file()]].concat();
        assert_eq!(merge(&with_level0, &POLICY), None);
        (with_level0[0].is_claimed, with_level0[3].is_claimed) = (false, false);
        assert!(merge(&with_level0, &POLICY).is_some());
        let mut level0_claimed = [&of[..3], &[file()]].concat();
        (level0_claimed[0].is_claimed, level0_claimed[3].is_claimed) = (false, true);
        assert_eq!(merge(&level0_claimed, &POLICY), None);
    }

    #[test]
    fn first_files_of_level_0_make_the_initial_stripes() {
        assert_eq!(merge(&[file(), file()], &POLICY), None);
        let found = merge(&[file(), file(), file()], &POLICY).unwrap();
        assert_eq!((found.inputs.len(), found.complete_rows), (3, Some(bounds("", ""))));
        let initial =
            Division::Cells { bounds: bounds("", ""), most: 2, cells: 15, is_required: false };
        assert_eq!(found.division, initial);
        // Of too many files some are merged, and delete markers stay.
        let found = merge(&[file(), file(), file(), file(), file()], &POLICY).unwrap();
        assert_eq!((found.inputs, found.complete_rows), (vec![0, 1, 2, 3], None));
    }

    #[test]
    fn level_0_is_divided_among_the_stripes() {
        let (low, high) = (striped("", "m"), striped("m", ""));
        let mut large = low.clone();
        large.bytes = 1000;
        let of = [low.clone(), high.clone(), file(), file(), file()];
        let found = merge(&of, &POLICY).unwrap();
        assert_eq!((found.inputs, found.complete_rows), (vec![2, 3, 4], None));
        assert_eq!(outputs(&found.division), [(5, false), (5, false)]);
        // All files of a stripe are merged along, so that its delete markers are dropped.
        let of = [low.clone(), low.clone(), large, high.clone(), high, file(), file(), file()];
        let found = merge(&of, &POLICY).unwrap();
        assert_eq!(found.inputs, [3, 4, 5, 6, 7]);
        assert_eq!(found.complete_rows, Some(bounds("m", "")));
        assert_eq!(outputs(&found.division), [(8, false), (8, true)]);
    }

    #[test]
    fn level_0_between_files_of_stripe_is_merged_with_them() {
        let (low, high) = (striped("", "m"), striped("m", ""));
        // File 3 of the upper stripe lies between the files of level 0, and 5 is newer.
        let mut of = [low.clone(), high.clone(), file(), high.clone(), file(), high.clone()];
        of[5].bytes = 1000;
        let found = merge(&of, &POLICY).unwrap();
        assert_eq!((found.inputs, found.complete_rows), (vec![2, 3, 4], None));
        assert_eq!(outputs(&found.division), [(5, false), (5, false)]);
    }

    #[test]
    fn large_stripe_is_divided() {
        let mut of = [striped("", "m"), striped("m", ""), striped("m", "")];
        (of[1].bytes, of[2].bytes) = (60, 60);
        let found = merge(&of, &POLICY).unwrap();
        let halves =
            Division::Cells { bounds: bounds("m", ""), most: 2, cells: 10, is_required: true };
        assert_eq!((found.inputs, found.division), (vec![1, 2], halves));
        // More stripes of about the size that the halves of a stripe have.
        (of[1].bytes, of[2].bytes) = (130, 140);
        let Division::Cells { most, .. } = merge(&of, &POLICY).unwrap().division else { panic!() };
        assert_eq!(most, 5);
        (of[1].bytes, of[2].bytes) = (1 << 50, 1 << 50);
        let Division::Cells { most, .. } = merge(&of, &POLICY).unwrap().division else { panic!() };
        assert_eq!(most, 1000);
    }

    #[test]
    fn expired_stripes_are_merged_into_one() {
        let expired = CompactionPolicy { oldest_unexpired: Some(501), ..POLICY };
        let mut of = [striped("", "g"), striped("g", "m"), striped("m", "")];
        of[2].newest = Some(600);
        let found = merge(&of, &expired).unwrap();
        assert_eq!((found.inputs, found.division), (vec![0, 1], one(bounds("", "m"), true)));
        assert_eq!(merge(&of, &POLICY), None);
        // A single one is merged with the next, and the last is left alone.
        of[0].newest = Some(600);
        assert_eq!(merge(&of, &expired).unwrap().inputs, [1, 2]);
        (of[1].newest, of[2].newest) = (Some(600), Some(500));
        assert_eq!(merge(&of, &expired), None);
        let mut in_between = [striped("", "m"), file(), striped("m", "")];
        in_between[1].newest = Some(600);
        assert_eq!(merge(&in_between, &expired), None);
        of[2].newest = Some(600);
        // Older files are deleted unread; the newest one records the bounds of its stripe.
        let low = striped("", "g");
        let older = store(&[low.clone(), low.clone(), of[0].clone(), of[1].clone(), of[2].clone()]);
        assert_eq!(STRIPES.select(&older, &expired), Some(CompactionPlan::Drop(vec![0, 1])));
        let outlived = CompactionPolicy { drops_expired: false, ..expired };
        assert_eq!(merge(&[low, striped("g", "")], &outlived), None);
    }

    #[test]
    fn references_are_rewritten_while_nothing_is_claimed() {
        let mut of = store(&[striped("", "m"), striped("m", "")]);
        of[0].is_reference = true;
        assert_eq!(STRIPES.select(&of, &POLICY), Some(CompactionPlan::Major));
        let division = STRIPES.major_division(&of, &POLICY);
        let Division::Cells { most, cells, .. } = division else { panic!("{division:?}") };
        assert_eq!((most, cells), (usize::MAX, 10));
        of[1].is_claimed = true;
        assert_eq!(STRIPES.select(&of, &POLICY), None);
    }

    #[test]
    fn flush_writes_to_the_stripes_there_are() {
        let first = STRIPES.flush_division(&[], 100, 7);
        let initial =
            Division::Cells { bounds: bounds("", ""), most: 2, cells: 50, is_required: false };
        assert_eq!(first, initial);
        let of = [striped("", "m"), striped("m", ""), file()];
        let division = STRIPES.flush_division(&of, 100, 7);
        assert_eq!(outputs(&division), [(7, false), (7, false)]);
        let to_level0 = Stripes { flushes_to_level0: true, ..STRIPES };
        assert_eq!(to_level0.flush_division(&of, 100, 7), Division::Whole);
    }

    #[test]
    fn region_is_split_between_stripes_of_similar_size() {
        let sized = |sizes: &[u64]| {
            let of = [striped("", "g"), striped("g", "m"), striped("m", "")];
            let of: Vec<FileStats> = of
                .into_iter()
                .zip(sizes)
                .map(|(file, bytes)| FileStats { bytes: *bytes, ..file })
                .collect();
            STRIPES.split(&of)
        };
        assert_eq!(sized(&[10, 20, 35]), StripeSplit::Border(Bytes::from("m")));
        assert_eq!(sized(&[40, 20, 20]), StripeSplit::Border(Bytes::from("g")));
        assert_eq!(sized(&[10, 10, 100]), StripeSplit::Files(vec![2]));
        assert_eq!(STRIPES.split(&[file(), file()]), StripeSplit::Files(vec![0, 1]));
        assert_eq!(STRIPES.split(&[]), StripeSplit::Files(vec![]));
    }

    #[test]
    fn defaults_are_those_of_hbase() {
        let default = Stripes {
            level0_min_files: 4,
            min_files: None,
            max_files: None,
            initial_count: 1,
            split_bytes: None,
            ..STRIPES
        };
        let policy = CompactionPolicy { flush_bytes: 128 << 20, ..POLICY };
        assert_eq!((default.min_files(&policy), default.max_files(&policy)), (4, 10));
        assert_eq!(default.split_bytes(&policy), 4 << 30);
        let to_level0 = Stripes { flushes_to_level0: true, ..default };
        assert_eq!(to_level0.min_files(&policy), 3);
    }
}
