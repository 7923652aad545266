//! Conversion of operations to cells: plain puts and deletes in batches, and read-modify-write
//! operations.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use halite_types::cell::{CELL_HEADER, CellParts, MAX_TAGS_BYTES, TAG_TTL, tags};
use halite_types::key::to_string_binary;
use halite_types::op::Mutation;
use halite_types::{
    CellRef, CellType, Cells, CellsBuilder, CompareOp, Condition, Durability, Error, ErrorKind,
    Get, LATEST_TIMESTAMP, OpResult, ReadTier, Result, Row, RowOp, TimeRange,
};
use halite_types::{CheckAndMutate, Delete, RowMutations};

use super::Region;
use super::recent_stamps::GroupDeletes;
use super::snapshot::RegionSnapshot;
use crate::commit::CommitTicket;
use crate::env::MAX_CLOCK_WAIT_MS;
use crate::scan::ReadStats;
use crate::wal::Nonce;

/// Minimum lead over the clock of a timestamp that a client has set explicitly, or that was written
/// before the clock was set back.
const MIN_EXPLICIT_TIMESTAMP_LEAD_MS: i64 = 2 * MAX_CLOCK_WAIT_MS;

/// Result of a batch. The results are known at once; no client may receive them before the ticket
/// is fulfilled.
pub struct BatchResult {
    /// One result for each operation, in order.
    pub results: Vec<Result<OpResult>>,
    /// Fulfilled when all of them are durable and visible.
    pub ticket: CommitTicket,
    /// Operations that were not attempted because the region is no longer served, with their batch
    /// indexes, to be resubmitted to the successor region.
    pub unrouted: Vec<(usize, RowOp)>,
    /// Bytes of the blocks that conditions scanned.
    pub condition_block_bytes_scanned: u64,
}

impl BatchResult {
    pub(crate) fn wait_for(&mut self, ticket: CommitTicket) {
        self.ticket = std::mem::replace(&mut self.ticket, CommitTicket::ready()).later(ticket);
    }
}

/// Maximum bytes of cells per commit; a larger batch is split between operations.
const MAX_COMMIT_BYTES: usize = 16 << 20;

/// Maximum bytes of cells that one operation may write, because it is one record of the log.
const MAX_OPERATION_BYTES: usize = 512 << 20;

/// Waits that an operation may perform.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// Until a flush has freed memory.
    ForMemory,
    /// Until other operations have released its rows.
    ForRows,
    /// No waits: the rows are locked already.
    Never,
}

/// Context in which the operations of a batch are applied.
struct BatchContext<'a> {
    snapshot: &'a RegionSnapshot,
    nonce: Option<Nonce>,
    /// `true` if the rows of all operations are locked already.
    holds_rows: bool,
}

/// State that a read-modify-write accumulates before it commits.
pub(super) struct PendingWrite {
    pub(super) cells: CellsBuilder,
    pub(super) durability: Durability,
    /// New values to return.
    result: CellsBuilder,
    now: i64,
    /// Timestamp of the cell of this row that a condition compared. It must not hide the resulting
    /// puts.
    pub(super) condition_timestamp: Option<i64>,
    /// Tier that its reads may use.
    tier: ReadTier,
    /// Maximum bytes of cells that it may accumulate.
    max_bytes: usize,
}

impl PendingWrite {
    pub(super) fn new(now: i64, condition_timestamp: Option<i64>, tier: ReadTier) -> Self {
        Self {
            cells: CellsBuilder::default(),
            durability: Durability::UseDefault,
            result: CellsBuilder::default(),
            now,
            condition_timestamp,
            tier,
            max_bytes: MAX_OPERATION_BYTES,
        }
    }

    /// Stamps cells without a timestamp, and verifies the size.
    pub(super) fn stamp(&mut self) -> Result<()> {
        let now = self.now;
        self.cells.map_timestamps(|stamp| if stamp == LATEST_TIMESTAMP { now } else { stamp });
        self.check_bytes(0)
    }

    /// Verifies that `more` further bytes fit.
    fn check_bytes(&self, more: usize) -> Result<()> {
        check_operation_bytes(self.cells.bytes().len().saturating_add(more), self.max_bytes)
    }
}

impl Region {
    /// Applies operations in order. Each row changes atomically; there is no guarantee across rows.
    pub fn apply(&self, ops: Vec<RowOp>) -> BatchResult {
        self.apply_under(ops, None, Waits::ForMemory)
    }

    /// As [`Region::apply`], but returns `Busy` instead of waiting for a flush.
    pub fn apply_now(&self, ops: Vec<RowOp>) -> BatchResult {
        self.apply_under(ops, None, Waits::ForRows)
    }

    /// As [`Region::apply_now`] for puts and deletes that read nothing first, without waiting for
    /// another read-modify-write. While one of their rows is locked, which may be for a read from
    /// the disk, the operations are returned unchanged. Operations that read first, and those that
    /// have to wait for the clock, are also returned.
    ///
    /// # Errors
    /// The operations; nothing has been done.
    pub fn try_apply(&self, ops: Vec<RowOp>) -> std::result::Result<BatchResult, Vec<RowOp>> {
        if ops.iter().any(reads_first) {
            return Err(ops);
        }
        let Some(_rows) = self.row_locks.try_shared(ops.iter().map(|op| &op.row()[..])) else {
            return Err(ops);
        };
        let mut deletes = GroupDeletes::default();
        if self.must_wait_for_clock(|| ops.iter())
            || (1..=ops.len()).any(|end| deletes.hide_last(0, &ops[..end]))
        {
            return Err(ops);
        }
        Ok(self.apply_under(ops, None, Waits::Never))
    }

