//! Operations that read their row before they write it: increments, appends, conditional
//! mutations, and deletes of the newest version.

use bytes::Bytes;
use halite_types::{
    CellRef, CellsBuilder, Durability, Error, ErrorKind, Get, LATEST_TIMESTAMP, OpResult, ReadTier,
    Result, Row, RowOp, TimeRange,
};

use super::Region;
use super::condition::ConditionResult;
use super::markers::expand_delete;
use super::new_value::{Columns, add, push_contribution, push_new_value, sorted_row};
use super::prepared_write::{PreparedWrite, WriteOrigin, cells_of};
use super::write::MAX_COMMIT_BYTES;
use super::write_checks::{MAX_OPERATION_BYTES, check_operation_bytes};
use crate::commit::CommitTicket;
use crate::wal::Nonce;

/// State that a read-modify-write accumulates before it commits.
pub(super) struct PendingWrite {
    pub(super) cells: CellsBuilder,
    pub(super) durability: Durability,
    /// New values to return.
    pub(super) result: CellsBuilder,
    pub(super) now: i64,
    /// Timestamp of the cell of this row that a condition compared. It must not hide the resulting
    /// puts.
    pub(super) condition_timestamp: Option<i64>,
    /// Kind of its operations.
    pub(super) origin: WriteOrigin,
    /// Tier that its reads may use.
    pub(super) tier: ReadTier,
    /// Maximum bytes of cells that it may accumulate.
    pub(super) max_bytes: usize,
}

impl PendingWrite {
    pub(super) fn new(now: i64, condition_timestamp: Option<i64>, tier: ReadTier) -> Self {
        Self {
            cells: CellsBuilder::default(),
            durability: Durability::UseDefault,
            result: CellsBuilder::default(),
            now,
            condition_timestamp,
            origin: WriteOrigin::default(),
            tier,
            max_bytes: MAX_OPERATION_BYTES,
        }
    }

    /// Verifies that `more` further bytes fit.
    pub(super) fn check_bytes(&self, more: usize) -> Result<()> {
        check_operation_bytes(self.cells.bytes().len().saturating_add(more), self.max_bytes)
    }
}

impl Region {
    /// Applies an operation that reads its row first. It locks the row exclusively and reads
    /// applied writes, durable or not. The log keeps the order, so when its own write is durable,
    /// the writes it read are too. Adds the bytes of the blocks that a condition scanned to
    /// `block_bytes`.
    pub(super) fn read_modify_write(
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
        let Some(pending) = self.pending_of(op, now, tier, block_bytes)? else {
            return Ok((not_processed(), self.applied_ticket()));
        };
        let row = sorted_row(&pending.result);
        let ticket = self.commit_pending(pending, 1, nonce)?;
        Ok((OpResult { row, processed: true }, ticket))
    }

    /// Returns what an operation writes at the time `now`; `None` if its condition does not hold.
    /// The row is locked.
    fn pending_of(
        &self,
        op: &RowOp,
        now: i64,
        tier: ReadTier,
        block_bytes: &mut u64,
    ) -> Result<Option<PendingWrite>> {
        let mut checked = None;
        let origin = WriteOrigin::of(op);
        let op = match op {
            RowOp::CheckAndMutate(check) => {
                let ConditionResult { holds, newest, block_bytes_scanned: looked_through } =
                    self.check_locked(check, tier)?;
                *block_bytes += looked_through;
                if !holds {
                    return Ok(None);
                }
                checked = newest;
                self.check_whole(&check.then)?;
                &check.then
            }
            op => op,
        };
        let mut pending = PendingWrite { origin, ..PendingWrite::new(now, checked, tier) };
        self.collect_cells(op, &mut pending)?;
        Ok(Some(pending))
    }

