//! One table of many rows, read as a whole or by scattered keys.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite::sql::datafusion::arrow::array::{AsArray as _, RecordBatch};
use halite::sql::datafusion::arrow::datatypes::Int64Type;
use halite::{Bytes, Put, SqlContext, Store, Table, TableName};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::store::key;

/// Tags of the rows: groups of few rows' worth of memory.
pub(crate) const TAGS: u64 = 1000;
/// Regions of the table, so that a statement may read it in parts.
const REGIONS: u32 = 4;
/// Rows that are put at once.
const PUT_AT_ONCE: u32 = 1000;

/// Store with the table `m`.
pub(crate) struct Scanned {
    pub(crate) store: Store,
    pub(crate) sql: SqlContext,
    pub(crate) table: Arc<dyn Table>,
    pub(crate) family: Bytes,
    pub(crate) rows: u32,
    pub(crate) folder: PathBuf,
    _folder: tempfile::TempDir,
}

/// Opens a store whose log is handed to the operating system.
pub(crate) fn open(folder: &Path, cache_bytes: Option<u64>) -> Result<Store> {
    let mut options = halite::Options::default();
    options.wal_sync = halite::WalSync::Flush;
    if let Some(bytes) = cache_bytes {
        options.block_cache_bytes = bytes;
    }
    Ok(halite::Builder::new().options(options).open(folder)?)
}

/// Returns SPLIT AT for a key that begins with an I64 of 0 to `rows`.
pub(crate) fn split_at(rows: u32, regions: u32) -> String {
    let mut text = "SPLIT AT (".to_owned();
    for at in 1..regions {
        let first = u64::from(rows) * u64::from(at) / u64::from(regions);
        let separator = if at == 1 { "" } else { ", " };
        let _ = write!(text, "{separator}x'{:016x}'", first ^ (1 << 63));
    }
    text + ")"
}

impl Scanned {
    /// Creates the table with `scanned` rows: `n` is a number, `v` its half, `tag` one of a
    /// thousand texts, `g` another number for each row.
    pub(crate) async fn new(arguments: &Arguments) -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        let folder = temporary.path().join("halite");
        let store = open(&folder, None)?;
        let sql = SqlContext::new(store.cluster().clone());
        let rows = arguments.scanned;
        sql.run(&format!(
            "CREATE TABLE m (n I64 NOT NULL, v F64, tag STRING, g I64, ROW KEY (id I64)) {}",
            split_at(rows, REGIONS)
        ))
        .await?;
        let name = TableName::new("default", "m")?;
        let table = store.cluster().table(&name);
        let family = store.descriptor("m")?.families().next().ok_or("a family")?.name().clone();
        put_all(&table, rows, |id| {
            Put::new(key(id))
                .add(&family, "n", number(id).to_be_bytes())
                .add(&family, "v", (number(id) as f64 / 2.0).to_be_bytes())
                .add(&family, "tag", tag(id))
                .add(&family, "g", group(id).to_be_bytes())
        })
        .await?;
        store.admin().flush(&name).await?;
        println!("table m: {rows} rows of 4 cells in {REGIONS} regions\n");
        Ok(Self { store, sql, table, family, rows, folder, _folder: temporary })
    }
}

impl Scanned {
    /// Closes the store and opens it again, as a server finds it: without the threads that loaded
    /// it, whose priority is another than that of the threads of statements.
    pub(crate) fn reopened(self) -> Result<Self> {
        let (folder, rows, family) = (self.folder.clone(), self.rows, self.family.clone());
        let kept = self.close()?;
        let store = open(&folder, None)?;
        let sql = SqlContext::new(store.cluster().clone());
        let table = store.cluster().table(&TableName::new("default", "m")?);
        Ok(Self { store, sql, table, family, rows, folder, _folder: kept })
    }

    /// Closes the store, whose directory lives as long as what is returned.
    pub(crate) fn close(self) -> Result<tempfile::TempDir> {
        let Self { store, sql, table, _folder: folder, .. } = self;
        drop((sql, table));
        store.close()?;
        Ok(folder)
    }
}

/// Puts the rows 0 to `rows` into a table.
pub(crate) async fn put_all(
    table: &Arc<dyn Table>,
    rows: u32,
    put: impl Fn(u32) -> Put,
) -> Result<()> {
    for first in (0..rows).step_by(PUT_AT_ONCE as usize) {
        let puts = (first..rows.min(first + PUT_AT_ONCE)).map(|id| put(id).into()).collect();
        for result in table.batch(puts).await? {
            result?;
        }
    }
    Ok(())
}

/// Column `n` of a row.
pub(crate) fn number(id: u32) -> i64 {
    i64::from(id) * 7
}

/// Column `tag` of a row.
pub(crate) fn tag(id: u32) -> String {
    format!("tag {:03}", mixed(id) % TAGS)
}

/// Column `g` of a row: all are different, and in no order.
pub(crate) fn group(id: u32) -> i64 {
    i64::from(id.wrapping_mul(0x9e37_79b1))
}

fn mixed(id: u32) -> u64 {
    let number = u64::from(id).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number ^ number >> 31
}

/// Returns all batches of a statement.
pub(crate) async fn batches(sql: &SqlContext, text: &str) -> Result<Vec<RecordBatch>> {
    Ok(sql.run(text).await?.batches().await?)
}

/// Returns the rows of a statement, whose batches are dropped.
pub(crate) async fn rows_of(sql: &SqlContext, text: &str) -> Result<u64> {
    let mut answer = sql.run(text).await?;
    let mut rows = 0;
    while let Some(batch) = answer.next_batch().await? {
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// Returns the only number of a statement.
pub(crate) async fn number_of(sql: &SqlContext, text: &str) -> Result<i64> {
    let batches = batches(sql, text).await?;
    let batch = batches.first().ok_or("a row")?;
    let column = batch.column(0).as_primitive_opt::<Int64Type>().ok_or("a number")?;
    Ok(column.value(0))
}

/// Returns how many rows regions examined for the last statement.
pub(crate) async fn last_examined(sql: &SqlContext) -> Result<i64> {
    let text = "SELECT CAST(rows_examined AS BIGINT) FROM halite.queries WHERE state = 'done' AND \
                query NOT LIKE '%halite.queries%' ORDER BY id DESC LIMIT 1";
    number_of(sql, text).await
}