    fn apply_under(&self, mut ops: Vec<RowOp>, nonce: Option<Nonce>, waits: Waits) -> BatchResult {
        let mut applied = BatchResult {
            results: ops
                .iter()
                .map(|_| Ok(OpResult { row: Row::default(), processed: true }))
                .collect(),
            ticket: CommitTicket::ready(),
            unrouted: Vec::new(),
            condition_block_bytes_scanned: 0,
        };
        // The checks against it are repeated under the commit lock where it matters.
        let snapshot = self.snapshot_ref();
        let admitted = if waits == Waits::ForMemory {
            self.shared.admit(self, &snapshot)
        } else {
            self.shared.try_admit(self)
        };
        if let Err(error) = admitted {
            applied.results.iter_mut().for_each(|result| *result = Err(error.clone()));
            return applied;
        }
        let todo = BatchContext { snapshot: &snapshot, nonce, holds_rows: waits == Waits::Never };
        if let Err(first) = self.apply_all(&todo, &mut ops, &mut applied) {
            // Operations after one for the successor are also for the successor, or their order
            // would change.
            let rest = ops.into_iter().enumerate().skip(first);
            applied.unrouted = rest.filter(|(at, _)| applied.results[*at].is_ok()).collect();
        }
        self.shared.record_write(self);
        applied
    }

    /// Applies one operation and records its nonce in the log, so that the next open recovers it
    /// ([`crate::Engine::take_replayed_nonces`]). Puts and deletes that read nothing first are
    /// logged without a nonce: they are idempotent. Returns `Busy` instead of waiting for a flush,
    /// because a client that sends nonces can retry.
    pub fn apply_with_nonce(&self, op: RowOp, nonce: Option<Nonce>) -> BatchResult {
        self.apply_under(vec![op], nonce, Waits::ForRows)
    }

