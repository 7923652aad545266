//! `Multi`: actions on many regions in one call, answered per region and action.
//!
//! As in HBase, the reads, increments and appends of a region run in order. Its puts and deletes
//! are gathered and written together after them. Results are returned in that order and identified
//! by their index. A call attempted in memory stops at the first action that may have to wait. It
//! also stops when its gets have examined as many cells or copied as many bytes as a single get
//! may. It then continues on a handler thread, a few megabytes at a time.
//!
//! The cells of the response and the frame they are copied to are counted as network buffers while
//! they are gathered. When the connection's share is used up, the remaining actions are rejected
//! with an exception that clients retry.

use std::sync::Arc;

use halite_engine::scan::MAX_MEMORY_BYTES;
use halite_engine::{CommitTicket, Nonce, Region};
use halite_types::{Bytes, Cells, OpResult, ReadTier, RowOp};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::service::Method;

use super::aggregate::Aggregate;
use super::decode;
use super::exec::EndpointOutcome;
use super::get::{GetContext, ParsedGet, outcome_result, query_metrics, row_result};
use super::mutate::{apply_with_nonce, op_bytes, record_written};
use super::region::{self, RequestTarget};
use super::row_mutations::AtomicMutations;
use crate::base::buffers::MemoryReservation;
use crate::base::call::{Call, CallError, Reply};
use crate::base::call_step::{CallOutcome, CallStep, Executor};
use crate::base::context::Context;
use crate::base::inline::{self, InlineBudget};
use crate::base::metrics::ExceptionClass;
use crate::base::nonces::to_nonce;
use crate::base::operations::Operations;
use crate::base::quota::{EstimatedUsage, OperationQuota};

/// Maximum bytes of cells gathered in one turn on a handler thread.
const SLICE_BYTES: usize = 4 << 20;

/// Multi in progress.
struct MultiExecution {
    context: Arc<Context>,
    call: Arc<Call>,
    request: pb::MultiRequest,
    /// Cells of the remaining actions.
    cells: Cells,
    response: pb::MultiResponse,
    /// Index of the current region, and its result so far.
    region_index: usize,
    batch: Option<RegionBatch>,
    /// Actions of the current region, if they are atomic and had to wait.
    atomic: Option<AtomicBatch>,
    response_cells: ResponseCells,
    /// Work of its gets.
    budget: InlineBudget,
    /// Network buffers of the response: the cells, and as much for the frame.
    reservation: MemoryReservation,
    /// Bytes of the response at which the turn on the thread ends.
    slice_end: usize,
    ticket: CommitTicket,
    /// Bytes of the decompressed cell block, in addition to the message.
    decompressed_bytes: usize,
    /// Bytes of the cells inside the messages of the mutations decoded so far.
    inside: usize,
}

/// Cells sent after the message.
struct ResponseCells {
    cells: Option<Vec<Cells>>,
    /// Bytes of the cells as HBase counts them, and their bytes in memory.
    bytes: usize,
    memory: usize,
}

/// Region in progress.
struct RegionBatch {
    target: RequestTarget,
    /// Remaining actions.
    actions: std::vec::IntoIter<pb::Action>,
    /// Action that had to wait.
    again: Option<pb::Action>,
    /// Get or operation of that action, decoded but not run.
    parsed_get: Option<ParsedGet>,
    pending: Option<RowOp>,
    /// Endpoint that has done a part of its work.
    aggregate: Option<Box<Aggregate>>,
    /// Bytes of exceptions that are not counted in the response yet.
    refused_bytes: usize,
    /// Gathered puts and deletes, with the indexes of their actions.
    writes: Vec<RowOp>,
    indexes: Vec<u32>,
    result: pb::RegionActionResult,
    quota: Option<OperationQuota>,
}

/// Decoded atomic actions of a region.
struct AtomicBatch {
    region: Arc<Region>,
    mutations: AtomicMutations,
    nonce: Option<Nonce>,
    /// Cells of the actions after these.
    cells: Cells,
    /// As [`MultiExecution::inside`], including these actions.
    inside: usize,
    /// Held for the duration of the actions, which is charged at the end.
    quota: Option<OperationQuota>,
}

/// Error for work that would have to wait.
struct WouldBlock;

/// Answers a `Multi`.
pub(super) fn multi(
    context: &Arc<Context>,
    call: &Arc<Call>,
    executor: Executor,
) -> Result<CallStep, CallError> {
    let Some((request, cells)) = decode::message_and_cells::<pb::MultiRequest>(call, executor)?
    else {
        return Ok(decode::defer_undecoded(context, call, multi));
    };
    let _ = call.operations.set(Operations::from_multi(&request));
    let decompressed_bytes = decode::decompressed_bytes(call, &cells);
    let mut run = MultiExecution {
        cells,
        response: pb::MultiResponse {
            region_statistics: Some(pb::MultiRegionLoadStats::default()),
            ..pb::MultiResponse::default()
        },
        context: Arc::clone(context),
        call: Arc::clone(call),
        request,
        region_index: 0,
        batch: None,
        atomic: None,
        response_cells: ResponseCells {
            cells: call.peer.format.is_some().then(Vec::new),
            bytes: 0,
            memory: 0,
        },
        budget: InlineBudget::default(),
        reservation: MemoryReservation::new(&call.peer.account),
        slice_end: usize::MAX,
        ticket: CommitTicket::ready(),
        decompressed_bytes,
        inside: 0,
    };
    if executor == Executor::Inline && run.run(ReadTier::Memory).is_err() {
        return Ok(decode::defer_decoded(call, run.held_bytes(), move || Ok(run.end())));
    }
    Ok(run.end())
}

