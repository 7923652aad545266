//! Names in requests: tables, regions, servers.

use std::sync::LazyLock;

use halite_engine::MetaView;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{RegionInfo, TableName};
use halite_wire::convert::{region, schema};
use halite_wire::proto as pb;

use crate::base::call::CallError;
use crate::base::errors::unknown_region;

/// Returns the table of a request. An empty namespace is the default one.
pub(crate) fn table_name(message: &pb::TableName) -> Result<TableName, CallError> {
    Ok(schema::table_name_from_proto(message)?)
}

/// Returns the name of `hbase:meta`, which is not a table of the engine.
pub(crate) fn meta_table() -> TableName {
    region::meta().table
}

/// Returns `true` if it is `hbase:meta`.
pub(crate) fn is_meta(name: &TableName) -> bool {
    *name == meta_table()
}

/// Name prefix of `hbase:meta` and its replicas, cached because every call is compared with it.
static META_PREFIX: LazyLock<Vec<u8>> = LazyLock::new(|| MetaView::region().name_prefix());

/// Returns `true` if `name` is the name of a replica of `hbase:meta`, `hbase:meta,,1_0001.encoded`.
/// All replicas are the same view.
pub(crate) fn is_meta_replica(name: &[u8]) -> bool {
    let replica = name
        .strip_prefix(&META_PREFIX[..])
        .and_then(|rest| rest.strip_prefix(b"_"))
        .and_then(|rest| rest.split_first_chunk::<4>());
    replica.is_some_and(|(number, rest)| {
        number.iter().all(u8::is_ascii_hexdigit) && rest.first() == Some(&b'.')
    })
}

/// Returns `true` if it is one of HBase's own tables, which lists omit unless requested.
pub(crate) fn is_system(name: &TableName) -> bool {
    name.namespace() == SYSTEM_NAMESPACE
}

/// Returns the encoded name in a specifier, from either form of the region's name.
///
/// # Errors
/// `UnknownRegionException`, as from the master, for an invalid region name.
pub(crate) fn encoded_name(specifier: &pb::RegionSpecifier) -> Result<String, CallError> {
    let name = region::encoded_name(specifier).map(str::to_owned);
    name.map_err(|_| unknown_region(&halite_types::key::to_string_binary(&specifier.value)))
}

/// Returns the names of regions as a comma-separated list.
pub(crate) fn encoded_names(regions: &[RegionInfo]) -> String {
    regions.iter().map(|region| &region.encoded_name[..]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use halite_wire::exception::ExceptionKind;

    use super::*;

    #[test]
    fn region_specifier_accepts_full_and_encoded_names() {
        let encoded = "33b36c58f0da118f6c22fc0c24d60bf4";
        let named = |r#type, value: String| {
            encoded_name(&pb::RegionSpecifier { r#type, value: value.into() })
        };
        assert_eq!(named(1, format!("t1,b,1795224443858.{encoded}.")).unwrap(), encoded);
        assert_eq!(named(2, encoded.to_owned()).unwrap(), encoded);
        assert_eq!(
            named(1, "odd".to_owned()).unwrap_err().exception().kind(),
            Some(ExceptionKind::UnknownRegion)
        );
    }

    #[test]
    fn meta_is_a_system_table() {
        assert!(is_meta(&meta_table()) && is_system(&meta_table()));
        assert!(!is_meta(&"meta".parse().unwrap()) && !is_system(&"meta".parse().unwrap()));
    }
}