    /// As [`Region::apply_with_nonce`], for an operation that reads first, if it need not wait for
    /// the disk or for another operation that does. `None` if it might have to wait. Nothing has
    /// been done in that case, and [`Region::apply_with_nonce`] waits.
    pub fn try_apply_cached(&self, op: &RowOp, nonce: Option<Nonce>) -> Option<BatchResult> {
        if self.shared.try_admit(self).is_err() {
            return None;
        }
        let mut condition_block_bytes = 0;
        let (result, ticket) =
            match self.read_modify_write(op, ReadTier::Memory, nonce, &mut condition_block_bytes) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NoSuchRegion) =>
                {
                    return None;
                }
                Err(error) => (Err(error), CommitTicket::ready()),
                Ok((result, ticket)) => (Ok(result), ticket),
            };
        self.shared.record_write(self);
        Some(BatchResult {
            results: vec![result],
            ticket,
            unrouted: Vec::new(),
            condition_block_bytes_scanned: condition_block_bytes,
        })
    }

    /// Applies operations. Consecutive operations that need not read first are applied together. If
    /// the region is no longer served, the error is the index of the first operation that was not
    /// applied.
    fn apply_all(
        &self,
        todo: &BatchContext<'_>,
        ops: &mut [RowOp],
        applied: &mut BatchResult,
    ) -> Result<(), usize> {
        let (mut first, mut bytes) = (0, 0);
        let mut deletes = GroupDeletes::default();
        for at in 0..ops.len() {
            match self.prepare(todo.snapshot, &mut ops[at]) {
                Err(error) => applied.results[at] = Err(error),
                Ok(Some(cell_bytes)) => {
                    // In one group the put would have the timestamp of the delete before it, and
                    // the delete would hide it.
                    if deletes.hide_last(first, &ops[first..=at]) {
                        self.commit_group(todo, ops, first..at, applied)?;
                        (first, bytes) = (at, 0);
                    }
                    bytes += cell_bytes;
                    if bytes >= MAX_COMMIT_BYTES {
                        self.commit_group(todo, ops, first..at + 1, applied)?;
                        (first, bytes) = (at + 1, 0);
                    }
                }
                Ok(None) => {
                    self.commit_group(todo, ops, first..at, applied)?;
                    (first, bytes) = (at + 1, 0);
                    match self.read_modify_write(
                        &ops[at],
                        ReadTier::Disk,
                        todo.nonce,
                        &mut applied.condition_block_bytes_scanned,
                    ) {
                        Ok((result, ticket)) => {
                            applied.wait_for(ticket);
                            applied.results[at] = Ok(result);
                        }
                        Err(error) if error.kind() == ErrorKind::NoSuchRegion => return Err(at),
                        Err(error) => applied.results[at] = Err(error),
                    }
                }
            }
        }
        self.commit_group(todo, ops, first..ops.len(), applied)
    }

    /// Validates an operation that can be applied without reading first, completes its cells and
    /// returns their bytes; `None` for one that has to read.
    fn prepare(&self, snapshot: &RegionSnapshot, op: &mut RowOp) -> Result<Option<usize>> {
        let mutation = match op {
            RowOp::Put(put) => {
                let mutation = put.mutation();
                self.check_mutation(snapshot, mutation)?;
                if mutation.cells().is_empty() {
                    let text = format!(
                        "row {}: a put without columns changes nothing; add a column",
                        to_string_binary(mutation.row())
                    );
                    return Err(Error::invalid(text));
                }
                self.check_row_taken(snapshot, mutation.row())?;
                self.check_cells(snapshot, mutation.cells())?;
                mutation
            }
            RowOp::Delete(delete) if !deletes_newest(delete) => {
                self.check_mutation(snapshot, delete.mutation())?;
                if let Cow::Owned(markers) = self.expand_delete(snapshot, delete)? {
                    *delete.mutation_mut().cells_mut() = markers;
                }
                delete.mutation()
            }
            RowOp::Delete(_)
            | RowOp::Increment(_)
            | RowOp::Append(_)
            | RowOp::Mutate(_)
            | RowOp::CheckAndMutate(_) => return Ok(None),
        };
        Ok(Some(mutation.cells().bytes().len()))
    }

    fn check_mutation(&self, snapshot: &RegionSnapshot, mutation: &Mutation) -> Result<()> {
        mutation.check()?;
        self.check_writable(snapshot, mutation.row())
    }

    fn check_writable(&self, snapshot: &RegionSnapshot, row: &[u8]) -> Result<()> {
        self.check_row(row)?;
        if snapshot.settings.read_only {
            let text = format!(
                "table {} is read-only; alter it with READONLY => 'false' to write",
                self.info.table
            );
            return Err(Error::new(ErrorKind::ReadOnly, text));
        }
        Ok(())
    }

    /// Verifies that the table accepts the row. Counts rejected rows.
    fn check_row_taken(&self, snapshot: &RegionSnapshot, row: &[u8]) -> Result<()> {
        snapshot.check_row_taken(row).map_err(|error| {
            self.counters.add_refused_row();
            error.at(format_args!("row {}", to_string_binary(row)))
        })
    }

    /// Verifies that families exist and no cell is too large.
    fn check_cells(&self, snapshot: &RegionSnapshot, cells: &CellsBuilder) -> Result<()> {
        check_operation_bytes(cells.bytes().len(), MAX_OPERATION_BYTES)?;
        for cell in cells {
            snapshot.family_index(cell.family())?;
            self.check_size(snapshot, cell, cell.encoded_len())?;
        }
        Ok(())
    }

    fn check_size(&self, snapshot: &RegionSnapshot, cell: CellRef<'_>, bytes: usize) -> Result<()> {
        let most = snapshot.settings.max_cell_bytes.unwrap_or(self.shared.options.max_cell_bytes);
        if most > 0 && bytes > most {
            let text = format!(
                "row {}, column {}:{}: a cell of {bytes} bytes is over the limit of {most}; split the value or raise max_cell_bytes",
                to_string_binary(cell.row()),
                to_string_binary(cell.family()),
                to_string_binary(cell.qualifier())
            );
            return Err(Error::invalid(text));
        }
        Ok(())
    }

    /// Returns the markers of a delete. A delete of the whole row becomes a marker for each family.
    fn expand_delete<'a>(
        &self,
        snapshot: &RegionSnapshot,
        delete: &'a Delete,
    ) -> Result<Cow<'a, CellsBuilder>> {
        let cells = delete.mutation().cells();
        if !cells.is_empty() {
            self.check_cells(snapshot, cells)?;
            return Ok(Cow::Borrowed(cells));
        }
        if delete.timestamp < 0 {
            return Err(Error::invalid(format!(
                "row {}: timestamp {} is negative",
                to_string_binary(delete.row()),
                delete.timestamp
            )));
        }
        let mut all = CellsBuilder::default();
        for family in snapshot.families.iter() {
            all.push_parts(marker(
                delete.row(),
                &family.name,
                b"",
                delete.timestamp,
                CellType::DeleteFamily,
            ));
        }
        Ok(Cow::Owned(all))
    }

    /// Commits the accepted plain writes of a range atomically. If the region is no longer served,
    /// the error is the index of the first.
    fn commit_group(
        &self,
        todo: &BatchContext<'_>,
        ops: &mut [RowOp],
        range: Range<usize>,
        applied: &mut BatchResult,
    ) -> Result<(), usize> {
        let first = range.start;
        let results = &mut applied.results[range.clone()];
        let group = &mut ops[range];
        let locks = (!todo.holds_rows).then(|| {
            self.row_locks
                .shared(group.iter().zip(&*results).filter_map(accepted).map(|op| &op.row()[..]))
        });
        // With the rows locked: the timestamps of earlier operations are recorded by now.
        let now = self.commit_timestamp(|| group.iter().zip(&*results).filter_map(accepted));
        for mutation in group.iter_mut().zip(&*results).filter_map(accepted).filter_map(plain_mut) {
            mutation
                .cells_mut()
                .map_timestamps(|stamp| if stamp == LATEST_TIMESTAMP { now } else { stamp });
        }
        let mutations = || group.iter().zip(&*results).filter_map(accepted).filter_map(plain);
        let requests = mutations().count();
        if requests == 0 {
            return Ok(());
        }
        // The highest durability in the group applies to all of it, because it is one record of the
        // log.
        let level = mutations()
            .map(|mutation| self.sync_level(todo.snapshot, mutation.durability))
            .max()
            .flatten();
        self.record_stamps(
            group
                .iter()
                .filter(|op| matches!(op, RowOp::Delete(_)))
                .filter_map(plain)
                .map(Mutation::cells),
            now,
        );
        let result = self.commit(mutations().map(Mutation::cells), requests, level, None);
        drop(locks);
        match result {
            Ok(ticket) => applied.wait_for(ticket),
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => return Err(first),
            Err(error) => results
                .iter_mut()
                .filter(|result| result.is_ok())
                .for_each(|result| *result = Err(error.clone())),
        }
        Ok(())
    }

    /// Applies an operation that reads its row first. It locks the row exclusively and reads
    /// applied writes, durable or not. The log keeps the order, so when its own write is durable,
    /// the writes it read are too. Adds the bytes of the blocks that a condition scanned to
    /// `block_bytes`.
    fn read_modify_write(
        &self,
        op: &RowOp,
        tier: ReadTier,
        nonce: Option<Nonce>,
        block_bytes: &mut u64,
    ) -> Result<(OpResult, CommitTicket)> {
        self.check_whole(op)?;
        let _row = match tier {
            ReadTier::Disk => self.row_locks.exclusive(op.row()),
            // The holder of the row may be waiting for the disk.
            ReadTier::Memory => self
                .row_locks
                .try_exclusive(op.row())
                .ok_or_else(|| Error::new(ErrorKind::WouldBlock, "the row is held"))?,
        };
        if tier == ReadTier::Memory && self.must_wait_for_clock(|| std::iter::once(op)) {
            return Err(Error::new(
                ErrorKind::WouldBlock,
                "the clock has not come to what the row has",
            ));
        }
        self.modify_locked(op, tier, nonce, block_bytes)
    }

    fn modify_locked(
        &self,
        op: &RowOp,
        tier: ReadTier,
        nonce: Option<Nonce>,
        block_bytes: &mut u64,
    ) -> Result<(OpResult, CommitTicket)> {
        let now = self.commit_timestamp(|| std::iter::once(op));
        let mut checked = None;
        let op = match op {
            RowOp::CheckAndMutate(check) => {
                let ConditionResult { holds, newest, block_bytes_scanned: looked_through } =
                    self.check_locked(check, tier)?;
                *block_bytes += looked_through;
                if !holds {
                    return Ok((
                        OpResult { row: Row::default(), processed: false },
                        self.applied_ticket(),
                    ));
                }
                checked = newest;
                self.check_whole(&check.then)?;
                &check.then
            }
            op => op,
        };
        let mut pending = PendingWrite::new(now, checked, tier);
        self.collect_cells(op, &mut pending)?;
        pending.stamp()?;
        self.record_stamps(std::iter::once(&pending.cells), now);
        let row = sorted_row(&pending.result);
        let ticket = if pending.cells.is_empty() {
            self.applied_ticket()
        } else {
            self.commit(
                std::iter::once(&pending.cells),
                1,
                self.sync_level(&self.snapshot_ref(), pending.durability),
                nonce,
            )?
        };
        Ok((OpResult { row, processed: true }, ticket))
    }

    /// Performs all checks that do not need the row's lock.
    pub(super) fn check_whole(&self, op: &RowOp) -> Result<()> {
        let mutation = match op {
            RowOp::Put(op) => op.mutation(),
            RowOp::Delete(op) => op.mutation(),
            RowOp::Increment(op) => op.mutation(),
            RowOp::Append(op) => op.mutation(),
            RowOp::Mutate(op) => return self.check_row_mutations(op),
            RowOp::CheckAndMutate(op) => return self.check_condition(op),
        };
        let snapshot = self.snapshot_ref();
        self.check_mutation(&snapshot, mutation)?;
        if mutation.cells().is_empty() && !matches!(op, RowOp::Delete(_)) {
            return Err(Error::invalid(format!(
                "row {}: the operation names no column; add one",
                to_string_binary(mutation.row())
            )));
        }
        if !matches!(op, RowOp::Delete(_)) {
            self.check_row_taken(&snapshot, mutation.row())?;
        }
        self.check_cells(&snapshot, mutation.cells())
    }

    fn check_row_mutations(&self, op: &RowMutations) -> Result<()> {
        halite_types::op::check_row(op.row())?;
        self.check_writable(&self.snapshot_ref(), op.row())?;
        for part in &op.ops {
            same_row(op.row(), part.row())?;
            if matches!(part, RowOp::Mutate(_) | RowOp::CheckAndMutate(_)) {
                return Err(Error::invalid(format!(
                    "row {}: mutations of a row are puts, deletes, increments and appends; apply others by themselves",
                    to_string_binary(op.row())
                )));
            }
            self.check_whole(part)?;
        }
        Ok(())
    }

    fn check_condition(&self, op: &CheckAndMutate) -> Result<()> {
        halite_types::op::check_row(op.row())?;
        self.check_writable(&self.snapshot_ref(), op.row())?;
        same_row(op.row(), op.then.row())?;
        if matches!(*op.then, RowOp::CheckAndMutate(_)) {
            return Err(Error::invalid(format!(
                "row {}: a check-and-mutate cannot stand inside another one",
                to_string_binary(op.row())
            )));
        }
        self.check_condition_itself(&op.condition)?;
        match self.check_whole(&op.then) {
            // HBase looks up the families of the conditional mutation only when it applies it.
            Err(error) if error.kind() == ErrorKind::NoSuchFamily => Ok(()),
            checked => checked,
        }
    }

    pub(super) fn check_condition_itself(&self, condition: &Condition) -> Result<()> {
        match condition {
            Condition::Column { family, .. } => self.snapshot_ref().family_index(family).map(drop),
            Condition::Filter(_) => Ok(()),
        }
    }

    /// Evaluates the condition. The row is locked.
    pub(super) fn check_locked(
        &self,
        check: &CheckAndMutate,
        tier: ReadTier,
    ) -> Result<ConditionResult> {
        match &check.condition {
            Condition::Filter(filter) => {
                let get = Get::new(check.row().clone())
                    .time_range(check.time_range)
                    .filter(filter.clone());
                let (row, looked_through) = self.read_applied(&get, tier)?;
                let first = row.cells().first();
                Ok(ConditionResult {
                    holds: first.is_some(),
                    newest: first.map(|cell| cell.timestamp()),
                    block_bytes_scanned: looked_through,
                })
            }
            Condition::Column { family, qualifier, op, value } => {
                let get = Get::new(check.row().clone())
                    .column(family.clone(), qualifier.clone())
                    .time_range(check.time_range);
                let (row, looked_through) = self.read_applied(&get, tier)?;
                let stored = row.cells().first();
                let holds = condition_holds(stored.map(|cell| cell.value()), *op, value.as_deref());
                Ok(ConditionResult {
                    holds,
                    newest: stored.map(|cell| cell.timestamp()),
                    block_bytes_scanned: looked_through,
                })
            }
        }
    }

    /// Reads a row at the newest applied state. Returns it and the bytes of the scanned blocks. The
    /// row is locked.
    fn read_applied(&self, get: &Get, tier: ReadTier) -> Result<(Row, u64)> {
        let trace = ReadStats::default().into();
        let row = self.read_row(get, u64::MAX, tier, &trace)?;
        Ok((row, trace.data_block_bytes()))
    }

    /// Converts operations on one row to cells. The row is locked.
    pub(super) fn collect_cells(&self, op: &RowOp, pending: &mut PendingWrite) -> Result<()> {
        match op {
            RowOp::Put(put) => {
                pending.durability = pending.durability.max(put.mutation().durability);
                let put_at = pending
                    .condition_timestamp
                    .map_or(pending.now, |checked| checked.max(pending.now));
                let mut cells = put.mutation().cells().clone();
                cells
                    .map_timestamps(|stamp| if stamp == LATEST_TIMESTAMP { put_at } else { stamp });
                cells.iter().for_each(|cell| pending.cells.push(cell));
            }
            RowOp::Delete(delete) => {
                pending.durability = pending.durability.max(delete.mutation().durability);
                let cells = self.expand_delete(&self.snapshot_ref(), delete)?;
                self.stamp_newest(delete.row(), &cells, pending)?;
            }
            RowOp::Increment(increment) => {
                pending.durability = pending.durability.max(increment.mutation().durability);
                let current = self.current_values(
                    increment.row(),
                    increment.mutation().cells(),
                    increment.time_range,
                    pending.tier,
                )?;
                let current = Columns::from_row(&current);
                for delta in increment.mutation().cells() {
                    let old = current.find(delta);
                    let value = add(old, delta)?;
                    push_new_value(pending, delta, old, &value, increment.return_results)?;
                }
            }
            RowOp::Append(append) => {
                pending.durability = pending.durability.max(append.mutation().durability);
                let current = self.current_values(
                    append.row(),
                    append.mutation().cells(),
                    append.time_range,
                    pending.tier,
                )?;
                let current = Columns::from_row(&current);
                let snapshot = self.snapshot_ref();
                for more in append.mutation().cells() {
                    let old = current.find(more);
                    let value = [old.map_or(&[][..], |cell| cell.value()), more.value()].concat();
                    self.check_size(&snapshot, more, more.encoded_len() + value.len())?;
                    push_new_value(pending, more, old, &value, append.return_results)?;
                }
            }
            RowOp::Mutate(mutations) => {
                for op in &mutations.ops {
                    self.collect_cells(op, pending)?;
                }
            }
            RowOp::CheckAndMutate(_) => {
                unreachable!("refused by check_condition and check_row_mutations")
            }
        }
        Ok(())
    }

    fn current_values(
        &self,
        row: &Bytes,
        columns: &CellsBuilder,
        time_range: TimeRange,
        tier: ReadTier,
    ) -> Result<Row> {
        let get = columns.iter().fold(Get::new(row.clone()), |get, cell| {
            get.column(
                Bytes::copy_from_slice(cell.family()),
                Bytes::copy_from_slice(cell.qualifier()),
            )
        });
        self.read_applied(&get.time_range(time_range), tier).map(|(row, _)| row)
    }

    /// Adds markers; those for the newest version of a column get that version's timestamp. The
    /// n-th such marker of a column is for its n-th newest version. Without such a version the
    /// marker gets the current time, as in HBase.
    fn stamp_newest(
        &self,
        row: &Bytes,
        markers: &CellsBuilder,
        pending: &mut PendingWrite,
    ) -> Result<()> {
        let mut columns: HashMap<(&[u8], &[u8]), Versions> = HashMap::new();
        for marker in markers.iter().filter(|marker| is_newest_marker(*marker)) {
            columns.entry((marker.family(), marker.qualifier())).or_default().requested += 1;
        }
        for marker in markers {
            let Some(versions) = columns
                .get_mut(&(marker.family(), marker.qualifier()))
                .filter(|_| is_newest_marker(marker))
            else {
                pending.cells.push(marker);
                continue;
            };
            if versions.requested > 0 {
                let get = Get::new(row.clone())
                    .column(
                        Bytes::copy_from_slice(marker.family()),
                        Bytes::copy_from_slice(marker.qualifier()),
                    )
                    .versions(std::mem::take(&mut versions.requested));
                versions.oldest_first = self
                    .read_applied(&get, pending.tier)?
                    .0
                    .iter()
                    .map(|cell| cell.timestamp())
                    .collect();
                versions.oldest_first.reverse();
            }
            let timestamp = versions.oldest_first.pop().unwrap_or(pending.now);
            pending.cells.push_parts(self::marker(
                marker.row(),
                marker.family(),
                marker.qualifier(),
                timestamp,
                CellType::Delete,
            ));
        }
        Ok(())
    }
}

