//! `hbase:namespace`, which clients of HBase 2 read directly. The catalog is authoritative; the
//! rows are updated from it.
//!
//! ```text
//! row    the namespace's name      family info, qualifier d: the message NamespaceDescriptor, without a magic
//! ```
//! The layout is that of HBase's `TableNamespaceManager`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use halite_engine::{Engine, Table};
use halite_types::schema::family_attribute as fam;
use halite_types::{
    Attributes, Delete, FamilyDescriptor, Filter, Get, Put, ReadTier, Result as StoreResult, RowOp,
    Scan, TableDescriptor, TableName,
};
use halite_wire::convert::schema::{namespace_to_proto, with_defaults};
use prost::Message as _;

use super::super::lookup::namespaces;

const FAMILY: &str = "info";
const QUALIFIER: &str = "d";
/// Maximum number of rows without a namespace that are deleted at a time.
const MAX_FOREIGN_ROWS: usize = 1_000;

/// Lock that serializes updates of the rows, since each compares them with the catalog.
#[derive(Debug, Default)]
pub(crate) struct NamespaceTable(Mutex<()>);

impl NamespaceTable {
    /// Creates the table if it does not exist, and updates its rows from the catalog. Namespaces
    /// may have been created or dropped while no server ran, and clients may have written to the
    /// table. The catalog is authoritative, so the state of the table must not prevent changes of
    /// namespaces or the start of a server: a failure is only logged.
    pub(crate) fn sync(&self, engine: &Engine) {
        if let Err(error) = self.try_sync(engine) {
            tracing::warn!(
                "{name} does not say what namespaces there are, and will be fixed at the next \
                 change or start: {error}; if it is disabled enable it, and if it has been altered \
                 disable and drop it, since it is created again then",
                name = table_name()
            );
        }
    }

    fn try_sync(&self, engine: &Engine) -> StoreResult<()> {
        let _one = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if engine.descriptor(&table_name()).is_err() {
            engine.create_table(descriptor(), Vec::new())?;
        }
        let table = engine.table(&table_name())?;
        let changes = changes(&table, &namespaces(engine))?;
        if changes.is_empty() {
            return Ok(());
        }
        table.batch(changes)?.into_iter().try_for_each(|result| result.map(drop))
    }
}

fn table_name() -> TableName {
    "hbase:namespace".parse().expect("a legal name")
}

/// Returns the descriptor as HBase 2.6.4 creates it.
fn descriptor() -> TableDescriptor {
    let family = FamilyDescriptor::new(FAMILY)
        .versions(10)
        .set(fam::IN_MEMORY, true)
        .set(fam::BLOCKSIZE, 8192)
        .set(fam::REPLICATION_SCOPE, 0);
    with_defaults(TableDescriptor::new(table_name()).family(family))
}

/// Returns the mutations that add missing rows and delete superfluous ones.
fn changes(table: &Arc<Table>, all: &[(String, Attributes)]) -> StoreResult<Vec<RowOp>> {
    let (mut changes, mut there) = (Vec::new(), BTreeSet::new());
    // Clients may have written any number of rows, with any number of cells.
    let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
    for rows in
        table.scan(Scan::all().filter(filter).limit(all.len() + MAX_FOREIGN_ROWS), ReadTier::Disk)
    {
        for row in &rows? {
            match all.iter().find(|(name, _)| name.as_bytes() == row.key()) {
                Some((name, _)) => drop(there.insert(name)),
                None => changes.push(Delete::new(row.key().to_vec()).into()),
            }
        }
    }
    for (name, settings) in all {
        let value = namespace_to_proto(name, settings).encode_to_vec();
        let known = || table.get(&Get::new(name.clone()).column(FAMILY, QUALIFIER), ReadTier::Disk);
        let is_right = there.contains(name)
            && known()?.value(FAMILY, QUALIFIER).is_some_and(|known| known[..] == value[..]);
        if !is_right {
            changes.push(Put::new(name.clone()).add(FAMILY, QUALIFIER, value).into());
        }
    }
    Ok(changes)
}
