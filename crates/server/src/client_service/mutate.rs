//! `Mutate`: one put, delete, increment or append, with an optional condition.

use std::sync::Arc;

use halite_engine::{BatchResult, CommitTicket, Nonce, Region};
use halite_types::{Cells, Get, OpResult, ReadTier, Row, RowOp};
use halite_wire::convert;
use halite_wire::proto as pb;
use pb::mutation_proto::MutationType;

use super::decode;
use super::get::{query_metrics, row_result};
use super::region::{self, RequestTarget};
use crate::base::call::{Call, CallError, Peer, Reply};
use crate::base::call_step::{CallOutcome, CallStep, Executor};
use crate::base::context::Context;
use crate::base::inline;
use crate::base::nonces::{NonceGuard, NonceState, to_nonce};
use crate::base::operations::Operations;
use crate::base::quota::{EstimatedUsage, OperationQuota};

/// Decoded request and its target.
struct DecodedMutation {
    request: pb::MutateRequest,
    cells: Cells,
    target: RequestTarget,
}

/// Checked mutation.
struct PendingMutation {
    region: Arc<Region>,
    op: RowOp,
    reply_options: ReplyOptions,
    nonce: Option<Nonce>,
    quota: Option<OperationQuota>,
    /// Bytes of the decoded operation, including the filter of its condition.
    decoded_bytes: usize,
}

/// Request options that determine the reply to a mutation.
#[derive(Clone, Copy)]
struct ReplyOptions {
    kind: MutationType,
    is_conditional: bool,
    /// `true` if the client requests the bytes of the blocks that the condition scanned.
    metrics: bool,
}

/// Answers a `Mutate`.
pub(super) fn mutate(
    context: &Arc<Context>,
    call: &Arc<Call>,
    executor: Executor,
) -> Result<CallStep, CallError> {
    let Some((request, cells)) = decode::message_and_cells::<pb::MutateRequest>(call, executor)?
    else {
        return Ok(decode::defer_undecoded(context, call, mutate));
    };
    let _ = call.operations.set(Operations::from_mutation(
        request.mutation.mutate_type(),
        request.condition.is_some(),
    ));
    let target = region::find(context, &call.peer, &request.region)?;
    let request = DecodedMutation { request, cells, target };
    let inside = convert::mutate::inside_bytes(&request.request.mutation);
    let begins_at_once =
        inline::allows_inside(inside) && !matches!(request.target, RequestTarget::Meta);
    if executor == Executor::Inline && !begins_at_once {
        let bytes = decode::decompressed_bytes(call, &request.cells);
        let (context, waiting) = (Arc::clone(context), Arc::clone(call));
        return Ok(decode::defer_decoded(call, bytes, move || {
            request.begin(&context, &waiting, Executor::Handler)
        }));
    }
    request.begin(context, call, executor)
}

impl DecodedMutation {
    /// Checks the mutation and applies it, or the part of it that the executor allows.
    fn begin(
        self,
        context: &Arc<Context>,
        call: &Arc<Call>,
        executor: Executor,
    ) -> Result<CallStep, CallError> {
        let Self { request, mut cells, target } = self;
        let quota = region::check_quota(
            context,
            &call.peer,
            &target,
            estimate_usage(request.mutation.mutate_type(), request.condition.is_some()),
        )?;
        let region = region::to_write(context, &call.peer, &target)?;
        let op = convert::mutate::from_proto(&request.mutation, &mut cells)?;
        let nonce = to_nonce(request.nonce_group(), request.mutation.nonce());
        let op = match &request.condition {
            Some(condition) => convert::condition::from_proto(condition, op)?.into(),
            None => op,
        };
        let filter = request.condition.as_ref().and_then(|condition| condition.filter.as_ref());
        let work = PendingMutation {
            decoded_bytes: op_bytes(&op).saturating_add(inline::filter_bytes(filter)),
            reply_options: ReplyOptions {
                kind: request.mutation.mutate_type(),
                is_conditional: request.condition.is_some(),
                metrics: request
                    .condition
                    .as_ref()
                    .is_some_and(pb::Condition::query_metrics_enabled),
            },
            nonce: nonce.filter(|_| heeds_nonce(&op)),
            op,
            region,
            quota,
        };
        context.quota.check_space(&work.region, &work.op)?;
        if executor != Executor::Inline {
            return Ok(work.apply(context, &call.peer));
        }
        Ok(if work.op.reads_first() {
            work.apply_cached(context, call)
        } else {
            work.apply_plain(context, call)
        })
    }
}