/// Newest versions of a column, for the markers that hide them.
#[derive(Default)]
struct Versions {
    /// Number of requested versions, until they have been read.
    requested: u32,
    /// Timestamps of versions without a marker so far.
    oldest_first: Vec<i64>,
}

/// Result of a condition.
pub(super) struct ConditionResult {
    pub(super) holds: bool,
    /// Timestamp of the cell that was compared.
    pub(super) newest: Option<i64>,
    /// Bytes of the scanned blocks.
    pub(super) block_bytes_scanned: u64,
}

fn check_operation_bytes(bytes: usize, most: usize) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the operation writes {bytes} bytes, over the limit of {most}; write the row in several operations"
    )))
}

/// Returns an operation unless it has been rejected.
fn accepted<T>((op, result): (T, &Result<OpResult>)) -> Option<T> {
    result.is_ok().then_some(op)
}

/// Returns `true` for an operation that [`Region::prepare`] leaves to
/// [`Region::read_modify_write`].
fn reads_first(op: &RowOp) -> bool {
    match op {
        RowOp::Put(_) => false,
        RowOp::Delete(delete) => deletes_newest(delete),
        RowOp::Increment(_) | RowOp::Append(_) | RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            true
        }
    }
}

/// Returns the mutation of an operation that [`Region::prepare`] accepted.
fn plain(op: &RowOp) -> Option<&Mutation> {
    match op {
        RowOp::Put(put) => Some(put.mutation()),
        RowOp::Delete(delete) => Some(delete.mutation()),
        RowOp::Increment(_) | RowOp::Append(_) | RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            None
        }
    }
}

