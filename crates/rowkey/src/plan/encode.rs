//! Interface of the planner to the codec: the bytes of one segment, or `None`.

use smallvec::SmallVec;

use super::options::PlanOptions;
use crate::codec::{KeyBuf, NoResolver};
use crate::schema::{FieldId, KeySchema, Profile, SegmentKind};
use crate::value::Value;

/// Returns the bytes of a value in the segment of its field; `None` if no key can contain it there.
pub(super) fn segment(
    schema: &KeySchema,
    options: &PlanOptions,
    at: usize,
    value: &Value<'_>,
) -> Option<KeyBuf> {
    let mut out = KeyBuf::new();
    let encoded = match &options.resolver {
        Some(helper) => schema.encode_segment_with(at, value, &**helper, &mut out),
        None => schema.encode_segment_with(at, value, &NoResolver, &mut out),
    };
    encoded.is_ok().then_some(out)
}

/// Returns `true` if values can be encoded in the segment here, which excludes the words of a
/// missing dictionary.
pub(super) fn is_encodable(schema: &KeySchema, options: &PlanOptions, at: usize) -> bool {
    !matches!(schema.segments()[at].kind, SegmentKind::Dict { .. }) || options.resolver.is_some()
}

/// Returns `true` if a salt or a hash is a function of the fields of the key. Phoenix's is a
/// function of the complete key, which would require a dictionary.
pub(super) fn is_computable(schema: &KeySchema, at: usize) -> bool {
    let has_dictionary =
        || schema.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { .. }));
    match &schema.segments()[at].kind {
        SegmentKind::Salt { function, .. } => {
            function.is_deterministic()
                && !(schema.profile() == Profile::Phoenix && has_dictionary())
        }
        SegmentKind::Hash { function, .. } => function.is_deterministic(),
        _ => false,
    }
}

/// Returns a salt or a hash of the known fields; `None` if fields are missing, or for values that
/// no key has.
pub(super) fn derived<'v>(
    schema: &KeySchema,
    at: usize,
    known: impl Fn(FieldId) -> Option<&'v Value<'v>>,
) -> Option<KeyBuf> {
    let fields: SmallVec<[Option<Value<'_>>; 4]> =
        (0..schema.fields().len()).map(|field| known(field).map(Value::borrowed)).collect();
    let mut out = KeyBuf::new();
    matches!(schema.encode_derived(at, &fields, &mut out), Ok(true)).then_some(out)
}

/// Returns the bytes of one salt.
pub(super) fn salt(schema: &KeySchema, at: usize, salt: u32) -> Option<KeyBuf> {
    let mut out = KeyBuf::new();
    schema.encode_salt(at, salt, &mut out).ok().map(|()| out)
}
