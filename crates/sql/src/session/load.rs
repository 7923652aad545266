//! COPY into a table: rows are written by INSERT, in batches of parameters.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::ScalarValue;

use super::access::Access;
use super::answer::{deadline, within};
use super::context::SqlContext;
use super::prepared::fitting;
use super::queries::{Query, QueryState};
use super::statement::StatementContext;
use crate::copy::{CopySource, CopyStatement, Fields, Lines};
use crate::error::{Result, SqlError};
use crate::parse::tokens_of;
use crate::write::{WritePlan, with_count};

/// Rows of a batch, a power of two. Smaller batches are made of smaller powers, so that few
/// statements are planned.
const BATCH_ROWS: usize = 512;
/// Bytes of values after which a batch is written.
const BATCH_BYTES: usize = 2 << 20;
/// Parameters of a statement.
const MAX_PARAMETERS: usize = 32_767;

/// Rows on their way into a table. Each row is written as a whole, and nothing is atomic between
/// rows: what was written before an error stays.
pub struct Loader<'s> {
    sql: &'s SqlContext,
    /// Table and columns, as a statement names them.
    table: String,
    columns: Vec<String>,
    fields: Vec<FieldRef>,
    batch_rows: usize,
    /// Statements by their number of rows.
    plans: HashMap<usize, WritePlan>,
    values: Vec<ScalarValue>,
    lines: Vec<u64>,
    bytes: usize,
    statement: Arc<StatementContext>,
    deadline: Option<Instant>,
    query: Option<Query>,
}

impl SqlContext {
    /// Begins to copy rows into a table. `text` is that of the statement.
    ///
    /// # Errors
    /// As for INSERT into the table. `NotSupported` for COPY TO.
    pub async fn load(&self, copy: &CopyStatement, text: &str) -> Result<Loader<'_>> {
        let CopySource::Table { name, columns } = &copy.source else {
            return Err(SqlError::unsupported("rows are copied into a table"));
        };
        let statement = Arc::new(StatementContext::new(self.settings()));
        let query = self.begin(text, &statement);
        let deadline = deadline(statement.settings.statement_timeout);
        let mut loader = Loader {
            sql: self,
            table: name.clone(),
            columns: columns.clone(),
            fields: Vec::new(),
            batch_rows: 1,
            plans: HashMap::new(),
            values: Vec::new(),
            lines: Vec::new(),
            bytes: 0,
            statement,
            deadline,
            query: Some(query),
        };
        match within(deadline, loader.prepare()).await.flatten() {
            Ok(()) => Ok(loader),
            Err(error) => Err(loader.failed(error)),
        }
    }
}