fn plain_mut(op: &mut RowOp) -> Option<&mut Mutation> {
    match op {
        RowOp::Put(put) => Some(put.mutation_mut()),
        RowOp::Delete(delete) => Some(delete.mutation_mut()),
        RowOp::Increment(_) | RowOp::Append(_) | RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            None
        }
    }
}

fn is_newest_marker(cell: CellRef<'_>) -> bool {
    cell.type_code() == CellType::Delete.code() && cell.timestamp() == LATEST_TIMESTAMP
}

fn deletes_newest(delete: &Delete) -> bool {
    delete.mutation().cells().iter().any(is_newest_marker)
}

fn marker<'a>(
    row: &'a [u8],
    family: &'a [u8],
    qualifier: &'a [u8],
    timestamp: i64,
    cell_type: CellType,
) -> CellParts<'a> {
    CellParts { row, family, qualifier, timestamp, cell_type, value: b"", tags: b"" }
}

fn same_row(outer: &Bytes, inner: &Bytes) -> Result<()> {
    if outer == inner {
        return Ok(());
    }
    let text = format!(
        "the operation is for row {} and what it applies for row {}; name the same row in both",
        to_string_binary(outer),
        to_string_binary(inner)
    );
    Err(Error::invalid(text))
}

/// HBase's `checkAndMutate`: compares `given op stored`; no value and an empty value are
/// equivalent. A missing cell satisfies no comparison with a value, including `NotEqual`.
fn condition_holds(stored: Option<&[u8]>, op: CompareOp, given: Option<&[u8]>) -> bool {
    match (stored, given.unwrap_or_default()) {
        (None, given) => given.is_empty() && op != CompareOp::NotEqual,
        (Some(stored), b"") => stored.is_empty() == (op != CompareOp::NotEqual),
        (Some(stored), given) => op.accepts(given.cmp(stored)),
    }
}

