//! Many actions on regions of one server in one call, and the result of each.

use std::collections::HashMap;
use std::sync::Arc;

use halite_types::{Cells, CellsBuilder, OpResult, Row};
use halite_wire::convert::result;
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::service::ClientMulti;

use super::action::{Action, Body};
use crate::connection::{Connection, ResponseFuture, ServerConnection};
use crate::deadline::CallDeadline;
use crate::error::RpcError;
use crate::meta::Location;

/// Actions to send to one server.
pub(super) struct Multi {
    pub(super) server: Arc<ServerConnection>,
    regions: Vec<RegionActions>,
    pub(super) actions: usize,
    pub(super) bytes: usize,
}

/// Actions on one region, by index in the batch, or one group.
struct RegionActions {
    location: Arc<Location>,
    items: Vec<usize>,
    is_group: bool,
}

/// Call in progress, and the actions it contains.
pub(super) struct SentMulti {
    pending: ResponseFuture,
    regions: Vec<RegionActions>,
}

/// Result of an action, with its index in the batch.
pub(super) type ActionOutcome = (usize, Result<OpResult, RpcError>);
/// Failure of a whole region.
pub(super) type RegionFailure = (RpcError, Arc<Location>);

impl Multi {
    pub(super) fn new(server: &Arc<ServerConnection>) -> Self {
        Self { server: Arc::clone(server), regions: Vec::new(), actions: 0, bytes: 0 }
    }

    /// Adds the action with index `item` in the batch.
    pub(super) fn add(&mut self, item: usize, action: &Action, location: &Arc<Location>) {
        self.actions += 1;
        self.bytes += action.bytes();
        let is_group = match &action.body {
            Body::Group { .. } => true,
            Body::Mutation { condition, .. } => condition.is_some(),
            Body::Get(_) => false,
        };
        let same = |part: &&mut RegionActions| {
            !is_group && !part.is_group && Arc::ptr_eq(&part.location, location)
        };
        match self.regions.iter_mut().rev().find(same) {
            Some(part) => part.items.push(item),
            None => self.regions.push(RegionActions {
                location: Arc::clone(location),
                items: vec![item],
                is_group,
            }),
        }
    }

    /// Returns a region of the call.
    pub(super) fn location(&self) -> Option<Arc<Location>> {
        self.regions.first().map(|part| Arc::clone(&part.location))
    }

    /// Sends the call. The messages of `actions` are moved into the request, and restored after
    /// it has been encoded.
    pub(super) async fn send(
        self,
        actions: &mut [Action],
        connection: &Arc<Connection>,
        route: (Option<u32>, u64),
        deadline: CallDeadline,
    ) -> Result<SentMulti, RpcError> {
        let (priority, nonce_group) = route;
        let mut cells = Vec::new();
        let region_action =
            self.regions.iter().map(|part| part.lend(actions, &mut cells)).collect();
        let mut request =
            pb::MultiRequest { region_action, nonce_group: Some(nonce_group), condition: None };
        let sent = connection.call::<ClientMulti>(&request, &cells, priority, deadline).await;
        for (part, lent) in self.regions.iter().zip(&mut request.region_action) {
            part.restore(actions, lent);
        }
        Ok(SentMulti { pending: sent?, regions: self.regions })
    }
}

impl RegionActions {
    fn lend(&self, actions: &mut [Action], cells: &mut Vec<Cells>) -> pb::RegionAction {
        let mut lent = pb::RegionAction {
            region: self.location.specifier.clone(),
            ..pb::RegionAction::default()
        };
        for &item in &self.items {
            let Some(action) = actions.get_mut(item) else { continue };
            match &mut action.body {
                Body::Get(get) => lent.action.push(pb::Action {
                    index: index(item),
                    get: Some(std::mem::take(get)),
                    ..pb::Action::default()
                }),
                Body::Mutation { mutation, cells: run, condition } => {
                    lent.condition = condition.take();
                    cells.push(run.clone());
                    lent.action.push(action_from_mutation(item, mutation));
                }
                Body::Group { mutations, cells: runs, condition } => {
                    (lent.condition, lent.atomic) = (condition.take(), Some(true));
                    cells.extend(runs.iter().cloned());
                    lent.action.extend(
                        mutations
                            .iter_mut()
                            .enumerate()
                            .map(|(at, mutation)| action_from_mutation(at, mutation)),
                    );
                }
            }
        }
        lent
    }

