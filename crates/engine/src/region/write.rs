//! Batches of operations: neighbouring puts and deletes are one commit, and so are neighbouring
//! operations that read their rows first, where memory has what they read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::Range;

use halite_types::key::to_string_binary;
use halite_types::op::Mutation;
use halite_types::{
    CellRef, CellType, Error, ErrorKind, LATEST_TIMESTAMP, OpResult, ReadTier, Result, Row, RowOp,
};

use super::Region;
use super::markers::expand_delete;
use super::merged_checks::check_merged_cell;
use super::prepared_write::{PreparedWrite, WriteOrigin, cells_of};
use super::recent_stamps::GroupDeletes;
use super::snapshot::RegionSnapshot;
use super::write_checks::{MAX_OPERATION_BYTES, check_operation_bytes};
use crate::commit::CommitTicket;
use crate::wal::Nonce;

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
    /// Returns results that wait for nothing.
    pub(crate) fn ready(results: Vec<Result<OpResult>>) -> Self {
        Self {
            results,
            ticket: CommitTicket::ready(),
            unrouted: Vec::new(),
            condition_block_bytes_scanned: 0,
        }
    }

    pub(crate) fn wait_for(&mut self, ticket: CommitTicket) {
        self.ticket = std::mem::replace(&mut self.ticket, CommitTicket::ready()).later(ticket);
    }
}

/// Maximum bytes of cells per commit; a larger batch is split between operations.
pub(super) const MAX_COMMIT_BYTES: usize = 16 << 20;

/// Maximum operations that read first in one commit. Their rows, and others of the same locks, are
/// locked meanwhile.
const MAX_MODIFIED_TOGETHER: usize = 64;

/// Waits that an operation may perform.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// Until a flush has freed memory.
    ForMemory,
    /// Until other operations have released its rows.
    ForRows,
}

