//! The table `hits` in a store, in SQLite, and in memory for DataFusion.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use halite::sql::datafusion::prelude::{SessionConfig, SessionContext};
use halite::{SqlContext, Store, TableName};

use super::columns::{COLUMNS, Column, KEY, batches};
use super::hits::{COUNTER_NUMBERS, Hits};
use crate::error::Result;
use crate::scanned::open;
use crate::scans::in_memory;

/// Regions of the table, so that a statement may read it in parts.
const REGIONS: u64 = 4;
/// Rows that a statement loads.
const LOADED_AT_ONCE: u64 = 1 << 16;
/// Most bytes of columns that are held for DataFusion.
const MEMORY_BYTES: u64 = 2 << 30;

/// The contestants with their rows.
pub(super) struct Data {
    pub(super) hits: Hits,
    pub(super) sql: SqlContext,
    pub(super) sqlite: rusqlite::Connection,
    _store: Store,
}

impl Data {
    pub(super) async fn new(folder: &Path, hits: Hits) -> Result<Self> {
        let clock = std::time::Instant::now();
        let store = open(&folder.join("halite"), None)?;
        let sql = SqlContext::new(store.cluster().clone());
        load(&sql, &hits).await?;
        store.admin().flush(&TableName::new("default", "hits")?).await?;
        sql.run("ANALYZE hits").await?;
        let loaded = clock.elapsed().as_secs_f64();
        let sqlite = load_sqlite(folder, &hits)?;
        let all = clock.elapsed().as_secs_f64();
        println!("  written in {loaded:.1} s, SQLite in {:.1} s", all - loaded);
        Ok(Self { hits, sql, sqlite, _store: store })
    }
}

fn key_columns() -> String {
    COLUMNS[..KEY].iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// Creates the table of the store, and writes its rows.
async fn load(sql: &SqlContext, hits: &Hits) -> Result<()> {
    let mut create = "CREATE TABLE hits (".to_owned();
    for column in &COLUMNS[KEY..] {
        write!(create, "{} {} NOT NULL, ", column.name, column.declared_type())?;
    }
    let key = COLUMNS[..KEY].iter().map(|of| format!("{} {}", of.name, of.declared_type()));
    write!(create, "ROW KEY ({})) SPLIT AT (", key.collect::<Vec<_>>().join(", "))?;
    for at in 1..REGIONS {
        // An I32 begins with the sign, inverted.
        let first = COUNTER_NUMBERS * at / REGIONS + (1 << 31);
        write!(create, "{}x'{first:08x}'", if at == 1 { "" } else { ", " })?;
    }
    sql.run(&format!("{create})")).await?;
    let names = COLUMNS.map(|column| column.name).join(", ");
    let upsert = format!("UPSERT INTO hits ({names}) SELECT {names} FROM loaded");
    for first in (0..hits.count).step_by(usize::try_from(LOADED_AT_ONCE)?) {
        let numbers = first..hits.count.min(first + LOADED_AT_ONCE);
        let some = batches(hits, numbers, &COLUMNS).collect::<Result<Vec<_>>>()?;
        sql.session().register_table("loaded", Arc::new(in_memory(some)?))?;
        sql.run(&upsert).await?;
        sql.session().deregister_table("loaded")?;
    }
    Ok(())
}

/// Writes the rows into a SQLite database, in the order of the key: pages that are written so are
/// full, and lie one after the other.
fn load_sqlite(folder: &Path, hits: &Hits) -> Result<rusqlite::Connection> {
    let staged = folder.join("staged");
    let sqlite = rusqlite::Connection::open(folder.join("sqlite"))?;
    sqlite.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    sqlite.execute("ATTACH ?1 AS staged", [staged.to_string_lossy()])?;
    sqlite.execute_batch("PRAGMA staged.journal_mode = OFF; PRAGMA staged.synchronous = OFF")?;
    let mut columns = String::new();
    for (at, column) in COLUMNS.iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        write!(columns, "{separator}{} {} NOT NULL", column.name, column.sqlite_type())?;
    }
    let key = key_columns();
    sqlite.execute_batch(&format!(
        "CREATE TABLE staged.rows ({columns});
         CREATE TABLE hits ({columns}, PRIMARY KEY ({key})) WITHOUT ROWID;
         BEGIN"
    ))?;
    let places = vec!["?"; COLUMNS.len()].join(", ");
    let mut insert = sqlite.prepare(&format!("INSERT INTO staged.rows VALUES ({places})"))?;
    for number in 0..hits.count {
        let hit = hits.hit(number);
        let values = COLUMNS.iter().map(|column| column.sqlite_value(&hit));
        insert.execute(rusqlite::params_from_iter(values))?;
    }
    drop(insert);
    sqlite.execute_batch(&format!(
        "COMMIT;
         INSERT INTO hits SELECT * FROM staged.rows ORDER BY {key};
         DETACH staged;
         PRAGMA journal_mode = WAL;
         ANALYZE"
    ))?;
    std::fs::remove_file(staged)?;
    Ok(sqlite)
}

/// The columns of one query in memory, made again for a query of others: all at once would not fit.
#[derive(Default)]
pub(super) struct Memory {
    columns: Vec<&'static str>,
    session: Option<SessionContext>,
}

impl Memory {
    /// Returns a session of DataFusion whose table `hits` has the columns that a query names; `None`
    /// if they take more than [`MEMORY_BYTES`].
    pub(super) fn of(&mut self, hits: &Hits, query: &str) -> Result<Option<&SessionContext>> {
        let columns = columns_of(query);
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        if names != self.columns {
            self.session = None;
            self.session = session(hits, &columns)?;
            self.columns = names;
        }
        Ok(self.session.as_ref())
    }
}

fn session(hits: &Hits, columns: &[Column]) -> Result<Option<SessionContext>> {
    let mut held = Vec::new();
    for batch in batches(hits, 0..hits.count, columns) {
        let batch = batch?;
        if held.is_empty() {
            let bytes = batch.get_array_memory_size() as u64 * hits.count;
            if bytes / batch.num_rows() as u64 > MEMORY_BYTES {
                return Ok(None);
            }
        }
        held.push(batch);
    }
    let config = SessionConfig::new();
    let config = config.set_bool("datafusion.sql_parser.enable_ident_normalization", false);
    let session = SessionContext::new_with_config(config);
    session.register_table("hits", Arc::new(in_memory(held)?))?;
    Ok(Some(session))
}

/// Returns the columns that a query names, or one that it does not need.
fn columns_of(query: &str) -> Vec<Column> {
    if query.contains("SELECT *") {
        return COLUMNS.to_vec();
    }
    let words: Vec<&str> = query.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
    let mut columns = COLUMNS.to_vec();
    columns.retain(|column| words.contains(&column.name));
    if columns.is_empty() {
        columns.push(COLUMNS[0]);
    }
    columns
}
