//! What a statement declares beside the key: columns, queries, how to split, and what lint may pass over.

use halite_types::{TableDescriptor, TableName};

use super::error::Span;
use crate::schema::{KeySchema, Order, Profile};
use crate::value::FieldType;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `CREATE TABLE`.
    CreateTable(TableDeclaration),
    /// `ALTER TABLE .. ADOPT ROW KEY`: a schema for rows that are there already.
    Adopt {
        /// The table.
        table: TableName,
        /// What its keys are said to be.
        key: KeySchema,
        /// `FORCE`: whether it is declared although the rows do not fit it, or fit what is declared now.
        forced: bool,
    },
    /// `ALTER TABLE .. ALTER SALT TO ..`.
    AlterSalt {
        /// The table.
        table: TableName,
        /// How many salts it is to have.
        salts: u32,
        /// Since when, in milliseconds since 1970, if rows are told apart by time.
        from_ms: Option<i64>,
    },
    /// `SHOW CREATE TABLE`.
    ShowCreateTable(TableName),
}

/// A table as a statement declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDeclaration {
    /// Families and attributes; [`Self::described`] adds what is declared here.
    pub descriptor: TableDescriptor,
    /// Whether a table that exists is left as it is.
    pub if_not_exists: bool,
    /// The key.
    pub key: KeySchema,
    /// Columns of values, in the order they were declared.
    pub columns: Vec<Column>,
    /// The questions the table is made for.
    pub queries: Vec<Query>,
    /// How it is split before there are rows.
    pub split: Option<SplitClause>,
    /// Lint rules it may break.
    pub suppressions: Vec<Suppression>,
}

/// A column of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name in statements.
    pub name: String,
    /// What its cells hold.
    pub ty: ColumnType,
    /// Its family.
    pub family: String,
    /// Its name in the store, which travels with every cell.
    pub qualifier: String,
}

/// What the cells of a column hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// One value each.
    Value(FieldType),
    /// The points of a bucket row, packed.
    Series {
        /// The type of one point.
        of: FieldType,
        /// The field whose offset in the bucket is the time of a point.
        offset_of: Option<String>,
    },
}

/// A question that will be asked, or a kind of write.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Its name.
    pub name: String,
    /// What is done.
    pub action: Action,
    /// What is said of columns; all of it holds. None for every row, and for a scan given in bytes.
    pub conditions: Vec<QueryCondition>,
    /// The order in which rows are wanted; empty if any will do.
    pub order: Vec<QueryOrder>,
    /// Rows that are wanted, at most.
    pub limit: Option<u64>,
    /// Rows that are passed over first.
    pub offset: Option<u64>,
    /// How often it happens to the busiest of its rows, each second.
    pub rate: Option<f64>,
    /// How often it is asked beside the others; 1 if nothing is said.
    pub weight: f64,
}

/// What a declared query does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Reads the rows that its conditions describe.
    #[default]
    Read,
    /// Reads a range of keys that a program makes by itself.
    RawScan {
        /// The first key, included; `None` from the beginning of the table.
        from: Option<Vec<u8>>,
        /// Where it ends, not included; `None` at the end of the table.
        to: Option<Vec<u8>>,
    },
    /// Writes cells, which live so many milliseconds if that is said.
    Put {
        /// The time to live of each cell, above 0.
        ttl_ms: Option<u64>,
    },
    /// Deletes.
    Delete,
    /// Adds to a counter.
    Increment,
    /// Adds bytes to what a cell holds.
    Append,
}

/// One column of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryOrder {
    /// The column.
    pub column: String,
    /// Which way.
    pub order: Order,
}

/// What a query says of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryCondition {
    /// The column.
    pub column: String,
    /// What is said.
    pub kind: ConditionKind,
}

/// What may be said of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// `= ?`: one value.
    Equal,
    /// `IN LIST`: one of a few values.
    In,
    /// `IN RANGE`: from one value to another.
    Range,
    /// `LIKE ?`: a beginning.
    Prefix,
}

/// How a table is split before there are rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitClause {
    /// At the borders of salts, with so many regions for each.
    BySalt {
        /// Regions of one salt, at least 1.
        regions_each: u32,
    },
    /// Into so many regions.
    Into(u32),
    /// At these rows.
    At(Vec<Vec<u8>>),
    /// Where another table is split.
    Like(TableName),
    /// By the rows of a file.
    FromSample {
        /// Its path.
        file: String,
        /// Into how many regions.
        regions: u32,
    },
    /// Anew for each span of time, in milliseconds.
    Rolling(u64),
}

/// A lint rule that a statement may break: `-- lint:allow K-MONO reason`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The rule.
    pub rule: String,
    /// Why; empty if nothing is said.
    pub reason: String,
    /// Where it stands in the text.
    pub span: Span,
}

impl Query {
    /// The columns it names, in the order of its text.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| condition.column.as_str()).chain(self.order.iter().map(|order| order.column.as_str()))
    }

    /// Whether it gives single values for a column.
    fn fixes(&self, column: &str) -> bool {
        let fixed = |condition: &QueryCondition| matches!(condition.kind, ConditionKind::Equal | ConditionKind::In);
        self.conditions.iter().any(|condition| condition.column == column && fixed(condition))
    }
}

/// The columns, of those in the key, that every query gives single values for: from these a salt can be computed whatever
/// is asked. In a key of Phoenix a salt is always of the whole key.
pub(super) fn salted_by(queries: &[Query], profile: Profile, columns: &[&str]) -> Vec<String> {
    // What reads everything needs no salt.
    let asking: Vec<&Query> = queries.iter().filter(|query| !query.conditions.is_empty()).collect();
    if asking.is_empty() || profile == Profile::Phoenix {
        return Vec::new();
    }
    let shared = columns.iter().filter(|column| asking.iter().all(|query| query.fixes(column)));
    shared.map(|&column| column.to_owned()).collect()
}
