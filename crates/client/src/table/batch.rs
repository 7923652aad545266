//! Many actions: by region and server, all servers at once, and only what failed again.
//!
//! A wave is what can travel now: of each row as much as keeps its order, of each server as much as fits a call. Waves follow
//! each other without a pause as long as nothing fails.

use std::collections::HashMap;
use std::sync::Arc;

use halite_types::{Bytes, Error, OpResult, Result};

use super::action::{Action, Order};
use super::multi::{Multi, SentMulti};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::meta::{At, Location, TableRegions, locate};
use crate::retry::{self, Work};
use crate::shared::Shared;

pub(super) struct Batch<'a> {
    shared: &'a Shared,
    regions: &'a Arc<TableRegions>,
    actions: Vec<Action>,
    /// Where each action stood in what the caller gave.
    places: Vec<usize>,
    /// Actions that are still to be done, in order.
    pending: Vec<usize>,
    /// Whether rows have to be watched so that their order is kept.
    is_ordered: bool,
    results: Vec<Option<Result<OpResult>>>,
    done: usize,
}

/// What has been taken of a row into a wave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Plain,
    /// Nothing more may be taken.
    Closed,
}

impl<'a> Batch<'a> {
    pub(super) fn new(shared: &'a Shared, regions: &'a Arc<TableRegions>, given: Vec<Result<Action>>) -> Self {
        let mut batch = Self {
            shared,
            regions,
            actions: Vec::with_capacity(given.len()),
            places: Vec::with_capacity(given.len()),
            pending: Vec::new(),
            is_ordered: false,
            results: vec![None; given.len()],
            done: 0,
        };
        for (place, action) in given.into_iter().enumerate() {
            match action {
                Ok(action) => {
                    batch.is_ordered |= action.order() == Order::Alone;
                    batch.pending.push(batch.actions.len());
                    batch.actions.push(action);
                    batch.places.push(place);
                }
                Err(error) => batch.finish(place, Err(error)),
            }
        }
        batch
    }