/// Returns the estimated usage of a mutation. An operation that reads first is one read and one
/// write, combined atomically (HBase: `QuotaUtil.getQuotaOperationType`).
fn estimate_usage(kind: MutationType, is_conditional: bool) -> EstimatedUsage {
    let is_atomic =
        is_conditional || matches!(kind, MutationType::Increment | MutationType::Append);
    EstimatedUsage::Batch { writes: 1, reads: usize::from(is_atomic), is_atomic }
}

/// Returns the bytes of the cells of an operation.
pub(super) fn op_bytes(op: &RowOp) -> usize {
    match op {
        RowOp::Mutate(ops) => ops.ops.iter().map(op_bytes).sum(),
        RowOp::CheckAndMutate(check) => op_bytes(&check.then),
        op => op.mutation().map_or(0, |mutation| mutation.cells().bytes().len()),
    }
}

/// Records the bytes of a write in the quotas.
pub(super) fn record_written(quota: Option<&OperationQuota>, op: &RowOp) {
    if let Some(quota) = quota {
        quota.record_write(op_bytes(op));
    }
}

/// Returns `true` if an operation is applied once per nonce. As in HBase, puts and deletes are
/// applied each time, because some clients send the same number with every mutation.
pub(super) fn heeds_nonce(op: &RowOp) -> bool {
    match op {
        RowOp::Mutate(all) => all.ops.iter().any(heeds_nonce),
        op => !region::is_plain(op),
    }
}

impl PendingMutation {
    /// Applies an operation that reads first, if the data is in memory, no other operation uses the
    /// row and setup is cheap. Otherwise defers it to a handler thread.
    fn apply_cached(self, context: &Arc<Context>, call: &Arc<Call>) -> CallStep {
        if let Some(applied) =
            try_apply_with_nonce(context, &call.peer, &self.region, &self.op, self.nonce)
        {
            record_written(self.quota.as_ref(), &self.op);
            record_read(self.quota.as_ref(), &applied);
            return answer(&call.peer, self.reply_options, applied);
        }
        self.apply_later(context, call)
    }

    /// Applies a put or delete that reads nothing. Defers it if another operation has locked the
    /// row, which may take a read from the disk.
    fn apply_plain(self, context: &Arc<Context>, call: &Arc<Call>) -> CallStep {
        let bytes = op_bytes(&self.op);
        let Self { region, op, reply_options, nonce, quota, decoded_bytes } = self;
        match region.try_apply(vec![op]) {
            Ok(applied) => {
                quota.iter().for_each(|quota| quota.record_write(bytes));
                answer(&call.peer, reply_options, applied_op(&call.peer, &region, true, applied))
            }
            Err(mut ops) => match ops.pop() {
                Some(op) => Self { region, op, reply_options, nonce, quota, decoded_bytes }
                    .apply_later(context, call),
                None => CallError::do_not_retry("an operation was lost").into(),
            },
        }
    }

    fn apply_later(self, context: &Arc<Context>, call: &Arc<Call>) -> CallStep {
        call.hold_without_message(self.decoded_bytes);
        let (context, call) = (Arc::clone(context), Arc::clone(call));
        CallStep::Deferred(Box::new(move || self.apply(&context, &call.peer)))
    }

    fn apply(self, context: &Context, peer: &Peer) -> CallStep {
        let Self { region, op, reply_options, nonce, quota, .. } = self;
        record_written(quota.as_ref(), &op);
        let applied = apply_with_nonce(context, peer, &region, op, nonce);
        record_read(quota.as_ref(), &applied);
        answer(peer, reply_options, applied)
    }
}

/// Records in the quotas the bytes that a condition scanned and the bytes returned.
fn record_read(quota: Option<&OperationQuota>, applied: &Result<AppliedOp, CallError>) {
    if let (Some(quota), Ok(applied)) = (quota, applied) {
        quota.record_read(applied.block_bytes, applied.result.row.cells().bytes().len());
    }
}

