//! Asking a master or a region server where the others are (`ClientMetaService`).

use halite_wire::convert::server::{self, ServerName};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::service::{Call, ClientMetaGetActiveMaster, ClientMetaGetClusterId, ClientMetaGetMetaRegionLocations, Service};

use super::{Knowledge, Question};
use crate::config::{Address, Config};
use crate::connection::Servers;
use crate::deadline::CallDeadline;
use crate::failure::Failure;

pub(super) async fn ask(
    address: &Address,
    question: Question,
    config: &Config,
    servers: &Servers,
    deadline: CallDeadline,
) -> Result<Knowledge, Failure> {
    let place = Place { address, config, servers, deadline };
    let (name, what) = match question {
        Question::ClusterId => {
            let response = place.call::<ClientMetaGetClusterId>(&pb::GetClusterIdRequest {}).await?;
            return Ok(Knowledge::ClusterId(response.cluster_id().to_string()));
        }
        Question::Master => (place.call::<ClientMetaGetActiveMaster>(&pb::GetActiveMasterRequest {}).await?.server_name, "an active master"),
        Question::MetaServer => {
            let response = place.call::<ClientMetaGetMetaRegionLocations>(&pb::GetMetaRegionLocationsRequest {}).await?;
            let first = response.meta_locations.into_iter().find(|location| location.region_info.replica_id() == 0);
            (first.and_then(|location| location.server_name), "a server of hbase:meta")
        }
    };
    let name = name.ok_or_else(|| {
        let text = format!("the cluster has not got {what} now; look whether it has started");
        Failure::from(Exception::new(ExceptionKind::PleaseHold, text)).at(format!("server {address}"))
    })?;
    Ok(Knowledge::Server(server::from_proto(&name)?))
}

struct Place<'a> {
    address: &'a Address,
    config: &'a Config,
    servers: &'a Servers,
    deadline: CallDeadline,
}

impl Place<'_> {
    async fn call<C: Call>(&self, request: &C::Request) -> Result<C::Response, Failure> {
        let name = ServerName { host: self.address.host.clone(), port: self.address.port, start_code: 0 };
        let server = self.servers.get(&name, Service::ClientMeta);
        let answered = server.ask::<C>(self.config, request, None, self.deadline).await;
        Ok(answered.map_err(|failure| failure.at(format!("server {}", self.address)))?.0)
    }
}