/// Context in which the operations of a batch are applied.
struct BatchContext<'a> {
    snapshot: &'a RegionSnapshot,
    nonce: Option<Nonce>,
    /// `true` if the rows of all operations are locked already.
    holds_rows: bool,
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

    /// As [`Region::apply`] for puts and deletes that read nothing first, without waiting for
    /// memory or for another read-modify-write. While one of their rows is locked, which may be for
    /// a read from the disk, the operations are returned unchanged. Operations that read first, and
    /// those that have to wait for the clock, are also returned.
    ///
    /// # Errors
    /// The operations; nothing has been done.
    pub fn try_apply(&self, ops: Vec<RowOp>) -> std::result::Result<BatchResult, Vec<RowOp>> {
        if ops.iter().any(RowOp::reads_first) || self.shared.try_admit(self).is_err() {
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
        let todo = BatchContext { snapshot: &self.snapshot_ref(), nonce: None, holds_rows: true };
        Ok(self.apply_admitted(&todo, ops))
    }

    fn apply_under(&self, ops: Vec<RowOp>, nonce: Option<Nonce>, waits: Waits) -> BatchResult {
        // The checks against it are repeated under the commit lock where it matters.
        let snapshot = self.snapshot_ref();
        let admitted = match waits {
            Waits::ForMemory => self.shared.admit(self, &snapshot),
            Waits::ForRows => self.shared.try_admit(self),
        };
        if let Err(error) = admitted {
            return BatchResult::ready(ops.iter().map(|_| Err(error.clone())).collect());
        }
        let todo = BatchContext { snapshot: &snapshot, nonce, holds_rows: false };
        self.apply_admitted(&todo, ops)
    }

    fn apply_admitted(&self, todo: &BatchContext<'_>, mut ops: Vec<RowOp>) -> BatchResult {
        let done = OpResult { row: Row::default(), processed: true };
        let mut applied = BatchResult::ready(ops.iter().map(|_| Ok(done.clone())).collect());
        if let Err(first) = self.apply_all(todo, &mut ops, &mut applied) {
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
            ticket,
            condition_block_bytes_scanned: condition_block_bytes,
            ..BatchResult::ready(vec![result])
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
        let mut at = 0;
        while at < ops.len() {
            match self.check_plain(todo.snapshot, &mut ops[at]) {
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
                    let count = modified_together(&ops[at..]);
                    at += self.modify(todo, &ops[at..at + count], at, applied)?;
                    (first, bytes) = (at, 0);
                    continue;
                }
            }
            at += 1;
        }
        self.commit_group(todo, ops, first..ops.len(), applied)
    }

    /// Applies the first ones of operations that [`modified_together`] counted, up to one that needs
    /// the disk, and returns how many: at least one. `first` is the index of the first one in the
    /// batch; the error is that of the first one that was not applied, if the region is no longer
    /// served.
    fn modify(
        &self,
        todo: &BatchContext<'_>,
        ops: &[RowOp],
        first: usize,
        applied: &mut BatchResult,
    ) -> Result<usize, usize> {
        let mut done = 0;
        if ops.len() > 1 && todo.nonce.is_none() {
            let results = &mut applied.results[first..first + ops.len()];
            let block_bytes = &mut applied.condition_block_bytes_scanned;
            let (count, ticket) =
                self.modify_group(ops, results, block_bytes).map_err(|_| first)?;
            done = count;
            if done > 0 {
                applied.wait_for(ticket);
            }
        }
        let Some(next) = ops.get(done) else { return Ok(done) };
        let block_bytes = &mut applied.condition_block_bytes_scanned;
        match self.read_modify_write(next, ReadTier::Disk, todo.nonce, block_bytes) {
            Ok((result, ticket)) => {
                applied.wait_for(ticket);
                applied.results[first + done] = Ok(result);
            }
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => return Err(first + done),
            Err(error) => applied.results[first + done] = Err(error),
        }
        Ok(done + 1)
    }

    /// Checks an operation that can be applied without reading first, except for its single cells.
    /// Completes its cells and returns their bytes; `None` for an operation that has to read.
    fn check_plain(&self, snapshot: &RegionSnapshot, op: &mut RowOp) -> Result<Option<usize>> {
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
                mutation
            }
            RowOp::Delete(delete) if !delete.has_newest() => {
                self.check_mutation(snapshot, delete.mutation())?;
                if let Cow::Owned(markers) = expand_delete(snapshot, delete)? {
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
        let bytes = mutation.cells().bytes().len();
        check_operation_bytes(bytes, MAX_OPERATION_BYTES)?;
        Ok(Some(bytes))
    }

    /// Checks and stamps the cells of the accepted plain writes of a range, and commits them
    /// atomically. If the region is no longer served,
    /// the error is the index of the first.
    fn commit_group(
        &self,
        todo: &BatchContext<'_>,
        ops: &mut [RowOp],
        range: Range<usize>,
        applied: &mut BatchResult,
    ) -> Result<(), usize> {
        debug_assert_eq!(ops.len(), applied.results.len(), "each operation has a result");
        let first = range.start;
        let results = &mut applied.results[range.clone()];
        let group = &mut ops[range];
        let locks = (!todo.holds_rows).then(|| {
            self.row_locks
                .shared(group.iter().zip(&*results).filter_map(accepted).map(|op| &op.row()[..]))
        });
        // With the rows locked: the timestamps of earlier operations are recorded by now.
        let now = self.commit_timestamp(|| group.iter().zip(&*results).filter_map(accepted));
        let mut write = PreparedWrite::new(todo.snapshot, group.len());
        let mut recent_deletes = Vec::new();
        for (op, result) in group.iter_mut().zip(&mut *results).filter(|(_, result)| result.is_ok())
        {
            let is_delete = matches!(op, RowOp::Delete(_));
            let Some(mutation) = plain_mut(op) else { continue };
            let level = self.sync_level(todo.snapshot, mutation.durability);
            // The marker of a family is not the caller's: a delete of a whole row has one for each.
            let check = |cell: CellRef<'_>| {
                check_merged_cell(todo.snapshot, cell)?;
                if cell.type_code() == CellType::DeleteFamily.code() {
                    return Ok(());
                }
                self.check_size(todo.snapshot, cell, cell.encoded_len())
            };
            match write.add(mutation.cells_mut(), now, level, check) {
                Ok(added) if is_delete && added.max_timestamp >= now => {
                    recent_deletes.push(added.cells);
                }
                Ok(_) => {}
                Err(error) => *result = Err(error),
            }
        }
        if write.requests == 0 {
            return Ok(());
        }
        self.record_stamps(recent_deletes.into_iter().flat_map(|cells| cells_of(cells, 0)), now);
        let result = self.commit(&write);
        drop(locks);
        match result {
            Ok(ticket) => applied.wait_for(ticket),
            Err(error) if error.kind() == ErrorKind::NoSuchRegion => {
                group.iter_mut().filter_map(plain_mut).for_each(|mutation| {
                    unstamp_merged(todo.snapshot, mutation);
                });
                return Err(first);
            }
            Err(error) => results
                .iter_mut()
                .filter(|result| result.is_ok())
                .for_each(|result| *result = Err(error.clone())),
        }
        Ok(())
    }
}