/// Returns the reply to an operation, sent once it is durable.
fn answer(
    peer: &Peer,
    reply_options: ReplyOptions,
    applied: Result<AppliedOp, CallError>,
) -> CallStep {
    let applied = match applied {
        Ok(applied) => applied,
        Err(fault) => return fault.into(),
    };
    let has_result = matches!(reply_options.kind, MutationType::Increment | MutationType::Append)
        && applied.result.processed;
    let mut cells = Vec::new();
    let result = has_result
        .then(|| row_result(&applied.result.row, peer.format.is_some().then_some(&mut cells)));
    let processed =
        (reply_options.is_conditional || !has_result).then_some(applied.result.processed);
    let metrics = reply_options.metrics.then(|| query_metrics(applied.block_bytes));
    let response = pb::MutateResponse { result, processed, metrics };
    let reply = if peer.format.is_some() {
        Reply::with_cells(response, cells)
    } else {
        Reply::new(response)
    };
    CallStep::Done(CallOutcome::AfterCommit(applied.ticket, reply))
}

/// Result of one operation, valid when its ticket is complete.
pub(super) struct AppliedOp {
    pub(super) result: OpResult,
    pub(super) ticket: CommitTicket,
    /// Bytes of the blocks that its condition scanned.
    pub(super) block_bytes: u64,
}

/// Applies an operation, unless it has been applied before under this nonce. In that case the
/// result contains the current values of its columns, as in HBase.
pub(super) fn apply_with_nonce(
    context: &Context,
    peer: &Peer,
    region: &Region,
    op: RowOp,
    nonce: Option<Nonce>,
) -> Result<AppliedOp, CallError> {
    let first = match context.nonces.begin(nonce) {
        NonceState::First(first) => first,
        NonceState::AlreadyApplied => return current(peer, region, &op),
    };
    let is_plain = region::is_plain(&op);
    outcome(peer, region, is_plain, first, region.apply_with_nonce(op, nonce))
}

/// Applies an operation without blocking. Returns `None` if it would have to wait; nothing has been
/// done then.
pub(super) fn try_apply_with_nonce(
    context: &Context,
    peer: &Peer,
    region: &Region,
    op: &RowOp,
    nonce: Option<Nonce>,
) -> Option<Result<AppliedOp, CallError>> {
    if !inline::allows_condition(op) {
        return None;
    }
    let Some(NonceState::First(first)) = context.nonces.try_begin(nonce) else { return None };
    let applied = region.try_apply_cached(op, nonce)?;
    Some(outcome(peer, region, region::is_plain(op), first, applied))
}

/// Returns the result of an operation that was begun under its nonce.
fn outcome(
    peer: &Peer,
    region: &Region,
    is_plain: bool,
    first: NonceGuard<'_>,
    applied: BatchResult,
) -> Result<AppliedOp, CallError> {
    let applied = applied_op(peer, region, is_plain, applied);
    // If the condition failed, nothing was applied, and a retry checks it again.
    if applied.as_ref().is_ok_and(|applied| applied.result.processed) {
        first.applied();
    }
    applied
}

/// Returns the result of one operation.
fn applied_op(
    peer: &Peer,
    region: &Region,
    is_plain: bool,
    mut applied: BatchResult,
) -> Result<AppliedOp, CallError> {
    if !applied.unrouted.is_empty() {
        return Err(region::not_serving(peer, &region.info().full_name()));
    }
    match applied.results.pop() {
        Some(Ok(result)) => Ok(AppliedOp {
            result,
            ticket: applied.ticket,
            block_bytes: applied.condition_block_bytes_scanned,
        }),
        Some(Err(error)) => Err(region::write_error(peer, region, is_plain, &error)),
        None => Err(CallError::do_not_retry("an operation had no result")),
    }
}

/// Returns the current values of the columns of an operation applied earlier.
fn current(peer: &Peer, region: &Region, op: &RowOp) -> Result<AppliedOp, CallError> {
    let ticket = region.applied_ticket();
    // Rare enough to wait here: the read sees only durable data.
    ticket.wait()?;
    let get = answering_columns(Get::new(op.row().clone()), op);
    // A get without columns would read the whole row.
    let row = if get.selection.columns.is_empty() {
        Ok(Row::default())
    } else {
        region.get(&get, ReadTier::Disk, &Arc::default())
    };
    let row = row.map_err(|error| region::read_error(peer, region, &error))?;
    Ok(AppliedOp { result: OpResult { row, processed: true }, ticket, block_bytes: 0 })
}

/// Adds the columns whose new values an operation returns.
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