    /// Does all and gives what became of each action; fails if nothing was tried.
    pub(super) async fn run(mut self, deadline: &Deadline) -> Result<Vec<Result<OpResult>>> {
        let shared = self.shared;
        if let Err(failure) = retry::run(&shared.config, deadline, &mut self).await {
            let nothing = self.done == 0 && !failure.is_answer();
            let error = failure.into_error();
            if nothing {
                return Err(error);
            }
            for item in std::mem::take(&mut self.pending) {
                if let Some(place) = self.places.get(item).copied() {
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

    /// What can travel now, by server.
    async fn wave(&self, deadline: &Deadline) -> Result<Vec<Multi>, Failure> {
        let mut multis: Vec<Multi> = Vec::new();
        let mut rows: HashMap<&Bytes, Taken> = HashMap::new();
        let mut near: Option<Arc<Location>> = None;
        for &item in &self.pending {
            let Some(action) = self.actions.get(item) else { continue };
            if self.is_ordered && !may_go(&mut rows, action) {
                continue;
            }
            let location = match near.take().filter(|near| near.region.contains(&action.row)) {
                Some(location) => location,
                None => self.locate(&action.row, deadline).await?,
            };
            match self.with_room(&mut multis, &location) {
                Some(multi) => multi.add(item, action, &location),
                // Nothing of this row may overtake it.
                None if self.is_ordered => drop(rows.insert(&action.row, Taken::Closed)),
                None => {}
            }
            near = Some(location);
        }
        Ok(multis)
    }

    /// Where a row is. Who asks for one that is not known asks for all the batch does not know, from the last to the first: with
    /// each region `hbase:meta` tells of those before it.
    async fn locate(&self, row: &Bytes, deadline: &Deadline) -> Result<Arc<Location>, Failure> {
        if let Some(location) = self.regions.find(At::Containing(row)) {
            return Ok(location);
        }
        let pending = self.pending.iter().filter_map(|item| self.actions.get(*item)).map(|action| &action.row);
        let mut unknown: Vec<&Bytes> = pending.filter(|row| self.regions.find(At::Containing(row)).is_none()).collect();
        unknown.sort_unstable_by(|a, b| b.cmp(a));
        for row in unknown {
            locate(self.shared, self.regions, At::Containing(row), deadline).await?;
        }
        locate(self.shared, self.regions, At::Containing(row), deadline).await
    }

    /// The call to a region's server, if it is not full.
    fn with_room<'m>(&self, multis: &'m mut Vec<Multi>, location: &Location) -> Option<&'m mut Multi> {
        let config = &self.shared.config;
        let at = multis.iter().position(|multi| Arc::ptr_eq(&multi.server, &location.server)).unwrap_or_else(|| {
            multis.push(Multi::new(&location.server));
            multis.len() - 1
        });
        multis.get_mut(at).filter(|multi| multi.actions < config.multi_actions_max && multi.bytes < config.multi_bytes_max)
    }

    /// Sends what goes to one server; what fails there stays pending.
    async fn send(&mut self, multi: Multi, deadline: &Deadline) -> Result<SentMulti, Failure> {
        let limit = deadline.call();
        let location = multi.location();
        let route = (self.regions.priority(), self.shared.nonces.group());
        let sent = match multi.server.connection(&self.shared.config, limit).await {
            Ok(connection) => multi.send(&mut self.actions, &connection, route, limit).await,
            Err(failure) => Err(failure),
        };
        sent.map_err(|failure| match location {
            Some(location) => self.noted(failure, &location),
            None => failure,
        })
    }

    async fn receive(&mut self, sent: SentMulti) -> Result<(), Failure> {
        let concerned = sent.locations();
        let (outcomes, noted) = match sent.receive().await {
            Ok(answered) => answered,
            Err(failure) => {
                let mut told = failure.clone();
                concerned.iter().rev().for_each(|location| told = self.noted(failure.clone(), location));
                return Err(told);
            }
        };
        noted.into_iter().for_each(|(failure, location)| drop(self.noted(failure, &location)));
        let mut worst = None;
        for (item, outcome) in outcomes {
            match outcome {
                Err(failure) if is_to_be_tried_again(&failure) => worst = Some(failure),
                outcome => self.settle(item, outcome.map_err(Failure::into_error)),
            }
        }
        worst.map_or(Ok(()), Err)
    }

    fn settle(&mut self, item: usize, result: Result<OpResult>) {
        if let Some(place) = self.places.get(item).copied() {
            self.finish(place, result);
        }
    }

    fn noted(&self, failure: Failure, location: &Arc<Location>) -> Failure {
        self.shared.locations.note(&failure, self.regions, location, &self.shared.servers);
        failure.at(&**location)
    }
}

/// Whether an action may go with those of its row that go already.
fn may_go<'b>(rows: &mut HashMap<&'b Bytes, Taken>, action: &'b Action) -> bool {
    match (action.order(), rows.get(&action.row)) {
        (Order::Free, _) => true,
        (Order::Plain, None | Some(Taken::Plain)) => {
            rows.insert(&action.row, Taken::Plain);
            true
        }
        (Order::Alone, None) => {
            rows.insert(&action.row, Taken::Closed);
            true
        }
        (Order::Plain | Order::Alone, Some(_)) => {
            rows.insert(&action.row, Taken::Closed);
            false
        }
    }
}

fn is_to_be_tried_again(failure: &Failure) -> bool {
    use halite_wire::exception::Action::{GiveUp, ReopenScanner};
    !matches!(failure.action(), GiveUp | ReopenScanner)
}

impl Work for Batch<'_> {
    type Output = ();

    async fn attempt(&mut self, deadline: &Deadline) -> Result<(), Failure> {
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
            let (results, places) = (&self.results, &self.places);
            let is_open = |item: &usize| places.get(*item).and_then(|place| results.get(*place)).is_some_and(Option::is_none);
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
