//! Registry queries to a master or a region server (`ClientMetaService`).

use halite_types::ServerName;
use halite_wire::convert::server;
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::{
    ClientMetaGetActiveMaster, ClientMetaGetClusterId, ClientMetaGetMetaRegionLocations, RpcMethod,
    Service,
};

use super::{RegistryQuery, RegistryResponse};
use crate::config::{Address, Config};
use crate::connection::ConnectionPool;
use crate::deadline::CallDeadline;
use crate::error::RpcError;

pub(super) async fn query(
    address: &Address,
    question: RegistryQuery,
    config: &Config,
    servers: &ConnectionPool,
    deadline: CallDeadline,
) -> Result<RegistryResponse, RpcError> {
    let place = RegistryEndpoint { address, config, connections: servers, deadline };
    let (name, role) = match question {
        RegistryQuery::ClusterId => {
            let response =
                place.call::<ClientMetaGetClusterId>(&pb::GetClusterIdRequest {}).await?;
            return Ok(RegistryResponse::ClusterId(response.cluster_id().to_string()));
        }
        RegistryQuery::Master => (
            place
                .call::<ClientMetaGetActiveMaster>(&pb::GetActiveMasterRequest {})
                .await?
                .server_name,
            "an active master",
        ),
        RegistryQuery::MetaServer => {
            let response = place
                .call::<ClientMetaGetMetaRegionLocations>(&pb::GetMetaRegionLocationsRequest {})
                .await?;
            let first = response
                .meta_locations
                .into_iter()
                .find(|location| location.region_info.replica_id() == 0);
            (first.and_then(|location| location.server_name), "a server of hbase:meta")
        }
    };
    let name = name.ok_or_else(|| {
        let text = format!("the cluster has not got {role} now; look whether it has started");
        RpcError::from(Exception::new(ExceptionKind::PleaseHold, text))
            .at(format!("server {address}"))
    })?;
    Ok(RegistryResponse::Server(server::from_proto(&name)?))
}

struct RegistryEndpoint<'a> {
    address: &'a Address,
    config: &'a Config,
    connections: &'a ConnectionPool,
    deadline: CallDeadline,
}

impl RegistryEndpoint<'_> {
    async fn call<C: RpcMethod>(&self, request: &C::Request) -> Result<C::Response, RpcError> {
        let name =
            ServerName { host: self.address.host.clone(), port: self.address.port, start_code: 0 };
        let server = self.connections.get(&name, Service::ClientMeta);
        let answered = server.call::<C>(self.config, request, None, self.deadline).await;
        Ok(answered.map_err(|failure| failure.at(format!("server {}", self.address)))?.0)
    }
}
