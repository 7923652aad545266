//! Operations on rows in batches, several of them in flight.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use halite_types::op::{Durability, OpResult, RowOp};
use halite_types::table::BoxFuture;
use halite_types::{Bytes, ErrorKind, Table};

use super::target::WriteTarget;
use crate::error::{Result, SqlError, SqlState};
use crate::session::statement::StatementContext;
use crate::session::tally::Does;

/// Rows and bytes after which a batch is sent.
const BATCH_ROWS: usize = 1000;
const BATCH_BYTES: usize = 2 << 20;
/// Time after which what a server writes has a later time than what it has answered.
const NEXT_MILLISECOND: Duration = Duration::from_millis(1);
/// Batches in flight.
const IN_FLIGHT: usize = 4;

/// Operation that was sent.
struct Sent<T> {
    token: T,
    row: Bytes,
    is_conditional: bool,
    does: Does,
}

/// Batch that was answered: what was sent, and the results in its order.
type Answered<T> = (Vec<Sent<T>>, halite_types::Result<Vec<halite_types::Result<OpResult>>>);

/// Writer of one statement. Each operation has a token, which comes back with its result.
pub(super) struct Sink<'s, T> {
    target: &'s WriteTarget,
    statement: &'s StatementContext,
    /// Operations that are not sent yet, and what they are.
    pending: Vec<RowOp>,
    tokens: Vec<Sent<T>>,
    pending_bytes: usize,
    flights: FuturesUnordered<BoxFuture<'static, Answered<T>>>,
    /// Rows of operations without a result: a second one on such a row waits for the first.
    busy: HashSet<Bytes>,
    /// Rows of pending operations that delete something.
    deleting: HashSet<Bytes>,
    done: Vec<(T, OpResult)>,
}

impl<'s, T: Send + 'static> Sink<'s, T> {
    pub(super) fn new(target: &'s WriteTarget, statement: &'s StatementContext) -> Self {
        Self {
            target,
            statement,
            pending: Vec::new(),
            tokens: Vec::new(),
            pending_bytes: 0,
            flights: FuturesUnordered::new(),
            busy: HashSet::new(),
            deleting: HashSet::new(),
            done: Vec::new(),
        }
    }

    /// Adds an operation, and waits while too many are in flight.
    ///
    /// # Errors
    /// The error of an earlier operation; those that were sent have then ended.
    pub(super) async fn push(&mut self, token: T, mut op: RowOp) -> Result<()> {
        set_durability(&mut op, self.statement.settings.durability);
        if let Err(error) = self.statement.count_write(self.target.table.name()) {
            self.settle().await;
            return Err(error);
        }
        // A delete marker hides what is put in its millisecond, and a batch is of one on HBase.
        let is_hidden = self.deleting.contains(op.row());
        if is_hidden {
            self.send();
        }
        if is_hidden || self.busy.contains(op.row()) {
            self.drain().await?;
        }
        if is_hidden {
            tokio::time::sleep(NEXT_MILLISECOND).await;
        }
        self.pending_bytes += op_bytes(&op);
        if deletes(&op) {
            self.deleting.insert(op.row().clone());
        }
        let (row, is_conditional) = (op.row().clone(), is_conditional(&op));
        self.tokens.push(Sent { token, row, is_conditional, does: Does::of(&op) });
        self.pending.push(op);
        if self.pending.len() >= BATCH_ROWS || self.pending_bytes >= BATCH_BYTES {
            self.busy.extend(self.tokens.iter().map(|sent| sent.row.clone()));
            self.send();
        }
        while self.flights.len() >= IN_FLIGHT {
            self.receive().await?;
        }
        Ok(())
    }

    /// Sends what is pending and waits for all results. `pushed` is how the rows of the statement
    /// ended: after an error, only those in flight are waited for.
    ///
    /// # Errors
    /// That of `pushed`, and as [`Self::push`].
    pub(super) async fn finish(&mut self, pushed: Result<()>) -> Result<()> {
        if pushed.is_err() {
            self.settle().await;
            return pushed;
        }
        self.send();
        self.drain().await
    }

    /// Waits for what is in flight, so that its rows are counted in the error that ends the
    /// statement. What is pending is not sent.
    async fn settle(&mut self) {
        while let Some(answered) = self.flights.next().await {
            // The error that ends the statement came first.
            let _ = self.take(answered);
        }
    }

    /// Counts rows that were got to compute operations, or their conditions.
    pub(super) fn count_read(&self, rows: usize) {
        self.statement.tally.add_read(rows);
    }

    /// Removes and returns the results so far.
    pub(super) fn take_done(&mut self) -> Vec<(T, OpResult)> {
        std::mem::take(&mut self.done)
    }

    fn send(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.pending_bytes = 0;
        self.deleting.clear();
        let (sent, ops) = (std::mem::take(&mut self.tokens), std::mem::take(&mut self.pending));
        self.statement.in_flight.fetch_add(sent.len() as u64, Ordering::Relaxed);
        self.statement.tally.add_batch();
        let table: Arc<dyn Table> = Arc::clone(&self.target.table);
        self.flights.push(Box::pin(async move { (sent, table.batch(ops).await) }));
    }

    /// Waits for what is in flight.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub(super) async fn drain(&mut self) -> Result<()> {
        while !self.flights.is_empty() {
            self.receive().await?;
        }
        Ok(())
    }

    /// Waits for one batch. After an error the others are waited for too, so that their rows are
    /// counted.
    async fn receive(&mut self) -> Result<()> {
        let Some(answered) = self.flights.next().await else { return Ok(()) };
        let taken = self.take(answered);
        if taken.is_err() {
            self.settle().await;
        }
        taken
    }

    fn take(&mut self, (sent, results): Answered<T>) -> Result<()> {
        self.statement.in_flight.fetch_sub(sent.len() as u64, Ordering::Relaxed);
        if !self.busy.is_empty() {
            for one in &sent {
                self.busy.remove(&one.row);
            }
        }
        let results = match results {
            Ok(results) => results,
            Err(error) => {
                let is_conditional = sent.iter().any(|one| one.is_conditional);
                return Err(of_operations(error, sent.len(), is_conditional));
            }
        };
        self.done.reserve(results.len());
        let mut first = None;
        for (one, result) in sent.into_iter().zip(results) {
            match result {
                Ok(result) => {
                    if result.processed {
                        self.statement.written.fetch_add(1, Ordering::Relaxed);
                        self.statement.tally.add(one.does);
                    } else {
                        self.statement.tally.add_failed();
                    }
                    self.done.push((one.token, result));
                }
                Err(error) => {
                    first.get_or_insert_with(|| of_operations(error, 1, one.is_conditional));
                }
            }
        }
        first.map_or(Ok(()), Err)
    }
}

