//! Operations on one row, as messages that can be sent again.

use halite_types::key::to_string_binary;
use halite_types::op::check_row;
use halite_types::{
    Bytes, Cells, CellsBuilder, CheckAndMutate, Error, Get, OpResult, Result, RowOp,
};
use halite_wire::convert::{condition, get, mutate, result};
use halite_wire::proto as pb;
use halite_wire::service::{ClientGet, ClientMutate};

use crate::connection::{Connection, ResponseFuture};
use crate::deadline::CallDeadline;
use crate::error::RpcError;
use crate::meta::Location;
use crate::shared::ClientInner;
use std::sync::Arc;

/// Read or mutation of one row.
pub(super) struct Action {
    pub(super) row: Bytes,
    pub(super) body: Body,
}

pub(super) enum Body {
    Get(pb::Get),
    /// Put, delete, increment or append, with an optional condition.
    Mutation {
        mutation: pb::MutationProto,
        cells: Cells,
        condition: Option<pb::Condition>,
    },
    /// Several mutations applied atomically, with an optional condition.
    Group {
        mutations: Vec<pb::MutationProto>,
        cells: Vec<Cells>,
        condition: Option<pb::Condition>,
    },
}

/// Constraint on batching several actions on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchOrder {
    /// Reads, in any order.
    Free,
    /// Puts and deletes: a server applies those of one call in order.
    Plain,
    /// All others are applied before or after those, so they are sent without others on their row.
    Alone,
}

impl Action {
    pub(super) fn get(asked: &Get) -> Result<Self> {
        check_row(asked.row())?;
        // Like HBase's client: the server would return a retriable exception.
        if asked.selection.max_versions == 0 {
            return Err(Error::invalid(format!(
                "row {}: a get of no versions; ask for one or more",
                to_string_binary(asked.row())
            )));
        }
        Ok(Self { row: asked.row().clone(), body: Body::Get(get::to_proto(asked)?) })
    }

    pub(super) fn operation(op: RowOp, shared: &ClientInner) -> Result<Self> {
        let row = op.row().clone();
        check_row(&row)?;
        let body = match op {
            RowOp::CheckAndMutate(check) => conditional(check, shared)?,
            op => body(op, None, shared)?,
        };
        Ok(Self { row, body })
    }

    pub(super) fn batch_order(&self) -> BatchOrder {
        use pb::mutation_proto::MutationType;
        match &self.body {
            Body::Get(_) => BatchOrder::Free,
            Body::Mutation { mutation, condition: None, .. }
                if matches!(mutation.mutate_type(), MutationType::Put | MutationType::Delete) =>
            {
                BatchOrder::Plain
            }
            Body::Mutation { .. } | Body::Group { .. } => BatchOrder::Alone,
        }
    }

    /// Returns `true` for an action with a condition by filter.
    pub(super) fn has_filter(&self) -> bool {
        match &self.body {
            Body::Get(_) => false,
            Body::Mutation { condition, .. } | Body::Group { condition, .. } => {
                condition.as_ref().is_some_and(|condition| condition.filter.is_some())
            }
        }
    }

    /// Returns the bytes of its cells.
    pub(super) fn bytes(&self) -> usize {
        match &self.body {
            Body::Get(_) => 0,
            Body::Mutation { cells, .. } => cells.bytes().len(),
            Body::Group { cells, .. } => cells.iter().map(|cells| cells.bytes().len()).sum(),
        }
    }
}

fn conditional(mut check: CheckAndMutate, shared: &ClientInner) -> Result<Body> {
    let condition = condition::to_proto(&check)?;
    let nothing = halite_types::RowMutations::new(Bytes::new()).into();
    let then = std::mem::replace(&mut *check.then, nothing);
    if then.row() != check.row() {
        return Err(Error::invalid(
            "the condition is on another row than the change; give both the same row",
        ));
    }
    body(then, Some(condition), shared)
}

fn body(op: RowOp, condition: Option<pb::Condition>, shared: &ClientInner) -> Result<Body> {
    match op {
        RowOp::Mutate(group) => {
            let row = group.row().clone();
            let (mut mutations, mut cells) = (Vec::new(), Vec::new());
            for part in group.ops {
                if *part.row() != row {
                    return Err(Error::invalid(
                        "the mutations of a row are of several rows; give each row its own",
                    ));
                }
                let (mutation, run) = mutation(part, false, shared)?;
                mutations.push(mutation);
                cells.push(run);
            }
            Ok(Body::Group { mutations, cells, condition })
        }
        RowOp::CheckAndMutate(_) => {
            Err(Error::invalid("a check-and-mutate holds another; give one condition"))
        }
        op => {
            let (mutation, cells) = mutation(op, condition.is_some(), shared)?;
            Ok(Body::Mutation { mutation, cells, condition })
        }
    }
}

