//! One action: locate its region, send a call, read the response. A group is sent as a multi of
//! one.

use std::sync::Arc;

use halite_types::OpResult;

use super::action::{self, Action, Body};
use super::multi::Multi;
use crate::deadline::{CallDeadline, Deadline};
use crate::error::RpcError;
use crate::meta::{LocateType, Location, TableLocations, locate};
use crate::retry::Retryable;
use crate::shared::ClientInner;

pub(super) struct SingleAction<'a> {
    shared: &'a ClientInner,
    locations: &'a Arc<TableLocations>,
    action: Action,
}

impl<'a> SingleAction<'a> {
    pub(super) fn new(
        shared: &'a ClientInner,
        locations: &'a Arc<TableLocations>,
        action: Action,
    ) -> Self {
        Self { shared, locations, action }
    }

    async fn call(
        &mut self,
        location: &Arc<Location>,
        deadline: CallDeadline,
    ) -> Result<OpResult, RpcError> {
        let connection = location.server.connection(&self.shared.config, deadline).await?;
        let route = (self.locations.priority(), self.shared.nonces.group());
        if let Body::Group { .. } = self.action.body {
            let mut multi = Multi::new(&location.server);
            multi.add(0, &self.action, location);
            let sent = multi
                .send(std::slice::from_mut(&mut self.action), &connection, route, deadline)
                .await?;
            let (outcomes, _) = sent.receive().await?;
            let outcome = outcomes.into_iter().next().map(|(_, outcome)| outcome);
            return outcome.unwrap_or_else(|| {
                Err(RpcError::lost("the server did not answer for the action"))
            });
        }
        action::send(&mut self.action, location, &connection, route, deadline)
            .await?
            .receive()
            .await
    }
}

impl Retryable for SingleAction<'_> {
    type Output = OpResult;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<OpResult, RpcError> {
        let location =
            locate(self.shared, self.locations, LocateType::Containing(&self.action.row), deadline)
                .await?;
        let has_filter = self.action.has_filter();
        self.call(&location, deadline.call()).await.map_err(|failure| {
            let failure = if has_filter { failure.of_filter_condition() } else { failure };
            self.shared.meta_cache.record_failure(
                &failure,
                self.locations,
                &location,
                &self.shared.connections,
            );
            failure.at(&*location)
        })
    }
}