/// The answer to a conditional write may be lost after it was done: trying again would find its own
/// work.
fn of_operations(error: halite_types::Error, rows: usize, is_conditional: bool) -> SqlError {
    let is_lost = matches!(error.kind(), ErrorKind::Io | ErrorKind::Stopped);
    if is_conditional && is_lost {
        let text = format!(
            "outcome unknown of {rows} row(s), read to see whether they were written: {error}"
        );
        return SqlError::new(SqlState::OutcomeUnknown, text);
    }
    error.into()
}

fn deletes(op: &RowOp) -> bool {
    match op {
        RowOp::Delete(_) => true,
        RowOp::Mutate(group) => group.ops.iter().any(deletes),
        _ => false,
    }
}

fn is_conditional(op: &RowOp) -> bool {
    match op {
        RowOp::CheckAndMutate(_) | RowOp::Increment(_) | RowOp::Append(_) => true,
        RowOp::Put(_) | RowOp::Delete(_) => false,
        RowOp::Mutate(group) => group.ops.iter().any(is_conditional),
    }
}

/// Sets what has to be safe before an operation is done, unless the table says so.
fn set_durability(op: &mut RowOp, durability: Durability) {
    if durability == Durability::UseDefault {
        return;
    }
    match op {
        RowOp::CheckAndMutate(check) => set_durability(&mut check.then, durability),
        RowOp::Mutate(group) => {
            group.ops.iter_mut().for_each(|op| set_durability(op, durability));
        }
        other => {
            if let Some(mutation) = other.mutation_mut() {
                mutation.durability = durability;
            }
        }
    }
}

fn op_bytes(op: &RowOp) -> usize {
    match op {
        RowOp::CheckAndMutate(check) => op_bytes(&check.then),
        RowOp::Mutate(group) => group.ops.iter().map(op_bytes).sum(),
        other => other.mutation().map_or(0, |mutation| mutation.cells().bytes().len()),
    }
}

impl StatementContext {
    /// Counts a row that is about to be written, and ends the statement at its guard.
    fn count_write(&self, table: &halite_types::TableName) -> Result<()> {
        let sum = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        match self.settings.max_rows_written {
            0 => Ok(()),
            most if sum <= most => Ok(()),
            most => Err(SqlError::new(
                SqlState::LimitExceeded,
                format!(
                    "stopped before row {sum} of table {table} was written, because \
                     halite.max_rows_written is {most}: narrow the statement, or SET \
                     halite.max_rows_written = 0"
                ),
            )),
        }
    }
}
