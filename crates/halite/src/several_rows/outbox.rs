//! Facts in several tables, one for each query: the first table, the outbox, contains everything
//! that the others contain, so a scan of it repairs what a stopped writer left.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use halite_types::cell::compare_cells;
use halite_types::key::to_string_binary;
use halite_types::{
    Bytes, CellRef, CellsBuilder, Durability, Error, Get, LATEST_TIMESTAMP, OpResult, Put, Result,
    Row, RowOp, Scan, Table, TimeRange,
};

use super::join::join_all;

/// Rows that a repair compares at once.
const REPAIR_ROWS: usize = 500;

type Derive = Box<dyn Fn(&Row) -> Result<Vec<Put>> + Send + Sync>;

/// Rows of a table that are copied to other tables.
///
/// [`Self::send`] writes the outbox first and its copies after it, all at once. A writer that stops
/// in between leaves a row that is in the outbox only, or in some of the tables;
/// [`Self::repair`] adds what is missing. A copy is what a function makes of a row of the outbox,
/// for writers and repairs alike, and every cell has a timestamp from its writer. So writing a row
/// again, and repairing it while its writer continues, changes nothing.
///
/// Rows are added and changed, not deleted: a delete marker in a copy would also hide what a repair
/// writes there. They end by the time to live of the tables, or a cell marks them as withdrawn.
///
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{Bytes, FamilyDescriptor, Get, Outbox, Put, TableDescriptor, block_on};
///
/// let store = halite::open(directory.path())?;
/// for name in ["sent", "received"] {
///     let family = FamilyDescriptor::new("m").versions(10);
///     store.create_table(TableDescriptor::new(name.parse()?).family(family), &[])?;
/// }
/// let (sent, received) = (store.table("sent")?, store.table("received")?);
/// // A message has the key `sender>receiver` in one table, and `receiver<sender` in the other.
/// let outbox = Outbox::new(sent.inner().clone()).versions(10).copy_cells_to(
///     received.inner().clone(),
///     |row| {
///         let key = String::from_utf8_lossy(row.key()).into_owned();
///         let (sender, receiver) = key.split_once('>').unwrap_or_default();
///         Ok(Bytes::from(format!("{receiver}<{sender}")))
///     },
/// );
/// block_on(outbox.send(vec![Put::new("ada>grace").add_at("m", "text", 5, "hello").into()]))?;
/// assert!(received.exists(Get::new("grace<ada"))?);
///
/// // A writer that stopped after its first write.
/// sent.put(Put::new("ada>alan").add_at("m", "text", 6, "hello"))?;
/// assert_eq!(block_on(outbox.repair(0))?.missing, 1);
/// assert!(received.exists(Get::new("alan<ada"))?);
/// # store.close()
/// # }
/// ```
pub struct Outbox {
    source: Arc<dyn Table>,
    copies: Vec<OutboxCopy>,
    versions: u32,
}

/// Table with copies.
struct OutboxCopy {
    table: Arc<dyn Table>,
    derive: Derive,
}

/// Result of a repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxRepair {
    /// Rows of the outbox that were compared.
    pub examined: u64,
    /// Cells that copies lacked, and that were added.
    pub missing: u64,
}

impl Outbox {
    /// Creates an outbox without copies, of one version of each column.
    pub fn new(source: Arc<dyn Table>) -> Self {
        Self { source, copies: Vec::new(), versions: 1 }
    }

    /// Sets how many versions of a column the outbox and its copies retain, at least 1. All must
    /// retain as many, for as long: what a copy has dropped is missing for a repair.
    #[must_use]
    pub fn versions(mut self, versions: u32) -> Self {
        self.versions = versions;
        self
    }

    /// Adds a table that has the same cells under another key, which `key` returns for a row.
    #[must_use]
    pub fn copy_cells_to(
        self,
        table: Arc<dyn Table>,
        key: impl Fn(&Row) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.copy_to(table, move |row| {
            let add = |put: Put, cell: CellRef<'_>| {
                put.add_at(cell.family(), cell.qualifier(), cell.timestamp(), cell.value())
            };
            Ok(vec![row.iter().fold(Put::new(key(row)?), add)])
        })
    }

    /// Adds a table that has what `puts` makes of a row of the outbox. All cells of the puts have
    /// timestamps. The row may have some of its cells only: those that are being written, or that
    /// are recent.
    #[must_use]
    pub fn copy_to(
        mut self,
        table: Arc<dyn Table>,
        puts: impl Fn(&Row) -> Result<Vec<Put>> + Send + Sync + 'static,
    ) -> Self {
        self.copies.push(OutboxCopy { table, derive: Box::new(puts) });
        self
    }

    /// Writes rows of the outbox, and then their copies. An operation is a put, or a put on a
    /// condition of its row, and its cells have timestamps. Returns for each `true` if it was
    /// applied; the copies of others are not written.
    ///
    /// # Errors
    /// `InvalidRequest` for another operation and for cells without a timestamp, before anything is
    /// written; those of the functions that make copies; otherwise as [`Table::batch`]. Rows that
    /// are in the outbox then have all their copies after the next [`Self::repair`].
    pub async fn send(&self, ops: Vec<RowOp>) -> Result<Vec<bool>> {
        let rows = ops.iter().map(row_of).collect::<Result<Vec<_>>>()?;
        // Made before the first write: a row without a copy must not be in the outbox.
        for copy in &self.copies {
            copy.puts(&rows)?;
        }
        let mut applied = Vec::with_capacity(rows.len());
        let (mut sent, mut failed) = (Vec::with_capacity(rows.len()), None);
        for (row, result) in rows.into_iter().zip(batch(&*self.source, ops).await?) {
            let is_applied = result.as_ref().is_ok_and(|result| result.processed);
            failed = failed.or(result.err());
            applied.push(is_applied);
            sent.extend(is_applied.then_some(row));
        }
        self.write_copies(&sent).await?;
        failed.map_or(Ok(applied), Err)
    }

    /// Adds the cells that copies lack, of rows of the outbox with cells since a time, in
    /// milliseconds since 1970. The scan skips store files without such cells. Others may write
    /// meanwhile. Run it when a writer starts again, or every few minutes for the time since.
    ///
    /// # Errors
    /// As [`Table::scan`] and [`Table::batch`]. What was added before remains, and a repair after
    /// it adds the rest.
    pub async fn repair(&self, since_ms: i64) -> Result<OutboxRepair> {
        let range = TimeRange::new(since_ms, i64::MAX)?;
        let mut scan = self.source.scan(Scan::all().versions(self.versions).time_range(range));
        let mut repair = OutboxRepair::default();
        loop {
            let mut rows = Vec::with_capacity(REPAIR_ROWS);
            while rows.len() < REPAIR_ROWS {
                let Some(row) = scan.next().await? else { break };
                rows.push(row);
            }
            if rows.is_empty() {
                return Ok(repair);
            }
            repair.examined += rows.len() as u64;
            for copy in &self.copies {
                repair.missing += copy.complete(&rows, self.versions, range).await?;
            }
        }
    }

    /// Writes all copies at once: every write has begun before any is waited for.
    async fn write_copies(&self, rows: &[Row]) -> Result<()> {
        let mut writes = Vec::with_capacity(self.copies.len());
        for copy in &self.copies {
            let ops: Vec<_> = copy.puts(rows)?.into_iter().map(RowOp::from).collect();
            if !ops.is_empty() {
                writes.push(copy.table.batch(ops));
            }
        }
        join_all(writes).await.into_iter().try_for_each(|results| all_applied(results?))
    }
}

