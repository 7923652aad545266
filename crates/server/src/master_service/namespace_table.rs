//! `hbase:namespace`, where clients of HBase 2 read the namespaces by themselves. What counts is the catalog; the rows
//! follow it.
//!
//! ```text
//! row    the namespace's name      family info, qualifier d: the message NamespaceDescriptor, without a magic
//! ```
//! The layout is that of HBase's `TableNamespaceManager`.

use std::sync::{Arc, Mutex, PoisonError};

use halite_engine::{Engine, Table};
use halite_types::schema::family_attribute as fam;
use halite_types::{Delete, FamilyDescriptor, Put, Result as StoreResult, Row, RowOp, Scan, TableDescriptor, TableName, Tier};
use halite_wire::convert::schema::{namespace_to_proto, with_defaults};
use prost::Message as _;

use super::namespaces;

const FAMILY: &str = "info";
const QUALIFIER: &str = "d";

/// One at a time brings the rows to what the catalog says, since each compares the two.
#[derive(Debug, Default)]
pub(crate) struct NamespaceTable(Mutex<()>);

impl NamespaceTable {
    /// Makes the table if it is not there, and brings its rows to what the catalog says: namespaces may have come and gone
    /// while no server ran, and clients may have written here.
    ///
    /// # Errors
    /// What making, reading or writing a table meets.
    pub(super) fn follow(&self, engine: &Engine) -> StoreResult<()> {
        let _one = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if engine.descriptor(&table_name()).is_err() {
            engine.create_table(descriptor(), Vec::new())?;
        }
        let table = engine.table(&table_name())?;
        let changes = changes(engine, &rows(&table)?);
        if changes.is_empty() {
            return Ok(());
        }
        table.apply(changes)?.into_iter().try_for_each(|result| result.map(drop))
    }

    /// The same after a change of the catalog, which is done by then: that its row cannot follow is only logged.
    pub(super) fn follow_change(&self, engine: &Engine) {
        if let Err(error) = self.follow(engine) {
            tracing::warn!("{} does not say what namespaces there are, and will be mended at the next change or start: {error}", table_name());
        }
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

fn rows(table: &Arc<Table>) -> StoreResult<Vec<Row>> {
    let mut all = Vec::new();
    for rows in table.scan(Scan::all(), Tier::Disk) {
        all.extend(rows?);
    }
    Ok(all)
}

/// What the rows lack, and those that are too many.
fn changes(engine: &Engine, rows: &[Row]) -> Vec<RowOp> {
    let all = namespaces::all(engine);
    let gone = rows.iter().filter(|row| !all.iter().any(|(name, _)| name.as_bytes() == row.key()));
    let mut changes: Vec<RowOp> = gone.map(|row| Delete::new(row.key().to_vec()).into()).collect();
    for (name, settings) in &all {
        let value = namespace_to_proto(name, settings).encode_to_vec();
        let row = rows.iter().find(|row| row.key() == name.as_bytes());
        if row.and_then(|row| row.value(FAMILY, QUALIFIER)).is_none_or(|known| known[..] != value[..]) {
            changes.push(Put::new(name.clone()).add(FAMILY, QUALIFIER, value).into());
        }
    }
    changes
}
