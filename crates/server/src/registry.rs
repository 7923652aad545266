//! Connection registry over RPC: the locations of master and region server, for clients that do not
//! use ZooKeeper.

use halite_engine::MetaView;
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::service::Method;

use crate::base::call::{Call, CallError, Reply};
use crate::base::context::Context;
use crate::base::schema;

/// Answers a call of `ClientMetaService` or `BootstrapNodeService`.
pub(crate) fn answer(context: &Context, call: &Call) -> Result<Reply, CallError> {
    let identity = &call.peer.identity;
    Ok(match call.method {
        Method::ClientMetaGetClusterId => {
            Reply::new(pb::GetClusterIdResponse { cluster_id: Some(context.cluster_id.clone()) })
        }
        Method::ClientMetaGetActiveMaster => {
            Reply::new(pb::GetActiveMasterResponse { server_name: Some(identity.master()) })
        }
        Method::ClientMetaGetMasters => {
            let master =
                pb::GetMastersResponseEntry { server_name: identity.master(), is_active: true };
            Reply::new(pb::GetMastersResponse { master_servers: vec![master] })
        }
        Method::ClientMetaGetMetaRegionLocations => Reply::new(meta_locations(context, call)),
        Method::ClientMetaGetBootstrapNodes => Reply::new(pb::GetBootstrapNodesResponse {
            server_name: vec![identity.region_server()],
        }),
        Method::BootstrapNodeGetAllBootstrapNodes => {
            Reply::new(pb::GetAllBootstrapNodesResponse { node: vec![identity.region_server()] })
        }
        _ => return Err(call.unknown_method()),
    })
}

/// Returns the locations of `hbase:meta` and its declared replicas, all on this server.
fn meta_locations(context: &Context, call: &Call) -> pb::GetMetaRegionLocationsResponse {
    let location = |replica: u32| pb::RegionLocation {
        region_info: pb::RegionInfo {
            replica_id: replica.try_into().ok(),
            ..convert::region::to_proto(&MetaView::region())
        },
        server_name: Some(call.peer.identity.region_server()),
        // As in HBase: moves of meta are not counted.
        seq_num: -1,
    };
    pb::GetMetaRegionLocationsResponse {
        meta_locations: (0..schema::meta_replicas(&context.engine)).map(location).collect(),
    }
}
