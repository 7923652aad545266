//! One action: find its region, send a call, read the answer. A group goes as a multi of one.

use std::sync::Arc;

use halite_types::OpResult;

use super::action::{self, Action, Body};
use super::multi::Multi;
use crate::deadline::{CallDeadline, Deadline};
use crate::failure::Failure;
use crate::meta::{At, Location, TableRegions, locate};
use crate::retry::Work;
use crate::shared::Shared;

pub(super) struct One<'a> {
    shared: &'a Shared,
    regions: &'a Arc<TableRegions>,
    action: Action,
}

impl<'a> One<'a> {
    pub(super) fn new(shared: &'a Shared, regions: &'a Arc<TableRegions>, action: Action) -> Self {
        Self { shared, regions, action }
    }

    async fn call(&mut self, location: &Arc<Location>, deadline: CallDeadline) -> Result<OpResult, Failure> {
        let connection = location.server.connection(&self.shared.config, deadline).await?;
        let route = (self.regions.priority(), self.shared.nonces.group());
        if let Body::Group { .. } = self.action.body {
            let mut multi = Multi::new(&location.server);
            multi.add(0, &self.action, location);
            let sent = multi.send(std::slice::from_mut(&mut self.action), &connection, route, deadline).await?;
            let (outcomes, _) = sent.receive().await?;
            let outcome = outcomes.into_iter().next().map(|(_, outcome)| outcome);
            return outcome.unwrap_or_else(|| Err(Failure::lost("the server did not answer for the action")));
        }
        action::send(&mut self.action, location, &connection, route, deadline).await?.receive().await
    }
}

impl Work for One<'_> {
    type Output = OpResult;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<OpResult, Failure> {
        let location = locate(self.shared, self.regions, At::Containing(&self.action.row), deadline).await?;
        self.call(&location, deadline.call()).await.map_err(|failure| {
            self.shared.locations.note(&failure, self.regions, &location, &self.shared.servers);
            failure.at(&*location)
        })
    }
}