/// Cells of a row, for repeated lookups.
struct Columns<'a>(Vec<CellRef<'a>>);

impl<'a> Columns<'a> {
    fn from_row(row: &'a Row) -> Self {
        Self(row.iter().collect())
    }

    /// Returns the newest cell of another cell's column.
    fn find(&self, wanted: CellRef<'_>) -> Option<CellRef<'a>> {
        let column = (wanted.family(), wanted.qualifier());
        // In the order of the row, where the newest version of a column is its first.
        let at = self.0.partition_point(|cell| (cell.family(), cell.qualifier()) < column);
        self.0.get(at).copied().filter(|cell| (cell.family(), cell.qualifier()) == column)
    }
}

fn add(old: Option<CellRef<'_>>, delta: CellRef<'_>) -> Result<[u8; 8]> {
    let number = |cell: CellRef<'_>| {
        <[u8; 8]>::try_from(cell.value()).map(i64::from_be_bytes).map_err(|_| {
            let text = format!(
                "row {}, column {}:{}: its value has {} bytes and is not an 8-byte counter; put an 8-byte big-endian number there first",
                to_string_binary(cell.row()),
                to_string_binary(cell.family()),
                to_string_binary(cell.qualifier()),
                cell.value().len()
            );
            Error::invalid(text)
        })
    };
    let old = old.map_or(Ok(0), number)?;
    Ok(old.wrapping_add(number(delta)?).to_be_bytes())
}

