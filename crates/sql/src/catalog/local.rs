//! Tables and views of one session: in memory, gone with it, and seen by no other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::sql::sqlparser::ast::{Ident, Query};
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;
use halite_types::TableName;

use super::table_info::{TableInfo, TableKind};
use crate::error::{Result, SqlError, SqlState};

/// Schema of the tables and views of a session.
pub(crate) const PG_TEMP: &str = "pg_temp";
/// Bytes of the temporary tables and of the views of a session.
const MAX_BYTES: usize = 256 << 20;
/// Bytes of a word or sign of a view that is kept, besides its text.
const TOKEN_BYTES: usize = 512;
/// Tables and views of a session.
const MAX_OBJECTS: usize = 1000;

/// Tables and views of a session, by name.
#[derive(Default)]
pub struct SessionTables {
    objects: Mutex<BTreeMap<String, Object>>,
    changes: AtomicU64,
}

/// Table or view.
#[derive(Clone)]
pub(crate) enum Object {
    /// Rows in memory.
    Table(Arc<TempTable>),
    /// Query.
    View(Arc<View>),
}

/// Rows in memory.
pub(crate) struct TempTable {
    pub(crate) schema: SchemaRef,
    rows: Mutex<Vec<RecordBatch>>,
    memory: MemoryReservation,
}

/// Query that is read as a table.
pub(crate) struct View {
    /// The query, whose tables are named with their schemas.
    pub(crate) query: Box<Query>,
    /// Names of its columns; empty for those of the query.
    pub(crate) columns: Vec<Ident>,
    /// Columns as they were when it was created.
    pub(crate) schema: SchemaRef,
    pub(crate) size: TextSize,
    /// What it holds of the memory.
    pub(crate) memory: MemoryReservation,
}

/// Size of the text of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextSize {
    /// Words and signs.
    pub(crate) tokens: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
}

impl TextSize {
    pub(crate) fn of(tokens: &[TokenWithSpan]) -> Self {
        let bytes = tokens.iter().map(|token| token.token.to_string().len()).sum();
        Self { tokens: tokens.len(), bytes }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Returns the bytes of the query that is parsed of it.
    pub(crate) fn kept_bytes(self) -> usize {
        self.tokens.saturating_mul(TOKEN_BYTES).saturating_add(self.bytes)
    }
}

impl fmt::Debug for SessionTables {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.objects().keys()).finish()
    }
}

impl Object {
    /// Returns what it is, for messages.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Table(_) => "a temporary table",
            Self::View(_) => "a view",
        }
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        match self {
            Self::Table(table) => &table.schema,
            Self::View(view) => &view.schema,
        }
    }
}

impl TempTable {
    pub(crate) fn new(schema: SchemaRef, memory: MemoryReservation) -> Self {
        Self { schema, rows: Mutex::default(), memory }
    }

    /// Adds rows, and what they hold of the memory.
    pub(crate) fn add(&self, rows: Vec<RecordBatch>, memory: &MemoryReservation) {
        let mut all = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = memory.size();
        memory.shrink(bytes);
        self.memory.grow(bytes);
        all.extend(rows);
    }

    /// Removes all rows.
    pub(crate) fn clear(&self) {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.memory.shrink(self.memory.size());
    }

    fn bytes(&self) -> usize {
        self.memory.size()
    }

    fn provider(&self) -> Option<Arc<dyn TableProvider>> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![rows]).ok()?;
        Some(Arc::new(table))
    }
}

impl SessionTables {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Object>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often tables and views came and went.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> Vec<String> {
        self.objects().keys().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects().is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Object> {
        self.objects().get(name).cloned()
    }

    /// Returns a table as DataFusion reads it; `None` for views, which queries have instead.
    pub(super) fn provider(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        match self.get(name)? {
            Object::Table(table) => table.provider(),
            Object::View(_) => None,
        }
    }

    /// Adds a table or view.
    ///
    /// # Errors
    /// `DuplicateTable` if there is one of that name, unless a view replaces a view;
    /// `LimitExceeded`.
    pub(crate) fn add(&self, name: &str, object: Object, replaces: bool) -> Result<()> {
        let mut objects = self.objects();
        if objects.len() >= MAX_OBJECTS {
            let text = "a session has at most 1,000 temporary tables and views: drop some";
            return Err(SqlError::new(SqlState::LimitExceeded, text));
        }
        let is_replaced =
            |old: &Object| replaces && matches!((old, &object), (Object::View(_), Object::View(_)));
        if let Some(old) = objects.get(name)
            && !is_replaced(old)
        {
            let text = format!("{} {name} exists already in this session", old.what());
            return Err(SqlError::new(SqlState::DuplicateTable, text));
        }
        objects.insert(name.to_owned(), object);
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Removes a table or view.
    pub(crate) fn remove(&self, name: &str) -> Option<Object> {
        let removed = self.objects().remove(name);
        self.changes.fetch_add(1, Ordering::Relaxed);
        removed
    }

    /// Removes the tables, and the views too if `views` says so.
    pub(crate) fn discard(&self, views: bool) {
        self.objects().retain(|_, object| !views && matches!(object, Object::View(_)));
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that the tables and views may hold more.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn check_room(&self, more: usize) -> Result<()> {
        let objects = self.objects();
        let held = objects.values().map(|object| match object {
            Object::Table(table) => table.bytes(),
            Object::View(view) => view.memory.size(),
        });
        if held.sum::<usize>().saturating_add(more) <= MAX_BYTES {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::OutOfMemory,
            "the temporary tables and the views of a session hold at most 256 MiB: drop some, or \
             write into a table with a ROW KEY, CREATE TABLE t (.. ROW KEY (..)) AS SELECT ..",
        ))
    }

    /// Returns the tables and views with their columns, by name.
    pub fn list(&self) -> Vec<TableInfo> {
        let objects = self.objects();
        let info = |(name, object): (&String, &Object)| {
            let schema = Arc::clone(object.schema());
            let (kind, definition) = match object {
                Object::Table(_) => (TableKind::Temporary, None),
                Object::View(view) => (TableKind::View, Some(view.query.to_string())),
            };
            Some(TableInfo {
                name: TableName::new(PG_TEMP, name.as_str()).ok()?,
                places: vec!["memory".to_owned(); schema.fields().len()],
                schema,
                row_key: None,
                key_columns: Vec::new(),
                comment: None,
                column_comments: vec![None; object.schema().fields().len()],
                kind,
                definition,
            })
        };
        objects.iter().filter_map(info).collect()
    }
}
