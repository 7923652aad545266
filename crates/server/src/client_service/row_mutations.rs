//! Several mutations that are applied all or none: `RowMutations`, and mutations of several rows of a region.

use halite_engine::{Nonce, Region};
use halite_types::{CheckAndMutate, OpResult, Row, RowOp};
use halite_wire::convert;
use halite_wire::proto as pb;

use super::mutate::{AppliedOne, apply_once};
use super::region;
use crate::call::{Fault, Peer};
use crate::context::Context;
use crate::nonces::Attempt;

/// Applies all operations or none, if the condition holds where there is one.
pub(super) fn apply(
    context: &Context,
    peer: &Peer,
    region: &Region,
    ops: Vec<RowOp>,
    condition: Option<&pb::Condition>,
    nonce: Option<Nonce>,
) -> Result<AppliedOne, Fault> {
    let Some(row) = ops.first().map(|op| op.row().clone()) else {
        let nothing = OpResult { row: Row::default(), processed: true };
        return Ok(AppliedOne { result: nothing, ticket: halite_engine::CommitTicket::ready(), block_bytes: 0 });
    };
    if condition.is_none() && ops.iter().any(|op| *op.row() != row) {
        return apply_rows(context, peer, region, &ops, &[], nonce);
    }
    let all: RowOp = convert::mutate::row_mutations(row, ops).into();
    let op = match condition {
        Some(condition) => convert::condition::from_proto(condition, all)?.into(),
        None => all,
    };
    apply_once(context, peer, region, op, nonce)
}

/// Operations on several rows as one, if all conditions hold.
pub(super) fn apply_rows(
    context: &Context,
    peer: &Peer,
    region: &Region,
    ops: &[RowOp],
    conditions: &[CheckAndMutate],
    nonce: Option<Nonce>,
) -> Result<AppliedOne, Fault> {
    let done = |processed, ticket| AppliedOne { result: OpResult { row: Row::default(), processed }, ticket, block_bytes: 0 };
    let Attempt::First(first) = context.nonces.begin(nonce) else {
        return Ok(done(true, region.applied_ticket()));
    };
    match region.apply_as_one(ops, conditions, nonce) {
        Ok((processed, ticket)) => {
            if processed {
                first.applied();
            }
            Ok(done(processed, ticket))
        }
        Err(error) => Err(region::write_fault(peer, region, true, &error)),
    }
}
