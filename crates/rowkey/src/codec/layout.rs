//! What is precomputed of a schema, so that keys are encoded and decoded without examining it.

use crate::schema::FieldId;
use crate::value::FieldType;

/// Layout of a segment with a field, without its transform; computed once per schema, because every
/// key requires it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent answers, not states")]
pub(crate) struct SlotLayout {
    /// Index of the segment in the schema.
    pub(super) segment: usize,
    pub(super) field: FieldId,
    /// Type of the field.
    pub(super) ty: FieldType,
    /// Type of the stored value, after the transform.
    pub(super) stored: FieldType,
    /// 0xff if all bits are inverted (descending), or else 0.
    pub(super) flip: u8,
    pub(super) nullable: bool,
    /// `true` if the segment is the last of the key.
    pub(super) last: bool,
    /// Decimal digits in a text key.
    pub(super) digits: Option<u8>,
    pub(super) is_plain: bool,
    /// `true` if the field can be decoded from this segment.
    pub(super) is_whole: bool,
    /// `true` if another segment contains the whole field and this one a part of it.
    pub(super) is_held_elsewhere: bool,
}

/// Step for one segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum FastPathStep {
    /// Salt of one field, by murmur3.
    Salt { of: FieldId, count: u32 },
    /// Ascending text or bytes.
    Text { field: FieldId, is_text: bool, is_last: bool },
    /// Integer or time.
    Number(Number),
    /// Bucket number, in four bytes.
    Bucket { number: Number, width: u64 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) field: FieldId,
    /// Bytes in the key: 1, 2, 4 or 8.
    pub(super) bytes: u8,
    pub(super) is_signed: bool,
    /// Inverted bits: the sign of signed numbers, all bits of descending ones.
    pub(super) turned: u64,
}

/// Steps of a schema with a fast path.
#[derive(Clone, Debug, Default)]
pub(crate) struct FastPath(pub(super) Vec<FastPathStep>);
