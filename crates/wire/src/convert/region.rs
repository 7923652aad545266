//! `RegionInfo` and `RegionSpecifier`: regions and their names.
//!
//! ```text
//! region name     table,start,id.encoded.        the encoded name is the MD5 of the bytes before it, in hex
//! of hbase:meta   hbase:meta,,1                  encoded 1588230740
//! ```
//! In meta and in ZooKeeper the message follows a magic word ([`pb::magic::with_magic`]).

use bytes::Bytes;
use halite_types::cell::MAX_ROW_BYTES;
use halite_types::schema::{META_ENCODED_NAME, SYSTEM_NAMESPACE};
use halite_types::{Error, ErrorKind, RegionInfo, Result, TableName};
use md5::{Digest, Md5};

use super::{display_bytes, schema};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use pb::region_specifier::RegionSpecifierType;

const META_NAME: &[u8] = b"hbase:meta,,1";
/// Maximum bytes of a valid name: a row and a table name, which is also a directory name, have half
/// of it.
const MAX_NAME_BYTES: usize = 2 * MAX_ROW_BYTES;

/// Returns the one region of `hbase:meta`.
pub fn meta() -> RegionInfo {
    let table = TableName::new(SYSTEM_NAMESPACE, "meta").expect("a legal name");
    RegionInfo {
        table,
        start: Bytes::new(),
        end: Bytes::new(),
        region_id: 1,
        encoded_name: META_ENCODED_NAME.to_string(),
    }
}

/// Returns the message of a region that is neither offline nor split, with all fields that Java
/// writes.
pub fn to_proto(region: &RegionInfo) -> pb::RegionInfo {
    pb::RegionInfo {
        region_id: region.region_id,
        table_name: schema::table_name_to_proto(&region.table),
        start_key: Some(region.start.clone()),
        end_key: Some(region.end.clone()),
        offline: Some(false),
        split: Some(false),
        replica_id: Some(0),
    }
}

/// Returns the region of a message. The caller must check `offline` and `split`.
///
/// # Errors
/// `InvalidRequest` for an invalid table name; `Unsupported` for a replica, which has no separate
/// rows.
pub fn from_proto(proto: &pb::RegionInfo) -> Result<RegionInfo> {
    if proto.replica_id() != 0 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("replica {} of a region: replicas are not supported", proto.replica_id()),
        ));
    }
    let table = schema::table_name_from_proto(&proto.table_name)?;
    let (start, end) =
        (proto.start_key.clone().unwrap_or_default(), proto.end_key.clone().unwrap_or_default());
    let mut region =
        RegionInfo { table, start, end, region_id: proto.region_id, encoded_name: String::new() };
    let prefix = region.name_prefix();
    region.encoded_name = if prefix == META_NAME {
        META_ENCODED_NAME.to_string()
    } else {
        hex(&Md5::digest(&prefix))
    };
    Ok(region)
}

/// Returns the specifier of a region in requests: Java uses the full name.
pub fn specifier(region: &RegionInfo) -> pb::RegionSpecifier {
    pb::RegionSpecifier {
        r#type: RegionSpecifierType::RegionName.into(),
        value: region.full_name().into(),
    }
}