/// Returns how many operations from the first one on may be one commit: those of one kind that read
/// first, each on another row, because none of them sees what the others write.
fn modified_together(ops: &[RowOp]) -> usize {
    let [first, _, ..] = ops else { return ops.len() };
    let kind = WriteOrigin::of(first);
    let mut rows = HashSet::with_capacity(ops.len().min(MAX_MODIFIED_TOGETHER));
    ops.iter()
        .take(MAX_MODIFIED_TOGETHER)
        .take_while(|op| {
            op.reads_first() && WriteOrigin::of(op) == kind && rows.insert(&op.row()[..])
        })
        .count()
}

/// Takes the timestamps of merged columns back, which the successor of the region assigns again.
fn unstamp_merged(snapshot: &RegionSnapshot, mutation: &mut Mutation) {
    if !snapshot.settings.merges {
        return;
    }
    let unstamped = mutation.cells_mut().try_map_timestamps(|cell, _| {
        let merged = snapshot.merge_of(cell).map(|_| LATEST_TIMESTAMP);
        Ok::<i64, Infallible>(merged.unwrap_or(cell.timestamp()))
    });
    let Ok(()) = unstamped;
}

/// Returns an operation unless it has been rejected.
fn accepted<T>((op, result): (T, &Result<OpResult>)) -> Option<T> {
    result.is_ok().then_some(op)
}

