//! Filters as data; the engine evaluates them (`scan/filter.rs` there).
//!
//! The names and meanings are those of HBase's filter classes, so that both the wire and the shell
//! map onto them. A filter is read from a string of HBase's filter language by `str::parse` or
//! [`Filter::parse_bytes`], and printed as one.
//!
//! ```
//! let filter: halite_types::Filter = "PrefixFilter('row') AND (QualifierFilter(>=, 'binary:xyz'))".parse()?;
//! assert_eq!(filter.to_string(), "PrefixFilter('row') AND QualifierFilter(>=, 'binary:xyz')");
//! # Ok::<(), halite_types::Error>(())
//! ```

mod parse;
mod print;
#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::key::RowRange;
pub use parse::FORMS;

/// Comparison operator: `stored op given`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
    /// Never `true`.
    NoOp,
}

impl CompareOp {
    /// Returns `true` if `order`, that of the stored value relative to the given one, satisfies the
    /// operator.
    pub fn accepts(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Greater => order.is_gt(),
            Self::NoOp => false,
        }
    }
}

/// Bitwise operation of [`Comparator::Bit`] on the stored and the given bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOp {
    /// Both bits.
    And,
    /// Either bit.
    Or,
    /// Exactly one of the bits.
    Xor,
}

/// Regular expression in Java's syntax, with flags and character set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexString {
    /// Expression; it matches anywhere in the value, not only the whole value.
    pub pattern: String,
    /// Flags of `java.util.regex.Pattern`, such as [`RegexString::DOTALL`].
    pub flags: u32,
    /// Name of the character set that turns the stored bytes into text.
    pub charset: String,
}

impl RegexString {
    /// `.` matches line terminators too; HBase's default.
    pub const DOTALL: u32 = 32;
    /// Letters match regardless of case.
    pub const CASE_INSENSITIVE: u32 = 2;
    /// Both.
    pub(crate) const DOTALL_IGNORING_CASE: u32 = Self::DOTALL | Self::CASE_INSENSITIVE;

    /// Creates an expression over UTF-8 whose `.` matches line terminators too, as HBase does.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), flags: Self::DOTALL, charset: "UTF-8".into() }
    }

    /// Creates the same expression, but ignoring case; `regexstringnocase:` in the filter language.
    pub fn ignoring_case(pattern: impl Into<String>) -> Self {
        Self { flags: Self::DOTALL_IGNORING_CASE, ..Self::new(pattern) }
    }
}

/// Comparator of stored bytes with a given value. Comparators that only test for equality sort
/// every other value before the given one, as in HBase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// Unsigned bytewise order (`BinaryComparator`).
    Binary(Bytes),
    /// Unsigned bytewise order of the first bytes, as many as the given value has
    /// (`BinaryPrefixComparator`).
    BinaryPrefix(Bytes),
    /// Unsigned bytewise order of as many bytes as the given value has, starting at an offset
    /// (`BinaryComponentComparator`).
    BinaryComponent {
        /// Value to compare with.
        value: Bytes,
        /// Bytes of the stored value to skip.
        offset: u32,
    },
    /// Equal if both have the same length and the combined bits are not all zero (`BitComparator`).
    Bit(BitOp, Bytes),
    /// Equal if the given text occurs, ignoring case (`SubstringComparator`).
    Substring(String),
    /// Equal if the expression matches somewhere (`RegexStringComparator`).
    Regex(RegexString),
    /// 8-byte big-endian number (`LongComparator`). Stored bytes of another length satisfy no
    /// operator.
    Long(i64),
    /// Decimal number as `Bytes.toBytes(BigDecimal)` encodes it: scale as 4 bytes, then the digits
    /// as a big-endian two's complement number (`BigDecimalComparator`). Stored bytes in another
    /// form satisfy no operator.
    BigDecimal(Bytes),
    /// Equal if there is no value, which is never the case for a stored cell (`NullComparator`).
    Null,
}

/// One pattern of a `FuzzyRowFilter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzyKey {
    /// The bytes of the row key, position by position.
    pub key: Bytes,
    /// One byte per position: 0 (or -1) if the byte must match, 1 (or 2) if any byte matches.
    pub mask: Bytes,
}

