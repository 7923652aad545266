//! Table of a page: every operation runs, and is shown in shell syntax.

use anyhow::Context as _;
use bytes::Bytes;
use halite::{Append, BlockingTable, CompactionKind, Delete, Get, Increment, Put, Row, RowOp};

use crate::page_writer::PageWriter;
use crate::scan_spec::ScanSpec;
use crate::statement::{lines, statement, timed_lines};

/// Rows per batch of writes.
pub(crate) const BATCH_ROWS: usize = 500;
/// Maximum rows shown of a reply; the others are only counted.
const MAX_SHOWN_ROWS: usize = 12;

/// Table with its short name.
#[derive(Clone)]
pub struct LabTable {
    pub(crate) name: String,
    pub(crate) table: BlockingTable,
    pub(crate) splits: Vec<Bytes>,
}

impl LabTable {
    /// Returns the underlying table, for operations that are not shown.
    pub fn inner(&self) -> &BlockingTable {
        &self.table
    }

    /// Returns the short name, without the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the split keys with which the table was created, without the empty key.
    pub fn splits(&self) -> &[Bytes] {
        &self.splits
    }
}

/// Splits `family:qualifier` in two.
fn split_column(column: &str) -> (&str, &str) {
    column.split_once(':').unwrap_or((column, ""))
}