impl MultiExecution {
    /// Runs the remaining actions, waits if needed, and returns the response.
    fn end(mut self) -> CallStep {
        // With disk access it stops only to let other calls run.
        self.slice_end = self.response_cells.memory.saturating_add(SLICE_BYTES);
        if self.run(ReadTier::Disk).is_err() {
            return CallStep::Deferred(Box::new(move || self.end()));
        }
        let reply = match self.response_cells.cells {
            Some(cells) => Reply::with_cells(self.response, cells),
            None => Reply::new(self.response),
        };
        CallStep::Done(CallOutcome::AfterCommit(
            self.ticket,
            reply.with_reservation(self.reservation),
        ))
    }

    /// Returns the bytes that a deferred call holds in addition to its message: decoded data, and
    /// the response so far.
    fn held_bytes(&self) -> usize {
        // These actions include those before them, and their conditions are not decoded here.
        let inside = self.atomic.as_ref().map_or(self.inside, |atomic| atomic.inside);
        let filter_bytes = self
            .batch
            .as_ref()
            .and_then(|batch| batch.parsed_get.as_ref())
            .map_or(0, ParsedGet::filter_bytes);
        [self.decompressed_bytes, inside, filter_bytes, self.response_cells.memory]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    fn run(&mut self, tier: ReadTier) -> Result<(), WouldBlock> {
        while self.region_index < self.request.region_action.len() {
            let result = if self.is_atomic() { self.atomic(tier)? } else { self.actions(tier)? };
            self.response.region_action_result.push(result);
            self.region_index += 1;
        }
        Ok(())
    }

    fn region_action(&self) -> &pb::RegionAction {
        &self.request.region_action[self.region_index]
    }

    /// Returns the condition of the region's actions. Older clients put a single condition into the
    /// request.
    fn condition(&self) -> Option<&pb::Condition> {
        self.region_action().condition.as_ref().or(self.request.condition.as_ref())
    }

    fn is_atomic(&self) -> bool {
        self.region_action().atomic() || self.condition().is_some()
    }

    // Non-atomic actions.

    fn actions(&mut self, tier: ReadTier) -> Result<pb::RegionActionResult, WouldBlock> {
        let mut current = match self.batch.take() {
            Some(current) => current,
            None => match self.find_region() {
                Ok((target, quota)) => {
                    let actions =
                        std::mem::take(&mut self.request.region_action[self.region_index].action);
                    RegionBatch::new(target, actions, quota)
                }
                Err(fault) => return Ok(self.refuse_region(&fault)),
            },
        };
        let done = self.work(&mut current, tier);
        if done.is_err() {
            self.batch = Some(current);
            return Err(WouldBlock);
        }
        Ok(current.result)
    }

    /// Returns the target of the actions, and charges them if quotas apply.
    fn find_region(&self) -> Result<(RequestTarget, Option<OperationQuota>), CallError> {
        let target = region::find(&self.context, &self.call.peer, &self.region_action().region)?;
        let quota =
            region::check_quota(&self.context, &self.call.peer, &target, self.estimate_usage())?;
        Ok((target, quota))
    }

    /// Returns the estimated usage of the region's actions (HBase:
    /// `RegionServerRpcQuotaManager.checkBatchQuota`).
    fn estimate_usage(&self) -> EstimatedUsage {
        let (mut writes, mut reads, mut is_atomic) = (0, 0, false);
        for action in &self.region_action().action {
            reads += usize::from(action.get.is_some());
            if let Some(mutation) = &action.mutation {
                let reads_too = self.condition().is_some() || needs_result(mutation);
                (writes, reads, is_atomic) =
                    (writes + 1, reads + usize::from(reads_too), is_atomic || reads_too);
            }
        }
        EstimatedUsage::Batch { writes, reads, is_atomic }
    }

    fn work(&mut self, current: &mut RegionBatch, tier: ReadTier) -> Result<(), WouldBlock> {
        while let Some(action) = current.again.take().or_else(|| current.actions.next()) {
            if let Some(fault) = self.full() {
                // The cells of an operation that had to wait have already been taken.
                if current.pending.take().is_none() {
                    self.skip(&action);
                }
                (current.parsed_get, current.aggregate) = (None, None);
                current.refuse(&self.context, action.index(), &fault);
            } else if self.action(current, &action, tier).is_err() {
                current.again = Some(action);
                self.count_refused(current);
                return Err(WouldBlock);
            }
            self.count_refused(current);
        }
        let written = self.write(current, tier);
        self.count_refused(current);
        written
    }

    /// Counts the exceptions of rejected actions as part of the response.
    fn count_refused(&mut self, current: &mut RegionBatch) {
        if current.refused_bytes > 0 {
            self.response_cells.memory = self
                .response_cells
                .memory
                .saturating_add(std::mem::take(&mut current.refused_bytes));
            self.reservation.set(self.response_cells.memory.saturating_mul(2));
        }
    }

    /// Returns the error for the next action if the response is full. Clients that handle HBase's
    /// exception for it receive that exception early. Other clients receive as much as a frame may
    /// hold, and then an error that they do not retry.
    fn full(&self) -> Option<CallError> {
        let handles_size_exception = self.call.peer.version.is_some();
        if handles_size_exception
            && self.response_cells.bytes > self.context.config.limits.max_result_bytes
        {
            let text = format!(
                "Max size exceeded: the answers so far have {} bytes of cells; ask for the rest by \
                 itself",
                self.response_cells.bytes
            );
            return Some(CallError::new(ExceptionKind::MultiActionResultTooLarge, text));
        }
        self.over_frame().or_else(|| self.over_share())
    }

    /// Returns the error if the response uses up the connection's share of the network buffers.
    fn over_share(&self) -> Option<CallError> {
        (self.response_cells.memory > MAX_MEMORY_BYTES && self.call.peer.account.share_left() == 0)
            .then(|| {
                let kind = if self.call.peer.version.is_some() {
                    ExceptionKind::MultiActionResultTooLarge
                } else {
                    ExceptionKind::CallQueueTooBig
                };
                let text = format!(
                    "no network buffers are left for more than the {} bytes of the answers so far; \
                     ask for the rest again",
                    self.response_cells.memory
                );
                CallError::new(kind, text)
            })
    }

    /// Returns the error, for any client, if the response has reached the limit of one frame.
    fn over_frame(&self) -> Option<CallError> {
        let limits = &self.context.config.limits;
        let (bytes, max_bytes) =
            (self.response_cells.memory, limits.max_request_bytes.max(limits.max_result_bytes));
        (bytes > max_bytes).then(|| {
            let kind = if self.call.peer.version.is_some() {
                ExceptionKind::MultiActionResultTooLarge
            } else {
                ExceptionKind::DoNotRetry
            };
            CallError::new(
                kind,
                format!(
                    "the answers so far take {bytes} bytes, more than {max_bytes}; ask for the \
                     rest in a call of its own"
                ),
            )
        })
    }

    fn action(
        &mut self,
        current: &mut RegionBatch,
        action: &pb::Action,
        tier: ReadTier,
    ) -> Result<(), WouldBlock> {
        let index = action.index();
        if let Some(get) = &action.get {
            let is_turn_over = match tier {
                ReadTier::Memory => !self.budget.allows_read(self.response_cells.memory),
                ReadTier::Disk => self.response_cells.memory >= self.slice_end,
            };
            if is_turn_over {
                return Err(WouldBlock);
            }
            let reading = GetContext { tier, quota: current.quota.as_ref(), stats: Arc::default() };
            let query = match current.parsed_get.take().map_or_else(|| ParsedGet::new(get), Ok) {
                Ok(query) => query,
                Err(fault) => {
                    current.refuse(&self.context, index, &fault);
                    return Ok(());
                }
            };
            let found = query.run(&self.context, &self.call.peer, &current.target, &reading);
            self.budget.record_read(&reading.stats);
            match found {
                Ok(None) => {
                    current.parsed_get = Some(query);
                    return Err(WouldBlock);
                }
                Ok(Some(found)) => {
                    let result = self.add(|cells| outcome_result(found, cells));
                    current.answer(index, result);
                }
                Err(fault) => current.refuse(&self.context, index, &fault),
            }
        } else if let Some(mutation) = &action.mutation {
            self.mutation(current, index, mutation, tier)?;
        } else if let Some(call) = &action.service_call {
            current.serve(&self.context, &self.call, index, call, tier)?;
        }
        Ok(())
    }

    fn mutation(
        &mut self,
        current: &mut RegionBatch,
        index: u32,
        mutation: &pb::MutationProto,
        tier: ReadTier,
    ) -> Result<(), WouldBlock> {
        let op = match self.operation(current, mutation, tier)? {
            Ok(op) => op,
            Err(fault) => {
                current.refuse(&self.context, index, &fault);
                return Ok(());
            }
        };
        if let RequestTarget::Region(region) = &current.target
            && let Err(fault) = self.context.quota.check_space(region, &op)
        {
            current.refuse(&self.context, index, &fault);
            return Ok(());
        }
        if region::is_plain(&op) {
            current.writes.push(op);
            current.indexes.push(index);
            return Ok(());
        }
        if tier == ReadTier::Memory {
            current.pending = Some(op);
            return Err(WouldBlock);
        }
        record_written(current.quota.as_ref(), &op);
        let applied = current.region_to_write(&self.context, &self.call).and_then(|region| {
            let nonce = to_nonce(self.request.nonce_group(), mutation.nonce());
            apply_with_nonce(&self.context, &self.call.peer, &region, op, nonce)
        });
        match applied {
            Ok(applied) => {
                self.wait_for(applied.ticket);
                let has_result = needs_result(mutation);
                let result = if has_result {
                    self.add(|cells| row_result(&applied.result.row, cells))
                } else {
                    pb::Result::default()
                };
                current.answer(index, result);
            }
            Err(fault) => current.refuse(&self.context, index, &fault),
        }
        Ok(())
    }

    /// Decodes the operation of a mutation. Its cells are taken once, independent of the outcome
    /// and of the number of attempts.
    fn operation(
        &mut self,
        current: &mut RegionBatch,
        mutation: &pb::MutationProto,
        tier: ReadTier,
    ) -> Result<Result<RowOp, CallError>, WouldBlock> {
        if let Some(op) = current.pending.take() {
            return Ok(Ok(op));
        }
        let inside = self.inside.saturating_add(convert::mutate::inside_bytes(mutation));
        if tier == ReadTier::Memory && !inline::allows_inside(inside) {
            return Err(WouldBlock);
        }
        let op = convert::mutate::check_inside(inside)
            .and_then(|()| convert::mutate::from_proto(mutation, &mut self.cells));
        if op.is_ok() {
            self.inside = inside;
        }
        Ok(op.map_err(CallError::from))
    }

    /// Writes the gathered puts and deletes.
    fn write(&mut self, current: &mut RegionBatch, tier: ReadTier) -> Result<(), WouldBlock> {
        if current.writes.is_empty() {
            return Ok(());
        }
        if tier == ReadTier::Memory
            && (matches!(current.target, RequestTarget::Meta)
                || current.writes.iter().any(RowOp::reads_first))
        {
            return Err(WouldBlock);
        }
        let (writes, indexes) =
            (std::mem::take(&mut current.writes), std::mem::take(&mut current.indexes));
        let region = match current.region_to_write(&self.context, &self.call) {
            Ok(region) => region,
            Err(fault) => {
                indexes.into_iter().for_each(|index| current.refuse(&self.context, index, &fault));
                return Ok(());
            }
        };
        let bytes = if current.quota.is_some() { writes.iter().map(op_bytes).sum() } else { 0 };
        let applied = match tier {
            ReadTier::Memory => match region.try_apply(writes) {
                Ok(applied) => applied,
                Err(writes) => {
                    (current.writes, current.indexes) = (writes, indexes);
                    return Err(WouldBlock);
                }
            },
            ReadTier::Disk => region.apply_now(writes),
        };
        current.quota.iter().for_each(|quota| quota.record_write(bytes));
        self.wait_for(applied.ticket);
        let mut returned = vec![false; indexes.len()];
        applied.unrouted.iter().for_each(|(index, _)| returned[*index] = true);
        for ((index, result), returned) in indexes.into_iter().zip(applied.results).zip(returned) {
            match result {
                _ if returned => current.refuse(
                    &self.context,
                    index,
                    &region::not_serving(&self.call.peer, &region.info().full_name()),
                ),
                Ok(_) => current.answer(index, pb::Result::default()),
                Err(error) => current.refuse(
                    &self.context,
                    index,
                    &region::write_error(&self.call.peer, &region, true, &error),
                ),
            }
        }
        Ok(())
    }

    /// Adds a result to the response, and counts its network buffers.
    fn add(&mut self, result: impl FnOnce(Option<&mut Vec<Cells>>) -> pb::Result) -> pb::Result {
        let result = self.response_cells.add(result);
        self.reservation.set(self.response_cells.memory.saturating_mul(2));
        result
    }

    fn wait_for(&mut self, ticket: CommitTicket) {
        let before = std::mem::replace(&mut self.ticket, CommitTicket::ready());
        self.ticket = before.later(ticket);
    }

    // Atomic actions.

    fn atomic(&mut self, tier: ReadTier) -> Result<pb::RegionActionResult, WouldBlock> {
        if let Some(fault) = self.over_frame() {
            self.atomic = None;
            return Ok(self.refuse_region(&fault));
        }
        // Decoded actions that had to wait are applied unchanged. Otherwise a handler thread
        // decodes them; nothing has been taken from the cells yet.
        let atomic = if let Some(atomic) = self.atomic.take() {
            Ok(atomic)
        } else {
            let inside = self.atomic_inside();
            if tier == ReadTier::Memory
                && (!inline::allows_inside(inside) || self.atomic_reads_first())
            {
                return Err(WouldBlock);
            }
            convert::mutate::check_inside(inside)
                .map_err(CallError::from)
                .and_then(|()| self.read_atomic(inside))
        };
        let outcome = match atomic {
            Ok(atomic) => self.apply_atomic(atomic, tier)?,
            Err(fault) => Err(fault),
        };
        Ok(match outcome {
            Ok((result, block_bytes)) => {
                // Older clients expect it there.
                if self.condition().is_none() || self.request.region_action.len() == 1 {
                    self.response.processed = Some(result.processed);
                }
                self.atomic_result(&result, block_bytes)
            }
            Err(fault) => self.refuse_region(&fault),
        })
    }

    /// Returns the bytes of the cells inside the messages of all mutations so far, including this
    /// region's.
    fn atomic_inside(&self) -> usize {
        let mutations =
            self.region_action().action.iter().filter_map(|action| action.mutation.as_ref());
        mutations.map(convert::mutate::inside_bytes).fold(self.inside, usize::saturating_add)
    }

    /// Returns `true` if the atomic actions may have to wait: they contain anything but puts, have
    /// a condition, or write to `hbase:meta`.
    fn atomic_reads_first(&self) -> bool {
        use pb::mutation_proto::MutationType;
        let plain = |action: &pb::Action| {
            action
                .mutation
                .as_ref()
                .is_some_and(|mutation| mutation.mutate_type() == MutationType::Put)
        };
        let is_meta = matches!(
            region::find(&self.context, &self.call.peer, &self.region_action().region),
            Ok(RequestTarget::Meta)
        );
        is_meta || self.condition().is_some() || !self.region_action().action.iter().all(plain)
    }

    /// Applies the atomic actions, or stores them for later if that would have to wait. Returns
    /// their result, and the bytes of the blocks that the condition scanned.
    fn apply_atomic(
        &mut self,
        atomic: AtomicBatch,
        tier: ReadTier,
    ) -> Result<Result<(OpResult, u64), CallError>, WouldBlock> {
        let (context, peer) = (&self.context, &self.call.peer);
        let (applied, cells, inside) = match tier {
            ReadTier::Memory => {
                let Some(applied) =
                    atomic.mutations.try_apply(context, peer, &atomic.region, atomic.nonce)
                else {
                    self.atomic = Some(atomic);
                    return Err(WouldBlock);
                };
                (applied, atomic.cells, atomic.inside)
            }
            ReadTier::Disk => {
                let AtomicBatch {
                    region,
                    mutations: together,
                    nonce,
                    cells,
                    inside,
                    quota: _quota,
                } = atomic;
                (together.apply(context, peer, &region, nonce), cells, inside)
            }
        };
        Ok(applied.map(|applied| {
            (self.cells, self.inside) = (cells, inside);
            self.wait_for(applied.ticket);
            (applied.result, applied.block_bytes)
        }))
    }

    /// Decodes the region's actions. `inside` is the number of bytes inside the messages of all
    /// mutations up to and including theirs.
    fn read_atomic(&self, inside: usize) -> Result<AtomicBatch, CallError> {
        let (target, quota) = self.find_region()?;
        let region = region::to_write(&self.context, &self.call.peer, &target)?;
        let (mut ops, mut number) = (Vec::new(), 0);
        let actions = &self.request.region_action[self.region_index].action;
        let first_get = actions.iter().find_map(|action| action.get.as_ref());
        if let Some(get) = first_get {
            let row = convert::display_bytes(&get.row);
            return Err(CallError::do_not_retry(format!(
                "Atomic put and/or delete only, not a Get={row}"
            )));
        }
        // All are decoded, to reach the cells of the next region's actions.
        let mut wrong = None;
        let mut cells = self.cells.clone();
        for mutation in actions.iter().filter_map(|action| action.mutation.as_ref()) {
            number = if number == 0 { mutation.nonce() } else { number };
            match convert::mutate::from_proto(mutation, &mut cells) {
                Ok(op) => ops.push(op),
                Err(exception) => wrong = wrong.or(Some(CallError::from(exception))),
            }
        }
        if let Some(fault) = wrong {
            return Err(fault);
        }
        for op in &ops {
            self.context.quota.check_space(&region, op)?;
            record_written(quota.as_ref(), op);
        }
        let nonce = to_nonce(self.request.nonce_group(), number);
        Ok(AtomicBatch {
            region,
            mutations: AtomicMutations::new(ops, self.condition())?,
            nonce,
            cells,
            inside,
            quota,
        })
    }

    /// Returns the result as HBase does: an entry for each action, numbered from 0, with the new
    /// values of all actions in the first.
    fn atomic_result(&mut self, applied: &OpResult, block_bytes: u64) -> pb::RegionActionResult {
        let actions = &self.request.region_action[self.region_index].action;
        let has_values = applied.processed
            && actions.iter().any(|action| action.mutation.as_ref().is_some_and(needs_result));
        let is_conditional = self.condition().is_some();
        // HBase returns it for a single action only.
        let wants_metrics = actions.len() == 1
            && self.condition().is_some_and(pb::Condition::query_metrics_enabled);
        let count = u32::try_from(actions.len()).unwrap_or(u32::MAX);
        let mut result = pb::RegionActionResult {
            processed: Some(applied.processed),
            ..pb::RegionActionResult::default()
        };
        for index in 0..count {
            let value = match index {
                0 if has_values => Some(self.add(|cells| row_result(&applied.row, cells))),
                _ => (!is_conditional).then(pb::Result::default),
            };
            let metrics = wants_metrics.then(|| query_metrics(block_bytes));
            result.result_or_exception.push(pb::ResultOrException {
                index: Some(index),
                result: value,
                metrics,
                ..pb::ResultOrException::default()
            });
        }
        self.request.region_action[self.region_index].action.clear();
        result
    }

    /// Rejects all actions of the region and skips their cells.
    fn refuse_region(&mut self, fault: &CallError) -> pb::RegionActionResult {
        let actions = std::mem::take(&mut self.request.region_action[self.region_index].action);
        actions.iter().for_each(|action| self.skip(action));
        count(&self.context, fault);
        pb::RegionActionResult {
            exception: Some(fault.exception().to_pair()),
            ..pb::RegionActionResult::default()
        }
    }

    fn skip(&mut self, action: &pb::Action) {
        if let Some(mutation) = &action.mutation {
            convert::mutate::skip_cells(mutation, &mut self.cells);
        }
    }
}

/// Counts the exception of a rejected action or region. The call itself succeeds.
fn count(context: &Context, fault: &CallError) {
    context
        .metrics
        .method(Method::ClientMulti)
        .exceptions
        .add(ExceptionClass::from_kind(fault.exception().kind()));
}

fn needs_result(mutation: &pb::MutationProto) -> bool {
    use pb::mutation_proto::MutationType;
    matches!(mutation.mutate_type(), MutationType::Increment | MutationType::Append)
}

impl ResponseCells {
    /// Adds a result. Its cells are sent after the message if the client accepts them there.
    fn add(&mut self, result: impl FnOnce(Option<&mut Vec<Cells>>) -> pb::Result) -> pb::Result {
        let before = self.cells.as_ref().map_or(0, Vec::len);
        let result = result(self.cells.as_mut());
        let block_bytes = self
            .cells
            .iter()
            .flat_map(|cells| &cells[before..])
            .map(|cells| cells.bytes().len())
            .sum::<usize>();
        self.bytes +=
            block_bytes + result.cell.iter().map(|cell| cell.value().len()).sum::<usize>();
        let inside = |cell: &pb::Cell| {
            size_of_val(cell)
                + cell.row().len()
                + cell.family().len()
                + cell.qualifier().len()
                + cell.value().len()
        };
        self.memory += block_bytes + result.cell.iter().map(inside).sum::<usize>();
        result
    }
}

impl RegionBatch {
    fn new(target: RequestTarget, actions: Vec<pb::Action>, quota: Option<OperationQuota>) -> Self {
        Self {
            target,
            actions: actions.into_iter(),
            again: None,
            parsed_get: None,
            pending: None,
            aggregate: None,
            refused_bytes: 0,
            writes: Vec::new(),
            indexes: Vec::new(),
            result: pb::RegionActionResult::default(),
            quota,
        }
    }

