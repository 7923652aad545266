//! `Mutate`: one put, delete, increment or append, perhaps under a condition.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use halite_engine::{Applied, CommitTicket, Nonce, Region};
use halite_types::cell::LATEST_TIMESTAMP;
use halite_types::{CellType, Get, OpResult, Row, RowOp, Tier};
use halite_wire::convert;
use halite_wire::proto as pb;
use pb::mutation_proto::MutationType;

use super::get::{query_metrics, row_result};
use super::on_a_reader;
use super::region::{self, Target};
use crate::call::{Call, Fault, Peer, Reply};
use crate::context::Context;
use crate::dispatch::{INLINE_UNFOLDED_BYTES_MAX, Lane, Outcome, Step};
use crate::nonces::{Attempt, FirstTime, nonce_of};
use crate::operations::Operations;
use crate::quota::{Charge, Demand};

/// A mutation that is understood.
struct Work {
    region: Arc<Region>,
    op: RowOp,
    wanted: Wanted,
    nonce: Option<Nonce>,
    charge: Option<Charge>,
}

/// What decides how a mutation is answered.
#[derive(Clone, Copy)]
struct Wanted {
    kind: MutationType,
    is_conditional: bool,
    /// The client wants to know how many bytes of blocks the condition looked through.
    metrics: bool,
}

