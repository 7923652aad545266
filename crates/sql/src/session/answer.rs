//! Result of a statement.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;

use super::interrupt::Running;
use super::queries::{Query, QueryState};
use super::statement::StatementContext;
use crate::direct::DirectRows;
use crate::error::{Result, SqlError, SqlState};
use crate::names::{AGAIN, with_plain_names};

/// Result of a statement: rows in batches, or the tag of a command. Dropping it ends its scans.
pub struct Answer {
    schema: SchemaRef,
    rows: Option<Rows>,
    command: Option<String>,
    statement: Arc<StatementContext>,
    deadline: Option<Instant>,
    /// The statement in the list of those that run, up to its end.
    query: Option<Query>,
}

enum Rows {
    /// Rows of a scan, read by the task that reads the answer.
    Direct(Box<DirectRows>),
    /// Rows of a running plan.
    Running(Running),
    /// Rows that are known.
    Known(RecordBatch),
    /// Reading has failed, or was given up: what follows is not known.
    Broken,
}

fn with_plain_batch(batch: RecordBatch) -> Result<RecordBatch> {
    if batch.schema_ref().fields().iter().all(|field| !field.name().contains(AGAIN)) {
        return Ok(batch);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = with_plain_names(batch.schema_ref());
    let columns = batch.columns().to_vec();
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| DataFusionError::from(error).into())
}

impl Answer {
    pub(super) fn command(tag: impl Into<String>, statement: Arc<StatementContext>) -> Self {
        let schema = Arc::new(Schema::empty());
        Self {
            schema,
            rows: None,
            command: Some(tag.into()),
            statement,
            deadline: None,
            query: None,
        }
    }

    /// Result of a statement that wrote, with the rows of its RETURNING.
    pub(super) fn written(
        tag: String,
        returned: Option<RecordBatch>,
        statement: Arc<StatementContext>,
    ) -> Self {
        match returned {
            Some(rows) => Self { command: Some(tag), ..Self::known(rows, statement) },
            None => Self::command(tag, statement),
        }
    }

    pub(super) fn known(batch: RecordBatch, statement: Arc<StatementContext>) -> Self {
        let (schema, rows) = (batch.schema(), Some(Rows::Known(batch)));
        Self { schema, rows, command: None, statement, deadline: None, query: None }
    }

    pub(super) fn direct(
        rows: DirectRows,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Self {
        let schema = Arc::clone(rows.schema());
        let rows = Some(Rows::Direct(Box::new(rows)));
        Self { schema, rows, command: None, statement, deadline, query: None }
    }

    pub(super) fn stream(
        rows: SendableRecordBatchStream,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Self {
        let schema = with_plain_names(&rows.schema());
        let rows = Some(Rows::Running(Running::new(rows, Arc::clone(&statement))));
        Self { schema, rows, command: None, statement, deadline, query: None }
    }

    /// Keeps the statement in the list of those that run while there are rows to come.
    pub(super) fn with_query(mut self, query: Query) -> Self {
        match &self.rows {
            Some(Rows::Direct(_) | Rows::Running(_)) => {
                query.set_waiting(true);
                self.query = Some(query);
            }
            None | Some(Rows::Broken) => query.end(QueryState::Done),
            Some(Rows::Known(rows)) => {
                self.statement.returned.store(rows.num_rows() as u64, Ordering::Relaxed);
                query.end(QueryState::Done);
            }
        }
        self
    }

    /// Lets `statement_timeout` start again, as for each part of the rows that a client asks for.
    pub fn restart_timeout(&mut self) {
        self.deadline = self.deadline.and(deadline(self.statement.settings.statement_timeout));
    }

    /// Returns the tag of a command, such as `CREATE TABLE` or `UPDATE 2`. Statements with RETURNING
    /// have one and rows.
    pub fn tag(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Returns `true` if the rows are those of a scan alone, which bypasses DataFusion.
    pub fn is_direct(&self) -> bool {
        matches!(self.rows, Some(Rows::Direct(_)))
    }

    /// Returns the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the next rows, at least one; `None` at the end.
    ///
    /// # Errors
    /// The error that ended the statement. `Cancelled` after `statement_timeout`. `NotInState` after
    /// an error, and after a call that was dropped before it ended.
    pub async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(query) = &self.query {
            query.set_waiting(false);
        }
        let next = self.next_rows().await;
        let state = match &next {
            Ok(Some(rows)) => {
                if let Some(query) = &self.query {
                    self.statement.returned.fetch_add(rows.num_rows() as u64, Ordering::Relaxed);
                    query.set_waiting(true);
                }
                return next;
            }
            Ok(None) => QueryState::Done,
            Err(error) => QueryState::Failed(error.state),
        };
        if let Some(query) = self.query.take() {
            query.end(state);
        }
        next
    }

    async fn next_rows(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            // So it stays unless the rows come, or their end.
            let batch = match self.rows.replace(Rows::Broken) {
                None => {
                    self.rows = None;
                    return Ok(None);
                }
                Some(Rows::Broken) => {
                    return Err(SqlError::new(
                        SqlState::NotInState,
                        "the statement ended before its rows did; run it again",
                    ));
                }
                Some(Rows::Known(batch)) => {
                    self.rows = None;
                    batch
                }
                Some(Rows::Direct(mut rows)) => {
                    let Some(batch) = within(self.deadline, rows.next()).await?? else {
                        self.rows = None;
                        return Ok(None);
                    };
                    self.rows = Some(if rows.is_long() {
                        let rows = rows.into_stream();
                        Rows::Running(Running::new(rows, Arc::clone(&self.statement)))
                    } else {
                        Rows::Direct(rows)
                    });
                    batch
                }
                Some(Rows::Running(mut running)) => {
                    let Some(batch) = within(self.deadline, running.next()).await?? else {
                        self.rows = None;
                        return Ok(None);
                    };
                    let batch = with_plain_batch(batch)?;
                    self.rows = Some(Rows::Running(running));
                    batch
                }
            };
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    /// Returns all rows.
    ///
    /// # Errors
    /// As [`Self::next_batch`].
    pub async fn batches(&mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next_batch().await? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// Removes and returns what the user should know besides the rows, as far as it has come up.
    pub fn take_notices(&self) -> Vec<String> {
        self.statement.take_notices()
    }
}

/// Waits until a deadline.
///
/// # Errors
/// `Cancelled` at the deadline.
pub(super) async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Result<T> {
    let Some(deadline) = deadline else { return Ok(work.await) };
    let timeout = |_| {
        SqlError::new(
            SqlState::Cancelled,
            "the statement took longer than statement_timeout; EXPLAIN shows what it reads",
        )
    };
    tokio::time::timeout_at(deadline.into(), work).await.map_err(timeout)
}

/// Returns the moment at which a statement that begins now ends.
pub(super) fn deadline(timeout: Duration) -> Option<Instant> {
    (!timeout.is_zero()).then(|| Instant::now() + timeout)
}