/// Filter that selects the cells and rows a read returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// `RowFilter`
    Row(CompareOp, Comparator),
    /// `FamilyFilter`
    Family(CompareOp, Comparator),
    /// `QualifierFilter`
    Qualifier(CompareOp, Comparator),
    /// `ValueFilter`
    Value(CompareOp, Comparator),
    /// `SingleColumnValueFilter`, or `SingleColumnValueExcludeFilter` with `exclude`
    SingleColumnValue {
        /// Family of the tested column.
        family: Bytes,
        /// Qualifier of the tested column.
        qualifier: Bytes,
        /// Comparison operator.
        op: CompareOp,
        /// Comparator.
        comparator: Comparator,
        /// `true` if a row without the column is excluded.
        filter_if_missing: bool,
        /// `true` if only the newest version is tested.
        latest_version_only: bool,
        /// `true` if the tested column itself is excluded.
        exclude: bool,
    },
    /// `ColumnValueFilter`: only the cells of one column that satisfy
    ColumnValue {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// Comparison operator.
        op: CompareOp,
        /// Comparator.
        comparator: Comparator,
    },
    /// `DependentColumnFilter`: only cells with the timestamp of a cell of the given column
    DependentColumn {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// `true` if the column itself is excluded.
        drop_column: bool,
        /// Condition on the value of the column, if any.
        check: Option<(CompareOp, Comparator)>,
    },
    /// `PrefixFilter`: rows that begin with these bytes
    Prefix(Bytes),
    /// `ColumnPrefixFilter`
    ColumnPrefix(Bytes),
    /// `MultipleColumnPrefixFilter`
    MultipleColumnPrefix(Vec<Bytes>),
    /// `ColumnRangeFilter`
    ColumnRange {
        /// Lowest qualifier; `None` for no bound.
        min: Option<Bytes>,
        /// `true` if `min` is inclusive.
        min_inclusive: bool,
        /// Highest qualifier; `None` for no bound.
        max: Option<Bytes>,
        /// `true` if `max` is inclusive.
        max_inclusive: bool,
    },
    /// `FirstKeyOnlyFilter`
    FirstKeyOnly,
    /// `FirstKeyValueMatchingQualifiersFilter`: the cells up to the first with one of these
    /// qualifiers
    FirstKeyValueMatchingQualifiers(Vec<Bytes>),
    /// `KeyOnlyFilter`; with `true` the value becomes its length as a 4-byte number
    KeyOnly(bool),
    /// `PageFilter`: rows per region
    Page(u64),
    /// `InclusiveStopFilter`
    InclusiveStop(Bytes),
    /// `ColumnCountGetFilter`
    ColumnCountGet(u32),
    /// `ColumnPaginationFilter`
    ColumnPagination {
        /// Columns to return.
        limit: u32,
        /// Columns to skip first.
        offset: u32,
        /// First column to return; replaces `offset`.
        column_offset: Option<Bytes>,
    },
    /// `TimestampsFilter`
    Timestamps {
        /// The timestamps to return.
        timestamps: Vec<i64>,
        /// `true` if cells between them may be skipped, including delete markers.
        can_hint: bool,
    },
    /// `FuzzyRowFilter`: rows that match one of the patterns
    FuzzyRow(Vec<FuzzyKey>),
    /// `MultiRowRangeFilter`: rows in one of the ranges
    MultiRowRange(Vec<RowRange>),
    /// `RandomRowFilter`: each row with this probability
    RandomRow(f32),
    /// `FilterAllFilter`: no rows
    FilterAll,
    /// `WhileMatchFilter`
    WhileMatch(Box<Filter>),
    /// `SkipFilter`
    Skip(Box<Filter>),
    /// `FilterList` with `MUST_PASS_ALL`
    All(Vec<Filter>),
    /// `FilterList` with `MUST_PASS_ONE`
    One(Vec<Filter>),
}

impl Filter {
    /// Returns the number of regular expressions, including those in nested filters. Compiling such
    /// a filter costs more than sending it.
    pub fn regex_count(&self) -> usize {
        self.sum(&|comparator| usize::from(matches!(comparator, Some(Comparator::Regex(_)))))
    }

    /// Returns the approximate maximum cost of evaluating one byte of a cell, where one byte
    /// comparison costs 1.
    pub fn cost(&self) -> usize {
        self.sum(&|comparator| match comparator {
            // Text comparators may decode letters first; decimal comparators convert bytes to
            // digits.
            Some(Comparator::Substring(_) | Comparator::Regex(_)) => 4,
            Some(Comparator::BigDecimal(_)) => 64,
            Some(
                Comparator::Binary(_)
                | Comparator::BinaryPrefix(_)
                | Comparator::BinaryComponent { .. }
                | Comparator::Bit(..)
                | Comparator::Long(_)
                | Comparator::Null,
            )
            | None => 1,
        })
    }

    /// Returns the sum of `of` over the nested filters that contain no others; `of` receives the
    /// comparator of each.
    fn sum(&self, of: &impl Fn(Option<&Comparator>) -> usize) -> usize {
        match self {
            Self::Row(_, comparator)
            | Self::Family(_, comparator)
            | Self::Qualifier(_, comparator)
            | Self::Value(_, comparator) => of(Some(comparator)),
            Self::SingleColumnValue { comparator, .. } | Self::ColumnValue { comparator, .. } => {
                of(Some(comparator))
            }
            Self::DependentColumn { check, .. } => {
                of(check.as_ref().map(|(_, comparator)| comparator))
            }
            Self::WhileMatch(inner) | Self::Skip(inner) => inner.sum(of),
            Self::All(filters) | Self::One(filters) => {
                filters.iter().map(|filter| filter.sum(of)).fold(0, usize::saturating_add)
            }
            Self::Prefix(_)
            | Self::ColumnPrefix(_)
            | Self::MultipleColumnPrefix(_)
            | Self::ColumnRange { .. }
            | Self::FirstKeyOnly
            | Self::FirstKeyValueMatchingQualifiers(_)
            | Self::KeyOnly(_)
            | Self::Page(_)
            | Self::InclusiveStop(_)
            | Self::ColumnCountGet(_)
            | Self::ColumnPagination { .. }
            | Self::Timestamps { .. }
            | Self::FuzzyRow(_)
            | Self::MultiRowRange(_)
            | Self::RandomRow(_)
            | Self::FilterAll => of(None),
        }
    }
}
