//! Arbitrary messages: decodable ones are converted or rejected, and nothing panics.

use bytes::Bytes;
use halite_types::Cells;
use proptest::prelude::*;
use prost::Message;

use super::super::{
    comparator, condition, filter, get, mutate, region, result, scan, schema, server, snapshot,
    status,
};
use super::{puts, strategies};
use crate::proto as pb;

fn convert_all(bytes: &[u8]) {
    let message = || Bytes::copy_from_slice(bytes);
    let cells = || puts(&[("f", "a", 1, "x"), ("g", "b", -1, "y")]);
    let _ = pb::Get::decode(message()).map(|proto| get::from_proto(&proto));
    let _ = pb::Scan::decode(message()).map(|proto| scan::from_proto(&proto));
    let _ = pb::Filter::decode(message()).map(|proto| filter::from_proto(&proto));
    let _ = pb::Comparator::decode(message()).map(|proto| comparator::from_proto(&proto));
    let _ = pb::TableSchema::decode(message()).map(|proto| schema::from_proto(&proto));
    let _ = pb::NamespaceDescriptor::decode(message())
        .map(|proto| schema::namespace_from_proto(&proto));
    let _ = pb::RegionInfo::decode(message()).map(|proto| region::from_proto(&proto));
    let _ = pb::RegionSpecifier::decode(message())
        .map(|proto| region::encoded_name(&proto).map(str::len));
    let _ = pb::SnapshotDescription::decode(message()).map(|proto| snapshot::from_proto(&proto));
    let _ = pb::RegionLoad::decode(message())
        .map(|proto| status::region_load_from_proto(&proto, region::meta()));
    let _ = pb::ClusterStatus::decode(message())
        .map(|proto| status::cluster_status_from_proto(&proto, |_| None));
    let _ = pb::ServerName::decode(message()).map(|proto| server::from_proto(&proto));
    let _ = pb::Condition::decode(message()).map(|proto| {
        condition::from_proto(&proto, halite_types::RowMutations::new(proto.row.clone()))
    });
    if let Ok(proto) = pb::MutationProto::decode(message()) {
        let _ = mutate::from_proto(&proto, &mut cells()).map(|op| mutate::to_counted(&op));
        mutate::skip_cells(&proto, &mut cells());
    }
    let _ = pb::Result::decode(message()).map(|proto| result::from_proto(&proto, &mut cells()));
    let _ = pb::ScanResponse::decode(message())
        .map(|proto| result::rows_from_response(&proto, &mut Cells::default()));
}

/// Returns valid messages.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let get = (strategies::some_bytes(), strategies::selection()).prop_map(|(row, selection)| {
        let mut get = halite_types::Get::new(row);
        get.selection = selection;
        get::to_proto(&get).unwrap().encode_to_vec()
    });
    let filter =
        strategies::filter().prop_map(|filter| filter::to_proto(&filter).unwrap().encode_to_vec());
    let put = strategies::cells_of("row".into(), false, 0..20).prop_map(|cells| {
        let mut builder = halite_types::CellsBuilder::default();
        builder.extend(&cells);
        mutate::to_proto(
            &halite_types::Put::from_cells("row", builder, halite_types::Durability::default())
                .into(),
        )
        .unwrap()
        .encode_to_vec()
    });
    prop_oneof![get, filter, put]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        convert_all(&bytes);
    }

    #[test]
    fn damaged_messages_never_panic(mut bytes in messages(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        for (offset, byte) in damage {
            if !bytes.is_empty() {
                let offset = offset.index(bytes.len());
                bytes[offset] = byte;
            }
        }
        convert_all(&bytes);
    }

    #[test]
    fn arbitrary_numbers_never_panic(
        numbers in any::<[i32; 3]>(), unsigned in any::<[u32; 4]>(), stamps in any::<[u64; 4]>(), name in ".*", bytes in strategies::any_bytes()
    ) {
        let range = pb::TimeRange { from: Some(stamps[0]), to: Some(stamps[1]) };
        let attribute = vec![pb::NameBytesPair { name: "_ttl".into(), value: Some(bytes.clone()) }];
        let proto = pb::MutationProto {
            row: Some(bytes.clone()), mutate_type: Some(numbers[0] % 5), timestamp: Some(stamps[2]), attribute, durability: Some(numbers[1]),
            time_range: Some(range), associated_cell_count: Some(numbers[2] % 4), ..pb::MutationProto::default()
        };
        let _ = mutate::from_proto(&proto, &mut puts(&[("f", "a", 1, "x"), ("g", "b", 1, "y")]));
        let scan = pb::Scan {
            start_row: Some(bytes.clone()), max_versions: Some(unsigned[0]), batch_size: Some(unsigned[1]), store_limit: Some(unsigned[2]),
            store_offset: Some(unsigned[3]), max_result_size: Some(stamps[3]), read_type: Some(numbers[0]), ..pb::Scan::default()
        };
        let _ = scan::from_proto(&scan);
        let _ = comparator::from_proto(&pb::Comparator { name, serialized_comparator: Some(bytes) });
    }
}
