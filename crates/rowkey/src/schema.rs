//! The declared row key: logical fields, and the segments that carry them in the order of the
//! bytes.
//!
//! A field is the unit of a query. A segment is a part of the key: it *carries* a field (plain,
//! reversed, as the id of a dictionary), or it is *derived* from fields (salt, hash), or both in
//! part: a bucket or a truncation carries what it can of a field that no other segment carries. A
//! field that only a hash contains can be queried by equality, but not decoded.
//!
//! ```text
//!   fields      device_id STRING                ts TIMESTAMP
//!                  |      \                       |
//!   segments  SALT(16)   device_id STRING      ts DESC
//!   bytes       01       73..31 00 01        7f ff fe 71 ..
//! ```

use std::fmt;
use std::hash::{Hash, Hasher};

use bytes::Bytes;
use regex::Regex;

use crate::codec::{FastPath, SlotLayout, patterns, slot_layouts};
use crate::value::FieldType;

/// Maximum number of fields, and of segments, of one key.
pub const MAX_SEGMENTS: usize = 64;
/// Maximum number of salts.
pub const MAX_SALTS: u32 = 65_536;

/// Encoding of the segments of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Profile {
    /// Halite's profile: no type tags, every field except the last is self-delimiting.
    #[default]
    Bin,
    /// HBase's `OrderedBytes` and `Struct`, bit for bit. `compat` permits the two forms that HBase
    /// sorts or decodes wrongly.
    Ordered {
        /// `true` if those forms are permitted.
        compat: bool,
    },
    /// Phoenix's row keys, for its tables.
    Phoenix,
    /// Text from a template: literals between values, numbers as decimal digits.
    Text,
}

/// Index of a logical field in [`KeySchema::fields`].
pub type FieldId = usize;

/// Logical field: a name and a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name, as in conditions; unique in the key.
    pub name: String,
    /// Type of the values.
    pub ty: FieldType,
    /// Regular expression that its whole text matches; only in text keys.
    pub pattern: Option<String>,
}

/// Order of a segment's bytes by the values of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Smallest first.
    #[default]
    Asc,
    /// Greatest first; for times, newest first.
    Desc,
}

/// Function that computes a number or a digest from fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum HashFunction {
    /// Murmur3, 32 bits, seed 0, sign bit cleared: Iceberg's bucket transform.
    #[default]
    Murmur3,
    /// MD5, 16 bytes.
    Md5,
    /// SHA-1, 20 bytes.
    Sha1,
    /// SHA-256, 32 bytes.
    Sha256,
    /// SHA-512, 64 bytes.
    Sha512,
    /// Java's `String.hashCode` of the text, by its UTF-16 code units.
    Java,
    /// Phoenix's salt: 31-polynomial of the encoded bytes.
    Phoenix,
    /// CRC-32 as of zlib.
    Crc32,
    /// The integer itself, as in `id % n`.
    Modulo,
    /// Random salt, generated for each key; it cannot be recomputed.
    Random,
    /// Sequential salts; they cannot be recomputed.
    RoundRobin,
}

impl HashFunction {
    /// All functions, by their names in the language.
    pub const NAMES: &[(&str, Self)] = &[
        ("murmur3", Self::Murmur3),
        ("md5", Self::Md5),
        ("sha1", Self::Sha1),
        ("sha256", Self::Sha256),
        ("sha512", Self::Sha512),
        ("java", Self::Java),
        ("phoenix", Self::Phoenix),
        ("crc32", Self::Crc32),
        ("modulo", Self::Modulo),
        ("random", Self::Random),
        ("round_robin", Self::RoundRobin),
    ];

    /// Returns its name in the language.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }

