//! Notes about a plan: what its ranges cost, and why they are not narrower.

use crate::schema::FieldId;

/// Note about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanNote {
    /// Q-FULL: no condition narrows the scan.
    FullScan,
    /// Q-HASHRANGE: conditions after a hash whose fields are not all known.
    HashRange {
        /// Segment of the hash.
        segment: usize,
    },
    /// A list was too long for separate ranges.
    TooManyValues {
        /// Field of the list.
        field: FieldId,
        /// Number of values.
        values: usize,
    },
    /// The gaps of an open segment are skipped.
    SkipScan {
        /// Segment with the gaps.
        segment: usize,
        /// Assumed number of distinct values.
        distinct: u64,
    },
    /// The number of a field's values is known, but its gaps are not skipped.
    NoSkip {
        /// Field of the segment.
        field: FieldId,
        /// Reason.
        why: NoSkip,
    },
    /// Salts that cannot be computed: a row may be under any of them.
    EverySalt {
        /// Segment of the salt.
        segment: usize,
        /// Number of salts.
        salts: u32,
    },
    /// The key contains only the bucket of a field: cells of the first and the last bucket must be
    /// filtered by their offset.
    TrimBuckets {
        /// Field of the bucket.
        field: FieldId,
    },
}

/// Reason why the gaps of a field with a known number of values are not skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSkip {
    /// Too many values for a skip scan.
    Many,
    /// It is not the first segment that the conditions leave open, or a known value does not narrow
    /// the following segments.
    NoGap,
    /// Its text may contain the delimiter, so that keys of one value are between those of another.
    Delimiter,
    /// A salt or a hash follows it.
    Derived,
}

impl NoSkip {
    pub(super) fn text(self, name: &str) -> String {
        match self {
            Self::Many => "it has too many values to look each of them up".to_owned(),
            Self::NoGap => {
                "there is no gap between its values that the conditions let out".to_owned()
            }
            Self::Delimiter => {
                format!(
                    "its text may contain the delimiter after it; if it never does, declare WHERE \
                     {name} MATCHES '[^_]+' with that delimiter"
                )
            }
            Self::Derived => "a salt or a hash follows it".to_owned(),
        }
    }
}
