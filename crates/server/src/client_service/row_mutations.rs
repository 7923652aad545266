//! Several mutations that are applied all or none: `RowMutations`, and mutations of several rows of a region.

use halite_engine::{Nonce, Region};
use halite_types::{CheckAndMutate, OpResult, Row, RowOp};
use halite_wire::convert;
use halite_wire::proto as pb;

use super::mutate::{AppliedOne, apply_once, heeds_nonce, try_apply_once};
use super::region;
use crate::call::{Fault, Peer};
use crate::context::Context;
use crate::nonces::Attempt;

/// Mutations that are applied all or none, understood.
pub(super) enum Together {
    Nothing,
    /// Of one row, under the condition if there is one.
    Row(RowOp),
    Rows(Vec<RowOp>),
}

impl Together {
    /// These mutations, if the condition holds where there is one.
    pub(super) fn new(ops: Vec<RowOp>, condition: Option<&pb::Condition>) -> Result<Self, Fault> {
        let Some(row) = ops.first().map(|op| op.row().clone()) else { return Ok(Self::Nothing) };
        if condition.is_none() && ops.iter().any(|op| *op.row() != row) {
            return Ok(Self::Rows(ops));
        }
        let all: RowOp = convert::mutate::row_mutations(row, ops).into();
        Ok(Self::Row(match condition {
            Some(condition) => convert::condition::from_proto(condition, all)?.into(),
            None => all,
        }))
    }

    /// Applies them.
    pub(super) fn apply(self, context: &Context, peer: &Peer, region: &Region, nonce: Option<Nonce>) -> Result<AppliedOne, Fault> {
        match self {
            Self::Nothing => Ok(nothing()),
            Self::Row(op) => {
                let nonce = nonce.filter(|_| heeds_nonce(&op));
                apply_once(context, peer, region, op, nonce)
            }
            Self::Rows(ops) => apply_rows(context, peer, region, &ops, &[], nonce),
        }
    }

    /// The same where nobody may wait; `None` if that would have to, and nothing has been done.
    pub(super) fn try_apply(&self, context: &Context, peer: &Peer, region: &Region, nonce: Option<Nonce>) -> Option<Result<AppliedOne, Fault>> {
        match self {
            Self::Nothing => Some(Ok(nothing())),
            Self::Row(op) => try_apply_once(context, peer, region, op, nonce.filter(|_| heeds_nonce(op))),
            Self::Rows(_) => None,
        }
    }
}

fn nothing() -> AppliedOne {
    let result = OpResult { row: Row::default(), processed: true };
    AppliedOne { result, ticket: halite_engine::CommitTicket::ready(), block_bytes: 0 }
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
    let nonce = nonce.filter(|_| !conditions.is_empty() || ops.iter().any(heeds_nonce));
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
