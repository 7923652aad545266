//! Way of a table to another key.

use halite_rowkey::KeySchema;
use halite_rowkey::language::TableDeclaration;
use halite_types::{TableDescriptor, TableName};
use serde::Serialize;
use utoipa::ToSchema;

/// Bytes per second at which a client rewrites rows: little, so that the load beside it continues.
const BYTES_PER_S: u64 = 10 << 20;

/// Way to another key, and what it costs.
#[derive(Serialize, ToSchema)]
pub(crate) struct Migration {
    /// Statement of the table with the other key, and the steps in comments.
    ddl: String,
    /// Bytes to rewrite: store files and memstores as they are now.
    bytes: u64,
    /// Time for that at 10 MiB per second.
    seconds: u64,
}

impl Migration {
    pub(super) fn new(table: &TableDescriptor, key: &KeySchema, bytes: u64) -> Self {
        let declaration = TableDeclaration::from_descriptor(table).and_then(Result::ok);
        let name = table.name();
        let other_name: Option<TableName> = format!("{name}_rekeyed").parse().ok();
        let statement = match (declaration, other_name) {
            (Some(declaration), Some(other_name)) => {
                let descriptor = declaration.descriptor.clone().renamed(other_name);
                let other =
                    TableDeclaration { descriptor, key: key.clone(), split: None, ..declaration };
                format!("{other};")
            }
            _ => format!("-- a table that declares:\n-- {}", key.to_text()),
        };
        let ddl = format!(
            "-- 1. Create a table with the other key:\n\
             {statement}\n\
             -- 2. Let the writers write to both tables.\n\
             -- 3. Read {name} row by row, and write each row with the key of its fields.\n\
             -- 4. Let the readers read the new table, and drop {name}."
        );
        Self { ddl, bytes, seconds: bytes.div_ceil(BYTES_PER_S) }
    }
}
