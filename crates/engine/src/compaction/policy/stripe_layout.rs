//! Stripes of a store: which of its files belong to which range of rows (HBase:
//! `StripeStoreFileManager`).
//!
//! A file is in a stripe if its info contains the bounds of the stripe, and in level 0 otherwise.
//! The stripes are what the bounds of the files say: they are adjacent, and together cover all
//! rows. Files whose bounds do not fit the others are in level 0. This is HBase's rule for the
//! files that it finds when it opens a store, applied at any time: a flush that writes to the
//! stripes of before while a compaction divides one of them leaves such a file.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::plan::FileStats;
use crate::store::StripeBounds;

/// Files by stripe; the numbers are indexes in the list of files, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StripeLayout {
    pub(super) level0: Vec<usize>,
    /// Adjacent stripes in the order of their rows, each with a file or more.
    pub(super) stripes: Vec<Stripe>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stripe {
    pub(super) bounds: StripeBounds,
    pub(super) files: Vec<usize>,
}

impl StripeLayout {
    /// Returns the layout of a store's files, oldest first.
    pub(crate) fn of(files: &[FileStats]) -> Self {
        let mut level0 = Vec::new();
        // By the end of the stripe, an open end last; the newest file first.
        let mut by_end: BTreeMap<(bool, &Bytes), Vec<(usize, &StripeBounds)>> = BTreeMap::new();
        for (at, file) in files.iter().enumerate().rev() {
            match &file.stripe {
                None => level0.push(at),
                Some(bounds) => by_end
                    .entry((bounds.end.is_empty(), &bounds.end))
                    .or_default()
                    .push((at, bounds)),
            }
        }
        let mut stripes: Vec<Stripe> = Vec::new();
        let mut expected_start: Option<&Bytes> = None;
        let mut has_overlaps = false;
        for ((_, end), files) in by_end {
            let mut of_stripe = Vec::new();
            for (at, bounds) in files {
                if **expected_start.get_or_insert(&bounds.start) == bounds.start {
                    of_stripe.push(at);
                } else {
                    has_overlaps = true;
                    level0.push(at);
                }
            }
            if !of_stripe.is_empty() {
                of_stripe.reverse();
                let start = expected_start.replace(end).cloned().unwrap_or_default();
                let bounds = StripeBounds { start, end: end.clone() };
                stripes.push(Stripe { bounds, files: of_stripe });
            }
        }
        let is_open = stripes.first().is_some_and(|first| first.bounds.start.is_empty())
            && stripes.last().is_some_and(|last| last.bounds.end.is_empty());
        if !is_open && has_overlaps {
            level0.extend(stripes.drain(..).flat_map(|stripe| stripe.files));
        }
        // Files of a region that was split have the stripes of one side.
        if let Some(first) = stripes.first_mut() {
            first.bounds.start = Bytes::new();
        }
        if let Some(last) = stripes.last_mut() {
            last.bounds.end = Bytes::new();
        }
        level0.sort_unstable();
        Self { level0, stripes }
    }

    /// Returns `true` if a file of level 0 is older than one file of a stripe and newer than
    /// another: they cannot be merged without it.
    pub(super) fn has_level0_in_between(&self) -> bool {
        let spans = self
            .stripes
            .iter()
            .filter_map(|stripe| Some((*stripe.files.first()?, *stripe.files.last()?)));
        // Level 0 is in order, and there may be thousands of files and stripes.
        let next_of_level0 =
            |from: usize| self.level0.get(self.level0.partition_point(|at| *at < from)).copied();
        spans
            .into_iter()
            .any(|(oldest, newest)| next_of_level0(oldest).is_some_and(|at| at < newest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stripes::tests::{file, striped};
    use super::*;

    fn layout(files: &[FileStats]) -> (Vec<usize>, Vec<(String, Vec<usize>)>) {
        let layout = StripeLayout::of(files);
        let name = |bounds: &StripeBounds| {
            let text = |row: &Bytes| String::from_utf8_lossy(row).into_owned();
            format!("{}-{}", text(&bounds.start), text(&bounds.end))
        };
        let stripes = layout.stripes.iter().map(|it| (name(&it.bounds), it.files.clone()));
        (layout.level0.clone(), stripes.collect())
    }

    fn named(stripes: &[(&str, &[usize])]) -> Vec<(String, Vec<usize>)> {
        stripes.iter().map(|(name, files)| ((*name).to_owned(), files.to_vec())).collect()
    }

    #[test]
    fn files_with_bounds_make_stripes() {
        let files =
            [striped("", "g"), striped("g", ""), file(), striped("g", ""), striped("", "g")];
        assert_eq!(layout(&files), (vec![2], named(&[("-g", &[0, 4]), ("g-", &[1, 3])])));
        assert_eq!(layout(&[file(), file()]), (vec![0, 1], Vec::new()));
        assert_eq!(layout(&[]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn file_that_does_not_fit_goes_to_level_0() {
        // A flush wrote to the stripe g-t while a compaction divided it at m.
        let files = [striped("", "g"), striped("g", "m"), striped("m", ""), striped("g", "")];
        let stripes = named(&[("-g", &[0]), ("g-m", &[1]), ("m-", &[2])]);
        assert_eq!(layout(&files), (vec![3], stripes));
    }

    #[test]
    fn stripes_of_a_half_are_open_at_its_edges() {
        let upper = [striped("g", "m"), striped("m", "")];
        assert_eq!(layout(&upper), (Vec::new(), named(&[("-m", &[0]), ("m-", &[1])])));
        // With a gap nothing is certain.
        let gap = [striped("", "g"), striped("m", "t")];
        assert_eq!(layout(&gap), (vec![0, 1], Vec::new()));
    }

    #[test]
    fn level_0_between_files_of_a_stripe_is_recognized() {
        let is_between = |files: &[FileStats]| StripeLayout::of(files).has_level0_in_between();
        assert!(is_between(&[striped("", ""), file(), striped("", "")]));
        assert!(!is_between(&[striped("", ""), striped("", ""), file()]));
        assert!(!is_between(&[file(), striped("", ""), striped("", "")]));
        assert!(!is_between(&[striped("", "g"), file(), striped("g", "")]));
    }
}
