//! The verified schema: its fields and segments, and what is precomputed of them for the codec.

use std::fmt;
use std::hash::{Hash, Hasher};

use regex::Regex;

use super::segment::{Field, FieldId, Profile, Segment, SegmentKind};
use crate::codec::{FastPath, SlotLayout};

/// Declared and verified row key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeySchema {
    pub(super) profile: Profile,
    pub(super) fields: Vec<Field>,
    pub(super) segments: Vec<Segment>,
    pub(super) cache: SchemaCache,
}

/// Values derived from the fields and segments that every key requires.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaCache {
    pub(super) patterns: Vec<Option<Regex>>,
    pub(super) slot_layouts: Vec<Option<SlotLayout>>,
    pub(super) fast_path: FastPath,
}

impl PartialEq for SchemaCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SchemaCache {}

impl Hash for SchemaCache {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for KeySchema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, fields, segments, cache: _ } = self;
        out.debug_struct("KeySchema")
            .field("profile", profile)
            .field("fields", fields)
            .field("segments", segments)
            .finish()
    }
}

impl KeySchema {
    /// Returns the encoding profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the logical fields, in the order of the segments that carry them; a field that no
    /// segment carries whole is at the position of its first part.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the precomputed layout of a segment.
    #[inline]
    pub(crate) fn slot_layout(&self, segment: usize) -> Option<&SlotLayout> {
        self.cache.slot_layouts.get(segment)?.as_ref()
    }

    /// Returns the fast path of encoding and decoding.
    #[inline]
    pub(crate) fn fast_path(&self) -> &FastPath {
        &self.cache.fast_path
    }

    /// Returns the pattern of a field, which matches the whole text.
    pub(crate) fn pattern(&self, field: FieldId) -> Option<&Regex> {
        self.cache.patterns.get(field)?.as_ref()
    }

    /// Returns the segments, in the order of the bytes.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the id of a field by its case-sensitive name.
    pub fn field_id(&self, name: &str) -> Option<FieldId> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the segment that carries a field whole; `None` if the key contains only a bucket, a
    /// truncation or a hash of it.
    pub fn carrier(&self, field: FieldId) -> Option<usize> {
        self.segments.iter().position(|segment| segment.kind.carries() == Some(field))
    }

    /// Returns `true` if the key contains a field only as part of a hash.
    pub fn is_only_hashed(&self, field: FieldId) -> bool {
        !self.segments.iter().any(|segment| segment.kind.field() == Some(field))
    }

    /// Returns the input fields of a salt or a hash, with the default resolved.
    pub fn hashed_fields(&self, segment: usize) -> Vec<FieldId> {
        match &self.segments[segment].kind {
            SegmentKind::Salt { by, .. } if by.is_empty() => (0..self.fields.len()).collect(),
            SegmentKind::Salt { by, .. } | SegmentKind::Hash { by, .. } => by.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the fields in the order of the segments that contain them, each with that segment.
    pub(super) fn held(&self) -> Vec<(usize, FieldId)> {
        let mut held: Vec<(usize, FieldId)> = Vec::new();
        for (segment, field) in (0..self.segments.len())
            .flat_map(|at| self.holds(at).into_iter().map(move |field| (at, field)))
        {
            if !held.iter().any(|(_, other)| *other == field) {
                held.push((segment, field));
            }
        }
        held
    }

    /// Returns the fields whose position a segment determines: the one it carries, one that nothing
    /// carries whole, and those of a hash that nothing else in the key contains.
    pub(crate) fn holds(&self, segment: usize) -> Vec<FieldId> {
        match &self.segments[segment].kind {
            SegmentKind::Hash { by, .. } => {
                by.iter().copied().filter(|&id| self.is_only_hashed(id)).collect()
            }
            kind => kind
                .field()
                .into_iter()
                .filter(|&field| self.carrier(field).is_none_or(|carrier| carrier == segment))
                .collect(),
        }
    }
}
