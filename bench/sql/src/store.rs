//! A store and a SQLite database with the same rows.

use std::fmt::Write as _;

use halite::sql::Settings;
use halite::{Bytes, SqlContext, Store, TableName};

use crate::arguments::Arguments;
use crate::error::Result;

/// Messages of each user.
const MESSAGES: u32 = 500;
/// Rows of a statement that loads.
const LOADED_AT_ONCE: u32 = 1000;

/// Contestants with their rows.
pub(crate) struct Prepared {
    pub(crate) store: Store,
    pub(crate) sql: SqlContext,
    /// The same store, with every statement planned by DataFusion.
    pub(crate) planned: SqlContext,
    pub(crate) sqlite: rusqlite::Connection,
    /// Users with messages.
    pub(crate) users: u32,
    /// Family of the cells.
    pub(crate) family: Bytes,
    _folder: tempfile::TempDir,
}

impl Prepared {
    pub(crate) async fn new(arguments: &Arguments) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // As SQLite's `synchronous = OFF`: the log is handed to the operating system.
        let mut options = halite::Options::default();
        options.wal_sync = halite::WalSync::Flush;
        let store = halite::Builder::new().options(options).open(folder.path().join("halite"))?;
        let sql = SqlContext::new(store.cluster().clone());
        let planned = sql.another();
        planned.change(|settings: &mut Settings| settings.set("halite.direct", "off"))?;
        sql.run("CREATE TABLE t (name STRING, n I64 NOT NULL, ROW KEY (id I64))").await?;
        sql.run(
            "CREATE TABLE inbox (body STRING, ROW KEY (SALT(16 BY receiver_id), receiver_id STRING, \
             created_at TIMESTAMP DESC, msg_id I64)) SPLIT BY SALT",
        )
        .await?;
        let sqlite = rusqlite::Connection::open(folder.path().join("sqlite"))?;
        sqlite.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
             CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INTEGER NOT NULL);
             CREATE TABLE inbox (receiver_id TEXT, created_at INTEGER, msg_id INTEGER, body TEXT,
                PRIMARY KEY (receiver_id, created_at DESC, msg_id)) WITHOUT ROWID;",
        )?;
        load(&sql, &sqlite, arguments.rows).await?;
        let users =
            if arguments.wants(&["B2"]) { arguments.messages.div_ceil(MESSAGES) } else { 0 };
        load_messages(&sql, &sqlite, users).await?;
        for table in ["t", "inbox"] {
            store.admin().flush(&TableName::new("default", table)?).await?;
        }
        let descriptor = store.descriptor("t")?;
        let family = descriptor.families().next().ok_or("a family")?.name().clone();
        println!("{} rows read by key, {} messages\n", arguments.rows, users * MESSAGES);
        Ok(Self { store, sql, planned, sqlite, users, family, _folder: folder })
    }
}

async fn load(sql: &SqlContext, sqlite: &rusqlite::Connection, rows: u32) -> Result<()> {
    for first in (0..rows).step_by(LOADED_AT_ONCE as usize) {
        let mut values = String::new();
        for id in first..rows.min(first + LOADED_AT_ONCE) {
            let separator = if id == first { "" } else { ", " };
            write!(values, "{separator}({id}, 'the name of row {id}', {})", u64::from(id) * 7)?;
        }
        sql.run(&format!("UPSERT INTO t (id, name, n) VALUES {values}")).await?;
        sqlite.execute_batch(&format!("INSERT INTO t (id, name, n) VALUES {values}"))?;
    }
    Ok(())
}

async fn load_messages(sql: &SqlContext, sqlite: &rusqlite::Connection, users: u32) -> Result<()> {
    for user in 0..users {
        let (mut values, mut for_sqlite) = (String::new(), String::new());
        for at in 0..MESSAGES {
            let separator = if at == 0 { "" } else { ", " };
            let (minute, second) = (at / 60, at % 60);
            write!(
                values,
                "{separator}('user_{user}', '2024-03-15T10:{minute:02}:{second:02}Z', {at}, \
                 'message {at} of a hundred bytes or so, as people write them to each other')"
            )?;
            write!(
                for_sqlite,
                "{separator}('user_{user}', {at}, {at}, \
                 'message {at} of a hundred bytes or so, as people write them to each other')"
            )?;
        }
        let columns = "receiver_id, created_at, msg_id, body";
        sql.run(&format!("UPSERT INTO inbox ({columns}) VALUES {values}")).await?;
        sqlite.execute_batch(&format!("INSERT INTO inbox ({columns}) VALUES {for_sqlite}"))?;
    }
    Ok(())
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, most: u32) -> u32 {
        // Steele, Lea and Flood's SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ mixed >> 31) % u64::from(most)).unwrap_or(0)
    }
}

/// Returns the key of a row of `t`, as `ROW KEY (id I64)` encodes it.
pub(crate) fn key(id: u32) -> Bytes {
    const SIGN: u64 = 1 << 63;
    Bytes::copy_from_slice(&(u64::from(id) ^ SIGN).to_be_bytes())
}
