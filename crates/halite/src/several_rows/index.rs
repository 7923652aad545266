//! Index of rows: entries that lead to them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halite_types::{
    Bytes, CheckAndMutate, CompareOp, Condition, Delete, Error, Get, Put, Result, Row, RowOp,
    Table, TableExt as _,
};

use super::indexed_rows::IndexedRow;

/// Column of an entry, in the family of the index's column: the version of the row for which the
/// entry was written last in eight bytes, and its owner.
const STAMP: &str = "_stamp";
/// Age from which on a cell is certainly of a millisecond that is over.
const OLD_MS: i64 = 1_000;
/// Time in which a millisecond is over.
const MILLISECOND: Duration = Duration::from_millis(2);

type EntryOf<T> = Box<dyn Fn(&T) -> Result<Option<Put>> + Send + Sync>;
type RowOf = Box<dyn Fn(&Row) -> Result<Bytes> + Send + Sync>;

/// Table of entries, each of which leads to a row.
pub struct Index<T> {
    pub(super) table: Arc<dyn Table>,
    family: Bytes,
    qualifier: Bytes,
    pub(super) is_unique: bool,
    entry_of: EntryOf<T>,
    pub(super) row_of: RowOf,
}

/// Entry as it was read.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    row: Bytes,
    owner: Bytes,
    stamp: Option<Bytes>,
    /// Version of the row for which it was written last.
    pub(super) version: u64,
    /// Time of its newest cell.
    newest_ms: i64,
}

impl<T: IndexedRow> Index<T> {
    /// Creates an index whose entries several rows may not share.
    ///
    /// `entry_of` returns the entry of a value, if it has one: a put with a cell in `column`, a
    /// family and a qualifier, whose bytes no other row has there. `row_of` returns the key of the
    /// row to which an entry leads.
    pub fn unique(
        table: Arc<dyn Table>,
        column: (&str, &str),
        entry_of: impl Fn(&T) -> Result<Option<Put>> + Send + Sync + 'static,
        row_of: impl Fn(&Row) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let (family, qualifier) = (column.0.to_owned().into(), column.1.to_owned().into());
        let (entry_of, row_of) = (Box::new(entry_of), Box::new(row_of));
        Self { table, family, qualifier, is_unique: true, entry_of, row_of }
    }

    /// Creates an index whose entries have the key of the row in theirs, as those of a user's
    /// files, so that two rows never have the same one. The parameters are those of
    /// [`Self::unique`].
    pub fn new(
        table: Arc<dyn Table>,
        column: (&str, &str),
        entry_of: impl Fn(&T) -> Result<Option<Put>> + Send + Sync + 'static,
        row_of: impl Fn(&Row) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self { is_unique: false, ..Self::unique(table, column, entry_of, row_of) }
    }

    /// Returns the entry of a value, and the bytes that are the value's.
    pub(super) fn entry(&self, value: &T) -> Result<Option<(Put, Bytes)>> {
        let Some(put) = (self.entry_of)(value)? else { return Ok(None) };
        let cells = put.mutation().cells();
        let owner = cells
            .iter()
            .find(|cell| cell.family() == self.family && cell.qualifier() == self.qualifier);
        let owner = owner.map(|cell| Bytes::copy_from_slice(cell.value())).ok_or_else(|| {
            Error::invalid(format!(
                "table {}: an entry has no cell in the column of its index; add it to the put",
                self.table.name()
            ))
        })?;
        Ok(Some((put, owner)))
    }

    /// Returns the write of an entry, if none is there.
    pub(super) fn add(&self, put: Put, owner: &[u8], version: u64) -> RowOp {
        let row = put.row().clone();
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        let put = put.add(&self.family, STAMP, stamp(version, owner));
        CheckAndMutate::if_not_exists(row, family, qualifier, put).into()
    }

    /// Returns the entry in a row; `None` if there is none.
    pub(super) fn entry_in(&self, row: &Row) -> Option<Entry> {
        let owner = row.value(&self.family, &self.qualifier)?;
        let stamp = row.value(&self.family, STAMP).map(Bytes::copy_from_slice);
        let version = stamp.as_ref().and_then(|stamp| stamp.first_chunk().copied());
        Some(Entry {
            row: Bytes::copy_from_slice(row.key()),
            owner: Bytes::copy_from_slice(owner),
            version: version.map_or(0, u64::from_be_bytes),
            stamp,
            newest_ms: row.iter().map(|cell| cell.timestamp()).max().unwrap_or(0),
        })
    }

    /// Reads the entry of a value, if it is there and the value's.
    pub(super) async fn own_entry(&self, value: &T) -> Result<Option<Entry>> {
        let Some((put, owner)) = self.entry(value)? else { return Ok(None) };
        let row = self.table.get(Get::new(put.row().clone())).await?;
        Ok(self.entry_in(&row).filter(|entry| entry.owner == owner))
    }

    /// Adds the entry of a value, whose version is that of the row that the entry is for. Returns
    /// whether it was added, and whether it is the value's now.
    ///
    /// With `renew`, an entry that is there gets a new stamp, so that another client that found the
    /// row with another value no longer removes it.
    pub(super) async fn enter(&self, value: &T, renew: bool) -> Result<(bool, bool)> {
        let Some((put, owner)) = self.entry(value)? else { return Ok((false, true)) };
        let row = put.row().clone();
        loop {
            let add = self.add(put.clone(), &owner, value.version());
            if self.table.mutate(add).await?.processed {
                return Ok((true, true));
            }
            let found = self.table.get(Get::new(row.clone())).await?;
            // Another client may have removed it meanwhile.
            let Some(entry) = self.entry_in(&found) else { continue };
            if entry.owner != owner {
                return Ok((false, false));
            }
            let version = value.version().max(entry.version.saturating_add(1));
            let put = Put::new(row.clone()).add(&self.family, STAMP, stamp(version, &owner));
            if !renew || self.table.mutate(self.if_unchanged(&entry, put)).await?.processed {
                return Ok((false, true));
            }
        }
    }

    /// Removes an entry unless it was written since. Returns `true` if it was removed.
    ///
    /// A delete covers later puts of its millisecond. So it is one of the time when the entry was
    /// written, which is over.
    pub(super) async fn remove(&self, entry: &Entry) -> Result<bool> {
        wait_out(entry.newest_ms);
        let delete = Delete::new(entry.row.clone()).up_to(entry.newest_ms);
        Ok(self.table.mutate(self.if_unchanged(entry, delete)).await?.processed)
    }

    fn if_unchanged(&self, entry: &Entry, then: impl Into<RowOp>) -> RowOp {
        let condition = Condition::Column {
            family: self.family.clone(),
            qualifier: STAMP.into(),
            op: CompareOp::Equal,
            value: entry.stamp.clone(),
        };
        CheckAndMutate::new(entry.row.clone(), condition, then).into()
    }
}

/// Returns the stamp of an entry.
fn stamp(version: u64, owner: &[u8]) -> Bytes {
    [&version.to_be_bytes(), owner].concat().into()
}

/// Waits until the millisecond of a cell that was read is over, at its server too.
pub(super) fn wait_out(timestamp_ms: i64) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    if now_ms.saturating_sub(timestamp_ms) < OLD_MS {
        std::thread::sleep(MILLISECOND);
    }
}