impl OutboxCopy {
    /// Returns the puts of rows of the outbox, one for each row of this table.
    fn puts(&self, rows: &[Row]) -> Result<Vec<Put>> {
        let mut puts: BTreeMap<Bytes, CellsBuilder> = BTreeMap::new();
        for row in rows {
            for put in (self.derive)(row)? {
                check(&put)?;
                let cells = puts.entry(put.row().clone()).or_default();
                put.mutation().cells().iter().for_each(|cell| cells.push(cell));
            }
        }
        let put = |(row, cells)| Put::from_cells(row, cells, Durability::default());
        Ok(puts.into_iter().map(put).collect())
    }

    /// Writes the cells that this table lacks. Returns their number.
    async fn complete(&self, rows: &[Row], versions: u32, range: TimeRange) -> Result<u64> {
        let puts = self.puts(rows)?;
        let get = |put: &Put| {
            let get = Get::new(put.row().clone()).versions(versions).time_range(range);
            put.mutation().cells().iter().fold(get, |get, cell| {
                let column = [cell.family(), cell.qualifier()].map(Bytes::copy_from_slice);
                let [family, qualifier] = column;
                get.column(family, qualifier)
            })
        };
        let found = self.table.get_all(puts.iter().map(get).collect()).await?;
        let (mut missing, mut writes) = (0, Vec::new());
        for (put, row) in puts.iter().zip(&found) {
            let present: HashSet<_> = row.iter().map(|cell| name(&cell)).collect();
            let mut cells = CellsBuilder::default();
            for cell in put.mutation().cells().iter().filter(|cell| !present.contains(&name(cell)))
            {
                cells.push(cell);
            }
            if !cells.is_empty() {
                missing += cells.len() as u64;
                writes
                    .push(Put::from_cells(put.row().clone(), cells, Durability::default()).into());
            }
        }
        all_applied(batch(&*self.table, writes).await?)?;
        Ok(missing)
    }
}

fn name<'c>(cell: &CellRef<'c>) -> (&'c [u8], &'c [u8], i64) {
    (cell.family(), cell.qualifier(), cell.timestamp())
}

/// Returns the cells of an operation as a row, in the order of a read.
fn row_of(op: &RowOp) -> Result<Row> {
    let put = match op {
        RowOp::Put(put) => put,
        RowOp::CheckAndMutate(check) => match &*check.then {
            RowOp::Put(put) => put,
            _ => return Err(other_operation(op)),
        },
        _ => return Err(other_operation(op)),
    };
    check(put)?;
    let mut cells: Vec<_> = put.mutation().cells().iter().collect();
    cells.sort_by(compare_cells);
    let mut sorted = CellsBuilder::default();
    cells.into_iter().for_each(|cell| sorted.push(cell));
    Ok(Row::new(sorted.finish()))
}

#[cold]
fn other_operation(op: &RowOp) -> Error {
    Error::invalid(format!(
        "row {}: an outbox takes puts, and puts on a condition; a cell may say that its row is no \
         longer valid",
        to_string_binary(op.row())
    ))
}

/// Refuses cells that would be different ones if they were written again.
fn check(put: &Put) -> Result<()> {
    put.mutation().check()?;
    let Some(cell) =
        put.mutation().cells().iter().find(|cell| cell.timestamp() == LATEST_TIMESTAMP)
    else {
        return Ok(());
    };
    Err(Error::invalid(format!(
        "row {}, column {}:{}: a cell of an outbox needs a timestamp, so that it can be written \
         again; use Put::add_at",
        to_string_binary(put.row()),
        to_string_binary(cell.family()),
        to_string_binary(cell.qualifier())
    )))
}

async fn batch(table: &dyn Table, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
    if ops.is_empty() { Ok(Vec::new()) } else { table.batch(ops).await }
}

fn all_applied(results: Vec<Result<OpResult>>) -> Result<()> {
    results.into_iter().try_for_each(|result| result.map(drop))
}
