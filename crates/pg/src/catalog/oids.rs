//! Numbers of objects: made from their names, so that they are the same for each statement and each
//! server.

use std::collections::{BTreeMap, HashSet};

use halite_sql::TableInfo;
use halite_types::TableName;

/// Numbers below are those of PostgreSQL's own objects.
const FIRST: u32 = 16_384;
/// Numbers are positive for those who read them as signed.
const MASK: u32 = 0x3fff_ffff;

pub(super) const PG_CATALOG: i64 = 11;
pub(super) const PUBLIC: i64 = 2200;
pub(super) const INFORMATION_SCHEMA: i64 = 13_000;
pub(super) const SYSTEM: i64 = 13_001;
/// Schema of the temporary tables and views of a session.
const TEMP: i64 = 13_002;
pub(super) const OWNER: i64 = 10;
pub(super) const DATABASE: i64 = 5;
pub(super) const TABLESPACE: i64 = 1663;
/// Number that clients know.
pub(super) const PG_CLASS: i64 = 1259;
/// Access method of tables, and of their keys.
pub(super) const HEAP: i64 = 2;
pub(super) const ROW_KEY: i64 = 403;

/// Namespace whose name is also `public`.
const DEFAULT: &str = "default";
/// Name of the schema of temporary tables and views.
const PG_TEMP: &str = "pg_temp";

/// Numbers of the tables of a cluster, their keys and their namespaces.
pub(super) struct Oids {
    pub(super) tables: BTreeMap<TableName, i64>,
    pub(super) keys: BTreeMap<TableName, i64>,
    namespaces: BTreeMap<String, i64>,
}

impl Oids {
    /// Numbers tables, which come in the order of their names.
    pub(super) fn new(tables: &[TableInfo]) -> Self {
        let mut taken = HashSet::new();
        let mut number = |kind: &str, name: &str| {
            let mut oid = FIRST + hash(&format!("{kind}:{name}")) % (MASK - FIRST);
            // Two names with one number are rare, and their order is always the same.
            while !taken.insert(oid) {
                oid = FIRST + (oid + 1 - FIRST) % (MASK - FIRST);
            }
            i64::from(oid)
        };
        let mut oids =
            Self { tables: BTreeMap::new(), keys: BTreeMap::new(), namespaces: BTreeMap::new() };
        for table in tables {
            let name = &table.name;
            let text = name.to_string();
            oids.tables.insert(name.clone(), number("table", &text));
            oids.keys.insert(name.clone(), number("key", &text));
            let namespace = name.namespace();
            if namespace == PG_TEMP {
                oids.namespaces.insert(namespace.to_owned(), TEMP);
            } else if namespace != DEFAULT && !oids.namespaces.contains_key(namespace) {
                oids.namespaces.insert(namespace.to_owned(), number("namespace", namespace));
            }
        }
        oids
    }

    /// Returns the number of a table's namespace.
    pub(super) fn namespace(&self, name: &TableName) -> i64 {
        match name.namespace() {
            DEFAULT => PUBLIC,
            other => self.namespaces.get(other).copied().unwrap_or(0),
        }
    }

    /// Returns all schemas with their numbers.
    pub(super) fn schemas(&self) -> Vec<(i64, String)> {
        let known = [
            (PG_CATALOG, super::names::SCHEMA),
            (PUBLIC, "public"),
            (INFORMATION_SCHEMA, "information_schema"),
            (SYSTEM, "halite"),
        ];
        let known = known.into_iter().map(|(oid, name)| (oid, name.to_owned()));
        known.chain(self.namespaces.iter().map(|(name, oid)| (*oid, name.clone()))).collect()
    }
}

/// Returns the number of a table of the catalog itself.
pub(super) fn of_catalog(table: &str) -> Option<i64> {
    const FIRST: i64 = 12_000;
    if table == "pg_class" {
        return Some(PG_CLASS);
    }
    let at = super::columns::TABLES.iter().position(|(name, _)| *name == table)?;
    Some(FIRST + i64::try_from(at).ok()?)
}

/// Returns the schema that a table is shown in.
pub(super) fn schema_of(name: &TableName) -> &str {
    if name.namespace() == DEFAULT { "public" } else { name.namespace() }
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