/// Returns the encoded name of the region in a client's request, from either of its names.
///
/// # Errors
/// `NotServingRegionException` for an invalid region name: the client then looks its region up
/// again.
pub fn encoded_name(specifier: &pb::RegionSpecifier) -> super::Result<&str> {
    let name = &specifier.value[..];
    let encoded = match RegionSpecifierType::try_from(specifier.r#type) {
        _ if name.len() > MAX_NAME_BYTES => None,
        Ok(RegionSpecifierType::EncodedRegionName) => std::str::from_utf8(name).ok(),
        Ok(RegionSpecifierType::RegionName) if name == META_NAME => Some(META_ENCODED_NAME),
        Ok(RegionSpecifierType::RegionName) => RegionInfo::encoded_name_in(name),
        Err(_) => None,
    };
    encoded.ok_or_else(|| {
        let text = format!(
            "{} is not online: it is not a region name; look the region up again",
            display_bytes(name)
        );
        Exception::new(ExceptionKind::NotServingRegion, text)
    })
}

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn region(table: &str, start: &'static [u8], region_id: u64) -> RegionInfo {
        let table_name = schema::table_name_to_proto(&table.parse().unwrap());
        from_proto(&pb::RegionInfo {
            region_id,
            table_name,
            start_key: Some(Bytes::from_static(start)),
            ..pb::RegionInfo::default()
        })
        .unwrap()
    }

    #[test]
    fn region_names_match_hbase() {
        let region = region("t1", b"b", 1_795_224_443_858);
        assert_eq!(region.display_name(), "t1,b,1795224443858.33b36c58f0da118f6c22fc0c24d60bf4.");
        assert_eq!(from_proto(&to_proto(&meta())).unwrap(), meta());
        assert_eq!(specifier(&meta()).value, META_NAME);
    }

    #[test]
    fn region_info_in_meta_matches_hbase_bytes() {
        let bytes = crate::convert::tests::hex(
            "50425546 08d2b7dcdd9f34 120d0a0764656661756c7412027431 1a0162 220163 2800 3000 3800",
        );
        let read = from_proto(&pb::magic::from_magic(bytes.clone()).unwrap()).unwrap();
        assert_eq!(
            (read.display_name().as_str(), &read.end[..]),
            ("t1,b,1795224443858.33b36c58f0da118f6c22fc0c24d60bf4.", &b"c"[..])
        );
        assert_eq!(pb::magic::with_magic(&to_proto(&read)), bytes);
    }

    #[test]
    fn region_is_found_by_full_or_encoded_name() {
        let region = region("ns:t", b"a,b.c\xff", 7);
        assert_eq!(encoded_name(&specifier(&region)).unwrap(), region.encoded_name);
        let by_code = |value: &[u8], kind: RegionSpecifierType| pb::RegionSpecifier {
            r#type: kind.into(),
            value: Bytes::copy_from_slice(value),
        };
        let encoded =
            by_code(region.encoded_name.as_bytes(), RegionSpecifierType::EncodedRegionName);
        assert_eq!(encoded_name(&encoded).unwrap(), region.encoded_name);
        assert_eq!(encoded_name(&specifier(&meta())).unwrap(), META_ENCODED_NAME);
        for name in
            [&b""[..], b".", b"t,,1", b"t,,1.short.", b"t,,1x33b36c58f0da118f6c22fc0c24d60bf4."]
        {
            let refused = encoded_name(&by_code(name, RegionSpecifierType::RegionName))
                .map(str::to_string)
                .unwrap_err();
            assert_eq!(refused.kind(), Some(ExceptionKind::NotServingRegion), "{name:?}");
        }
    }

    #[test]
    fn overlong_region_name_is_rejected() {
        let named = |row: usize| {
            let value =
                [b"t,", &vec![0xff; row][..], b",1.33b36c58f0da118f6c22fc0c24d60bf4."].concat();
            encoded_name(&pb::RegionSpecifier { r#type: 1, value: value.into() })
                .map(str::to_string)
        };
        assert_eq!(named(MAX_ROW_BYTES).unwrap(), "33b36c58f0da118f6c22fc0c24d60bf4");
        let refused = named(1 << 20).unwrap_err();
        assert_eq!(refused.kind(), Some(ExceptionKind::NotServingRegion));
        assert!(refused.message().len() < 2 << 10, "{}", refused.message().len());
    }

    #[test]
    fn replica_name_does_not_match_primary_region() {
        let replica = pb::RegionInfo { replica_id: Some(1), ..to_proto(&region("t", b"", 1)) };
        assert_eq!(from_proto(&replica).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    proptest! {
        #[test]
        fn region_round_trips_through_message(
            table in "[a-z][a-z0-9_.-]{0,8}", start in prop::collection::vec(any::<u8>(), 0..8), end in prop::collection::vec(any::<u8>(), 0..8), region_id in any::<u64>()
        ) {
            let name = schema::table_name_to_proto(&table.parse().unwrap());
            let proto = pb::RegionInfo { region_id, table_name: name, start_key: Some(start.into()), end_key: Some(end.into()), ..pb::RegionInfo::default() };
            let region = from_proto(&proto).unwrap();
            prop_assert_eq!(from_proto(&to_proto(&region)).unwrap(), region.clone());
            let named = specifier(&region);
            prop_assert_eq!(encoded_name(&named).unwrap(), region.encoded_name);
        }

        #[test]
        fn arbitrary_names_never_panic(value in prop::collection::vec(any::<u8>(), 0..60), kind in any::<i32>()) {
            let _ = encoded_name(&pb::RegionSpecifier { r#type: kind, value: value.clone().into() });
            let _ = encoded_name(&pb::RegionSpecifier { r#type: 1, value: value.clone().into() });
        }
    }
}