/// Adds the new value of a counter or appended column; tags are carried forward.
///
/// # Errors
/// `InvalidRequest` if the old value has the maximum timestamp, because no read would return the
/// new one. Also if the combined tags exceed the limit of a cell.
fn push_new_value(
    pending: &mut PendingWrite,
    change: CellRef<'_>,
    old: Option<CellRef<'_>>,
    value: &[u8],
    wanted: bool,
) -> Result<()> {
    let timestamp = match (change.timestamp(), old) {
        (_, Some(old)) => time_after(old, pending.now)?,
        (LATEST_TIMESTAMP, None) => pending.now,
        (timestamp, None) => timestamp,
    };
    let tags = carried_tags(change, old);
    if tags.len() > MAX_TAGS_BYTES {
        return Err(Error::invalid(format!(
            "row {}, column {}:{}: its tags and those of the value it replaces are {} bytes together, over the limit of {MAX_TAGS_BYTES}; \
             put the column anew with fewer tags first",
            to_string_binary(change.row()),
            to_string_binary(change.family()),
            to_string_binary(change.qualifier()),
            tags.len()
        )));
    }
    let parts = CellParts {
        row: change.row(),
        family: change.family(),
        qualifier: change.qualifier(),
        timestamp,
        cell_type: CellType::Put,
        value,
        tags: &tags,
    };
    // A request that refers to a large value many times is small itself.
    pending.check_bytes(CELL_HEADER + change.key().len() + value.len() + tags.len())?;
    pending.cells.push_parts(parts);
    if wanted {
        pending.result.push_parts(CellParts { tags: b"", ..parts });
    }
    Ok(())
}

/// Returns the timestamp of a value that is computed from an old one. It is that of the clock, or a
/// millisecond after the old one, so that both are versions (HBase: `HRegion.reckonDelta`). Values
/// that are computed faster than the clock advances eventually replace one another. This begins
/// when they are so far ahead that a put or delete would not wait for the clock.
fn time_after(old: CellRef<'_>, now: i64) -> Result<i64> {
    let is_ahead = old.timestamp() >= now.saturating_add(MAX_CLOCK_WAIT_MS);
    if is_ahead && old.timestamp() < now.saturating_add(MIN_EXPLICIT_TIMESTAMP_LEAD_MS) {
        return Ok(old.timestamp());
    }
    // The maximum timestamp represents the time of writing.
    old.timestamp().checked_add(1).filter(|next| *next < LATEST_TIMESTAMP).map(|next| next.max(now)).ok_or_else(|| {
        Error::invalid(format!(
            "row {}, column {}:{}: its newest value has timestamp {}, and there is none behind it for another; delete that version first",
            to_string_binary(old.row()),
            to_string_binary(old.family()),
            to_string_binary(old.qualifier()),
            old.timestamp()
        ))
    })
}

/// Returns the change's own tags, and those of the old value except for a time to live that the
/// change replaces.
fn carried_tags(change: CellRef<'_>, old: Option<CellRef<'_>>) -> Vec<u8> {
    let mut out = change.tags().to_vec();
    let replaces_ttl = change.ttl_ms().is_some();
    for (kind, data) in old.into_iter().flat_map(|old| tags(old.tags())) {
        if !(kind == TAG_TTL && replaces_ttl) {
            halite_types::cell::write_tag(&mut out, kind, data);
        }
    }
    out
}

