//! Batches: actions are grouped by region and server, all servers are called concurrently, and only
//! failed actions are retried.
//!
//! A wave is the set of actions that can be sent now: per row as many as preserve its order, per
//! server as many as fit in a call. Waves follow without a pause as long as no action fails.

use std::collections::HashMap;
use std::sync::Arc;

use halite_types::{Bytes, Error, OpResult, Result};

use super::action::{Action, BatchOrder};
use super::multi::{Multi, SentMulti};
use crate::deadline::Deadline;
use crate::error::RpcError;
use crate::meta::{LocateType, Location, TableLocations, locate};
use crate::retry::{self, Retryable};
use crate::shared::ClientInner;

pub(super) struct Batch<'a> {
    shared: &'a ClientInner,
    locations: &'a Arc<TableLocations>,
    actions: Vec<Action>,
    /// Index of each action in the caller's input.
    indexes: Vec<usize>,
    /// Pending actions, in order.
    pending: Vec<usize>,
    /// `true` if rows must be tracked to preserve their order.
    is_ordered: bool,
    results: Vec<Option<Result<OpResult>>>,
    done: usize,
}

/// Actions of a row already in a wave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowClaim {
    Plain,
    /// The row is closed for this wave.
    Closed,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        shared: &'a ClientInner,
        regions: &'a Arc<TableLocations>,
        given: Vec<Result<Action>>,
    ) -> Self {
        let mut batch = Self {
            shared,
            locations: regions,
            actions: Vec::with_capacity(given.len()),
            indexes: Vec::with_capacity(given.len()),
            pending: Vec::new(),
            is_ordered: false,
            results: vec![None; given.len()],
            done: 0,
        };
        for (place, action) in given.into_iter().enumerate() {
            match action {
                Ok(action) => {
                    batch.is_ordered |= action.batch_order() == BatchOrder::Alone;
                    batch.pending.push(batch.actions.len());
                    batch.actions.push(action);
                    batch.indexes.push(place);
                }
                Err(error) => batch.finish(place, Err(error)),
            }
        }
        batch
    }

    /// Runs all actions and returns their results. Returns an error if none was attempted.
    pub(super) async fn run(mut self, deadline: &Deadline) -> Result<Vec<Result<OpResult>>> {
        let shared = self.shared;
        if let Err(failure) = retry::retry(&shared.config, deadline, &mut self).await {
            let nothing = self.done == 0 && !failure.is_server_response();
            let error = failure.into_error();
            if nothing {
                return Err(error);
            }
            for item in std::mem::take(&mut self.pending) {
                if let Some(place) = self.indexes.get(item).copied() {
                    self.finish(place, Err(error.clone()));
                }
            }
        }
        let missing = || Err(Error::invalid("the action was not tried"));
        Ok(self.results.into_iter().map(|result| result.unwrap_or_else(missing)).collect())
    }

    fn finish(&mut self, place: usize, result: Result<OpResult>) {
        if let Some(slot) = self.results.get_mut(place) {
            *slot = Some(result);
            self.done += 1;
        }
    }

    /// Returns the actions that can be sent now, by server.
    async fn wave(&self, deadline: &Deadline) -> Result<Vec<Multi>, RpcError> {
        let mut multis: Vec<Multi> = Vec::new();
        let mut rows: HashMap<&Bytes, RowClaim> = HashMap::new();
        let mut near: Option<Arc<Location>> = None;
        for &item in &self.pending {
            let Some(action) = self.actions.get(item) else { continue };
            if self.is_ordered && !try_claim_row(&mut rows, action) {
                continue;
            }
            let location = match near.take().filter(|near| near.region.contains(&action.row)) {
                Some(location) => location,
                None => self.locate(&action.row, deadline).await?,
            };
            match self.with_room(&mut multis, &location) {
                Some(multi) => multi.add(item, action, &location),
                // No later action on this row may overtake it.
                None if self.is_ordered => drop(rows.insert(&action.row, RowClaim::Closed)),
                None => {}
            }
            near = Some(location);
        }
        Ok(multis)
    }

    /// Locates the region of a row. A cache miss requests all locations missing in the batch, from
    /// the last to the first: with each region, `hbase:meta` returns those before it.
    async fn locate(&self, row: &Bytes, deadline: &Deadline) -> Result<Arc<Location>, RpcError> {
        if let Some(location) = self.locations.find(LocateType::Containing(row)) {
            return Ok(location);
        }
        let pending = self
            .pending
            .iter()
            .filter_map(|item| self.actions.get(*item))
            .map(|action| &action.row);
        let mut unknown: Vec<&Bytes> = pending
            .filter(|row| self.locations.find(LocateType::Containing(row)).is_none())
            .collect();
        unknown.sort_unstable_by(|a, b| b.cmp(a));
        for row in unknown {
            locate(self.shared, self.locations, LocateType::Containing(row), deadline).await?;
        }
        locate(self.shared, self.locations, LocateType::Containing(row), deadline).await
    }

    /// Returns the call to a region's server, if it is not full.
    fn with_room<'m>(
        &self,
        multis: &'m mut Vec<Multi>,
        location: &Location,
    ) -> Option<&'m mut Multi> {
        let config = &self.shared.config;
        let at = multis
            .iter()
            .position(|multi| Arc::ptr_eq(&multi.server, &location.server))
            .unwrap_or_else(|| {
                multis.push(Multi::new(&location.server));
                multis.len() - 1
            });
        multis.get_mut(at).filter(|multi| {
            multi.actions < config.max_multi_actions && multi.bytes < config.max_multi_bytes
        })
    }

    /// Sends the call to one server. Actions that fail stay pending.
    async fn send(&mut self, multi: Multi, deadline: &Deadline) -> Result<SentMulti, RpcError> {
        let limit = deadline.call();
        let location = multi.location();
        let route = (self.locations.priority(), self.shared.nonces.group());
        let sent = match multi.server.connection(&self.shared.config, limit).await {
            Ok(connection) => multi.send(&mut self.actions, &connection, route, limit).await,
            Err(failure) => Err(failure),
        };
        sent.map_err(|failure| match location {
            Some(location) => self.record_failure(failure, &location),
            None => failure,
        })
    }

    async fn receive(&mut self, sent: SentMulti) -> Result<(), RpcError> {
        let concerned = sent.locations();
        let (outcomes, noted) = match sent.receive().await {
            Ok(answered) => answered,
            Err(mut failure) => {
                if self.actions.iter().any(Action::has_filter) {
                    failure = failure.of_filter_condition();
                }
                let mut reported = failure.clone();
                concerned
                    .iter()
                    .rev()
                    .for_each(|location| reported = self.record_failure(failure.clone(), location));
                return Err(reported);
            }
        };
        noted
            .into_iter()
            .for_each(|(failure, location)| drop(self.record_failure(failure, &location)));
        let mut worst = None;
        for (item, outcome) in outcomes {
            match outcome {
                Err(failure) if is_retryable(&failure) => worst = Some(failure),
                outcome => self.set_result(item, outcome.map_err(RpcError::into_error)),
            }
        }
        worst.map_or(Ok(()), Err)
    }

    fn set_result(&mut self, item: usize, result: Result<OpResult>) {
        if let Some(place) = self.indexes.get(item).copied() {
            self.finish(place, result);
        }
    }

    fn record_failure(&self, failure: RpcError, location: &Arc<Location>) -> RpcError {
        self.shared.meta_cache.record_failure(
            &failure,
            self.locations,
            location,
            &self.shared.connections,
        );
        failure.at(&**location)
    }
}

