//! Filters as data; the engine evaluates them (`scan/filter.rs` there).
//!
//! The names and meanings are those of HBase's filter classes, so that both the wire and the shell map onto them.

use bytes::Bytes;

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

/// What to compare bytes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// Unsigned bytewise order (`BinaryComparator`).
    Binary(Bytes),
    /// Unsigned bytewise order of the first bytes, as many as given (`BinaryPrefixComparator`).
    BinaryPrefix(Bytes),
    /// Equal if the given text occurs, ignoring case (`SubstringComparator`).
    Substring(String),
    /// An 8-byte big-endian number (`LongComparator`).
    Long(i64),
    /// Equal if there is no value (`NullComparator`).
    Null,
}

/// Which cells and rows a read returns.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// `TimestampsFilter`, ascending
    Timestamps(Vec<i64>),
    /// `WhileMatchFilter`
    WhileMatch(Box<Filter>),
    /// `SkipFilter`
    Skip(Box<Filter>),
    /// `FilterList` with `MUST_PASS_ALL`
    All(Vec<Filter>),
    /// `FilterList` with `MUST_PASS_ONE`
    One(Vec<Filter>),
}