/// Returns the cells as a row: in comparator order.
fn sorted_row(cells: &CellsBuilder) -> Row {
    let mut sorted: Vec<CellRef<'_>> = cells.iter().collect();
    sorted.sort_by(halite_types::cell::compare_cells);
    let mut out = CellsBuilder::default();
    sorted.into_iter().for_each(|cell| out.push(cell));
    let cells: Cells = out.finish();
    Row::new(cells)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use halite_types::{Append, FamilyDescriptor, Increment, Put, TableDescriptor};

    use super::*;
    use crate::env::Clock;
    use crate::env::os::OsClock;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Returns the region of a table with the family `f`.
    fn region() -> (Arc<Engine>, Arc<Region>) {
        let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
        let name: halite_types::TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
        let region = engine.table(&name).unwrap().region_for_row(b"").unwrap();
        (engine, region)
    }

    fn apply(region: &Region, op: impl Into<RowOp>) -> OpResult {
        let mut applied = region.apply(vec![op.into()]);
        applied.ticket.wait().unwrap();
        applied.results.remove(0).unwrap()
    }

    /// Its row is locked during this time, and with it one of a few hundred shards.
    #[test]
    fn what_reads_many_columns_first_takes_time_by_their_number_and_not_its_square() {
        const COLUMNS: usize = 30_000;
        let (_engine, region) = region();
        let qualifier = |at: usize| format!("{at:06}");
        let increment =
            (0..COLUMNS).rev().fold(Increment::new("r"), |op, at| op.add("f", qualifier(at), 1));
        apply(&region, increment.clone());
        let clock = OsClock::default();
        let values = apply(&region, increment).row;
        assert!(
            values.len() == COLUMNS
                && values.iter().all(|cell| cell.value() == 2_i64.to_be_bytes())
        );
        apply(
            &region,
            (0..COLUMNS).rev().fold(Delete::new("r"), |op, at| op.newest("f", qualifier(at))),
        );
        let taken = Duration::from_nanos(clock.monotonic_ns());
        let left = region
            .read_row(&Get::new("r"), u64::MAX, ReadTier::Disk, &ReadStats::default().into())
            .unwrap();
        assert!(
            left.len() == COLUMNS && left.iter().all(|cell| cell.value() == 1_i64.to_be_bytes())
        );
        assert!(taken < Duration::from_secs(20), "{taken:?}");
    }

    #[test]
    fn markers_of_one_column_are_for_one_version_after_the_other() {
        let (_engine, region) = region();
        for stamp in 1..=3 {
            apply(&region, Put::new("r").add_at("f", "q", stamp, "v").add_at("f", "p", stamp, "v"));
        }
        let mut pending = PendingWrite::new(100, None, ReadTier::Disk);
        let delete = Delete::new("r")
            .newest("f", "q")
            .newest("f", "p")
            .newest("f", "q")
            .newest("f", "none")
            .newest("f", "q");
        region.collect_cells(&delete.into(), &mut pending).unwrap();
        let found: Vec<_> = pending
            .cells
            .iter()
            .map(|cell| (cell.qualifier().to_vec(), cell.timestamp()))
            .collect();
        // The family keeps one version, so the second marker of a column finds nothing, and gets
        // the current time.
        let expected = [("q", 3), ("p", 3), ("q", 100), ("none", 100), ("q", 100)];
        assert_eq!(
            found,
            expected.map(|(qualifier, stamp)| (qualifier.as_bytes().to_vec(), stamp))
        );
    }

    /// A request of a few bytes for each can refer to a large value thousands of times, or to the
    /// tags of a small one.
    #[test]
    fn new_values_are_measured_before_they_are_put_together() {
        let (_engine, region) = region();
        let (mut tags, mut tagged) = (Vec::new(), CellsBuilder::default());
        halite_types::cell::write_tag(&mut tags, 200, &[7; 1000]);
        tagged.push_parts(CellParts {
            tags: &tags,
            value: &7_i64.to_be_bytes(),
            ..marker(b"r", b"f", b"n", 1, CellType::Put)
        });
        apply(&region, Put::from_cells("r", tagged, Durability::UseDefault));
        apply(&region, Put::new("r").add("f", "q", vec![7; 1000]));
        let many = 100;
        let append: RowOp = (0..many).fold(Append::new("r"), |op, _| op.add("f", "q", "+")).into();
        let increment: RowOp =
            (0..many).fold(Increment::new("r"), |op, _| op.add("f", "n", 1)).into();
        for op in [append, increment] {
            let mut pending =
                PendingWrite { max_bytes: 10_000, ..PendingWrite::new(100, None, ReadTier::Disk) };
            let refused = region.collect_cells(&op, &mut pending).unwrap_err();
            assert!(
                refused.kind() == ErrorKind::InvalidRequest
                    && refused.message().contains("over the limit of 10000"),
                "{refused}"
            );
            assert!(
                pending.cells.bytes().len() <= 10_000 && pending.result.bytes().len() <= 10_000
            );
        }
    }

    /// The holder of a row may be waiting for the disk.
    #[test]
    fn nonblocking_write_is_returned_while_row_is_locked() {
        let (_engine, region) = region();
        let ops = || ["a", "b"].map(|row| RowOp::from(Put::new(row).add("f", "q", "v"))).to_vec();
        let held = region.row_locks.exclusive(b"b");
        let Err(returned) = region.try_apply(ops()) else { panic!("it is written") };
        assert_eq!(returned.len(), 2);
        drop(held);
        let Ok(applied) = region.try_apply(returned) else { panic!("nobody holds its rows") };
        applied.ticket.wait().unwrap();
        assert!(applied.results.iter().all(Result::is_ok));
        // An operation that reads first waits for others, and is not begun.
        assert!(region.try_apply(vec![Delete::new("a").newest("f", "q").into()]).is_err());
    }

    #[test]
    fn a_condition_compares_the_given_value_with_the_stored_one() {
        let holds = |stored: Option<&str>, op, given: Option<&str>| {
            condition_holds(stored.map(str::as_bytes), op, given.map(str::as_bytes))
        };
        assert!(holds(Some("b"), CompareOp::Less, Some("a")));
        assert!(!holds(Some("a"), CompareOp::Less, Some("b")));
        assert!(holds(None, CompareOp::Equal, None) && holds(None, CompareOp::Equal, Some("")));
        assert!(
            !holds(None, CompareOp::NotEqual, Some("x")) && !holds(None, CompareOp::NotEqual, None)
        );
        assert!(
            holds(Some(""), CompareOp::Equal, None) && holds(Some("x"), CompareOp::NotEqual, None)
        );
    }
}
