//! Atomic groups of mutations: `RowMutations`, and mutations of several rows of a region.

use halite_engine::{Nonce, Region};
use halite_types::{CheckAndMutate, OpResult, Row, RowOp};
use halite_wire::convert;
use halite_wire::proto as pb;

use super::mutate::{AppliedOp, apply_with_nonce, heeds_nonce, try_apply_with_nonce};
use super::region;
use crate::base::call::{CallError, Peer};
use crate::base::context::Context;
use crate::base::nonces::NonceState;

/// Decoded mutations that are applied atomically.
pub(super) enum AtomicMutations {
    Nothing,
    /// Mutations of one row, with its condition if any.
    Row(RowOp),
    Rows(Vec<RowOp>),
}

impl AtomicMutations {
    /// Returns these mutations, with the condition if any.
    pub(super) fn new(
        ops: Vec<RowOp>,
        condition: Option<&pb::Condition>,
    ) -> Result<Self, CallError> {
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

    /// Applies the mutations.
    pub(super) fn apply(
        self,
        context: &Context,
        peer: &Peer,
        region: &Region,
        nonce: Option<Nonce>,
    ) -> Result<AppliedOp, CallError> {
        match self {
            Self::Nothing => Ok(nothing()),
            Self::Row(op) => {
                let nonce = nonce.filter(|_| heeds_nonce(&op));
                apply_with_nonce(context, peer, region, op, nonce)
            }
            Self::Rows(ops) => apply_rows(context, peer, region, &ops, &[], nonce),
        }
    }

    /// Applies the mutations without blocking. Returns `None` if they would have to wait; nothing
    /// has been done then.
    pub(super) fn try_apply(
        &self,
        context: &Context,
        peer: &Peer,
        region: &Region,
        nonce: Option<Nonce>,
    ) -> Option<Result<AppliedOp, CallError>> {
        match self {
            Self::Nothing => Some(Ok(nothing())),
            Self::Row(op) => {
                try_apply_with_nonce(context, peer, region, op, nonce.filter(|_| heeds_nonce(op)))
            }
            Self::Rows(_) => None,
        }
    }
}

fn nothing() -> AppliedOp {
    let result = OpResult { row: Row::default(), processed: true };
    AppliedOp { result, ticket: halite_engine::CommitTicket::ready(), block_bytes: 0 }
}

/// Applies operations on several rows atomically, if all conditions hold.
pub(super) fn apply_rows(
    context: &Context,
    peer: &Peer,
    region: &Region,
    ops: &[RowOp],
    conditions: &[CheckAndMutate],
    nonce: Option<Nonce>,
) -> Result<AppliedOp, CallError> {
    let nonce = nonce.filter(|_| !conditions.is_empty() || ops.iter().any(heeds_nonce));
    let done = |processed, ticket| AppliedOp {
        result: OpResult { row: Row::default(), processed },
        ticket,
        block_bytes: 0,
    };
    let NonceState::First(first) = context.nonces.begin(nonce) else {
        return Ok(done(true, region.applied_ticket()));
    };
    match region.apply_atomically(ops, conditions, nonce) {
        Ok((processed, ticket)) => {
            if processed {
                first.applied();
            }
            Ok(done(processed, ticket))
        }
        Err(error) => Err(region::write_error(peer, region, true, &error)),
    }
}
