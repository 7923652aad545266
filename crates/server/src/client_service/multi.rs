//! `Multi`: actions on many regions in one call, answered region by region and action by action.
//!
//! As in HBase the reads, increments and appends of a region are done as they come, and its puts and deletes are gathered
//! and written together behind them; results come in that order and are known by their index. A call that is tried in
//! memory stops at the first action that may have to wait, or when its gets have looked at as many cells or copied as many
//! bytes as a single one may, and goes on from there on a reader thread, a few megabytes at a time.
//!
//! The cells of the answer and the frame they are copied to are counted as network buffers while they are gathered. When
//! the connection's share is used up the actions that are left are refused by a name that clients retry.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use halite_engine::scan::{MEMORY_BYTES_MAX, MEMORY_CELLS_MAX};
use halite_engine::{CommitTicket, Nonce, Region};
use halite_types::{Bytes, Cells, OpResult, RowOp, Tier};
use halite_wire::convert;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use halite_wire::service::Method;

use super::aggregate::Aggregate;
use super::exec::Served;
use super::get::{Query, Reading, query_metrics, result_of, row_result};
use super::mutate::{apply_once, note_written, op_bytes, reads_first};
use super::on_a_reader;
use super::region::{self, Target};
use super::row_mutations::Together;
use crate::buffers::Held;
use crate::call::{Call, Fault, Reply};
use crate::context::Context;
use crate::dispatch::{INLINE_UNFOLDED_BYTES_MAX, Lane, Outcome, Step};
use crate::metrics::Thrown;
use crate::nonces::nonce_of;
use crate::operations::Operations;
use crate::quota::{Charge, Demand};

/// Bytes of cells that one turn on a reader thread gathers.
const SLICE_BYTES: usize = 4 << 20;

/// A multi under way.
struct Run {
    context: Arc<Context>,
    call: Arc<Call>,
    request: pb::MultiRequest,
    /// Cells of the actions that have not been looked at.
    cells: Cells,
    response: pb::MultiResponse,
    /// The region being worked on, its result so far.
    at: usize,
    current: Option<Current>,
    /// Its actions, if they are done all or none and had to wait.
    atomic: Option<Atomic>,
    out: Out,
    /// Cells its gets have looked at, and bytes that they have shown to filters.
    cells_examined: u64,
    filter_work: usize,
    /// Network buffers of the answer: the cells, and as much for the frame.
    held: Held,
    /// Bytes of the answer at which the turn on the thread ends.
    slice_end: usize,
    ticket: CommitTicket,
    /// Bytes that the message and the cell block have taken in memory beside the frame.
    unfolded: usize,
    /// Bytes of the cells that the mutations looked at so far had inside their messages.
    inside: usize,
}

/// What goes behind the message.
struct Out {
    cells: Option<Vec<Cells>>,
    /// Bytes of the cells as HBase counts them, and bytes that they take in memory.
    bytes: usize,
    memory: usize,
}

/// A region being worked on.
struct Current {
    target: Target,
    /// The actions that are left.
    actions: std::vec::IntoIter<pb::Action>,
    /// The one that had to wait.
    again: Option<pb::Action>,
    /// An operation that has been read from the request but not applied.
    pending: Option<RowOp>,
    /// An endpoint that has done a part of its work.
    aggregate: Option<Box<Aggregate>>,
    /// Bytes of refusals that are not counted with the answers yet.
    refused_bytes: usize,
    /// Puts and deletes that are gathered, with the indexes of their actions.
    writes: Vec<RowOp>,
    indexes: Vec<u32>,
    result: pb::RegionActionResult,
    charge: Option<Charge>,
}

/// The actions of a region that are done all or none, read from the request.
struct Atomic {
    region: Arc<Region>,
    together: Together,
    nonce: Option<Nonce>,
    /// The cells of the actions behind them.
    cells: Cells,
    /// As [`Run::inside`], with theirs.
    inside: usize,
    /// Kept for the time that they take, which is charged at its end.
    charge: Option<Charge>,
}

/// Work that would have to wait.
struct MustWait;