    /// Returns the number of bytes of the digest; `None` for functions that return a number for
    /// salts only.
    pub fn digest_bytes(self) -> Option<usize> {
        match self {
            Self::Murmur3 | Self::Java | Self::Crc32 => Some(4),
            Self::Md5 => Some(16),
            Self::Sha1 => Some(20),
            Self::Sha256 => Some(32),
            Self::Sha512 => Some(64),
            Self::Phoenix | Self::Modulo | Self::Random | Self::RoundRobin => None,
        }
    }

    /// Returns `true` if the result depends only on the fields.
    pub fn is_deterministic(self) -> bool {
        !matches!(self, Self::Random | Self::RoundRobin)
    }
}

/// Segment of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Content.
    pub kind: SegmentKind,
    /// Order; always ascending for constants, salts and hashes.
    pub order: Order,
    /// `true` if the field may be null.
    pub nullable: bool,
    /// Decimal digits in a text key, padded with zeros; for a hash, its hexadecimal digits if that
    /// is an odd number.
    pub digits: Option<u8>,
}

impl Segment {
    /// Creates a segment in ascending order that is not nullable.
    pub fn new(kind: SegmentKind) -> Self {
        Self { kind, order: Order::Asc, nullable: false, digits: None }
    }

    /// Returns the same segment in descending order.
    #[must_use]
    pub fn desc(mut self) -> Self {
        self.order = Order::Desc;
        self
    }
}

/// Content of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// Constant bytes.
    Const(Bytes),
    /// Number below `count`, computed from the fields of `by`.
    Salt {
        /// Number of salts, 1 to 65,536.
        count: u32,
        /// Input fields; all fields of the key if the list is empty.
        by: Vec<FieldId>,
        /// Function.
        function: HashFunction,
    },
    /// First bytes of a digest of fields.
    Hash {
        /// Input fields, at least one.
        by: Vec<FieldId>,
        /// Number of bytes of the digest.
        bytes: u8,
        /// Digest function.
        function: HashFunction,
        /// `true` for lower-case hexadecimal digits, two per byte.
        hex: bool,
    },
    /// Integer or time divided by a width, rounded down.
    Bucket {
        /// Field.
        field: FieldId,
        /// Width, in the unit of the field.
        width: u64,
    },
    /// First bytes of text or bytes, padded with zeros.
    Trunc {
        /// Field.
        field: FieldId,
        /// Number of bytes.
        bytes: u16,
    },
    /// Field with its bytes, or the digits of its text, reversed.
    Reverse(FieldId),
    /// Integer with its bits reversed.
    BitReverse(FieldId),
    /// Number of the field's value in a dictionary.
    Dict {
        /// Field.
        field: FieldId,
        /// Bytes of the number, 1 to 8.
        bytes: u8,
    },
    /// Text of the form `10.0.0.1` as four bytes.
    Ipv4(FieldId),
    /// Unchanged field.
    Plain(FieldId),
}

impl SegmentKind {
    /// Returns the field that the segment carries, wholly or in part.
    pub fn field(&self) -> Option<FieldId> {
        match *self {
            Self::Bucket { field, .. } | Self::Trunc { field, .. } => Some(field),
            _ => self.carries(),
        }
    }

    /// Returns the field that can be decoded from the segment.
    pub fn carries(&self) -> Option<FieldId> {
        match *self {
            Self::Dict { field, .. }
            | Self::Reverse(field)
            | Self::BitReverse(field)
            | Self::Ipv4(field)
            | Self::Plain(field) => Some(field),
            _ => None,
        }
    }

