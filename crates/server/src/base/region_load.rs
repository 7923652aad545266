//! Metrics of regions, as HBase reports them.

use halite_types::{FamilyDescriptor, RegionLoad};
use halite_wire::convert::region;
use halite_wire::convert::status::region_load_to_proto;
use halite_wire::proto as pb;

use crate::base::context::Context;

/// Returns the load of `hbase:meta`, which is computed and stores nothing.
pub(crate) fn meta_load() -> pb::RegionLoad {
    region_load_to_proto(&RegionLoad { stores: 3, ..RegionLoad::new(region::meta()) }, [])
}

/// Returns the load of the regions that `is_included` accepts.
pub(crate) fn region_loads(
    context: &Context,
    is_included: impl Fn(&RegionLoad) -> bool,
) -> Vec<pb::RegionLoad> {
    let message = |load: &RegionLoad| match context.engine.descriptor(&load.region.table) {
        Ok(table) => region_load_to_proto(load, table.families().map(FamilyDescriptor::name)),
        Err(_) => region_load_to_proto(load, []),
    };
    context.engine.status().regions.iter().filter(|load| is_included(load)).map(message).collect()
}