/// Answers a `Multi`.
pub(super) fn multi(context: &Arc<Context>, call: &Arc<Call>, lane: Lane) -> Result<Step, Fault> {
    let mut unfolded = if lane == Lane::Inline { call.request.unfolded_bytes(call.method) } else { 0 };
    if unfolded > INLINE_UNFOLDED_BYTES_MAX {
        return Ok(on_a_reader(context, call, multi));
    }
    let Some(cells) = super::cells(call, lane)? else {
        return Ok(on_a_reader(context, call, multi));
    };
    if call.peer.format.is_some_and(|format| format.compressor.is_some()) {
        unfolded += cells.bytes().len();
    }
    let request: pb::MultiRequest = if lane == Lane::Inline { call.measured_message()? } else { call.message()? };
    let _ = call.operations.set(Operations::of_multi(&request));
    let mut run = Run {
        cells,
        response: pb::MultiResponse { region_statistics: Some(pb::MultiRegionLoadStats::default()), ..pb::MultiResponse::default() },
        context: Arc::clone(context),
        call: Arc::clone(call),
        request,
        at: 0,
        current: None,
        atomic: None,
        out: Out { cells: call.peer.format.is_some().then(Vec::new), bytes: 0, memory: 0 },
        cells_examined: 0,
        filter_work: 0,
        held: Held::new(&call.peer.account),
        slice_end: usize::MAX,
        ticket: CommitTicket::ready(),
        unfolded,
        inside: 0,
    };
    if lane == Lane::Inline && run.run(Tier::Memory).is_err() {
        // It waits with what it has, the answers so far among it.
        call.unfolded.store(run.unfolded + run.inside + run.out.memory, Relaxed);
        return Ok(Step::Later(Box::new(move || run.end())));
    }
    Ok(run.end())
}

impl Run {
    /// Does what is left, waiting where it must, and answers.
    fn end(mut self) -> Step {
        // With the disk allowed it stops only to give others their turn.
        self.slice_end = self.out.memory.saturating_add(SLICE_BYTES);
        if self.run(Tier::Disk).is_err() {
            return Step::Later(Box::new(move || self.end()));
        }
        let reply = match self.out.cells {
            Some(cells) => Reply::with_cells(self.response, cells),
            None => Reply::new(self.response),
        };
        Step::Done(Outcome::After(self.ticket, reply.holding(self.held)))
    }

    fn run(&mut self, tier: Tier) -> Result<(), MustWait> {
        while self.at < self.request.region_action.len() {
            let result = if self.is_atomic() { self.atomic(tier)? } else { self.actions(tier)? };
            self.response.region_action_result.push(result);
            self.at += 1;
        }
        Ok(())
    }

    fn region_action(&self) -> &pb::RegionAction {
        &self.request.region_action[self.at]
    }

    /// The condition of the region's actions. Older clients put the one there is into the request.
    fn condition(&self) -> Option<&pb::Condition> {
        self.region_action().condition.as_ref().or(self.request.condition.as_ref())
    }

    fn is_atomic(&self) -> bool {
        self.region_action().atomic() || self.condition().is_some()
    }

    // Actions each for itself.

