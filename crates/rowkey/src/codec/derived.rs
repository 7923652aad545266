//! Constants, salts and hashes: the segments computed from the fields of a key.

use crate::error::KeyErrorKind;
use crate::hash::{self, Input, MAX_DIGEST_BYTES};
use crate::schema::{FieldId, HashFunction, KeySchema, Profile, SegmentKind};
use crate::value::Value;

use super::resolver::KeyResolver;
use super::slot::wrong_type;
use super::{KeyBuf, bin, text};

/// Fully known fields of a key.
pub(super) trait KnownFields {
    /// Returns a field's value; `None` if it is not known, or only in part.
    fn known(&self, field: FieldId) -> Option<&Value<'_>>;
}

impl KnownFields for [Value<'_>] {
    fn known(&self, field: FieldId) -> Option<&Value<'_>> {
        self.get(field)
    }
}

impl KnownFields for [Option<Value<'_>>] {
    fn known(&self, field: FieldId) -> Option<&Value<'_>> {
        self.get(field)?.as_ref()
    }
}

const DRAWN: KeyErrorKind = KeyErrorKind::Unsupported(
    "this salt is drawn for every key, not computed from it; use a resolver that draws salts",
);

impl KeySchema {
    /// Appends a constant, a salt or a hash. Returns `false` and appends nothing if one of its
    /// fields is unknown.
    pub(super) fn push_derived<K: KnownFields + ?Sized>(
        &self,
        at: usize,
        known: &K,
        helper: &dyn KeyResolver,
        out: &mut KeyBuf,
    ) -> Result<bool, KeyErrorKind> {
        let start = out.len();
        match &self.segments()[at].kind {
            SegmentKind::Const(bytes) => {
                out.extend(bytes);
                Ok(true)
            }
            SegmentKind::Salt { count, function, .. } if !function.is_deterministic() => {
                let salt = helper
                    .next_salt(at, *function, *count)
                    .filter(|salt| salt < count)
                    .ok_or(DRAWN)?;
                self.push_salt(at, salt, out);
                Ok(true)
            }
            SegmentKind::Salt { .. } if self.is_phoenix_salt(at) => {
                let fields = self.fields().len();
                if (0..fields).any(|field| known.known(field).is_none()) {
                    return Ok(false);
                }
                let mut rest = KeyBuf::new();
                let is_null = |field| known.known(field).is_none_or(Value::is_null);
                for behind in at + 1..self.written_segments(is_null) {
                    self.push_any(behind, known, helper, &mut rest)?;
                }
                out.push(self.phoenix_salt(&rest));
                Ok(true)
            }
            SegmentKind::Salt { count, by, function } => {
                let found =
                    self.with_input(by, *function != HashFunction::Modulo, known, |input| {
                        hash::salt(*function, input, *count)
                    })?;
                let Some(salt) = found else { return Ok(false) };
                self.push_salt(
                    at,
                    salt.ok_or(KeyErrorKind::Unsupported(
                        "this salt is the remainder of one integer field; name it in BY",
                    ))?,
                    out,
                );
                Ok(true)
            }
            SegmentKind::Hash { by, bytes, function, hex } => {
                let found = self.with_input(by, true, known, |input| {
                    push_hash(*function, input, *bytes, *hex, out);
                })?;
                if let Some(digits) = self.segments()[at].digits.filter(|_| found.is_some()) {
                    out.truncate(start + usize::from(digits));
                }
                Ok(found.is_some())
            }
            _ => Ok(false),
        }
    }

    /// Returns the salt of the following bytes, as Phoenix computes it.
    pub(super) fn phoenix_salt(&self, rest: &[u8]) -> u8 {
        let salt =
            hash::salt(HashFunction::Phoenix, Input::Bytes(rest), self.salt_count(0).unwrap_or(1));
        salt.and_then(|salt| u8::try_from(salt).ok()).unwrap_or(0)
    }

    /// Appends a salt: one byte for up to 256, two for more; decimal in a text key.
    pub(super) fn push_salt(&self, at: usize, salt: u32, out: &mut KeyBuf) {
        if self.profile() == Profile::Text {
            return text::push_salt(self, at, salt, out);
        }
        let width = self.derived_bytes(at).unwrap_or(1);
        out.extend(&salt.to_be_bytes()[4 - width.min(4)..]);
    }

    /// Returns the number of bytes of a constant, a salt or a hash.
    pub(super) fn derived_bytes(&self, at: usize) -> Option<usize> {
        match &self.segments().get(at)?.kind {
            SegmentKind::Const(bytes) => Some(bytes.len()),
            SegmentKind::Salt { count, .. } => Some(if *count <= 256 { 1 } else { 2 }),
            SegmentKind::Hash { bytes, hex, .. } => {
                Some(usize::from(*bytes) * if *hex { 2 } else { 1 })
            }
            _ => None,
        }
    }

    /// Passes the hash input of the fields in `by` (all, if it is empty): one text or bytes
    /// unchanged, one integer as eight bytes, anything else encoded as in BIN, ascending and with
    /// ends. Returns `None` if one of them is unknown.
    fn with_input<K: KnownFields + ?Sized, R>(
        &self,
        by: &[FieldId],
        takes_text: bool,
        known: &K,
        then: impl FnOnce(Input<'_>) -> R,
    ) -> Result<Option<R>, KeyErrorKind> {
        if takes_text && self.profile() == Profile::Text {
            return self.with_text(by, known, then);
        }
        let only = match (by, self.fields().len()) {
            (&[field], _) => Some(field),
            ([], 1) => Some(0),
            _ => None,
        };
        if let Some(field) = only {
            let Some(value) = known.known(field) else { return Ok(None) };
            if !self.fields()[field].ty.accepts(value) {
                return Err(wrong_type(self.fields()[field].ty, value));
            }
            if let Some(input) = Input::from_value(value) {
                return Ok(Some(then(input)));
            }
        }
        let mut encoded = KeyBuf::new();
        let all = 0..if by.is_empty() { self.fields().len() } else { 0 };
        for field in by.iter().copied().chain(all) {
            let Some(value) = known.known(field) else { return Ok(None) };
            bin::ascending(
                self.fields()[field].ty,
                self.is_nullable(field),
                false,
                value,
                &mut encoded,
            )?;
        }
        Ok(Some(then(Input::Bytes(&encoded))))
    }

    /// In text keys the hash input is text, but the remainder is taken of the number.
    fn with_text<K: KnownFields + ?Sized, R>(
        &self,
        by: &[FieldId],
        known: &K,
        then: impl FnOnce(Input<'_>) -> R,
    ) -> Result<Option<R>, KeyErrorKind> {
        let mut text = KeyBuf::new();
        if !text::push_input(self, by, known, &mut text)? {
            return Ok(None);
        }
        let input = match str::from_utf8(&text) {
            Ok(text) => Input::Text(text),
            Err(_) => Input::Bytes(&text),
        };
        Ok(Some(then(input)))
    }

    fn is_nullable(&self, field: FieldId) -> bool {
        self.segments()
            .iter()
            .any(|segment| segment.nullable && segment.kind.field() == Some(field))
    }
}

fn push_hash(function: HashFunction, input: Input<'_>, bytes: u8, hex: bool, out: &mut KeyBuf) {
    let mut room = [0; MAX_DIGEST_BYTES];
    let digest = hash::digest(function, input, &mut room).unwrap_or_default();
    let first = &digest[..digest.len().min(bytes.into())];
    if hex { out.extend_hex(first) } else { out.extend(first) }
}
