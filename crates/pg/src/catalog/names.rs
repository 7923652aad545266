//! Names of the catalog.

/// Schema of the tables.
pub(super) const SCHEMA: &str = "pg_catalog";
/// Name of the one database.
pub(super) const DATABASE: &str = "halite";
/// Name of the owner of everything.
pub(super) const OWNER: &str = "halite";
