//! `hbase:namespace`, where clients of HBase 2 read the namespaces by themselves. What counts is the catalog; the rows
//! follow it.
//!
//! ```text
//! row    the namespace's name      family info, qualifier d: the message NamespaceDescriptor, without a magic
//! ```
//! The layout is that of HBase's `TableNamespaceManager`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use halite_engine::{Engine, Table};
use halite_types::schema::family_attribute as fam;
use halite_types::{Attributes, Delete, FamilyDescriptor, Filter, Get, Put, Result as StoreResult, RowOp, Scan, TableDescriptor, TableName, Tier};
use halite_wire::convert::schema::{namespace_to_proto, with_defaults};
use prost::Message as _;

use super::namespaces;

const FAMILY: &str = "info";
const QUALIFIER: &str = "d";
/// Rows of no namespace that are taken away at a time.
const FOREIGN_ROWS_MAX: usize = 1_000;

/// One at a time brings the rows to what the catalog says, since each compares the two.
#[derive(Debug, Default)]
pub(crate) struct NamespaceTable(Mutex<()>);

impl NamespaceTable {
    /// Makes the table if it is not there, and brings its rows to what the catalog says: namespaces may have come and gone
    /// while no server ran, and clients may have written here. What counts is the catalog, so whatever clients have made of the table, it
    /// keeps nobody from a namespace and no server from its start: that the rows cannot follow is only logged.
    pub(super) fn follow(&self, engine: &Engine) {
        if let Err(error) = self.try_follow(engine) {
            tracing::warn!(
                "{name} does not say what namespaces there are, and will be mended at the next change or start: {error}; if it is disabled enable it, \
                 and if it has been altered disable and drop it, since it is made anew then",
                name = table_name()
            );
        }
    }

    fn try_follow(&self, engine: &Engine) -> StoreResult<()> {
        let _one = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if engine.descriptor(&table_name()).is_err() {
            engine.create_table(descriptor(), Vec::new())?;
        }
        let table = engine.table(&table_name())?;
        let changes = changes(&table, &namespaces::all(engine))?;
        if changes.is_empty() {
            return Ok(());
        }
        table.apply(changes)?.into_iter().try_for_each(|result| result.map(drop))
    }
}

fn table_name() -> TableName {
    "hbase:namespace".parse().expect("a legal name")
}

/// As HBase 2.6.4 makes it.
fn descriptor() -> TableDescriptor {
    let family = FamilyDescriptor::new(FAMILY).versions(10).set(fam::IN_MEMORY, true).set(fam::BLOCKSIZE, 8192).set(fam::REPLICATION_SCOPE, 0);
    with_defaults(TableDescriptor::new(table_name()).family(family))
}

/// What the rows lack, and those that are too many.
fn changes(table: &Arc<Table>, all: &[(String, Attributes)]) -> StoreResult<Vec<RowOp>> {
    let (mut changes, mut there) = (Vec::new(), BTreeSet::new());
    // Of rows that clients have made there may be any number, and any number of cells in them.
    let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
    for rows in table.scan(Scan::all().filter(filter).limit(all.len() + FOREIGN_ROWS_MAX), Tier::Disk) {
        for row in &rows? {
            match all.iter().find(|(name, _)| name.as_bytes() == row.key()) {
                Some((name, _)) => drop(there.insert(name)),
                None => changes.push(Delete::new(row.key().to_vec()).into()),
            }
        }
    }
    for (name, settings) in all {
        let value = namespace_to_proto(name, settings).encode_to_vec();
        let known = || table.get(&Get::new(name.clone()).column(FAMILY, QUALIFIER), Tier::Disk);
        let is_right = there.contains(name) && known()?.value(FAMILY, QUALIFIER).is_some_and(|known| known[..] == value[..]);
        if !is_right {
            changes.push(Put::new(name.clone()).add(FAMILY, QUALIFIER, value).into());
        }
    }
    Ok(changes)
}
