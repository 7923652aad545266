//! Fields and segments of a key, and the functions of salts and hashes.

use bytes::Bytes;

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

/// Index of a logical field in [`KeySchema::fields`](super::KeySchema::fields).
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
    pub(super) fn renumbered(&self, moved: impl Fn(FieldId) -> FieldId) -> Self {
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
