//! Names in requests: tables, regions, servers.

use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{Bytes, RegionInfo, TableName};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use crate::call::Fault;

/// Encoded name of the one region of `hbase:meta`.
pub(crate) const META_ENCODED_NAME: &str = "1588230740";
/// Whole name of the one region of `hbase:meta`, which has no encoded part.
pub(crate) const META_REGION_NAME: &str = "hbase:meta,,1";
/// Name of `hbase:meta` inside its namespace.
const META_QUALIFIER: &str = "meta";

/// The table of a request. A namespace left empty is the default one.
pub(crate) fn table_name(message: &pb::TableName) -> Result<TableName, Fault> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Fault::do_not_retry("a table name is not UTF-8"));
    let namespace = text(&message.namespace)?;
    let namespace = if namespace.is_empty() { DEFAULT_NAMESPACE.to_owned() } else { namespace };
    Ok(TableName::new(namespace, text(&message.qualifier)?)?)
}

/// A table as messages name it; the default namespace is spelled out.
pub(crate) fn table_name_message(name: &TableName) -> pb::TableName {
    pb::TableName { namespace: name.namespace().to_owned().into(), qualifier: name.qualifier().to_owned().into() }
}

/// The name of `hbase:meta`, which is no table of the engine.
pub(crate) fn meta_table() -> TableName {
    TableName::new(SYSTEM_NAMESPACE, META_QUALIFIER).expect("the name is legal")
}

/// Whether it is `hbase:meta`.
pub(crate) fn is_meta(name: &TableName) -> bool {
    name.namespace() == SYSTEM_NAMESPACE && name.qualifier() == META_QUALIFIER
}

/// Whether it is one of HBase's own tables, which are left out of lists unless they are asked for.
pub(crate) fn is_system(name: &TableName) -> bool {
    name.namespace() == SYSTEM_NAMESPACE
}

/// A region as messages describe it; all fields are written, as Java does.
pub(crate) fn region_message(region: &RegionInfo) -> pb::RegionInfo {
    pb::RegionInfo {
        region_id: region.region_id,
        table_name: table_name_message(&region.table),
        start_key: Some(region.start.clone()),
        end_key: Some(region.end.clone()),
        offline: Some(false),
        split: Some(false),
        replica_id: Some(0),
    }
}

/// The region of `hbase:meta`.
pub(crate) fn meta_region_message() -> pb::RegionInfo {
    pb::RegionInfo {
        region_id: 1,
        table_name: table_name_message(&meta_table()),
        start_key: Some(Bytes::new()),
        end_key: Some(Bytes::new()),
        offline: Some(false),
        split: Some(false),
        replica_id: Some(0),
    }
}

/// A region by its whole name.
pub(crate) fn region_specifier(name: Vec<u8>) -> pb::RegionSpecifier {
    pb::RegionSpecifier { r#type: pb::region_specifier::RegionSpecifierType::RegionName.into(), value: name.into() }
}

/// The encoded name in a specifier, whichever of the two names it gives.
///
/// # Errors
/// `UnknownRegionException` for what cannot be the name of a region.
pub(crate) fn encoded_name(specifier: &pb::RegionSpecifier) -> Result<String, Fault> {
    let unknown = || Fault::new(ExceptionKind::UnknownRegion, halite_types::key::print_bytes(&specifier.value));
    if specifier.r#type() == pb::region_specifier::RegionSpecifierType::EncodedRegionName {
        return String::from_utf8(specifier.value.to_vec()).map_err(|_| unknown());
    }
    encoded_part(&specifier.value).ok_or_else(unknown)
}

/// The encoded name at the end of a whole name: `table,start,id.encoded.`
fn encoded_part(name: &[u8]) -> Option<String> {
    if name == META_REGION_NAME.as_bytes() {
        return Some(META_ENCODED_NAME.to_owned());
    }
    let (rest, encoded) = name.strip_suffix(b".")?.split_last_chunk::<32>()?;
    let is_encoded = rest.ends_with(b".") && encoded.iter().all(u8::is_ascii_hexdigit);
    if is_encoded { String::from_utf8(encoded.to_vec()).ok() } else { None }
}

/// The table that a whole region name begins with; `None` if it is no region name.
pub(crate) fn table_of_region_name(name: &[u8]) -> Option<TableName> {
    let table = name.split(|byte| *byte == b',').next().filter(|table| table.len() < name.len())?;
    std::str::from_utf8(table).ok()?.parse().ok()
}

/// `host,port,startcode`, as HBase prints a server.
pub(crate) fn server_text(server: &pb::ServerName) -> String {
    format!("{},{},{}", server.host_name, server.port(), server.start_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODED: &str = "33b36c58f0da118f6c22fc0c24d60bf4";

    fn by_name(name: &[u8]) -> Result<String, Fault> {
        encoded_name(&region_specifier(name.to_vec()))
    }

    #[test]
    fn both_names_of_a_region_give_its_encoded_name() {
        assert_eq!(by_name(format!("t1,b,1795224443858.{ENCODED}.").as_bytes()).unwrap(), ENCODED);
        assert_eq!(by_name(format!("ns:t,a,b\0,.,1.{ENCODED}.").as_bytes()).unwrap(), ENCODED);
        assert_eq!(by_name(b"hbase:meta,,1").unwrap(), META_ENCODED_NAME);
        let encoded = pb::RegionSpecifier { r#type: 2, value: ENCODED.into() };
        assert_eq!(encoded_name(&encoded).unwrap(), ENCODED);
    }

    #[test]
    fn what_is_no_region_name_is_an_unknown_region() {
        for name in [&b""[..], b"t1", b".", b"t1,,1.tooshort.", b"\xff\xfe"] {
            let kind = by_name(name).unwrap_err().exception().kind();
            assert_eq!(kind, Some(ExceptionKind::UnknownRegion), "{name:?}");
        }
    }

    #[test]
    fn a_region_name_begins_with_its_table() {
        let table = |name: &[u8]| table_of_region_name(name).map(|table| table.to_string());
        assert_eq!(table(b"t1,a,b,1.x."), Some("t1".to_owned()));
        assert_eq!(table(b"ns:t,.mob,0.x."), Some("ns:t".to_owned()));
        assert_eq!((table(b"t1"), table(b",a,1")), (None, None));
    }

    #[test]
    fn an_empty_namespace_is_the_default_one() {
        let name = table_name(&pb::TableName { namespace: "".into(), qualifier: "t".into() }).unwrap();
        assert_eq!(name.to_string(), "t");
        assert_eq!(table_name_message(&name).namespace, "default");
        assert!(table_name(&pb::TableName { namespace: "default".into(), qualifier: "a b".into() }).is_err());
    }
}
