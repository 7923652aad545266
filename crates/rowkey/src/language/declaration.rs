//! Declarations of a statement besides the key: columns, queries, splits, and lint suppressions.

use halite_types::{Bytes, CellRef, TableDescriptor, TableName};

use super::change::SchemaStatement;
use super::error::Span;
use crate::cell::CellEncoding;
use crate::schema::{KeySchema, Order, Profile};
use crate::value::{FieldType, Value};

/// Statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `CREATE TABLE`.
    CreateTable(TableDeclaration),
    /// `ALTER TABLE .. ADOPT ROW KEY`: declares a schema for existing rows.
    Adopt {
        /// Table.
        table: TableName,
        /// Declared key.
        key: KeySchema,
        /// `FORCE`: `true` to declare the key although the rows do not match it, or match the
        /// current declaration.
        forced: bool,
    },
    /// `ALTER TABLE .. ALTER SALT TO ..`.
    AlterSalt {
        /// Table.
        table: TableName,
        /// New number of salts.
        salts: u32,
        /// Start time in milliseconds since 1970, if rows are distinguished by time.
        from_ms: Option<i64>,
    },
    /// `SHOW CREATE TABLE`.
    ShowCreateTable(TableName),
    /// Statement that changes or removes what exists.
    Schema(SchemaStatement),
}

/// Declaration of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDeclaration {
    /// Families and attributes; [`Self::described`] adds the declarations here.
    pub descriptor: TableDescriptor,
    /// `true` if an existing table is left unchanged.
    pub if_not_exists: bool,
    /// Key.
    pub key: KeySchema,
    /// Value columns, in the order of their declarations.
    pub columns: Vec<Column>,
    /// Expected queries.
    pub queries: Vec<Query>,
    /// Initial splits.
    pub split: Option<SplitClause>,
    /// Suppressed lint rules.
    pub suppressions: Vec<Suppression>,
}

/// Value column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name in statements.
    pub name: String,
    /// Type of its cells.
    pub ty: ColumnType,
    /// Family.
    pub family: String,
    /// Qualifier, which is stored with every cell; of a `MAP`, the bytes that all its qualifiers
    /// begin with, empty for every qualifier of the family.
    pub qualifier: Bytes,
    /// Encoding of its values; of a `MAP`, of its keys too.
    pub encoding: CellEncoding,
    /// `NOT NULL`: every row has a cell of the column. Only those who write by column keep it.
    pub not_null: bool,
    /// Value that is written where none is given; never null.
    pub default: Option<Value<'static>>,
}

/// Type of the cells of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// One value per cell.
    Value(FieldType),
    /// One decimal number per cell: at most `precision` digits, of which `scale` are after the
    /// point.
    Decimal {
        /// Digits, 1 to 31.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// `I64 COUNTER`: eight bytes, as Increment writes them.
    Counter,
    /// A value per qualifier.
    Map {
        /// Type of the qualifiers, after the beginning that all have.
        key: FieldType,
        /// Type of the cells.
        value: FieldType,
    },
    /// Packed points of a bucket row.
    Series {
        /// Type of one point.
        of: FieldType,
        /// Field whose offset in the bucket is the time of a point.
        offset_of: Option<String>,
    },
}

/// Expected query or kind of write.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Name.
    pub name: String,
    /// Operation.
    pub action: Action,
    /// Conditions on columns, all of which hold. Empty for every row, and for a scan specified in
    /// bytes.
    pub conditions: Vec<QueryCondition>,
    /// Requested order of the rows; empty for any order.
    pub order: Vec<QueryOrder>,
    /// Maximum number of rows.
    pub limit: Option<u64>,
    /// Number of rows skipped first.
    pub offset: Option<u64>,
    /// Executions per second on the busiest of its rows.
    pub rate: Option<f64>,
    /// Relative frequency of the query. Default: 1.
    pub weight: f64,
}

/// Operation of a declared query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Reads the rows that match its conditions.
    #[default]
    Read,
    /// Reads a range of keys with explicit bounds.
    RawScan {
        /// First key, inclusive; `None` for the start of the table.
        from: Option<Vec<u8>>,
        /// End, exclusive; `None` for the end of the table.
        to: Option<Vec<u8>>,
    },
    /// Writes cells, with an optional time to live.
    Put {
        /// Time to live of each cell in milliseconds, above 0.
        ttl_ms: Option<u64>,
    },
    /// Deletes.
    Delete,
    /// Adds to a counter.
    Increment,
    /// Appends bytes to a cell.
    Append,
}

/// Column of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryOrder {
    /// Name of the column.
    pub column: String,
    /// Direction.
    pub order: Order,
}

