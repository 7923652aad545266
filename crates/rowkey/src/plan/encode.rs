//! What the planner needs of the codec: bytes of one segment, or that there are none.

use smallvec::SmallVec;

use super::PlanOptions;
use crate::codec::{KeyBuf, NoHelper};
use crate::schema::{FieldId, KeySchema, Profile, SegmentKind};
use crate::value::Value;

/// The bytes of a value in the segment of its field; `None` if no key can hold it there.
pub(super) fn segment(schema: &KeySchema, options: &PlanOptions, at: usize, value: &Value<'_>) -> Option<KeyBuf> {
    let mut out = KeyBuf::new();
    let encoded = match &options.helper {
        Some(helper) => schema.encode_segment_with(at, value, &**helper, &mut out),
        None => schema.encode_segment_with(at, value, &NoHelper, &mut out),
    };
    encoded.is_ok().then_some(out)
}

/// Whether values can be turned into the segment's bytes here: not the words of a dictionary that nobody gave.
pub(super) fn is_encodable(schema: &KeySchema, options: &PlanOptions, at: usize) -> bool {
    !matches!(schema.segments()[at].kind, SegmentKind::Dict { .. }) || options.helper.is_some()
}

/// Whether a salt or a hash follows from the fields of the key. Phoenix's is made of the whole key, for which a dictionary
/// would be needed.
pub(super) fn is_computable(schema: &KeySchema, at: usize) -> bool {
    let has_dictionary = || schema.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { .. }));
    match &schema.segments()[at].kind {
        SegmentKind::Salt { function, .. } => function.is_deterministic() && !(schema.profile() == Profile::Phoenix && has_dictionary()),
        SegmentKind::Hash { function, .. } => function.is_deterministic(),
        _ => false,
    }
}

/// A salt or a hash of the fields that are known; `None` if they are too few, or values that no key has.
pub(super) fn derived<'v>(schema: &KeySchema, at: usize, known: impl Fn(FieldId) -> Option<&'v Value<'v>>) -> Option<KeyBuf> {
    let fields: SmallVec<[Option<Value<'_>>; 4]> = (0..schema.fields().len()).map(|field| known(field).map(Value::borrowed)).collect();
    let mut out = KeyBuf::new();
    matches!(schema.encode_derived(at, &fields, &mut out), Ok(true)).then_some(out)
}

/// The bytes of one salt.
pub(super) fn salt(schema: &KeySchema, at: usize, salt: u32) -> Option<KeyBuf> {
    let mut out = KeyBuf::new();
    schema.encode_salt(at, salt, &mut out).ok().map(|()| out)
}
