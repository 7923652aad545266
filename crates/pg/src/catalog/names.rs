//! Names of the catalog.

/// Schema of the tables.
pub(super) const SCHEMA: &str = "pg_catalog";
/// Name of the one database.
pub(super) const DATABASE: &str = "halite";
/// Name of the owner of everything.
pub(super) const OWNER: &str = "halite";
/// Schemas in which names are looked for.
pub(super) const CURRENT_SCHEMAS: [&str; 2] = ["pg_catalog", "public"];