    fn region_to_write(&self, context: &Context, call: &Call) -> Result<Arc<Region>, CallError> {
        region::to_write(context, &call.peer, &self.target)
    }

    fn answer(&mut self, index: u32, result: pb::Result) {
        let entry = pb::ResultOrException {
            index: Some(index),
            result: Some(result),
            ..pb::ResultOrException::default()
        };
        self.result.result_or_exception.push(entry);
    }

    fn refuse(&mut self, context: &Context, index: u32, fault: &CallError) {
        count(context, fault);
        let pair = fault.exception().to_pair();
        self.refused_bytes += size_of::<pb::ResultOrException>()
            + pair.name.len()
            + pair.value.as_ref().map_or(0, Bytes::len);
        let exception = Some(pair);
        self.result.result_or_exception.push(pb::ResultOrException {
            index: Some(index),
            exception,
            ..pb::ResultOrException::default()
        });
    }

    /// Calls an endpoint as an action.
    fn serve(
        &mut self,
        context: &Context,
        call: &Call,
        index: u32,
        service_call: &pb::CoprocessorServiceCall,
        tier: ReadTier,
    ) -> Result<(), WouldBlock> {
        if tier == ReadTier::Memory {
            return Err(WouldBlock);
        }
        match super::exec::serve(
            context,
            &call.peer,
            &self.target,
            service_call,
            self.aggregate.take(),
        ) {
            Ok(EndpointOutcome::InProgress(aggregate)) => {
                self.aggregate = Some(aggregate);
                return Err(WouldBlock);
            }
            Ok(EndpointOutcome::Done(value)) => {
                let service_result = Some(pb::CoprocessorServiceResult { value: Some(value) });
                self.result.result_or_exception.push(pb::ResultOrException {
                    index: Some(index),
                    service_result,
                    ..pb::ResultOrException::default()
                });
            }
            Err(fault) => self.refuse(context, index, &fault),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{Increment, Put};
    use halite_wire::cellblock::CellBlockFormat;
    use halite_wire::convert::mutate::to_counted;
    use halite_wire::exception::Exception;
    use halite_wire::rpc::{FrameStatus, RpcLimits, decode_response, next_frame};
    use halite_wire::service;

    use super::*;
    use crate::base::call::Peer;
    use crate::testing;
    use crate::testing::test_server::{TestServer, name};

    /// Returns the response of a finished call, and the cells after it.
    fn answered(step: CallStep) -> (pb::MultiResponse, Cells) {
        let CallStep::Done(CallOutcome::AfterCommit(ticket, reply)) = step else {
            panic!("it is not answered")
        };
        ticket.wait().unwrap();
        let FrameStatus::Frame(frame) = next_frame(
            &mut reply.encode(1, Some(CellBlockFormat::default())).unwrap(),
            &RpcLimits::default(),
        )
        .unwrap() else {
            panic!("no frame")
        };
        let answer = decode_response(&frame).unwrap().result.unwrap();
        (
            answer.message().unwrap(),
            answer
                .cells(CellBlockFormat::default(), &RpcLimits::default())
                .unwrap()
                .unwrap_or_default(),
        )
    }

    fn get(row: &'static str) -> pb::Action {
        pb::Action {
            get: Some(pb::Get { row: row.into(), ..pb::Get::default() }),
            ..pb::Action::default()
        }
    }

    /// Returns an action whose cells are in the block.
    fn counted(op: impl Into<RowOp>, block: &mut Vec<Cells>) -> pb::Action {
        let (mutation, cells) = to_counted(&op.into()).unwrap();
        block.push(cells);
        pb::Action { mutation: Some(mutation), ..pb::Action::default() }
    }

    /// Returns an action that increments by one, with a nonce.
    fn count_one(row: &'static str, nonce: u64, block: &mut Vec<Cells>) -> pb::Action {
        let action = counted(Increment::new(row).add("f", "n", 1), block);
        pb::Action {
            mutation: action
                .mutation
                .map(|mutation| pb::MutationProto { nonce: Some(nonce), ..mutation }),
            ..action
        }
    }

    /// Formats each result of a region: its index, and the row and number of its first cell, or the
    /// name of its exception.
    fn format_results(result: &pb::RegionActionResult, cells: &mut Cells) -> Vec<String> {
        let mut shown = |entry: &pb::ResultOrException| {
            if let Some(pair) = &entry.exception {
                return pair.name.rsplit('.').next().unwrap().to_owned();
            }
            let row = convert::result::from_proto(entry.result.as_ref().unwrap(), cells).unwrap();
            let key = row
                .cells()
                .first()
                .map_or(String::new(), |cell| String::from_utf8(cell.row().to_vec()).unwrap());
            let number = row
                .value("f", "n")
                .map(|value| i64::from_be_bytes(value.try_into().unwrap()).to_string());
            key + &number.unwrap_or_default()
        };
        result
            .result_or_exception
            .iter()
            .map(|entry| format!("{}={}", entry.index(), shown(entry)))
            .collect()
    }

    #[test]
    fn sliced_multi_returns_same_response_as_unsliced() {
        let rig = TestServer::new();
        rig.create("t", &["f"], &["m"]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        let large = |row: &'static str| RowOp::from(Put::new(row).add("f", "q", vec![7; 3 << 20]));
        table.batch(["a", "b", "c", "d", "x", "y", "z"].map(large).to_vec()).unwrap();
        let mut block = Vec::new();
        let put = |row: &'static str, family: &'static str| Put::new(row).add(family, "q", row);
        let mut wrong = get("a");
        wrong
            .get
            .as_mut()
            .unwrap()
            .column
            .push(pb::Column { family: "nope".into(), ..pb::Column::default() });
        let first = vec![
            get("a"),
            count_one("e", 1, &mut block),
            get("b"),
            counted(put("lost", "nope"), &mut block),
            count_one("f", 2, &mut block),
            get("c"),
            wrong,
            counted(put("g", "f"), &mut block),
            get("d"),
            count_one("h", 3, &mut block),
        ];
        let second = vec![
            get("x"),
            count_one("u", 4, &mut block),
            get("y"),
            counted(put("v", "f"), &mut block),
            get("z"),
        ];
        let regions = rig.context.engine.regions(&name("t")).unwrap();
        let on = |(region, actions): (_, Vec<pb::Action>)| pb::RegionAction {
            region: convert::region::specifier(region),
            action: (0..)
                .zip(actions)
                .map(|(index, action)| pb::Action { index: Some(index), ..action })
                .collect(),
            ..pb::RegionAction::default()
        };
        let request = pb::MultiRequest {
            region_action: regions.iter().zip([first, second]).map(on).collect(),
            nonce_group: Some(9),
            ..Default::default()
        };

        let peer =
            Arc::new(Peer { format: Some(CellBlockFormat::default()), ..Peer::clone(&rig.peer) });
        // The second attempt is a retry after a lost response.
        for _ in 0..2 {
            let call =
                Arc::new(testing::call_with::<service::ClientMulti>(&peer, &request, &block));
            let (mut step, mut turns) =
                (super::super::answer(&rig.services.client, &call, Executor::Inline), 0);
            while let CallStep::Deferred(rest) = step {
                (step, turns) = (rest(), turns + 1);
            }
            assert!(turns > 2, "{turns}");
            let (response, mut cells) = answered(step);
            let [one, two] = &response.region_action_result[..] else { panic!("{response:?}") };
            let no = "NoSuchColumnFamilyException";
            let expected = [
                "0=a",
                "1=e1",
                "2=b",
                "4=f1",
                "5=c",
                &format!("6={no}"),
                "8=d",
                "9=h1",
                &format!("3={no}"),
                "7=",
            ];
            assert_eq!(format_results(one, &mut cells), expected);
            assert_eq!(format_results(two, &mut cells), ["0=x", "1=u1", "2=y", "4=z", "3="]);
        }
        let value = |row: &'static str| {
            table
                .get(&halite_types::Get::new(row), ReadTier::Disk)
                .unwrap()
                .value("f", "q")
                .map(<[u8]>::to_vec)
        };
        assert_eq!(
            [value("g"), value("v"), value("lost")],
            [Some(b"g".to_vec()), Some(b"v".to_vec()), None]
        );
    }

    /// Without nonces, an action that was applied twice would have counted twice.
    #[test]
    fn multi_deferred_midway_applies_each_action_once() {
        let rig = TestServer::new();
        rig.create("t", &["f"], &["m"]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        let regions = rig.context.engine.regions(&name("t")).unwrap();
        let mut block = Vec::new();
        let put = |row: &'static str| RowOp::from(Put::new(row).add("f", "q", row));
        let count = |row: &'static str| RowOp::from(Increment::new(row).add("f", "n", 1));
        // The put of the first region is applied on the connection's task, and the increments of
        // the second have to wait.
        let first = vec![get("a"), counted(put("b"), &mut block)];
        let second =
            vec![counted(count("n"), &mut block), get("n"), counted(count("n"), &mut block)];
        let on = |(region, action)| pb::RegionAction {
            region: convert::region::specifier(region),
            action,
            ..pb::RegionAction::default()
        };
        let request = pb::MultiRequest {
            region_action: regions.iter().zip([first, second]).map(on).collect(),
            ..Default::default()
        };
        let peer =
            Arc::new(Peer { format: Some(CellBlockFormat::default()), ..Peer::clone(&rig.peer) });
        let call = Arc::new(testing::call_with::<service::ClientMulti>(&peer, &request, &block));
        let writes = || -> u64 {
            rig.context.engine.status().regions.iter().map(|load| load.write_requests).sum()
        };
        let before = writes();
        let step = super::super::answer(&rig.services.client, &call, Executor::Inline);
        assert_eq!(writes() - before, 1, "the put is applied before the call is deferred");
        let CallStep::Deferred(rest) = step else { panic!("the increments do not wait") };
        answered(rest());
        assert_eq!(call.messages_decoded.load(std::sync::atomic::Ordering::Relaxed), 1);
        assert_eq!(writes() - before, 3);
        let row =
            |row: &'static str| table.get(&halite_types::Get::new(row), ReadTier::Disk).unwrap();
        assert_eq!(row("n").value("f", "n"), Some(&2_i64.to_be_bytes()[..]));
        assert_eq!(row("b").cells().iter().count(), 1);
    }

    #[test]
    fn refused_operation_takes_no_cells_of_later_ones() {
        let rig = TestServer::new();
        rig.create("t", &["f"], &[]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        let large =
            |row: &'static str| RowOp::from(Put::new(row).add("f", "q", vec![7; 200 << 10]));
        table.batch(vec![large("a"), large("b")]).unwrap();
        let region =
            convert::region::specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let mut block = Vec::new();
        let first =
            vec![get("a"), get("b"), counted(Increment::new("n").add("f", "n", 1), &mut block)];
        let mut atomic = |qualifier: &'static str| {
            vec![counted(Put::new("r").add("f", qualifier, qualifier), &mut block)]
        };
        let others = [atomic("1"), atomic("2")].map(|action| (Some(true), action));
        let on = |(atomic, action)| pb::RegionAction {
            region: region.clone(),
            atomic,
            action,
            ..pb::RegionAction::default()
        };
        let request = pb::MultiRequest {
            region_action: std::iter::once((None, first)).chain(others).map(on).collect(),
            ..Default::default()
        };

        let peer =
            Arc::new(Peer { format: Some(CellBlockFormat::default()), ..Peer::clone(&rig.peer) });
        let call = Arc::new(testing::call_with::<service::ClientMulti>(&peer, &request, &block));
        let CallStep::Deferred(rest) =
            super::super::answer(&rig.services.client, &call, Executor::Inline)
        else {
            panic!("the increment does not wait")
        };
        // Concurrently, other calls of the connection take its whole share.
        let mut others = MemoryReservation::new(&peer.account);
        others.set(usize::MAX / 4);
        let (response, _) = answered(rest());
        drop(others);

        let [first, ..] = &response.region_action_result[..] else { panic!("{response:?}") };
        let refused = first.result_or_exception[2]
            .exception
            .as_ref()
            .and_then(|pair| Exception::from_pair(pair).kind());
        assert_eq!(refused, Some(ExceptionKind::MultiActionResultTooLarge));
        let row = table.get(&halite_types::Get::new("r"), ReadTier::Disk).unwrap();
        assert_eq!(
            (row.value("f", "1"), row.value("f", "2")),
            (Some(&b"1"[..]), Some(&b"2"[..])),
            "{response:?}"
        );
    }
}