    /// Applies operations of one kind that read first, each on another row, as one commit, and
    /// returns how many of them from the first one on. It reads only from memory, because it has
    /// all rows meanwhile, and stops before an operation that needs the disk.
    ///
    /// # Errors
    /// `NoSuchRegion`: nothing has been applied.
    pub(super) fn modify_group(
        &self,
        ops: &[RowOp],
        results: &mut [Result<OpResult>],
        block_bytes: &mut u64,
    ) -> Result<(usize, CommitTicket)> {
        let Some(origin) = ops.first().map(WriteOrigin::of) else {
            return Ok((0, CommitTicket::ready()));
        };
        let _rows = self.row_locks.exclusive_rows(ops.iter().map(|op| &op.row()[..]));
        let now = self.commit_timestamp(|| ops.iter());
        let mut pending = Vec::with_capacity(ops.len());
        let (mut done, mut bytes) = (ops.len(), 0);
        let mut is_one_unmet = false;
        for (at, (op, result)) in ops.iter().zip(&mut *results).enumerate() {
            let evaluated = self
                .check_whole(op)
                .and_then(|()| self.pending_of(op, now, ReadTier::Memory, block_bytes));
            match evaluated {
                Ok(Some(write)) => {
                    bytes += write.cells.bytes().len();
                    pending.push((at, write));
                    if bytes >= MAX_COMMIT_BYTES {
                        done = at + 1;
                        break;
                    }
                }
                Ok(None) => {
                    *result = Ok(not_processed());
                    is_one_unmet = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    done = at;
                    break;
                }
                Err(error) => *result = Err(error),
            }
        }
        let snapshot = self.snapshot_ref();
        let mut write = PreparedWrite::new(&snapshot, pending.len());
        for (at, pending) in &mut pending {
            let done = OpResult { row: sorted_row(&pending.result), processed: true };
            results[*at] = self.add_pending(&mut write, pending).map(|()| done);
        }
        write.origin = origin;
        match self.commit_added(&write) {
            // What a condition read may be logged in another way than what is written.
            Ok(ticket) if is_one_unmet => Ok((done, ticket.later(self.applied_ticket()))),
            Ok(ticket) => Ok((done, ticket)),
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => Err(error),
            Err(error) => {
                let written = results[..done].iter_mut();
                let written = written.filter(|result| matches!(result, Ok(one) if one.processed));
                written.for_each(|result| *result = Err(error.clone()));
                Ok((done, self.applied_ticket()))
            }
        }
    }

    /// Adds the cells that an operation has accumulated to a write. The row is locked.
    fn add_pending<'a>(
        &self,
        write: &mut PreparedWrite<'a>,
        pending: &'a mut PendingWrite,
    ) -> Result<()> {
        pending.check_bytes(0)?;
        if pending.cells.is_empty() {
            return Ok(());
        }
        let (now, level) = (pending.now, self.sync_level(write.snapshot(), pending.durability));
        let added = write.add(&mut pending.cells, now, level, |_| Ok(()))?;
        if added.max_timestamp >= now {
            self.record_stamps(cells_of(added.cells, 0), now);
        }
        Ok(())
    }

    /// Commits a write, if it has cells. The rows are locked.
    fn commit_added(&self, write: &PreparedWrite<'_>) -> Result<CommitTicket> {
        if write.bytes == 0 { Ok(self.applied_ticket()) } else { self.commit(write) }
    }

    /// Commits the cells that `requests` operations have accumulated. The rows are locked.
    pub(super) fn commit_pending(
        &self,
        mut pending: PendingWrite,
        requests: usize,
        nonce: Option<Nonce>,
    ) -> Result<CommitTicket> {
        let (snapshot, origin) = (self.snapshot_ref(), pending.origin);
        let mut write = PreparedWrite::new(&snapshot, 1);
        self.add_pending(&mut write, &mut pending)?;
        (write.requests, write.nonce, write.origin) = (requests, nonce, origin);
        self.commit_added(&write)
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
                let cells = expand_delete(&self.snapshot_ref(), delete)?;
                self.stamp_newest(delete.row(), &cells, pending)?;
            }
            RowOp::Increment(increment) => {
                pending.durability = pending.durability.max(increment.mutation().durability);
                let snapshot = self.snapshot_ref();
                let adds = |delta: CellRef<'_>| snapshot.merge_of(delta).is_some();
                if !increment.return_results && increment.mutation().cells().iter().all(adds) {
                    return add_contributions(increment.mutation().cells(), pending);
                }
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
                    if adds(delta) {
                        push_contribution(pending, delta, &value, increment.return_results)?;
                        continue;
                    }
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
}

/// Result of an operation whose condition does not hold.
fn not_processed() -> OpResult {
    OpResult { row: Row::default(), processed: false }
}

/// Adds increments of merged columns, whose values are not needed.
fn add_contributions(deltas: &CellsBuilder, pending: &mut PendingWrite) -> Result<()> {
    deltas.iter().try_for_each(|delta| {
        let value = add(None, delta)?;
        push_contribution(pending, delta, &value, false)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use halite_types::cell::CellParts;
    use halite_types::{Append, CellType, Delete, Increment, Put};

    use super::super::markers::marker;
    use super::super::write::tests::{apply, region};
    use super::*;
    use crate::env::Clock;
    use crate::env::os::OsClock;
    use crate::scan::ReadStats;

    /// Its row is locked during this time, and with it one of a few hundred shards.
    #[test]
    fn read_modify_write_takes_linear_time_in_columns() {
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
        assert!(taken < Duration::from_mins(1), "{taken:?}");
    }

    #[test]
    fn repeated_delete_markers_of_a_column_target_successive_versions() {
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
    fn oversized_results_are_rejected_before_allocation() {
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
}