/// Operations on tables, each shown with its reply.
impl PageWriter {
    /// Writes a value.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn put(
        &mut self,
        table: &LabTable,
        row: impl AsRef<[u8]>,
        column: &str,
        value: impl AsRef<[u8]>,
    ) -> anyhow::Result<()> {
        let (row, value) = (row.as_ref(), value.as_ref());
        let (family, qualifier) = split_column(column);
        table.table.put(Put::new(row.to_vec()).add(family, qualifier, value))?;
        self.statement(
            statement("put", &[table.name.as_bytes(), row, column.as_bytes(), value]),
            Vec::new(),
        );
        Ok(())
    }

    /// Writes a value with a timestamp.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn put_at(
        &mut self,
        table: &LabTable,
        row: impl AsRef<[u8]>,
        column: &str,
        value: impl AsRef<[u8]>,
        timestamp: i64,
    ) -> anyhow::Result<()> {
        let (row, value) = (row.as_ref(), value.as_ref());
        let (family, qualifier) = split_column(column);
        table.table.put(Put::new(row.to_vec()).add_at(family, qualifier, timestamp, value))?;
        let words = statement("put", &[table.name.as_bytes(), row, column.as_bytes(), value]);
        self.statement(format!("{words}, {timestamp}"), Vec::new());
        Ok(())
    }

    /// Writes many rows, which are not shown individually; the text of the page describes them.
    ///
    /// # Errors
    /// Returns the first error.
    pub fn load<K: Into<Bytes>, V: AsRef<[u8]>>(
        &mut self,
        table: &LabTable,
        column: &str,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> anyhow::Result<usize> {
        let (family, qualifier) = split_column(column);
        self.load_puts(
            table,
            rows.into_iter().map(|(key, value)| Put::new(key).add(family, qualifier, value)),
        )
    }

    /// Reads one row.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn get(&mut self, table: &LabTable, row: impl AsRef<[u8]>) -> anyhow::Result<Row> {
        self.get_versions(table, row, 1)
    }

    /// Reads a maximum number of versions of each column of one row.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn get_versions(
        &mut self,
        table: &LabTable,
        row: impl AsRef<[u8]>,
        versions: u32,
    ) -> anyhow::Result<Row> {
        let row = row.as_ref();
        let found = table.table.get(Get::new(row.to_vec()).versions(versions))?;
        let words = statement("get", &[table.name.as_bytes(), row]);
        let words =
            if versions > 1 { format!("{words}, {{VERSIONS => {versions}}}") } else { words };
        let answer = if found.is_empty() { vec!["0 row(s)".to_owned()] } else { lines(&found) };
        self.statement(words, answer);
        Ok(found)
    }

    /// Reads rows.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn scan(&mut self, table: &LabTable, read: &ScanSpec) -> anyhow::Result<Vec<Row>> {
        let rows = self.rows(table, read)?;
        self.statement(
            format!("scan '{}'{}", table.name, read.options()),
            first_rows(&rows, lines),
        );
        Ok(rows)
    }

    /// Like [`PageWriter::scan`], with the timestamps of cells; for rows whose timestamps the page
    /// specifies.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn scan_timed(&mut self, table: &LabTable, read: &ScanSpec) -> anyhow::Result<Vec<Row>> {
        let rows = self.rows(table, read)?;
        let mut answer: Vec<_> = rows.iter().flat_map(timed_lines).collect();
        answer.push(format!("{} row(s)", rows.len()));
        self.statement(format!("scan '{}'{}", table.name, read.options()), answer);
        Ok(rows)
    }

    /// Counts the rows of a read, and shows only the number.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn count(&mut self, table: &LabTable, read: &ScanSpec) -> anyhow::Result<usize> {
        let rows = self.rows(table, read)?.len();
        self.statement(
            format!("count '{}'{}", table.name, read.options()),
            vec![format!("{rows} row(s)")],
        );
        Ok(rows)
    }

    /// Reads rows without showing them.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn rows(&self, table: &LabTable, read: &ScanSpec) -> anyhow::Result<Vec<Row>> {
        table
            .table
            .scan(read.scan())
            .collect::<halite::Result<_>>()
            .with_context(|| format!("scan of {}", table.name))
    }

    /// Adds to a counter and returns its new value.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn incr(
        &mut self,
        table: &LabTable,
        row: impl AsRef<[u8]>,
        column: &str,
        delta: i64,
    ) -> anyhow::Result<i64> {
        let row = row.as_ref();
        let (family, qualifier) = split_column(column);
        let result =
            table.table.increment(Increment::new(row.to_vec()).add(family, qualifier, delta))?;
        let bytes = result.value(family, qualifier).context("an increment gives the counter")?;
        let value = i64::from_be_bytes(bytes.try_into().context("a counter has eight bytes")?);
        let words = statement("incr", &[table.name.as_bytes(), row, column.as_bytes()]);
        self.statement(format!("{words}, {delta}"), vec![format!("COUNTER VALUE = {value}")]);
        Ok(value)
    }

    /// Appends to a value and returns the new value.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn append(
        &mut self,
        table: &LabTable,
        row: impl AsRef<[u8]>,
        column: &str,
        value: impl AsRef<[u8]>,
    ) -> anyhow::Result<Bytes> {
        let (row, value) = (row.as_ref(), value.as_ref());
        let (family, qualifier) = split_column(column);
        let result = table.table.append(Append::new(row.to_vec()).add(family, qualifier, value))?;
        let now = Bytes::copy_from_slice(
            result.value(family, qualifier).context("an append gives the value")?,
        );
        let words = statement("append", &[table.name.as_bytes(), row, column.as_bytes(), value]);
        self.statement(words, vec![format!("CURRENT VALUE = {}", halite::to_string_binary(&now))]);
        Ok(now)
    }

    /// Moves a row to another key and returns the number of cells moved.
    ///
    /// # Errors
    /// Returns the errors of [`halite::move_row`].
    pub fn move_row(
        &mut self,
        table: &LabTable,
        from: &str,
        to: &str,
        overwrite: bool,
    ) -> anyhow::Result<usize> {
        let moved = table.table.move_row(from.to_owned(), to.to_owned(), overwrite)?;
        let words = statement("move_row", &[table.name.as_bytes(), from.as_bytes(), to.as_bytes()]);
        let words = if overwrite { format!("{words}, {{OVERWRITE => true}}") } else { words };
        self.statement(words, vec![format!("{} cell(s) moved", moved.cells)]);
        Ok(moved.cells)
    }

    /// Deletes a whole row.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn delete_row(&mut self, table: &LabTable, row: impl AsRef<[u8]>) -> anyhow::Result<()> {
        table.table.delete(Delete::new(row.as_ref().to_vec()))?;
        self.statement(statement("deleteall", &[table.name.as_bytes(), row.as_ref()]), Vec::new());
        Ok(())
    }

    /// Shows that a call fails, with the first line of the message, and returns the error.
    /// `statement` is the call in shell syntax.
    ///
    /// # Errors
    /// Returns an error if the call succeeds.
    pub fn expect_call_error<T>(
        &mut self,
        statement: impl Into<String>,
        result: halite::Result<T>,
    ) -> anyhow::Result<halite::Error> {
        let statement = statement.into();
        let Err(error) = result else { anyhow::bail!("this is not refused: {statement}") };
        let message = error.to_string();
        self.statement(
            statement,
            vec![format!("ERROR: {}", message.lines().next().unwrap_or_default())],
        );
        Ok(error)
    }

    /// Compacts all store files into one, and waits until that is done.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn major_compact(&mut self, table: &LabTable) -> anyhow::Result<()> {
        let name = table.table.descriptor()?.name().clone();
        self.cluster().compact(&name, None, CompactionKind::Major)?;
        self.statement(statement("major_compact", &[table.name.as_bytes()]), Vec::new());
        Ok(())
    }

    /// Flushes the memstores to store files.
    ///
    /// # Errors
    /// Returns the errors of the cluster.
    pub fn flush(&mut self, table: &LabTable) -> anyhow::Result<()> {
        self.cluster().flush(table.table.descriptor()?.name().clone())?;
        self.statement(statement("flush", &[table.name.as_bytes()]), Vec::new());
        Ok(())
    }
}

/// Returns the lines of the first rows of a reply, and the number of rows.
pub(crate) fn first_rows(rows: &[Row], lines: impl Fn(&Row) -> Vec<String>) -> Vec<String> {
    let mut answer: Vec<_> = rows.iter().take(MAX_SHOWN_ROWS).flat_map(lines).collect();
    if rows.len() > MAX_SHOWN_ROWS {
        answer.push(format!("... {} more", rows.len() - MAX_SHOWN_ROWS));
    }
    answer.push(format!("{} row(s)", rows.len()));
    answer
}

/// Writes a batch and returns the first error of any operation.
pub(crate) fn write_batch(table: &LabTable, ops: Vec<RowOp>) -> anyhow::Result<()> {
    for result in table.table.batch(ops)? {
        result?;
    }
    Ok(())
}