    /// Returns the same segment with other field ids.
    fn renumbered(&self, moved: impl Fn(FieldId) -> FieldId) -> Self {
        let all = |by: &[FieldId]| by.iter().map(|&field| moved(field)).collect();
        match self {
            Self::Const(bytes) => Self::Const(bytes.clone()),
            Self::Salt { count, by, function } => {
                Self::Salt { count: *count, by: all(by), function: *function }
            }
            Self::Hash { by, bytes, function, hex } => {
                Self::Hash { by: all(by), bytes: *bytes, function: *function, hex: *hex }
            }
            Self::Bucket { field, width } => Self::Bucket { field: moved(*field), width: *width },
            Self::Trunc { field, bytes } => Self::Trunc { field: moved(*field), bytes: *bytes },
            Self::Dict { field, bytes } => Self::Dict { field: moved(*field), bytes: *bytes },
            Self::Reverse(field) => Self::Reverse(moved(*field)),
            Self::BitReverse(field) => Self::BitReverse(moved(*field)),
            Self::Ipv4(field) => Self::Ipv4(moved(*field)),
            Self::Plain(field) => Self::Plain(moved(*field)),
        }
    }
}

/// Declared and verified row key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeySchema {
    profile: Profile,
    fields: Vec<Field>,
    segments: Vec<Segment>,
    cache: SchemaCache,
}

/// Values derived from the fields and segments that every key requires.
#[derive(Clone, Debug, Default)]
struct SchemaCache {
    patterns: Vec<Option<Regex>>,
    slot_layouts: Vec<Option<SlotLayout>>,
    fast_path: FastPath,
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

/// Reason why a list of segments is not a schema, with the segment and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Index of the segment; `None` for the key as a whole.
    pub segment: Option<usize>,
    /// Reason and fix.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.segment {
            Some(segment) => {
                write!(out, "segment {} of the row key: {}", segment + 1, self.message)
            }
            None => write!(out, "row key: {}", self.message),
        }
    }
}

impl std::error::Error for SchemaError {}

impl From<SchemaError> for halite_types::Error {
    fn from(error: SchemaError) -> Self {
        Self::invalid(error.to_string())
    }
}

impl KeySchema {
    /// Creates a schema of these segments, if they are consistent.
    ///
    /// # Errors
    /// The inconsistency and its fix: an empty key, a field that no segment contains or that two
    /// carry, fields in another order than their segments, a type that a transform does not
    /// support, counts and widths out of range, digits and patterns outside a text key.
    pub fn new(
        profile: Profile,
        fields: Vec<Field>,
        mut segments: Vec<Segment>,
    ) -> Result<Self, SchemaError> {
        if profile == Profile::Text {
            segments.iter_mut().for_each(in_text);
        }
        let known = SchemaCache {
            patterns: Vec::new(),
            slot_layouts: slot_layouts(&segments, &fields),
            fast_path: FastPath::default(),
        };
        let mut schema = Self { profile, fields, segments, cache: known };
        schema.check_whole()?;
        for at in 0..schema.segments.len() {
            schema
                .check_segment(at)
                .and_then(|()| schema.check_profile(at))
                .map_err(|message| SchemaError { segment: Some(at), message })?;
        }
        schema.check_order()?;
        schema.cache.fast_path = FastPath::for_schema(&schema);
        schema.cache.patterns =
            patterns(&schema).map_err(|message| SchemaError { segment: None, message })?;
        Ok(schema)
    }

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

    fn check_whole(&self) -> Result<(), SchemaError> {
        let whole = |message: String| Err(SchemaError { segment: None, message });
        if self.segments.is_empty() || self.fields.is_empty() {
            return whole("it has no fields; name at least one".into());
        }
        if self.segments.len() > MAX_SEGMENTS || self.fields.len() > MAX_SEGMENTS {
            return whole(format!(
                "it has {} segments, and at most {MAX_SEGMENTS} are possible",
                self.segments.len()
            ));
        }
        for (id, field) in self.fields.iter().enumerate() {
            if field.name.is_empty() {
                return whole("a field has no name; give it one".into());
            }
            if field.pattern.is_some() && self.profile != Profile::Text {
                return whole(format!(
                    "field {} has a pattern, and only text keys have them",
                    field.name
                ));
            }
            if self.fields[..id].iter().any(|other| other.name == field.name) {
                return whole(format!("field {} is declared twice", field.name));
            }
            let carriers =
                self.segments.iter().filter(|segment| segment.kind.carries() == Some(id)).count();
            if carriers > 1 {
                return whole(format!(
                    "field {} is in the key {carriers} times; once is enough to read it back",
                    field.name
                ));
            }
            let held = |segment: &Segment| {
                segment.kind.field() == Some(id)
                    || matches!(&segment.kind, SegmentKind::Hash { by, .. } if by.contains(&id))
            };
            if !self.segments.iter().any(held) {
                return whole(format!(
                    "field {} is only in a salt, which many values share; add it behind the salt",
                    field.name
                ));
            }
        }
        Ok(())
    }