impl Loader<'_> {
    /// Returns the columns of a row, in order, with their names.
    pub fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// Adds the rows of lines that have come; with `is_end`, all that are left.
    ///
    /// # Errors
    /// As [`Self::add`]; what is wrong with a line, once the rows before it are written.
    pub async fn add_lines(&mut self, lines: &mut Lines, is_end: bool) -> Result<()> {
        loop {
            let columns = self.fields.iter().map(|field| field.name().as_str());
            match lines.next_of_rows(is_end, columns) {
                Ok(Some(row)) => self.add_fields(row).await?,
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.stop(error).await),
            }
        }
    }

    /// Returns the number of rows that were written.
    pub fn written(&self) -> u64 {
        self.statement.written.load(Ordering::Relaxed)
    }

    /// Adds a row of texts, which are read as the types of their columns.
    ///
    /// # Errors
    /// As [`Self::add`]; of a field that is no value, with its line and its column.
    async fn add_fields(&mut self, row: Fields) -> Result<()> {
        let Fields { line, fields } = row;
        let values: Vec<ScalarValue> = fields.into_iter().map(ScalarValue::Utf8View).collect();
        if let Err(error) = self.check(&values, line) {
            return Err(self.stop(error).await);
        }
        self.push(values, line).await
    }

    fn check(&self, values: &[ScalarValue], line: u64) -> Result<()> {
        let wanted = self.fields.len();
        if values.len() != wanted {
            let text =
                format!("the line has {} fields, and the row has {wanted} columns", values.len());
            return Err(SqlError::bad_copy(line, &text));
        }
        let Some(plan) = self.plans.get(&1) else { return Ok(()) };
        let checked =
            values.iter().enumerate().try_for_each(|(at, value)| plan.check_value(at, value));
        checked.map_err(|mut error| {
            error.message = format!("line {line}, {}", error.message);
            error
        })
    }

    /// Adds a row, which began on a line, and writes a batch of rows when there are enough.
    ///
    /// # Errors
    /// The error of a row, with the lines of its batch and the number of rows that were written.
    pub async fn add(&mut self, row: Vec<ScalarValue>, line: u64) -> Result<()> {
        if row.len() != self.fields.len() {
            let (came, wanted) = (row.len(), self.fields.len());
            let text = format!("{came} values came, and the row has {wanted} columns");
            let error = SqlError::bad_copy(line, &text);
            return Err(self.stop(error).await);
        }
        let values = row.iter().zip(&self.fields);
        let values = values.map(|(value, field)| fitting(value, field.data_type())).collect();
        self.push(values, line).await
    }

    async fn push(&mut self, row: Vec<ScalarValue>, line: u64) -> Result<()> {
        let start = self.values.len();
        self.values.extend(row);
        self.bytes += self.values[start..].iter().map(ScalarValue::size).sum::<usize>();
        self.lines.push(line);
        if self.lines.len() < self.batch_rows && self.bytes < BATCH_BYTES {
            return Ok(());
        }
        let written = self.write().await;
        written.map_err(|error| self.failed(error))
    }

    /// Writes the rest, and returns the number of rows that were written.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub async fn finish(mut self) -> Result<u64> {
        if let Err(error) = self.write().await {
            return Err(self.failed(error));
        }
        if let Some(query) = self.query.take() {
            query.end(QueryState::Done);
        }
        Ok(self.written())
    }

    /// Ends after an error of a line: the rows of the lines before it are written. Returns the
    /// error, with the number of rows that were.
    pub async fn stop(&mut self, error: SqlError) -> SqlError {
        match self.write().await {
            Ok(()) => {
                let error = with_count(error, &self.statement);
                self.failed(error)
            }
            // Lines before it could not be written either, and they come first.
            Err(first) => self.failed(first),
        }
    }

    /// Ends without what has not been written, and returns the number of rows that were.
    pub fn abandon(mut self) -> u64 {
        self.query = None;
        self.written()
    }

    fn failed(&mut self, error: SqlError) -> SqlError {
        if let Some(query) = self.query.take() {
            query.end(QueryState::Failed(error.state));
        }
        error
    }

    /// Looks up the columns and plans a row.
    async fn prepare(&mut self) -> Result<()> {
        self.sql.access.require(Access::Write)?;
        self.sql.block.check(self.statement.settings.transactions)?;
        if self.columns.is_empty() {
            let all = self.sql.prepare(&format!("SELECT * FROM {}", self.table)).await?;
            let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
            let names = all.schema().fields().iter().map(|field| quoted(field.name()));
            self.columns = names.collect();
        }
        self.fields = self.plan(1).await?.parameters()?;
        let most = MAX_PARAMETERS / self.columns.len().max(1);
        while self.batch_rows * 2 <= most.min(BATCH_ROWS) {
            self.batch_rows *= 2;
        }
        let names = self.columns.iter().map(|name| match name.strip_prefix('"') {
            Some(rest) => rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\""),
            None => name.clone(),
        });
        let named = self.fields.iter().zip(names);
        let named = named.map(|(field, name)| Arc::new(field.as_ref().clone().with_name(name)));
        self.fields = named.collect();
        Ok(())
    }

    /// Returns the INSERT of a number of rows.
    async fn plan(&mut self, rows: usize) -> Result<WritePlan> {
        let catalog = &self.sql.catalog;
        if let Some(plan) = self.plans.get(&rows)
            && plan.is_current(catalog, &self.statement.settings).await
        {
            return Ok(plan.clone());
        }
        let width = self.columns.len();
        let row = |row: usize| {
            let numbers = (0..width).map(|column| format!("${}", row * width + column + 1));
            format!("({})", numbers.collect::<Vec<_>>().join(","))
        };
        let values: Vec<String> = (0..rows).map(row).collect();
        let (table, columns) = (&self.table, self.columns.join(", "));
        let text = format!("INSERT INTO {table} ({columns}) VALUES {}", values.join(","));
        let plan = WritePlan::prepare(&self.sql.session, catalog, tokens_of(&text)?).await;
        // Its places are those of a text that is made here.
        let plan = plan.map_err(|error| SqlError { position: None, ..error })?;
        self.plans.insert(rows, plan.clone());
        Ok(plan)
    }

    /// Writes the rows that wait.
    async fn write(&mut self) -> Result<()> {
        let (mut values, lines) =
            (std::mem::take(&mut self.values).into_iter(), std::mem::take(&mut self.lines));
        self.bytes = 0;
        let mut rest = lines.as_slice();
        let width = self.columns.len();
        while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
            let mut rows = self.batch_rows;
            while rows > rest.len() {
                rows /= 2;
            }
            let last = rest.get(rows - 1).unwrap_or(last);
            let batch: Arc<[ScalarValue]> = values.by_ref().take(rows * width).collect();
            let deadline = self.deadline;
            let run = async {
                let plan = self.plan(rows).await?;
                plan.run(batch, &self.statement).await
            };
            let ran = within(deadline, Box::pin(run)).await;
            let ran = ran.map_err(|timeout| with_count(timeout, &self.statement)).flatten();
            ran.map_err(|error| at_lines(error, *first, *last))?;
            rest = &rest[rows..];
        }
        Ok(())
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        self.sql.block.add(self.written());
        if self.query.is_some() {
            self.sql.left.set(self.statement.rows_written());
        }
    }
}

/// Says of which lines a row is that could not be written.
fn at_lines(mut error: SqlError, first: u64, last: u64) -> SqlError {
    let lines =
        if first == last { format!("line {first}") } else { format!("lines {first} to {last}") };
    error.message = format!("{lines}: {}", error.message);
    error
}
