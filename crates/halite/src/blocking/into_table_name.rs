//! Arguments that name a table.

use halite_types::{Result, TableName};

/// Name of a table as an argument: a [`TableName`], or its text, such as `users` or `sales:orders`.
pub trait IntoTableName {
    /// Returns the name.
    ///
    /// # Errors
    /// `InvalidRequest` for a text that is no name.
    fn into_table_name(self) -> Result<TableName>;
}

impl IntoTableName for TableName {
    fn into_table_name(self) -> Result<TableName> {
        Ok(self)
    }
}

impl IntoTableName for &TableName {
    fn into_table_name(self) -> Result<TableName> {
        Ok(self.clone())
    }
}

impl IntoTableName for &str {
    fn into_table_name(self) -> Result<TableName> {
        self.parse()
    }
}

impl IntoTableName for &String {
    fn into_table_name(self) -> Result<TableName> {
        self.parse()
    }
}