/// Returns the message of an operation, with a nonce if it is not idempotent.
fn mutation(
    op: RowOp,
    is_conditional: bool,
    shared: &ClientInner,
) -> Result<(pb::MutationProto, Cells)> {
    let counts = matches!(op, RowOp::Increment(_) | RowOp::Append(_));
    let may_be_empty = matches!(op, RowOp::Delete(_));
    let mutation = op.mutation().ok_or_else(|| {
        Error::invalid("mutations of a row are put, delete, increment and append; name these")
    })?;
    mutation.check()?;
    if let RowOp::Delete(delete) = &op
        && delete.timestamp < 0
    {
        let row = to_string_binary(mutation.row());
        return Err(Error::invalid(format!(
            "row {row}: timestamp {} is negative; give 0 or more",
            delete.timestamp
        )));
    }
    if mutation.cells().is_empty() && !may_be_empty {
        let row = to_string_binary(mutation.row());
        return Err(Error::invalid(format!("row {row}: the operation names no column; add one")));
    }
    check_cells(mutation.cells(), shared.config.max_cell_bytes)?;
    let (mut proto, cells) = mutate::into_counted(op)?;
    if counts || is_conditional {
        proto.nonce = Some(shared.nonces.next());
    }
    Ok((proto, cells))
}

/// Rejects too large cells, as HBase's client does: a server rejects such a cell together with all
/// mutations of the call.
fn check_cells(cells: &CellsBuilder, most: usize) -> Result<()> {
    if most == 0 || cells.bytes().len() <= most {
        return Ok(());
    }
    match cells.iter().find(|cell| cell.encoded_len() > most) {
        None => Ok(()),
        Some(cell) => {
            let [row, family, qualifier] =
                [cell.row(), cell.family(), cell.qualifier()].map(to_string_binary);
            let bytes = cell.encoded_len();
            let fix = "split the value, or raise max_cell_bytes (hbase.client.keyvalue.maxsize) \
                        and hbase.server.keyvalue.maxsize";
            Err(Error::invalid(format!(
                "row {row}, column {family}:{qualifier}: a cell of {bytes} bytes is over the limit \
                 of {most}; {fix}"
            )))
        }
    }
}

/// Single call that was sent for an action.
pub(super) enum SentAction {
    Get(ResponseFuture),
    Mutate(ResponseFuture),
}

/// Sends an action that is not a group in a separate call.
pub(super) async fn send(
    action: &mut Action,
    location: &Location,
    connection: &Arc<Connection>,
    route: (Option<u32>, u64),
    deadline: CallDeadline,
) -> Result<SentAction, RpcError> {
    let ((priority, nonce_group), region) = (route, location.specifier.clone());
    match &mut action.body {
        Body::Get(get) => {
            let mut request = pb::GetRequest { region, get: std::mem::take(get) };
            let sent = connection.call::<ClientGet>(&request, &[], priority, deadline).await;
            *get = std::mem::take(&mut request.get);
            sent.map(SentAction::Get)
        }
        Body::Mutation { mutation, cells, condition } => {
            let nonce_group = mutation.nonce.map(|_| nonce_group);
            let mut request = pb::MutateRequest {
                region,
                mutation: std::mem::take(mutation),
                condition: condition.take(),
                nonce_group,
            };
            let cells = if cells.is_empty() { &[][..] } else { std::slice::from_ref(cells) };
            let sent = connection.call::<ClientMutate>(&request, cells, priority, deadline).await;
            (*mutation, *condition) =
                (std::mem::take(&mut request.mutation), request.condition.take());
            sent.map(SentAction::Mutate)
        }
        Body::Group { .. } => {
            Err(Error::invalid("a group of mutations is not a call of its own").into())
        }
    }
}

impl SentAction {
    pub(super) async fn receive(self) -> Result<OpResult, RpcError> {
        match self {
            Self::Get(pending) => {
                let (response, mut cells) = pending.response::<ClientGet>().await?;
                let row =
                    response.result.map(|row| result::from_proto(&row, &mut cells)).transpose()?;
                Ok(OpResult { row: row.unwrap_or_default(), processed: true })
            }
            Self::Mutate(pending) => {
                let (response, mut cells) = pending.response::<ClientMutate>().await?;
                let row =
                    response.result.map(|row| result::from_proto(&row, &mut cells)).transpose()?;
                Ok(OpResult {
                    row: row.unwrap_or_default(),
                    processed: response.processed.unwrap_or(true),
                })
            }
        }
    }
}
