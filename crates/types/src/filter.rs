//! Filters as data; the engine evaluates them (`scan/filter.rs` there).
//!
//! The names and meanings are those of HBase's filter classes, so that both the wire and the shell map onto them. A
//! filter is read from a string of HBase's filter language by `str::parse` or [`Filter::parse_bytes`], and printed as one.
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

/// How two values compare: `stored op given`.
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
    /// Never true.
    NoOp,
}

impl CompareOp {
    /// Whether an order of `stored` against `given` satisfies the operator.
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

/// How [`Comparator::Bit`] combines the stored bytes with the given ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOp {
    /// Both bits.
    And,
    /// Either bit.
    Or,
    /// Exactly one of the bits.
    Xor,
}

/// A regular expression in Java's syntax with what Java needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegexString {
    /// The expression; it is searched for, not matched against the whole.
    pub pattern: String,
    /// Flags of `java.util.regex.Pattern`, such as [`RegexString::DOTALL`].
    pub flags: u32,
    /// Name of the character set that turns the stored bytes into text.
    pub charset: String,
}

impl RegexString {
    /// `.` does not stop at line ends; HBase's default.
    pub const DOTALL: u32 = 32;
    /// Letters match whatever their case.
    pub const CASE_INSENSITIVE: u32 = 2;
    /// Both.
    pub(crate) const DOTALL_IGNORING_CASE: u32 = Self::DOTALL | Self::CASE_INSENSITIVE;

    /// An expression over UTF-8 whose `.` matches line ends too, as HBase makes it.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), flags: Self::DOTALL, charset: "UTF-8".into() }
    }

    /// The same, whose letters match whatever their case; `regexstringnocase:` in the filter language.
    pub fn ignoring_case(pattern: impl Into<String>) -> Self {
        Self { flags: Self::DOTALL_IGNORING_CASE, ..Self::new(pattern) }
    }
}

/// What to compare bytes with. Comparators that only know "equal" put everything else before the given value, as in HBase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparator {
    /// Unsigned bytewise order (`BinaryComparator`).
    Binary(Bytes),
    /// Unsigned bytewise order of the first bytes, as many as given (`BinaryPrefixComparator`).
    BinaryPrefix(Bytes),
    /// Unsigned bytewise order of as many bytes as given, from an offset on (`BinaryComponentComparator`).
    BinaryComponent {
        /// What to compare with.
        value: Bytes,
        /// Bytes of the stored value to pass over.
        offset: u32,
    },
    /// Equal if both have one length and the combined bits are not all zero (`BitComparator`).
    Bit(BitOp, Bytes),
    /// Equal if the given text occurs, ignoring case (`SubstringComparator`).
    Substring(String),
    /// Equal if the expression matches somewhere (`RegexStringComparator`).
    Regex(RegexString),
    /// An 8-byte big-endian number (`LongComparator`). Stored bytes of another length satisfy no operator.
    Long(i64),
    /// A decimal number as `Bytes.toBytes(BigDecimal)` writes it: scale as 4 bytes, then the digits as a big-endian
    /// two's complement number (`BigDecimalComparator`). Stored bytes that are none satisfy no operator.
    BigDecimal(Bytes),
    /// Equal if there is no value, which no stored cell is (`NullComparator`).
    Null,
}

/// One pattern of a `FuzzyRowFilter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzyKey {
    /// The bytes of the row key, position by position.
    pub key: Bytes,
    /// For each position 0 (or -1) if the byte must match, 1 (or 2) if it may be any.
    pub mask: Bytes,
}

/// Which cells and rows a read returns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
        /// How to compare.
        op: CompareOp,
        /// What to compare with.
        comparator: Comparator,
        /// Whether a row without the column is left out.
        filter_if_missing: bool,
        /// Whether only the newest version is tested.
        latest_version_only: bool,
        /// Whether the tested column itself is left out.
        exclude: bool,
    },
    /// `ColumnValueFilter`: only the cells of one column that satisfy
    ColumnValue {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// How to compare.
        op: CompareOp,
        /// What to compare with.
        comparator: Comparator,
    },
    /// `DependentColumnFilter`: only cells with the timestamp of a cell of the given column
    DependentColumn {
        /// Family of the column.
        family: Bytes,
        /// Qualifier of the column.
        qualifier: Bytes,
        /// Whether the column itself is left out.
        drop_column: bool,
        /// What the value of the column must satisfy to count.
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
        /// Lowest qualifier, `None` for no bound.
        min: Option<Bytes>,
        /// Whether `min` itself is in.
        min_inclusive: bool,
        /// Highest qualifier, `None` for no bound.
        max: Option<Bytes>,
        /// Whether `max` itself is in.
        max_inclusive: bool,
    },
    /// `FirstKeyOnlyFilter`
    FirstKeyOnly,
    /// `FirstKeyValueMatchingQualifiersFilter`: the cells up to the first with one of these qualifiers
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
        /// Columns to leave out first.
        offset: u32,
        /// The first column to return, instead of a number.
        column_offset: Option<Bytes>,
    },
    /// `TimestampsFilter`
    Timestamps {
        /// The timestamps to return.
        timestamps: Vec<i64>,
        /// Whether cells between them may be jumped over, delete markers too.
        can_hint: bool,
    },
    /// `FuzzyRowFilter`: rows that match one of the patterns
    FuzzyRow(Vec<FuzzyKey>),
    /// `MultiRowRangeFilter`: rows in one of the ranges
    MultiRowRange(Vec<RowRange>),
    /// `RandomRowFilter`: each row with this probability
    RandomRow(f32),
    /// `FilterAllFilter`: no row at all
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
    /// How many regular expressions it compares with, those of the filters in it included. To make such a filter ready costs
    /// more than to send it.
    pub fn regex_count(&self) -> usize {
        self.sum(&|comparator| usize::from(matches!(comparator, Some(Comparator::Regex(_)))))
    }

    /// What it costs at the most to show it a byte of a cell, about, where to compare a byte with another one costs 1.
    pub fn cost(&self) -> usize {
        self.sum(&|comparator| match comparator {
            // Letters may have to be read as text first, and digits be made of bytes.
            Some(Comparator::Substring(_) | Comparator::Regex(_)) => 4,
            Some(Comparator::BigDecimal(_)) => 64,
            _ => 1,
        })
    }

    /// The sum over the filters in it that hold no others, each told by what it compares with.
    fn sum(&self, of: &impl Fn(Option<&Comparator>) -> usize) -> usize {
        match self {
            Self::Row(_, comparator) | Self::Family(_, comparator) | Self::Qualifier(_, comparator) | Self::Value(_, comparator) => {
                of(Some(comparator))
            }
            Self::SingleColumnValue { comparator, .. } | Self::ColumnValue { comparator, .. } => of(Some(comparator)),
            Self::DependentColumn { check, .. } => of(check.as_ref().map(|(_, comparator)| comparator)),
            Self::WhileMatch(inner) | Self::Skip(inner) => inner.sum(of),
            Self::All(filters) | Self::One(filters) => filters.iter().map(|filter| filter.sum(of)).fold(0, usize::saturating_add),
            _ => of(None),
        }
    }
}
