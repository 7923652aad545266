//! Groups of rows that are equal in their leading fields, and whose keys are adjacent: the first
//! row of each is found by seeking behind the previous group.

use super::bounds::SegmentRef;
use super::{Plan, delimited};
use crate::error::{KeyError, KeyErrorKind};
use crate::schema::{FieldId, SegmentKind};

/// Groups of rows by the leading segments of their keys. A salt or a hash in front of the last of
/// them divides the rows of equal fields into several groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyGroups {
    /// Segment at whose end the common bytes of a group end.
    end: usize,
}

impl Plan {
    /// Returns the groups of rows with equal values of `fields`, each of which is adjacent in a
    /// range. `None` if other fields are in front of the last one, if the keys of such rows are not
    /// adjacent, if they are whole keys, and if rows of the ranges must be checked.
    pub fn groups(&self, fields: &[FieldId]) -> Option<KeyGroups> {
        if self.has_residual() || self.is_skip_scan() || self.is_union {
            return None;
        }
        let segments = self.schema.segments();
        let carriers: Option<Vec<usize>> =
            fields.iter().map(|field| self.schema.carrier(*field)).collect();
        let last = carriers?.into_iter().max()?;
        let is_known = |kind: &SegmentKind| match kind {
            SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. } => false,
            kind => kind.carries().is_none_or(|field| fields.contains(&field) || self.pins(field)),
        };
        if !segments[..last].iter().all(|segment| is_known(&segment.kind)) {
            return None;
        }
        let place = SegmentRef { schema: &self.schema, options: &self.options, segment: last };
        let ends_at_literal = delimited::ends_at_literal(&self.schema, last);
        let end = if ends_at_literal { last + 1 } else { last };
        let is_gathered = (place.is_prefix_free() || ends_at_literal)
            && !place.may_be_cut_off()
            // A key without this and all later fields is the beginning of those with them.
            && !self.schema.may_be_left_out(last);
        (is_gathered && end + 1 < segments.len()).then_some(KeyGroups { end })
    }

    /// Returns the number of bytes of a key that all keys of its group begin with.
    ///
    /// # Errors
    /// Bytes that are not a key of the schema.
    pub fn group_bytes(&self, groups: KeyGroups, key: &[u8]) -> Result<usize, KeyError> {
        let bounds = self.schema.split_segments(key)?;
        let none = || KeyError::new(0, key.len(), KeyErrorKind::Unsupported("a key of no group"));
        bounds.get(groups.end).map(|bounds| bounds.end).ok_or_else(none)
    }
}