    /// A schema is stored as text, in which fields are in the order of the segments: their ids must
    /// survive that.
    fn check_order(&self) -> Result<(), SchemaError> {
        match self.held().into_iter().enumerate().find(|(place, (_, field))| place != field) {
            None => Ok(()),
            Some((_, (segment, field))) => {
                let message = format!(
                    "field {} is out of order; list fields in the order of the segments that hold them",
                    self.fields[field].name
                );
                Err(SchemaError { segment: Some(segment), message })
            }
        }
    }

    /// Returns the fields in the order of the segments that contain them, each with that segment.
    fn held(&self) -> Vec<(usize, FieldId)> {
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

    /// Returns the same fields in other segments. Fields are listed in segment order, so their ids
    /// change.
    ///
    /// # Errors
    /// Segments that do not form a key.
    pub fn rearranged(&self, segments: Vec<Segment>) -> Result<Self, SchemaError> {
        let draft = Self { segments, ..self.clone() };
        let order: Vec<FieldId> = draft.held().into_iter().map(|(_, field)| field).collect();
        let moved = |field: FieldId| order.iter().position(|&old| old == field).unwrap_or(field);
        let segments = draft
            .segments
            .iter()
            .map(|segment| Segment { kind: segment.kind.renumbered(moved), ..segment.clone() });
        let fields = order.iter().map(|&old| self.fields[old].clone()).collect();
        Self::new(self.profile, fields, segments.collect())
    }

    fn check_digits(&self, at: usize) -> Result<(), String> {
        let segment = &self.segments[at];
        let before = at.checked_sub(1).map(|before| &self.segments[before].kind);
        match (&segment.kind, segment.digits) {
            (SegmentKind::Const(_), None)
                if self.profile == Profile::Text
                    && matches!(before, Some(SegmentKind::Const(_))) =>
            {
                Err("two constants in a row are one; join them".into())
            }
            (_, None) => Ok(()),
            _ if self.profile != Profile::Text => {
                Err("only text keys have digits; leave them out".into())
            }
            (SegmentKind::Const(_), _) | (_, Some(0)) => {
                Err("values have at least one digit, and constants have none".into())
            }
            (SegmentKind::Hash { bytes, .. }, Some(digits)) if digits.div_ceil(2) != *bytes => {
                Err(format!(
                    "{digits} hexadecimal digits are of {} bytes, not of {bytes}",
                    digits.div_ceil(2)
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_segment(&self, at: usize) -> Result<(), String> {
        let segment = &self.segments[at];
        let mentioned = self.hashed_fields(at).into_iter().chain(segment.kind.field());
        if let Some(unknown) = mentioned.into_iter().find(|&field| field >= self.fields.len()) {
            return Err(format!("it names field {unknown}, and the key has {}", self.fields.len()));
        }
        if segment.kind.field().is_none() && (segment.order == Order::Desc || segment.nullable) {
            return Err(
                "only fields are DESC or NULLABLE, constants, salts and hashes are not".into()
            );
        }
        self.check_digits(at)?;
        let ty = segment.kind.field().map(|field| self.fields[field].ty);
        match &segment.kind {
            SegmentKind::Const(bytes) if bytes.is_empty() => Err("the constant is empty; leave it out".into()),
            SegmentKind::Const(_) | SegmentKind::Plain(_) => Ok(()),
            SegmentKind::Salt { function: HashFunction::Modulo, .. } if !self.is_one_integer(&self.hashed_fields(at)) => {
                Err("modulo is the remainder of one integer field; name it in BY, or use another function".into())
            }
            SegmentKind::Salt { count, function, .. } => check_salt(*count, *function, self.profile),
            SegmentKind::Hash { by, bytes, function, .. } => check_hash(by, *bytes, *function),
            SegmentKind::Bucket { width, .. } => check_bucket(ty, *width),
            SegmentKind::Trunc { bytes, .. } => match ty {
                Some(FieldType::String | FieldType::Bytes) if *bytes > 0 => Ok(()),
                _ => Err("TRUNC takes a STRING or BYTES field and at least one byte".into()),
            },
            SegmentKind::Reverse(_) => match ty {
                Some(FieldType::F32 | FieldType::F64 | FieldType::Decimal | FieldType::Bool) => Err("REVERSE takes text, bytes and integers".into()),
                _ => Ok(()),
            },
            SegmentKind::BitReverse(_) => match ty.and_then(FieldType::integer_range) {
                Some(_) => Ok(()),
                None => Err("BITREV takes an integer field".into()),
            },
            SegmentKind::Dict { bytes, .. } => match (ty, bytes) {
                (Some(FieldType::String | FieldType::Bytes), 1..=8) => Ok(()),
                (_, 1..=8) => Err("DICT takes a STRING or BYTES field".into()),
                _ => Err(format!("the number of a DICT has 1 to 8 bytes, not {bytes}")),
            },
            SegmentKind::Ipv4(_) => match ty {
                Some(FieldType::String) => Ok(()),
                _ => Err("IPV4 takes a STRING field; for addresses as values declare the type IPV4".into()),
            },
        }
    }
}

impl KeySchema {
    fn is_one_integer(&self, fields: &[FieldId]) -> bool {
        matches!(fields, [field] if self.fields[*field].ty.integer_range().is_some())
    }
}

/// Digests in text are hexadecimal, and a full number of digits is implied.
fn in_text(segment: &mut Segment) {
    if let SegmentKind::Hash { bytes, hex, .. } = &mut segment.kind {
        *hex = true;
        segment.digits =
            segment.digits.filter(|&digits| u16::from(digits) != 2 * u16::from(*bytes));
    }
}

fn check_salt(count: u32, function: HashFunction, profile: Profile) -> Result<(), String> {
    if count == 0 || count > MAX_SALTS {
        return Err(format!("SALT({count}): a key has 1 to {MAX_SALTS} salts; 16 to 64 are usual"));
    }
    match profile {
        Profile::Phoenix if function != HashFunction::Phoenix || count > 256 => {
            Err("Phoenix has one byte of salt, computed by its own function: SALT(n USING phoenix) with n up to 256".into())
        }
        _ => Ok(()),
    }
}

fn check_hash(by: &[FieldId], bytes: u8, function: HashFunction) -> Result<(), String> {
    let Some(most) = function.digest_bytes() else {
        return Err(format!(
            "{} gives a salt, not a digest; use SALT, or one of md5, sha1, sha256, sha512, murmur3, java, crc32",
            function.name()
        ));
    };
    if by.is_empty() {
        return Err("HASH names the fields it is computed from".into());
    }
    if bytes == 0 || usize::from(bytes) > most {
        return Err(format!("{} gives {most} bytes, and {bytes} are asked for", function.name()));
    }
    Ok(())
}

fn check_bucket(ty: Option<FieldType>, width: u64) -> Result<(), String> {
    let Some((_, max)) = ty.and_then(FieldType::integer_range) else {
        return Err("BUCKET takes a TIMESTAMP, DATE or integer field".into());
    };
    if width == 0 || i128::from(width) > max {
        return Err(format!(
            "a bucket of width {width} holds nothing, or everything; give one like '1h' or 3600"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::TimeUnit;

    fn field(name: &str, ty: FieldType) -> Field {
        Field { name: name.into(), ty, pattern: None }
    }

    fn salt(count: u32) -> Segment {
        Segment::new(SegmentKind::Salt { count, by: vec![0], function: HashFunction::Murmur3 })
    }

    fn plain(field: FieldId) -> Segment {
        Segment::new(SegmentKind::Plain(field))
    }

    fn sensor_fields() -> Vec<Field> {
        vec![
            field("device_id", FieldType::String),
            field("ts", FieldType::Timestamp(TimeUnit::Millis)),
        ]
    }

    #[test]
    fn a_schema_knows_what_carries_a_field_and_what_a_salt_is_made_of() {
        let all = Segment::new(SegmentKind::Salt {
            count: 16,
            by: Vec::new(),
            function: HashFunction::Murmur3,
        });
        let schema =
            KeySchema::new(Profile::Bin, sensor_fields(), vec![all, plain(0), plain(1).desc()])
                .unwrap();
        assert_eq!((schema.carrier(0), schema.carrier(1)), (Some(1), Some(2)));
        assert_eq!(schema.hashed_fields(0), [0, 1]);
        let hourly = Segment::new(SegmentKind::Bucket { field: 1, width: 3_600_000 });
        let schema = KeySchema::new(Profile::Bin, sensor_fields(), vec![plain(0), hourly]).unwrap();
        assert_eq!(schema.carrier(1), None);
        let replaced = Segment::new(SegmentKind::Hash {
            by: vec![0],
            bytes: 8,
            function: HashFunction::Md5,
            hex: false,
        });
        let schema =
            KeySchema::new(Profile::Bin, sensor_fields(), vec![replaced, plain(1)]).unwrap();
        assert_eq!(schema.carrier(0), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_mend() {
        let hash = |bytes, function| {
            Segment::new(SegmentKind::Hash { by: vec![0], bytes, function, hex: true })
        };
        let remainder = Segment::new(SegmentKind::Salt {
            count: 5,
            by: vec![0],
            function: HashFunction::Modulo,
        });
        let refused = [
            (vec![], "name at least one"),
            (vec![salt(0), plain(0), plain(1)], "1 to 65536 salts"),
            (vec![salt(65_537), plain(0), plain(1)], "1 to 65536 salts"),
            (vec![remainder, plain(0), plain(1)], "one integer field"),
            (vec![salt(16), plain(1)], "field device_id is only in a salt"),
            (vec![plain(0), plain(0), plain(1)], "2 times"),
            (vec![plain(0), plain(2), plain(1)], "names field 2"),
            (vec![salt(16).desc(), plain(0), plain(1)], "only fields are DESC"),
            (vec![hash(17, HashFunction::Md5), plain(0), plain(1)], "md5 gives 16 bytes"),
            (vec![hash(1, HashFunction::Random), plain(0), plain(1)], "use SALT"),
            (
                vec![Segment::new(SegmentKind::Bucket { field: 0, width: 5 }), plain(0), plain(1)],
                "BUCKET takes",
            ),
            (
                vec![Segment::new(SegmentKind::Bucket { field: 1, width: 0 }), plain(0), plain(1)],
                "holds nothing",
            ),
            (
                vec![Segment::new(SegmentKind::Dict { field: 0, bytes: 9 }), plain(1)],
                "1 to 8 bytes",
            ),
            (vec![Segment::new(SegmentKind::BitReverse(0)), plain(1)], "BITREV takes"),
            (
                vec![Segment::new(SegmentKind::Const(Bytes::new())), plain(0), plain(1)],
                "leave it out",
            ),
        ];
        for (segments, wanted) in refused {
            let said =
                KeySchema::new(Profile::Bin, sensor_fields(), segments).unwrap_err().to_string();
            assert!(said.contains(wanted), "wanted {wanted:?}: {said}");
        }
    }
}