/// Returns the mutation of an operation that [`Region::check_plain`] accepted.
fn plain_mut(op: &mut RowOp) -> Option<&mut Mutation> {
    match op {
        RowOp::Put(put) => Some(put.mutation_mut()),
        RowOp::Delete(delete) => Some(delete.mutation_mut()),
        RowOp::Increment(_) | RowOp::Append(_) | RowOp::Mutate(_) | RowOp::CheckAndMutate(_) => {
            None
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use halite_types::{CheckAndMutate, Delete, FamilyDescriptor, Increment, Put, TableDescriptor};

    use super::*;
    use crate::env::sim::SimEnv;
    use crate::{Engine, Options};

    /// Returns the region of a table with the family `f`.
    pub(in crate::region) fn region() -> (Arc<Engine>, Arc<Region>) {
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

    pub(in crate::region) fn apply(region: &Region, op: impl Into<RowOp>) -> OpResult {
        let mut applied = region.apply(vec![op.into()]);
        applied.ticket.wait().unwrap();
        applied.results.remove(0).unwrap()
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
        let Ok(applied) = region.try_apply(returned) else { panic!("its rows are not locked") };
        applied.ticket.wait().unwrap();
        assert!(applied.results.iter().all(Result::is_ok));
        // An operation that reads first waits for others, and is not begun.
        assert!(region.try_apply(vec![Delete::new("a").newest("f", "q").into()]).is_err());
    }

    fn new_row(row: &'static str, family: &'static str) -> RowOp {
        let put = Put::new(row).add(family, "q", "v");
        CheckAndMutate::if_not_exists(row, "f", "q", put).into()
    }

    #[test]
    fn conditional_operations_on_other_rows_are_one_commit() {
        let (_engine, region) = region();
        apply(&region, Put::new("b").add("f", "q", "v"));
        let ops = [new_row("a", "f"), new_row("b", "f"), new_row("c", "none"), new_row("d", "f")];
        assert_eq!(modified_together(&ops), 4);
        let mut results = vec![Ok(OpResult { row: Row::default(), processed: true }); 4];
        let requests = || region.counters.add_writes(0, 0);
        let before = requests();
        let (count, ticket) = region.modify_group(&ops, &mut results, &mut 0).unwrap();
        ticket.wait().unwrap();
        assert_eq!(count, 4);
        let processed: Vec<Option<bool>> =
            results.iter().map(|one| one.as_ref().ok().map(|one| one.processed)).collect();
        assert_eq!(processed, [Some(true), Some(false), None, Some(true)]);
        assert_eq!(results[2].as_ref().unwrap_err().kind(), ErrorKind::NoSuchFamily);
        assert_eq!(requests() - before, 2);
    }

    #[test]
    fn operations_see_those_before_them_on_their_row() {
        let (_engine, region) = region();
        let ops = vec![
            new_row("a", "f"),
            new_row("b", "f"),
            new_row("a", "f"),
            Increment::new("b").add("f", "n", 1).into(),
            Increment::new("a").add("f", "n", 1).into(),
            Increment::new("b").add("f", "n", 1).into(),
        ];
        assert_eq!(
            [modified_together(&ops), modified_together(&ops[2..]), modified_together(&ops[3..])],
            [2, 1, 2]
        );
        let applied = region.apply(ops);
        applied.ticket.wait().unwrap();
        let results: Vec<OpResult> = applied.results.into_iter().collect::<Result<_>>().unwrap();
        assert_eq!(
            results[..3].iter().map(|one| one.processed).collect::<Vec<_>>(),
            [true, true, false]
        );
        let counts: Vec<Option<&[u8]>> =
            results[3..].iter().map(|one| one.row.value(b"f", b"n")).collect();
        assert_eq!(
            counts,
            [1_i64, 1, 2].map(i64::to_be_bytes).each_ref().map(|one| Some(&one[..]))
        );
    }

    #[test]
    fn group_ends_before_row_that_is_not_in_memory() {
        let env = SimEnv::new(1);
        let open = |cache| {
            let options = Options { block_cache_bytes: cache, ..Options::default() };
            Engine::open(env.env(), options).unwrap()
        };
        let name: halite_types::TableName = "t".parse().unwrap();
        let engine = open(1 << 20);
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        engine.create_table(table, Vec::new()).unwrap();
        let region = engine.table(&name).unwrap().region_for_row(b"").unwrap();
        apply(&region, Put::new("c").add("f", "q", "v"));
        engine.flush(&name).unwrap();
        drop((region, engine));
        let engine = open(1 << 20);
        let region = engine.table(&name).unwrap().region_for_row(b"").unwrap();
        let ops = ["a", "c", "d"].map(|row| new_row(row, "f"));
        let mut results = vec![Ok(OpResult { row: Row::default(), processed: true }); 3];
        let (count, ticket) = region.modify_group(&ops, &mut results, &mut 0).unwrap();
        ticket.wait().unwrap();
        assert!(count <= 1, "the block of row c is not cached");
        let applied = region.apply(ops.to_vec());
        applied.ticket.wait().unwrap();
        let processed = applied.results.iter().map(|one| one.as_ref().unwrap().processed);
        assert_eq!(processed.collect::<Vec<_>>(), [count == 0, false, true]);
    }
}