    fn actions(&mut self, tier: Tier) -> Result<pb::RegionActionResult, MustWait> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => match self.find_region() {
                Ok((target, charge)) => {
                    let actions = std::mem::take(&mut self.request.region_action[self.at].action);
                    Current::new(target, actions, charge)
                }
                Err(fault) => return Ok(self.refuse_region(&fault)),
            },
        };
        let done = self.work(&mut current, tier);
        if done.is_err() {
            self.current = Some(current);
            return Err(MustWait);
        }
        Ok(current.result)
    }

    /// The region of the actions, which are charged if they are under limits.
    fn find_region(&self) -> Result<(Target, Option<Charge>), Fault> {
        let target = region::find(&self.context, &self.call.peer, &self.region_action().region)?;
        let charge = region::charge(&self.context, &self.call.peer, &target, self.demand())?;
        Ok((target, charge))
    }

    /// What the region's actions are about to do (HBase: `RegionServerRpcQuotaManager.checkBatchQuota`).
    fn demand(&self) -> Demand {
        let (mut writes, mut reads, mut is_atomic) = (0, 0, false);
        for action in &self.region_action().action {
            reads += usize::from(action.get.is_some());
            if let Some(mutation) = &action.mutation {
                let reads_too = self.condition().is_some() || is_result_wanted(mutation);
                (writes, reads, is_atomic) = (writes + 1, reads + usize::from(reads_too), is_atomic || reads_too);
            }
        }
        Demand::Batch { writes, reads, is_atomic }
    }

    fn work(&mut self, current: &mut Current, tier: Tier) -> Result<(), MustWait> {
        while let Some(action) = current.again.take().or_else(|| current.actions.next()) {
            if let Some(fault) = self.full() {
                // The cells of an operation that had to wait have been taken.
                if current.pending.take().is_none() {
                    self.skip(&action);
                }
                current.aggregate = None;
                current.refuse(&self.context, action.index(), &fault);
            } else if self.action(current, &action, tier).is_err() {
                current.again = Some(action);
                self.count_refused(current);
                return Err(MustWait);
            }
            self.count_refused(current);
        }
        let written = self.write(current, tier);
        self.count_refused(current);
        written
    }

    /// Counts what actions were refused with as a part of the answer.
    fn count_refused(&mut self, current: &mut Current) {
        if current.refused_bytes > 0 {
            self.out.memory = self.out.memory.saturating_add(std::mem::take(&mut current.refused_bytes));
            self.held.set(self.out.memory.saturating_mul(2));
        }
    }

    /// Why the next action is not done: the cells of the answers are as many as fit. Clients that know what to do about it are
    /// told by HBase's name and early; the others get what a frame may hold, and then a refusal that they do not take for one
    /// to be tried again.
    fn full(&self) -> Option<Fault> {
        let knows_it = self.call.peer.version.is_some();
        if knows_it && self.out.bytes > self.context.config.limits.result_bytes_max {
            let text = format!("Max size exceeded: the answers so far have {} bytes of cells; ask for the rest by itself", self.out.bytes);
            return Some(Fault::new(ExceptionKind::MultiActionResultTooLarge, text));
        }
        self.over_frame().or_else(|| self.over_share())
    }

    /// Why no more is done now: the answers use up the connection's share of the network buffers.
    fn over_share(&self) -> Option<Fault> {
        (self.out.memory > MEMORY_BYTES_MAX && self.call.peer.account.share_left() == 0).then(|| {
            let kind = if self.call.peer.version.is_some() { ExceptionKind::MultiActionResultTooLarge } else { ExceptionKind::CallQueueTooBig };
            let text =
                format!("no network buffers are left for more than the {} bytes of the answers so far; ask for the rest again", self.out.memory);
            Fault::new(kind, text)
        })
    }

    /// Why no more is done, whoever asks: the answers take what one frame may hold.
    fn over_frame(&self) -> Option<Fault> {
        let limits = &self.context.config.limits;
        let (bytes, most) = (self.out.memory, limits.frame_bytes_max.max(limits.result_bytes_max));
        (bytes > most).then(|| {
            let kind = if self.call.peer.version.is_some() { ExceptionKind::MultiActionResultTooLarge } else { ExceptionKind::DoNotRetry };
            Fault::new(kind, format!("the answers so far take {bytes} bytes, more than {most}; ask for the rest in a call of its own"))
        })
    }

    fn action(&mut self, current: &mut Current, action: &pb::Action, tier: Tier) -> Result<(), MustWait> {
        let index = action.index();
        if let Some(get) = &action.get {
            let is_turn_over = match tier {
                Tier::Memory => self.cells_examined > MEMORY_CELLS_MAX || self.out.memory.max(self.filter_work) > MEMORY_BYTES_MAX,
                Tier::Disk => self.out.memory >= self.slice_end,
            };
            if is_turn_over {
                return Err(MustWait);
            }
            let reading = Reading { tier, charge: current.charge.as_ref(), trace: Arc::default() };
            let found = Query::new(get).and_then(|query| query.run(&self.context, &self.call.peer, &current.target, &reading));
            self.cells_examined += reading.trace.cells_examined();
            self.filter_work = self.filter_work.saturating_add(usize::try_from(reading.trace.filter_work()).unwrap_or(usize::MAX));
            match found {
                Ok(None) => return Err(MustWait),
                Ok(Some(found)) => {
                    let result = self.add(|cells| result_of(found, cells));
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

    fn mutation(&mut self, current: &mut Current, index: u32, mutation: &pb::MutationProto, tier: Tier) -> Result<(), MustWait> {
        let op = match self.operation(current, mutation, tier)? {
            Ok(op) => op,
            Err(fault) => {
                current.refuse(&self.context, index, &fault);
                return Ok(());
            }
        };
        if let Target::Region(region) = &current.target
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
        if tier == Tier::Memory {
            current.pending = Some(op);
            return Err(MustWait);
        }
        note_written(current.charge.as_ref(), &op);
        let applied = current.region_to_write(&self.context, &self.call).and_then(|region| {
            let nonce = nonce_of(self.request.nonce_group(), mutation.nonce());
            apply_once(&self.context, &self.call.peer, &region, op, nonce)
        });
        match applied {
            Ok(applied) => {
                self.wait_for(applied.ticket);
                let has_result = is_result_wanted(mutation);
                let result = if has_result { self.add(|cells| row_result(&applied.result.row, cells)) } else { pb::Result::default() };
                current.answer(index, result);
            }
            Err(fault) => current.refuse(&self.context, index, &fault),
        }
        Ok(())
    }

    /// The operation of a mutation. Its cells are taken once, whatever becomes of it and however often it is looked at.
    fn operation(&mut self, current: &mut Current, mutation: &pb::MutationProto, tier: Tier) -> Result<Result<RowOp, Fault>, MustWait> {
        if let Some(op) = current.pending.take() {
            return Ok(Ok(op));
        }
        let inside = self.inside.saturating_add(convert::mutate::inside_bytes(mutation));
        if tier == Tier::Memory && inside > INLINE_UNFOLDED_BYTES_MAX {
            return Err(MustWait);
        }
        let op = convert::mutate::check_inside(inside).and_then(|()| convert::mutate::from_proto(mutation, &mut self.cells));
        if op.is_ok() {
            self.inside = inside;
        }
        Ok(op.map_err(Fault::from))
    }

    /// Writes what was gathered.
    fn write(&mut self, current: &mut Current, tier: Tier) -> Result<(), MustWait> {
        if current.writes.is_empty() {
            return Ok(());
        }
        if tier == Tier::Memory && (matches!(current.target, Target::Meta) || current.writes.iter().any(reads_first)) {
            return Err(MustWait);
        }
        let (writes, indexes) = (std::mem::take(&mut current.writes), std::mem::take(&mut current.indexes));
        let region = match current.region_to_write(&self.context, &self.call) {
            Ok(region) => region,
            Err(fault) => {
                indexes.into_iter().for_each(|index| current.refuse(&self.context, index, &fault));
                return Ok(());
            }
        };
        let bytes = if current.charge.is_some() { writes.iter().map(op_bytes).sum() } else { 0 };
        let applied = match tier {
            Tier::Memory => match region.try_apply(writes) {
                Ok(applied) => applied,
                Err(writes) => {
                    (current.writes, current.indexes) = (writes, indexes);
                    return Err(MustWait);
                }
            },
            Tier::Disk => region.apply_now(writes),
        };
        current.charge.iter().for_each(|charge| charge.wrote(bytes));
        self.wait_for(applied.ticket);
        let mut returned = vec![false; indexes.len()];
        applied.returned.iter().for_each(|(at, _)| returned[*at] = true);
        for ((index, result), returned) in indexes.into_iter().zip(applied.results).zip(returned) {
            match result {
                _ if returned => current.refuse(&self.context, index, &region::not_serving(&self.call.peer, &region.info().full_name())),
                Ok(_) => current.answer(index, pb::Result::default()),
                Err(error) => current.refuse(&self.context, index, &region::write_fault(&self.call.peer, &region, true, &error)),
            }
        }
        Ok(())
    }

    /// Adds a result to the answer, and counts its network buffers.
    fn add(&mut self, result: impl FnOnce(Option<&mut Vec<Cells>>) -> pb::Result) -> pb::Result {
        let result = self.out.add(result);
        self.held.set(self.out.memory.saturating_mul(2));
        result
    }

    fn wait_for(&mut self, ticket: CommitTicket) {
        let before = std::mem::replace(&mut self.ticket, CommitTicket::ready());
        self.ticket = before.later(ticket);
    }

    // Actions all or none.

    fn atomic(&mut self, tier: Tier) -> Result<pb::RegionActionResult, MustWait> {
        if let Some(fault) = self.over_frame() {
            self.atomic = None;
            return Ok(self.refuse_region(&fault));
        }
        // What was read and had to wait is applied as it is. Otherwise it is read on the reader thread; nothing has been taken from
        // the cells yet.
        let atomic = if let Some(atomic) = self.atomic.take() {
            Ok(atomic)
        } else {
            let inside = self.atomic_inside();
            if tier == Tier::Memory && (inside > INLINE_UNFOLDED_BYTES_MAX || self.atomic_reads_first()) {
                return Err(MustWait);
            }
            convert::mutate::check_inside(inside).map_err(Fault::from).and_then(|()| self.read_atomic(inside))
        };
        let outcome = match atomic {
            Ok(atomic) => self.apply_atomic(atomic, tier)?,
            Err(fault) => Err(fault),
        };
        Ok(match outcome {
            Ok((result, block_bytes)) => {
                // Where clients of old look for it.
                if self.condition().is_none() || self.request.region_action.len() == 1 {
                    self.response.processed = Some(result.processed);
                }
                self.atomic_result(&result, block_bytes)
            }
            Err(fault) => self.refuse_region(&fault),
        })
    }

    /// Bytes of the cells inside the messages of all mutations so far, the region's own among them.
    fn atomic_inside(&self) -> usize {
        let mutations = self.region_action().action.iter().filter_map(|action| action.mutation.as_ref());
        mutations.map(convert::mutate::inside_bytes).fold(self.inside, usize::saturating_add)
    }

    /// Whether there is anything but puts and deletes that need not look for the newest version, or `hbase:meta` to write to.
    fn atomic_reads_first(&self) -> bool {
        use pb::mutation_proto::MutationType;
        let plain = |action: &pb::Action| action.mutation.as_ref().is_some_and(|mutation| mutation.mutate_type() == MutationType::Put);
        let is_meta = matches!(region::find(&self.context, &self.call.peer, &self.region_action().region), Ok(Target::Meta));
        is_meta || self.condition().is_some() || !self.region_action().action.iter().all(plain)
    }

    /// Applies them, or keeps them where that would have to wait. What came of them, and how many bytes of blocks the condition
    /// looked through.
    fn apply_atomic(&mut self, atomic: Atomic, tier: Tier) -> Result<Result<(OpResult, u64), Fault>, MustWait> {
        let (context, peer) = (&self.context, &self.call.peer);
        let (applied, cells, inside) = match tier {
            Tier::Memory => {
                let Some(applied) = atomic.together.try_apply(context, peer, &atomic.region, atomic.nonce) else {
                    self.unfolded = self.unfolded.saturating_add(atomic.inside.saturating_sub(self.inside));
                    self.atomic = Some(atomic);
                    return Err(MustWait);
                };
                (applied, atomic.cells, atomic.inside)
            }
            Tier::Disk => {
                let Atomic { region, together, nonce, cells, inside, charge: _charge } = atomic;
                (together.apply(context, peer, &region, nonce), cells, inside)
            }
        };
        Ok(applied.map(|applied| {
            (self.cells, self.inside) = (cells, inside);
            self.wait_for(applied.ticket);
            (applied.result, applied.block_bytes)
        }))
    }

    /// Reads the region's actions; with those before them they have so many bytes inside their messages.
    fn read_atomic(&self, inside: usize) -> Result<Atomic, Fault> {
        let (target, charge) = self.find_region()?;
        let region = region::to_write(&self.context, &self.call.peer, &target)?;
        let (mut ops, mut number) = (Vec::new(), 0);
        let actions = &self.request.region_action[self.at].action;
        let first_get = actions.iter().find_map(|action| action.get.as_ref());
        if let Some(get) = first_get {
            let row = convert::shown(&get.row);
            return Err(Fault::do_not_retry(format!("Atomic put and/or delete only, not a Get={row}")));
        }
        // All are read, so that the cells of the next region's actions are found.
        let mut wrong = None;
        let mut cells = self.cells.clone();
        for mutation in actions.iter().filter_map(|action| action.mutation.as_ref()) {
            number = if number == 0 { mutation.nonce() } else { number };
            match convert::mutate::from_proto(mutation, &mut cells) {
                Ok(op) => ops.push(op),
                Err(exception) => wrong = wrong.or(Some(Fault::from(exception))),
            }
        }
        if let Some(fault) = wrong {
            return Err(fault);
        }
        for op in &ops {
            self.context.quota.check_space(&region, op)?;
            note_written(charge.as_ref(), op);
        }
        let nonce = nonce_of(self.request.nonce_group(), number);
        Ok(Atomic { region, together: Together::new(ops, self.condition())?, nonce, cells, inside, charge })
    }

    /// As HBase answers: an entry for each action, numbered from 0, the new values of all with the first.
    fn atomic_result(&mut self, applied: &OpResult, block_bytes: u64) -> pb::RegionActionResult {
        let actions = &self.request.region_action[self.at].action;
        let has_values = applied.processed && actions.iter().any(|action| action.mutation.as_ref().is_some_and(is_result_wanted));
        let is_conditional = self.condition().is_some();
        // HBase tells it of a single action only.
        let wants_metrics = actions.len() == 1 && self.condition().is_some_and(pb::Condition::query_metrics_enabled);
        let count = u32::try_from(actions.len()).unwrap_or(u32::MAX);
        let mut result = pb::RegionActionResult { processed: Some(applied.processed), ..pb::RegionActionResult::default() };
        for index in 0..count {
            let value = match index {
                0 if has_values => Some(self.add(|cells| row_result(&applied.row, cells))),
                _ => (!is_conditional).then(pb::Result::default),
            };
            let metrics = wants_metrics.then(|| query_metrics(block_bytes));
            result.result_or_exception.push(pb::ResultOrException { index: Some(index), result: value, metrics, ..pb::ResultOrException::default() });
        }
        self.request.region_action[self.at].action.clear();
        result
    }

    /// None of the region's actions is done; their cells are passed over.
    fn refuse_region(&mut self, fault: &Fault) -> pb::RegionActionResult {
        let actions = std::mem::take(&mut self.request.region_action[self.at].action);
        actions.iter().for_each(|action| self.skip(action));
        count(&self.context, fault);
        pb::RegionActionResult { exception: Some(fault.exception().to_pair()), ..pb::RegionActionResult::default() }
    }

    fn skip(&mut self, action: &pb::Action) {
        if let Some(mutation) = &action.mutation {
            convert::mutate::skip_cells(mutation, &mut self.cells);
        }
    }
}

/// Counts what an action or a region is refused with. The call as a whole is answered all the same.
fn count(context: &Context, fault: &Fault) {
    context.metrics.method(Method::ClientMulti).exceptions.add(Thrown::of(fault.exception().kind()));
}

fn is_result_wanted(mutation: &pb::MutationProto) -> bool {
    use pb::mutation_proto::MutationType;
    matches!(mutation.mutate_type(), MutationType::Increment | MutationType::Append)
}

impl Out {
    /// Adds a result, with its cells behind the message if the client takes them there.
    fn add(&mut self, result: impl FnOnce(Option<&mut Vec<Cells>>) -> pb::Result) -> pb::Result {
        let before = self.cells.as_ref().map_or(0, Vec::len);
        let result = result(self.cells.as_mut());
        let behind = self.cells.iter().flat_map(|cells| &cells[before..]).map(|cells| cells.bytes().len()).sum::<usize>();
        self.bytes += behind + result.cell.iter().map(|cell| cell.value().len()).sum::<usize>();
        let inside = |cell: &pb::Cell| size_of_val(cell) + cell.row().len() + cell.family().len() + cell.qualifier().len() + cell.value().len();
        self.memory += behind + result.cell.iter().map(inside).sum::<usize>();
        result
    }
}

impl Current {
    fn new(target: Target, actions: Vec<pb::Action>, charge: Option<Charge>) -> Self {
        Self {
            target,
            actions: actions.into_iter(),
            again: None,
            pending: None,
            aggregate: None,
            refused_bytes: 0,
            writes: Vec::new(),
            indexes: Vec::new(),
            result: pb::RegionActionResult::default(),
            charge,
        }
    }

    fn region_to_write(&self, context: &Context, call: &Call) -> Result<Arc<Region>, Fault> {
        region::to_write(context, &call.peer, &self.target)
    }

    fn answer(&mut self, index: u32, result: pb::Result) {
        let entry = pb::ResultOrException { index: Some(index), result: Some(result), ..pb::ResultOrException::default() };
        self.result.result_or_exception.push(entry);
    }

    fn refuse(&mut self, context: &Context, index: u32, fault: &Fault) {
        count(context, fault);
        let pair = fault.exception().to_pair();
        self.refused_bytes += size_of::<pb::ResultOrException>() + pair.name.len() + pair.value.as_ref().map_or(0, Bytes::len);
        let exception = Some(pair);
        self.result.result_or_exception.push(pb::ResultOrException { index: Some(index), exception, ..pb::ResultOrException::default() });
    }

    /// An endpoint called as an action.
    fn serve(&mut self, context: &Context, call: &Call, index: u32, service_call: &pb::CoprocessorServiceCall, tier: Tier) -> Result<(), MustWait> {
        if tier == Tier::Memory {
            return Err(MustWait);
        }
        match super::exec::serve(context, &call.peer, &self.target, service_call, self.aggregate.take()) {
            Ok(Served::Begun(aggregate)) => {
                self.aggregate = Some(aggregate);
                return Err(MustWait);
            }
            Ok(Served::Done(value)) => {
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
    use halite_wire::cellblock::Format;
    use halite_wire::convert::mutate::to_counted;
    use halite_wire::exception::Exception;
    use halite_wire::rpc::{Limits, Next, decode_response, next_frame};
    use halite_wire::service;

    use super::*;
    use crate::call::Peer;
    use crate::master_service::tests::rig::{Rig, name};
    use crate::testing;

    /// The answer of a call that has come to its end, and the cells behind it.
    fn answered(step: Step) -> (pb::MultiResponse, Cells) {
        let Step::Done(Outcome::After(ticket, reply)) = step else { panic!("it is not answered") };
        ticket.wait().unwrap();
        let Next::Frame(frame) = next_frame(&mut reply.encode(1, Some(Format::default())).unwrap(), &Limits::default()).unwrap() else {
            panic!("no frame")
        };
        let answer = decode_response(&frame).unwrap().answer.unwrap();
        (answer.message().unwrap(), answer.cells(Format::default(), &Limits::default()).unwrap().unwrap_or_default())
    }

    fn get(row: &'static str) -> pb::Action {
        pb::Action { get: Some(pb::Get { row: row.into(), ..pb::Get::default() }), ..pb::Action::default() }
    }

    /// An action whose cells are in the block.
    fn counted(op: impl Into<RowOp>, block: &mut Vec<Cells>) -> pb::Action {
        let (mutation, cells) = to_counted(&op.into()).unwrap();
        block.push(cells);
        pb::Action { mutation: Some(mutation), ..pb::Action::default() }
    }

    /// The same of an increment by one, with a nonce.
    fn count_one(row: &'static str, nonce: u64, block: &mut Vec<Cells>) -> pb::Action {
        let action = counted(Increment::new(row).add("f", "n", 1), block);
        pb::Action { mutation: action.mutation.map(|mutation| pb::MutationProto { nonce: Some(nonce), ..mutation }), ..action }
    }

    /// Each result of a region: its index, and the row of its first cell with the number in it, or the name of its exception.
    fn show(result: &pb::RegionActionResult, cells: &mut Cells) -> Vec<String> {
        let mut shown = |entry: &pb::ResultOrException| {
            if let Some(pair) = &entry.exception {
                return pair.name.rsplit('.').next().unwrap().to_owned();
            }
            let row = convert::result::from_proto(entry.result.as_ref().unwrap(), cells).unwrap();
            let key = row.cells().first().map_or(String::new(), |cell| String::from_utf8(cell.row().to_vec()).unwrap());
            let number = row.value("f", "n").map(|value| i64::from_be_bytes(value.try_into().unwrap()).to_string());
            key + &number.unwrap_or_default()
        };
        result.result_or_exception.iter().map(|entry| format!("{}={}", entry.index(), shown(entry))).collect()
    }

    #[test]
    fn a_multi_that_is_done_in_slices_is_answered_as_one_that_is_done_at_once() {
        let rig = Rig::new();
        rig.create("t", &["f"], &["m"]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        let large = |row: &'static str| RowOp::from(Put::new(row).add("f", "q", vec![7; 3 << 20]));
        table.apply(["a", "b", "c", "d", "x", "y", "z"].map(large).to_vec()).unwrap();
        let mut block = Vec::new();
        let put = |row: &'static str, family: &'static str| Put::new(row).add(family, "q", row);
        let mut wrong = get("a");
        wrong.get.as_mut().unwrap().column.push(pb::Column { family: "nope".into(), ..pb::Column::default() });
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
        let second = vec![get("x"), count_one("u", 4, &mut block), get("y"), counted(put("v", "f"), &mut block), get("z")];
        let regions = rig.context.engine.regions(&name("t")).unwrap();
        let on = |(region, actions): (_, Vec<pb::Action>)| pb::RegionAction {
            region: convert::region::specifier(region),
            action: (0..).zip(actions).map(|(index, action)| pb::Action { index: Some(index), ..action }).collect(),
            ..pb::RegionAction::default()
        };
        let request =
            pb::MultiRequest { region_action: regions.iter().zip([first, second]).map(on).collect(), nonce_group: Some(9), ..Default::default() };

        let peer = Arc::new(Peer { format: Some(Format::default()), ..Peer::clone(&rig.peer) });
        // The second time its client has got no answer.
        for _ in 0..2 {
            let call = Arc::new(testing::call_with::<service::ClientMulti>(&peer, &request, &block));
            let (mut step, mut turns) = (super::super::call(&rig.context, &call, Lane::Inline), 0);
            while let Step::Later(rest) = step {
                (step, turns) = (rest(), turns + 1);
            }
            assert!(turns > 2, "{turns}");
            let (response, mut cells) = answered(step);
            let [one, two] = &response.region_action_result[..] else { panic!("{response:?}") };
            let no = "NoSuchColumnFamilyException";
            let expected = ["0=a", "1=e1", "2=b", "4=f1", "5=c", &format!("6={no}"), "8=d", "9=h1", &format!("3={no}"), "7="];
            assert_eq!(show(one, &mut cells), expected);
            assert_eq!(show(two, &mut cells), ["0=x", "1=u1", "2=y", "4=z", "3="]);
        }
        let value = |row: &'static str| table.get(&halite_types::Get::new(row), Tier::Disk).unwrap().value("f", "q").map(<[u8]>::to_vec);
        assert_eq!([value("g"), value("v"), value("lost")], [Some(b"g".to_vec()), Some(b"v".to_vec()), None]);
    }

    #[test]
    fn an_operation_refused_after_it_was_read_takes_no_cells_of_those_behind_it() {
        let rig = Rig::new();
        rig.create("t", &["f"], &[]);
        let table = rig.context.engine.table(&name("t")).unwrap();
        let large = |row: &'static str| RowOp::from(Put::new(row).add("f", "q", vec![7; 200 << 10]));
        table.apply(vec![large("a"), large("b")]).unwrap();
        let region = convert::region::specifier(&rig.context.engine.regions(&name("t")).unwrap()[0]);
        let mut block = Vec::new();
        let first = vec![get("a"), get("b"), counted(Increment::new("n").add("f", "n", 1), &mut block)];
        let mut atomic = |qualifier: &'static str| vec![counted(Put::new("r").add("f", qualifier, qualifier), &mut block)];
        let others = [atomic("1"), atomic("2")].map(|action| (Some(true), action));
        let on = |(atomic, action)| pb::RegionAction { region: region.clone(), atomic, action, ..pb::RegionAction::default() };
        let request = pb::MultiRequest { region_action: std::iter::once((None, first)).chain(others).map(on).collect(), ..Default::default() };

        let peer = Arc::new(Peer { format: Some(Format::default()), ..Peer::clone(&rig.peer) });
        let call = Arc::new(testing::call_with::<service::ClientMulti>(&peer, &request, &block));
        let Step::Later(rest) = super::super::call(&rig.context, &call, Lane::Inline) else { panic!("the increment does not wait") };
        // Meanwhile other calls of the connection take its whole share.
        let mut others = Held::new(&peer.account);
        others.set(usize::MAX / 4);
        let (response, _) = answered(rest());
        drop(others);

        let [first, ..] = &response.region_action_result[..] else { panic!("{response:?}") };
        let refused = first.result_or_exception[2].exception.as_ref().and_then(|pair| Exception::from_pair(pair).kind());
        assert_eq!(refused, Some(ExceptionKind::MultiActionResultTooLarge));
        let row = table.get(&halite_types::Get::new("r"), Tier::Disk).unwrap();
        assert_eq!((row.value("f", "1"), row.value("f", "2")), (Some(&b"1"[..]), Some(&b"2"[..])), "{response:?}");
    }
}