/// Answers a `Mutate`.
pub(super) fn mutate(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Result<Step, Fault> {
    let request: pb::MutateRequest = call.message()?;
    let _ = call.operations.set(Operations::of_mutation(request.mutation.mutate_type(), request.condition.is_some()));
    let target = region::find(context, &call.peer, &request.region)?;
    let unfolds_to_much = convert::mutate::inside_bytes(&request.mutation) > INLINE_UNFOLDED_BYTES_MAX;
    if lane == Lane::Inline && (unfolds_to_much || matches!(target, Target::Meta)) {
        return Ok(on_a_reader(context, call, mutate));
    }
    let Some(mut cells) = super::cells(call, lane)? else {
        return Ok(on_a_reader(context, call, mutate));
    };
    let charge = region::charge(context, &call.peer, &target, demand(request.mutation.mutate_type(), request.condition.is_some()))?;
    let region = region::to_write(context, &call.peer, &target)?;
    let op = convert::mutate::from_proto(&request.mutation, &mut cells)?;
    let nonce = nonce_of(request.nonce_group(), request.mutation.nonce());
    let op = match &request.condition {
        Some(condition) => convert::condition::from_proto(condition, op)?.into(),
        None => op,
    };
    let work = Work {
        wanted: Wanted {
            kind: request.mutation.mutate_type(),
            is_conditional: request.condition.is_some(),
            metrics: request.condition.as_ref().is_some_and(pb::Condition::query_metrics_enabled),
        },
        nonce: nonce.filter(|_| heeds_nonce(&op)),
        op,
        region,
        charge,
    };
    context.quota.check_space(&work.region, &work.op)?;
    if lane != Lane::Inline {
        return Ok(work.apply(context, &call.peer));
    }
    // If it cannot be done at once, it waits with its operation.
    call.unfolded.store(op_bytes(&work.op), Relaxed);
    Ok(if reads_first(&work.op) { work.apply_from_memory(context, call) } else { work.apply_plain(context, call) })
}

/// What a mutation is about to do: what reads first is one read and one write, which are one (HBase:
/// `QuotaUtil.getQuotaOperationType`).
fn demand(kind: MutationType, is_conditional: bool) -> Demand {
    let is_atomic = is_conditional || matches!(kind, MutationType::Increment | MutationType::Append);
    Demand::Batch { writes: 1, reads: usize::from(is_atomic), is_atomic }
}

/// Bytes of the cells of an operation.
pub(super) fn op_bytes(op: &RowOp) -> usize {
    match op {
        RowOp::Mutate(ops) => ops.ops.iter().map(op_bytes).sum(),
        RowOp::CheckAndMutate(check) => op_bytes(&check.then),
        op => op.mutation().map_or(0, |mutation| mutation.cells().bytes().len()),
    }
}

/// Tells the limits what is written.
pub(super) fn note_written(charge: Option<&Charge>, op: &RowOp) {
    if let Some(charge) = charge {
        charge.wrote(op_bytes(op));
    }
}

/// Whether an operation counts once under its nonce. Puts and deletes are applied whenever they come, as in HBase: some clients send
/// one number with everything.
pub(super) fn heeds_nonce(op: &RowOp) -> bool {
    match op {
        RowOp::Mutate(all) => all.ops.iter().any(heeds_nonce),
        op => !region::is_plain(op),
    }
}

/// Whether applying an operation may have to wait for the disk.
pub(super) fn reads_first(op: &RowOp) -> bool {
    match op {
        RowOp::Put(_) => false,
        RowOp::Delete(delete) => {
            let is_newest = |cell: halite_types::CellRef<'_>| cell.type_code() == CellType::Delete.code() && cell.timestamp() == LATEST_TIMESTAMP;
            delete.mutation().cells().iter().any(is_newest)
        }
        _ => true,
    }
}

impl Work {
    /// Applies an operation that reads first, if what it reads is in memory, nobody else is at it and it can begin at once;
    /// goes on elsewhere if not.
    fn apply_from_memory(self, context: &Arc<Context>, call: &Arc<Call>) -> Step {
        if let Some(applied) = try_apply_once(context, &call.peer, &self.region, &self.op, self.nonce) {
            note_written(self.charge.as_ref(), &self.op);
            note_read(self.charge.as_ref(), &applied);
            return answer(&call.peer, self.wanted, applied);
        }
        self.apply_later(context, call)
    }

    /// Applies a put or delete that reads nothing, unless somebody has its row for himself: that may be for a read from the disk.
    fn apply_plain(self, context: &Arc<Context>, call: &Arc<Call>) -> Step {
        let bytes = op_bytes(&self.op);
        let Self { region, op, wanted, nonce, charge } = self;
        match region.try_apply(vec![op]) {
            Ok(applied) => {
                charge.iter().for_each(|charge| charge.wrote(bytes));
                answer(&call.peer, wanted, applied_one(&call.peer, &region, true, applied))
            }
            Err(mut ops) => match ops.pop() {
                Some(op) => Self { region, op, wanted, nonce, charge }.apply_later(context, call),
                None => Fault::do_not_retry("an operation was lost").into(),
            },
        }
    }

    fn apply_later(self, context: &Arc<Context>, call: &Arc<Call>) -> Step {
        let (context, call) = (Arc::clone(context), Arc::clone(call));
        Step::Later(Box::new(move || self.apply(&context, &call.peer)))
    }

    fn apply(self, context: &Context, peer: &Peer) -> Step {
        let Self { region, op, wanted, nonce, charge } = self;
        note_written(charge.as_ref(), &op);
        let applied = apply_once(context, peer, &region, op, nonce);
        note_read(charge.as_ref(), &applied);
        answer(peer, wanted, applied)
    }
}

/// Tells the limits what a condition looked through and what is returned.
fn note_read(charge: Option<&Charge>, applied: &Result<AppliedOne, Fault>) {
    if let (Some(charge), Ok(applied)) = (charge, applied) {
        charge.read(applied.block_bytes, applied.result.row.cells().bytes().len());
    }
}

/// What a client is told of its operation, once it is durable.
fn answer(peer: &Peer, wanted: Wanted, applied: Result<AppliedOne, Fault>) -> Step {
    let applied = match applied {
        Ok(applied) => applied,
        Err(fault) => return fault.into(),
    };
    let has_result = matches!(wanted.kind, MutationType::Increment | MutationType::Append) && applied.result.processed;
    let mut cells = Vec::new();
    let result = has_result.then(|| row_result(&applied.result.row, peer.format.is_some().then_some(&mut cells)));
    let processed = (wanted.is_conditional || !has_result).then_some(applied.result.processed);
    let metrics = wanted.metrics.then(|| query_metrics(applied.block_bytes));
    let response = pb::MutateResponse { result, processed, metrics };
    let reply = if peer.format.is_some() { Reply::with_cells(response, cells) } else { Reply::new(response) };
    Step::Done(Outcome::After(applied.ticket, reply))
}

/// What came of one operation, for the time when its ticket is fulfilled.
pub(super) struct AppliedOne {
    pub(super) result: OpResult,
    pub(super) ticket: CommitTicket,
    /// Bytes of the blocks that its condition looked through.
    pub(super) block_bytes: u64,
}

/// Applies an operation, unless it has been applied before under this nonce: then its client is told what is in the columns now,
/// as HBase does.
pub(super) fn apply_once(context: &Context, peer: &Peer, region: &Region, op: RowOp, nonce: Option<Nonce>) -> Result<AppliedOne, Fault> {
    let first = match context.nonces.begin(nonce) {
        Attempt::First(first) => first,
        Attempt::Again => return current(peer, region, &op),
    };
    let is_plain = region::is_plain(&op);
    outcome(peer, region, is_plain, first, region.apply_once(op, nonce))
}

/// The same where nobody may wait; `None` if it would have to, and nothing has been done.
pub(super) fn try_apply_once(context: &Context, peer: &Peer, region: &Region, op: &RowOp, nonce: Option<Nonce>) -> Option<Result<AppliedOne, Fault>> {
    if region::is_op_slow_to_begin(op) {
        return None;
    }
    let Some(Attempt::First(first)) = context.nonces.try_begin(nonce) else { return None };
    let applied = region.apply_from_memory(op, nonce)?;
    Some(outcome(peer, region, region::is_plain(op), first, applied))
}

/// What came of an operation that was begun under its nonce.
fn outcome(peer: &Peer, region: &Region, is_plain: bool, first: FirstTime<'_>, applied: Applied) -> Result<AppliedOne, Fault> {
    let applied = applied_one(peer, region, is_plain, applied);
    // Where the condition did not hold nothing was done, and a repetition looks again.
    if applied.as_ref().is_ok_and(|applied| applied.result.processed) {
        first.applied();
    }
    applied
}

/// What came of one operation.
fn applied_one(peer: &Peer, region: &Region, is_plain: bool, mut applied: Applied) -> Result<AppliedOne, Fault> {
    if !applied.returned.is_empty() {
        return Err(region::not_serving(peer, &region.info().full_name()));
    }
    match applied.results.pop() {
        Some(Ok(result)) => Ok(AppliedOne { result, ticket: applied.ticket, block_bytes: applied.condition_block_bytes }),
        Some(Err(error)) => Err(region::write_fault(peer, region, is_plain, &error)),
        None => Err(Fault::do_not_retry("an operation had no result")),
    }
}

/// What an operation that was applied before has left in its columns.
fn current(peer: &Peer, region: &Region, op: &RowOp) -> Result<AppliedOne, Fault> {
    let ticket = region.applied_ticket();
    // Rare enough to wait here: the read sees only what is durable.
    ticket.wait()?;
    let get = answering_columns(Get::new(op.row().clone()), op);
    // A get of no columns would be one of the whole row.
    let row = if get.selection.columns.is_empty() { Ok(Row::default()) } else { region.get(&get, Tier::Disk, &Arc::default()) };
    let row = row.map_err(|error| region::read_fault(peer, region, &error))?;
    Ok(AppliedOne { result: OpResult { row, processed: true }, ticket, block_bytes: 0 })
}

/// Adds the columns whose new values an operation answers.
fn answering_columns(get: Get, op: &RowOp) -> Get {
    let cells = match op {
        RowOp::Increment(op) => op.mutation().cells(),
        RowOp::Append(op) => op.mutation().cells(),
        RowOp::CheckAndMutate(check) => return answering_columns(get, &check.then),
        RowOp::Mutate(all) => return all.ops.iter().fold(get, answering_columns),
        RowOp::Put(_) | RowOp::Delete(_) => return get,
    };
    let copy = bytes::Bytes::copy_from_slice;
    cells.iter().fold(get, |get, cell| get.column(copy(cell.family()), copy(cell.qualifier())))
}