/// Condition of a query on one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryCondition {
    /// Name of the column.
    pub column: String,
    /// Kind of the condition.
    pub kind: ConditionKind,
}

/// Kind of a condition on a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// `= ?`: one value.
    Equal,
    /// `IN LIST`: one of a few values.
    In,
    /// `IN RANGE`: from one value to another.
    Range,
    /// `LIKE ?`: a prefix.
    Prefix,
}

/// Initial splits of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitClause {
    /// At the boundaries of salts, with this many regions for each.
    BySalt {
        /// Regions per salt, at least 1.
        regions_each: u32,
    },
    /// Into this many regions.
    Into(u32),
    /// At these rows.
    At(Vec<Vec<u8>>),
    /// At the boundaries of another table.
    Like(TableName),
    /// From the rows of a file.
    FromSample {
        /// Path of the file.
        file: String,
        /// Number of regions.
        regions: u32,
    },
    /// New regions for each period, in milliseconds.
    Rolling(u64),
}

/// Suppressed lint rule: `-- lint:allow K-MONO reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Rule.
    pub rule: String,
    /// Reason; empty if none is stated.
    pub reason: String,
    /// Position in the text.
    pub span: Span,
}

/// Defaults are compared as values are: NaN is NaN, and `-0` is not `0`.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        let default = |column: &Self| column.default.clone().unwrap_or(Value::Null);
        self.name == other.name
            && self.ty == other.ty
            && self.family == other.family
            && self.qualifier == other.qualifier
            && self.encoding == other.encoding
            && self.not_null == other.not_null
            && default(self).compare(&default(other)).is_eq()
    }
}

impl Eq for Column {}

impl Column {
    /// Returns a column without attributes: its qualifier is its name.
    pub fn new(name: impl Into<String>, ty: ColumnType, family: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            qualifier: Bytes::copy_from_slice(name.as_bytes()),
            name,
            ty,
            family: family.into(),
            encoding: CellEncoding::default(),
            not_null: false,
            default: None,
        }
    }

    /// Returns a copy of the column with another qualifier.
    #[must_use]
    pub fn qualified(self, qualifier: impl Into<Bytes>) -> Self {
        Self { qualifier: qualifier.into(), ..self }
    }

    /// Returns `true` if all its cells have the same qualifier: a `MAP` has one for each key, and a
    /// `SERIES` may have one for each point.
    pub fn has_one_qualifier(&self) -> bool {
        !matches!(self.ty, ColumnType::Map { .. } | ColumnType::Series { .. })
    }

    /// Returns `true` if the column may own cells with this qualifier: its own, or one that begins
    /// as those of the `MAP` do.
    pub fn owns(&self, qualifier: &[u8]) -> bool {
        match self.ty {
            ColumnType::Map { .. } => qualifier.starts_with(&self.qualifier),
            _ => self.qualifier == qualifier,
        }
    }

    /// Returns `true` if the column may own a cell: of its family, and as [`Self::owns`].
    pub(crate) fn owns_cell(&self, cell: &CellRef<'_>) -> bool {
        self.family.as_bytes() == cell.family() && self.owns(cell.qualifier())
    }
}

impl ColumnType {
    /// Returns the type of the values; `None` for a `SERIES` and a `MAP`, whose rows have several.
    pub fn value_type(&self) -> Option<FieldType> {
        match self {
            Self::Value(ty) => Some(*ty),
            Self::Decimal { .. } => Some(FieldType::Decimal),
            Self::Counter => Some(FieldType::I64),
            Self::Series { .. } | Self::Map { .. } => None,
        }
    }
}

impl Query {
    /// Returns the named columns, in the order of the text.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.conditions
            .iter()
            .map(|condition| condition.column.as_str())
            .chain(self.order.iter().map(|order| order.column.as_str()))
    }

    /// Returns `true` if the query fixes a column to single values.
    fn pins(&self, column: &str) -> bool {
        let fixed = |condition: &QueryCondition| {
            matches!(condition.kind, ConditionKind::Equal | ConditionKind::In)
        };
        self.conditions.iter().any(|condition| condition.column == column && fixed(condition))
    }
}

/// Returns the key columns that every query fixes to single values: a salt of these can be computed
/// for every query. In a key of Phoenix a salt is always of the whole key.
pub(super) fn salted_by(queries: &[Query], profile: Profile, columns: &[&str]) -> Vec<String> {
    // A full scan requires no salt.
    let asking: Vec<&Query> = queries.iter().filter(|query| !query.conditions.is_empty()).collect();
    if asking.is_empty() || profile == Profile::Phoenix {
        return Vec::new();
    }
    let shared = columns.iter().filter(|column| asking.iter().all(|query| query.pins(column)));
    shared.map(|&column| column.to_owned()).collect()
}
