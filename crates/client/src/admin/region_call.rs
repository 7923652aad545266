//! Calls to the server of a region, wherever it is by then.

use std::sync::Arc;

use halite_types::{Error, ErrorKind, RegionInfo, Result};
use halite_wire::convert::region;
use halite_wire::proto as pb;
use halite_wire::service::{RpcMethod, Service};

use crate::deadline::Deadline;
use crate::error::RpcError;
use crate::meta::{LocateType, TableLocations, locate};
use crate::retry::{self, Retryable};
use crate::shared::ClientInner;

/// Calls the administration service of a region's server.
///
/// # Errors
/// `NoSuchRegion` if the region was split or merged; any error of the call.
pub(super) async fn on_region<C: RpcMethod>(
    shared: &ClientInner,
    known: &Arc<TableLocations>,
    region: &RegionInfo,
    request: impl Fn(pb::RegionSpecifier) -> C::Request + Send + Sync,
) -> Result<C::Response>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    let work = RegionCall::<C> {
        shared,
        locations: known,
        region,
        service: Service::Admin,
        request: request(region::specifier(region)),
    };
    work.run(&shared.deadline()).await
}

/// Call to the server of a region.
pub(super) struct RegionCall<'a, C: RpcMethod> {
    pub(super) shared: &'a ClientInner,
    pub(super) locations: &'a Arc<TableLocations>,
    pub(super) region: &'a RegionInfo,
    /// Service that has the method.
    pub(super) service: Service,
    pub(super) request: C::Request,
}

impl<C: RpcMethod> RegionCall<'_, C>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    /// Makes the call, several times if necessary.
    ///
    /// # Errors
    /// As [`on_region`].
    pub(super) async fn run(mut self, deadline: &Deadline) -> Result<C::Response> {
        let config = &self.shared.config;
        retry::retry(config, deadline, &mut self).await.map_err(RpcError::into_error)
    }
}

impl<C: RpcMethod> Retryable for RegionCall<'_, C>
where
    C::Request: Send + Sync,
    C::Response: Send,
{
    type Output = C::Response;

    async fn attempt(&mut self, deadline: &Deadline) -> Result<C::Response, RpcError> {
        let location = locate(
            self.shared,
            self.locations,
            LocateType::Containing(&self.region.start),
            deadline,
        )
        .await?;
        if location.region.encoded_name != self.region.encoded_name {
            return Err(Error::new(
                ErrorKind::NoSuchRegion,
                format!("region {} is there no longer", self.region.display_name()),
            )
            .into());
        }
        let server = self.shared.connections.get(location.server.name(), self.service);
        let answered =
            server.call::<C>(&self.shared.config, &self.request, None, deadline.call()).await;
        let (response, _) = answered.map_err(|failure| {
            self.shared.meta_cache.record_failure(
                &failure,
                self.locations,
                &location,
                &self.shared.connections,
            );
            failure.at(format!("{location}, {}", C::METHOD.name()))
        })?;
        Ok(response)
    }
}
