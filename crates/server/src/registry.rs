//! The registry over RPC: where master and region server are, for clients that do not ask ZooKeeper.

use halite_engine::MetaView;
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::service::Method;

use crate::call::{Call, Fault, Reply};
use crate::context::Context;

/// Answers a call of `ClientMetaService` or `BootstrapNodeService`.
pub(crate) fn call(context: &Context, call: &Call) -> Result<Reply, Fault> {
    let identity = &call.peer.identity;
    Ok(match call.method {
        Method::ClientMetaGetClusterId => Reply::new(pb::GetClusterIdResponse { cluster_id: Some(context.cluster_id.clone()) }),
        Method::ClientMetaGetActiveMaster => Reply::new(pb::GetActiveMasterResponse { server_name: Some(identity.master()) }),
        Method::ClientMetaGetMasters => {
            let master = pb::GetMastersResponseEntry { server_name: identity.master(), is_active: true };
            Reply::new(pb::GetMastersResponse { master_servers: vec![master] })
        }
        Method::ClientMetaGetMetaRegionLocations => Reply::new(pb::GetMetaRegionLocationsResponse { meta_locations: vec![meta_location(call)] }),
        Method::ClientMetaGetBootstrapNodes => Reply::new(pb::GetBootstrapNodesResponse { server_name: vec![identity.region_server()] }),
        Method::BootstrapNodeGetAllBootstrapNodes => Reply::new(pb::GetAllBootstrapNodesResponse { node: vec![identity.region_server()] }),
        method => return Err(Fault::unknown_method(method)),
    })
}

fn meta_location(call: &Call) -> pb::RegionLocation {
    pb::RegionLocation {
        region_info: convert::region::to_proto(&MetaView::region()),
        server_name: Some(call.peer.identity.region_server()),
        // As HBase answers: nobody counts the moves of meta.
        seq_num: -1,
    }
}
