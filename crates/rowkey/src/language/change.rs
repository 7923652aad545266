//! Statements that change or remove what exists.

use halite_types::TableName;

use super::declaration::Column;

/// Statement that changes or removes what exists, or a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaStatement {
    /// `ALTER TABLE`, but for its key: all alterations or none.
    Alter {
        /// Table.
        table: TableName,
        /// Changes, in the order of the text.
        alterations: Vec<Alteration>,
    },
    /// `ALTER TABLE .. ADOPT COLUMNS FROM SAMPLE`: columns that cells look like.
    AdoptFromSample {
        /// Table.
        table: TableName,
        /// Rows to read, at least 1.
        rows: u32,
        /// `true` to declare them, `false` to say them only.
        apply: bool,
    },
    /// `DROP TABLE`.
    DropTable {
        /// Table.
        table: TableName,
        /// `true` if it may be missing.
        if_exists: bool,
    },
    /// `TRUNCATE TABLE`.
    Truncate {
        /// Table.
        table: TableName,
        /// `true` if it keeps its regions; else it has one.
        keep_splits: bool,
    },
    /// `CREATE SCHEMA`: a namespace.
    CreateSchema {
        /// Namespace.
        name: String,
        /// `true` if it may exist.
        if_not_exists: bool,
    },
    /// `DROP SCHEMA`: a namespace without tables.
    DropSchema {
        /// Namespace.
        name: String,
        /// `true` if it may be missing.
        if_exists: bool,
    },
    /// `FLUSH TABLE`.
    Flush(TableName),
    /// `COMPACT TABLE`.
    Compact {
        /// Table.
        table: TableName,
        /// `true` to rewrite all files.
        is_major: bool,
    },
    /// `SPLIT TABLE .. AT`.
    Split {
        /// Table.
        table: TableName,
        /// First rows of new regions, in ascending order.
        at: Vec<Vec<u8>>,
    },
}

impl SchemaStatement {
    /// Returns the table that it names.
    pub fn table_mut(&mut self) -> Option<&mut TableName> {
        match self {
            Self::Alter { table, .. }
            | Self::AdoptFromSample { table, .. }
            | Self::DropTable { table, .. }
            | Self::Truncate { table, .. }
            | Self::Flush(table)
            | Self::Compact { table, .. }
            | Self::Split { table, .. } => Some(table),
            Self::CreateSchema { .. } | Self::DropSchema { .. } => None,
        }
    }
}

/// Change of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Alteration {
    /// `ADD COLUMN`: no row has it yet.
    AddColumn(NewColumn),
    /// `ADOPT COLUMNS`: names and types for cells that others write.
    AdoptColumns(Vec<NewColumn>),
    /// `DROP COLUMN`: the declaration is removed.
    DropColumn {
        /// Name.
        name: String,
        /// `true` to delete the cells too.
        purge: bool,
    },
    /// `RENAME COLUMN`: the cells keep their qualifier.
    RenameColumn {
        /// Name.
        from: String,
        /// New name.
        to: String,
    },
    /// `ADD FAMILY`.
    AddFamily(String),
    /// `DROP FAMILY`, with its cells.
    DropFamily(String),
    /// `SET (option, ..)`.
    Set(Vec<TableOption>),
}

/// Column to declare.
#[derive(Clone, Debug, PartialEq)]
pub struct NewColumn {
    /// Column; without a family it is in the first one of the table.
    pub column: Column,
    /// `true` if the statement names its family.
    pub has_family: bool,
}

/// Option of a table or of its families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOption {
    /// Family, if it is of a single one.
    pub family: Option<String>,
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}