    fn restore(&self, actions: &mut [Action], lent: &mut pb::RegionAction) {
        let mut messages = lent.action.drain(..);
        for &item in &self.items {
            let Some(action) = actions.get_mut(item) else { continue };
            match &mut action.body {
                Body::Get(get) => {
                    *get = messages.next().and_then(|message| message.get).unwrap_or_default();
                }
                Body::Mutation { mutation, condition, .. } => {
                    *mutation =
                        messages.next().and_then(|message| message.mutation).unwrap_or_default();
                    *condition = lent.condition.take();
                }
                Body::Group { mutations, condition, .. } => {
                    mutations.iter_mut().zip(messages.by_ref()).for_each(|(mutation, message)| {
                        *mutation = message.mutation.unwrap_or_default();
                    });
                    *condition = lent.condition.take();
                }
            }
        }
    }
}

fn action_from_mutation(at: usize, mutation: &mut pb::MutationProto) -> pb::Action {
    pb::Action {
        index: index(at),
        mutation: Some(std::mem::take(mutation)),
        ..pb::Action::default()
    }
}

/// Returns the index that the server returns with a result; it is opaque to the server.
fn index(item: usize) -> Option<u32> {
    u32::try_from(item).ok()
}

impl SentMulti {
    /// Returns the regions of the call.
    pub(super) fn locations(&self) -> Vec<Arc<Location>> {
        let mut locations: Vec<_> =
            self.regions.iter().map(|part| Arc::clone(&part.location)).collect();
        locations.dedup_by(|a, b| Arc::ptr_eq(a, b));
        locations
    }

    /// Returns the result of each action, and the failures of whole regions.
    ///
    /// # Errors
    /// If the call as a whole failed.
    pub(super) async fn receive(
        self,
    ) -> Result<(Vec<ActionOutcome>, Vec<RegionFailure>), RpcError> {
        let (response, mut cells) = self.pending.response::<ClientMulti>().await?;
        let (mut outcomes, mut noted) = (Vec::new(), Vec::new());
        let mut answers = response.region_action_result.into_iter();
        for part in self.regions {
            let answer = answers.next().unwrap_or_default();
            match &answer.exception {
                Some(pair) => {
                    let failure = RpcError::from(Exception::from_pair(pair));
                    noted.push((failure.clone(), Arc::clone(&part.location)));
                    let failure = failure.at(&*part.location);
                    outcomes
                        .extend(part.items.into_iter().map(|item| (item, Err(failure.clone()))));
                }
                None if part.is_group => outcomes.push((
                    part.items.first().copied().unwrap_or(0),
                    part.group(&answer, &mut cells)?,
                )),
                None => part.each(&answer, &mut cells, &mut outcomes)?,
            }
        }
        Ok((outcomes, noted))
    }
}

impl RegionActions {
    /// Reads the results of independent actions, in any order.
    fn each(
        self,
        answer: &pb::RegionActionResult,
        cells: &mut Cells,
        outcomes: &mut Vec<ActionOutcome>,
    ) -> Result<(), RpcError> {
        let mut by_index = HashMap::with_capacity(answer.result_or_exception.len());
        for one in &answer.result_or_exception {
            by_index.insert(one.index(), self.outcome(one, cells)?);
        }
        for item in self.items {
            let answered = index(item).and_then(|index| by_index.remove(&index));
            outcomes.push((
                item,
                answered.unwrap_or_else(|| {
                    Err(RpcError::lost("the server did not answer for the action")
                        .at(&*self.location))
                }),
            ));
        }
        Ok(())
    }

    fn outcome(
        &self,
        one: &pb::ResultOrException,
        cells: &mut Cells,
    ) -> Result<Result<OpResult, RpcError>, RpcError> {
        if let Some(pair) = &one.exception {
            return Ok(Err(RpcError::from(Exception::from_pair(pair)).at(&*self.location)));
        }
        let row = one.result.as_ref().map(|row| result::from_proto(row, cells)).transpose()?;
        Ok(Ok(OpResult { row: row.unwrap_or_default(), processed: true }))
    }

    /// Reads the result of a group: whether it was applied, and the new values of all its
    /// increments and appends.
    fn group(
        &self,
        answer: &pb::RegionActionResult,
        cells: &mut Cells,
    ) -> Result<Result<OpResult, RpcError>, RpcError> {
        let mut row = CellsBuilder::default();
        for one in &answer.result_or_exception {
            match self.outcome(one, cells)? {
                Ok(result) => row.extend(result.row.cells()),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        Ok(Ok(OpResult {
            row: Row::new(row.finish()),
            processed: answer.processed.unwrap_or(true),
        }))
    }
}