/// Returns `true` if an action may be sent with the actions of its row already in the wave.
fn try_claim_row<'b>(rows: &mut HashMap<&'b Bytes, RowClaim>, action: &'b Action) -> bool {
    match (action.batch_order(), rows.get(&action.row)) {
        (BatchOrder::Free, _) => true,
        (BatchOrder::Plain, None | Some(RowClaim::Plain)) => {
            rows.insert(&action.row, RowClaim::Plain);
            true
        }
        (BatchOrder::Alone, None) => {
            rows.insert(&action.row, RowClaim::Closed);
            true
        }
        (BatchOrder::Plain | BatchOrder::Alone, Some(_)) => {
            rows.insert(&action.row, RowClaim::Closed);
            false
        }
    }
}

fn is_retryable(failure: &RpcError) -> bool {
    use halite_wire::exception::RetryAction::{GiveUp, ReopenScanner};
    !matches!(failure.action(), GiveUp | ReopenScanner)
}

impl Retryable for Batch<'_> {
    type Output = ();

    async fn attempt(&mut self, deadline: &Deadline) -> Result<(), RpcError> {
        while !self.pending.is_empty() {
            let multis = self.wave(deadline).await?;
            let (mut sent, mut failed) = (Vec::with_capacity(multis.len()), None);
            for multi in multis {
                match self.send(multi, deadline).await {
                    Ok(multi) => sent.push(multi),
                    Err(failure) => failed = Some(failure),
                }
            }
            for multi in sent {
                if let Err(failure) = self.receive(multi).await {
                    failed = Some(failure);
                }
            }
            let (results, places) = (&self.results, &self.indexes);
            let is_open = |item: &usize| {
                places.get(*item).and_then(|place| results.get(*place)).is_some_and(Option::is_none)
            };
            self.pending.retain(is_open);
            if let Some(failure) = failed {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn progress(&self) -> usize {
        self.done
    }
}
