//! Puts, deletes, increments and appends.

use bytes::Bytes;
use halite_types::cell::{TAG_TTL, write_tag};
use halite_types::{
    Append, Cells, CellsBuilder, Delete, Durability, Increment, LATEST_TIMESTAMP, Put,
    RowMutations, RowOp, TimeRange,
};
use proptest::prelude::*;

use super::super::mutate::{self, from_proto};
use super::{bytes, puts, strategies};
use crate::exception::ExceptionKind;
use crate::proto as pb;
use pb::mutation_proto::column_value::QualifierValue;
use pb::mutation_proto::{ColumnValue, DeleteType, MutationType};

fn message(kind: MutationType, columns: &[(&str, QualifierValue)]) -> pb::MutationProto {
    let column = |(family, value): &(&str, QualifierValue)| ColumnValue {
        family: bytes(family),
        qualifier_value: vec![value.clone()],
    };
    pb::MutationProto {
        row: Some(bytes("r")),
        mutate_type: Some(kind.into()),
        column_value: columns.iter().map(column).collect(),
        ..pb::MutationProto::default()
    }
}

fn value(qualifier: &str, value: &str) -> QualifierValue {
    QualifierValue {
        qualifier: Some(bytes(qualifier)),
        value: Some(bytes(value)),
        ..QualifierValue::default()
    }
}

fn attribute(name: &str, value: &[u8]) -> Vec<pb::NameBytesPair> {
    vec![pb::NameBytesPair { name: name.into(), value: Some(Bytes::copy_from_slice(value)) }]
}

fn read(proto: &pb::MutationProto) -> RowOp {
    from_proto(proto, &mut Cells::default()).unwrap()
}

/// Returns the cells of an operation: family, qualifier, timestamp, type, value.
fn format_cells(op: &RowOp) -> Vec<String> {
    let mutation = op.mutation().unwrap_or_else(|| panic!("{op:?} has no cells"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stamp =
        |stamp: i64| if stamp == LATEST_TIMESTAMP { "now".to_string() } else { stamp.to_string() };
    let show = |cell: halite_types::CellRef<'_>| {
        let kind = cell.cell_type().unwrap().name();
        format!(
            "{}:{} {} {kind} {}",
            text(cell.family()),
            text(cell.qualifier()),
            stamp(cell.timestamp()),
            text(cell.value())
        )
    };
    mutation.cells().iter().map(show).collect()
}

#[test]
fn put_timestamp_is_from_cell_then_mutation_then_clock() {
    let own = QualifierValue { timestamp: Some(7), ..value("a", "1") };
    let mut proto = message(MutationType::Put, &[("f", own), ("f", value("b", "2"))]);
    assert_eq!(format_cells(&read(&proto)), ["f:a 7 Put 1", "f:b now Put 2"]);
    proto.timestamp = Some(5);
    proto.durability = Some(pb::mutation_proto::Durability::SkipWal.into());
    let op = read(&proto);
    assert_eq!(format_cells(&op), ["f:a 7 Put 1", "f:b 5 Put 2"]);
    assert!(
        matches!(op, RowOp::Put(put) if put.mutation().durability == Durability::SkipWal && put.row() == "r")
    );
}

#[test]
fn block_cells_are_taken_by_count_and_unchanged() {
    let mut block =
        puts(&[("f", "a", 1, "x"), ("f", "b", LATEST_TIMESTAMP, "y"), ("g", "c", 3, "z")]);
    let proto =
        pb::MutationProto { associated_cell_count: Some(2), ..message(MutationType::Put, &[]) };
    assert_eq!(
        format_cells(&from_proto(&proto, &mut block).unwrap()),
        ["f:a 1 Put x", "f:b now Put y"]
    );
    assert_eq!(block.len(), 1);
    let without_row = pb::MutationProto {
        row: None,
        associated_cell_count: Some(1),
        ..message(MutationType::Put, &[])
    };
    assert_eq!(from_proto(&without_row, &mut block).unwrap().row(), &bytes("r"));
    assert!(block.is_empty());
}

#[test]
fn cells_are_stably_sorted_by_family() {
    let mut block =
        puts(&[("g", "b", 1, "1"), ("f", "z", 1, "2"), ("g", "a", 1, "3"), ("f", "z", 1, "4")]);
    let proto =
        pb::MutationProto { associated_cell_count: Some(4), ..message(MutationType::Put, &[]) };
    let sorted = ["f:z 1 Put 2", "f:z 1 Put 4", "g:b 1 Put 1", "g:a 1 Put 3"];
    assert_eq!(format_cells(&from_proto(&proto, &mut block).unwrap()), sorted);
    let inside = message(MutationType::Put, &[("g", value("b", "1")), ("f", value("z", "2"))]);
    assert_eq!(format_cells(&read(&inside)), ["f:z now Put 2", "g:b now Put 1"]);
}

#[test]
fn rejected_mutation_still_consumes_its_cells() {
    let mut block = puts(&[("f", "a", 1, "x"), ("f", "b", 2, "y")]);
    let other_row = pb::MutationProto {
        row: Some(bytes("other")),
        associated_cell_count: Some(1),
        ..message(MutationType::Put, &[])
    };
    assert_eq!(
        from_proto(&other_row, &mut block).unwrap_err().kind(),
        Some(ExceptionKind::WrongRow)
    );
    assert_eq!(block.len(), 1);
    mutate::skip_cells(
        &pb::MutationProto { associated_cell_count: Some(1), ..pb::MutationProto::default() },
        &mut block,
    );
    assert!(block.is_empty());
    let too_many =
        pb::MutationProto { associated_cell_count: Some(1), ..message(MutationType::Put, &[]) };
    let refused = from_proto(&too_many, &mut block).unwrap_err();
    assert_eq!(refused.kind(), Some(ExceptionKind::DoNotRetry));
    assert!(
        refused.message().starts_with("Cell count of 1 but at index 0 no cell returned"),
        "{refused}"
    );
}

#[test]
fn delete_kind_is_read_from_delete_or_cell_type() {
    let marker = |kind: DeleteType| QualifierValue {
        qualifier: Some(bytes("q")),
        delete_type: Some(kind.into()),
        ..QualifierValue::default()
    };
    let at = |timestamp, value| QualifierValue { timestamp: Some(timestamp), ..value };
    let proto = message(
        MutationType::Delete,
        &[
            ("f", at(1, marker(DeleteType::DeleteOneVersion))),
            ("f", at(2, marker(DeleteType::DeleteMultipleVersions))),
            ("f", at(3, marker(DeleteType::DeleteFamily))),
            ("f", at(4, marker(DeleteType::DeleteFamilyVersion))),
            ("f", QualifierValue { qualifier: Some(bytes("q")), ..QualifierValue::default() }),
        ],
    );
    let markers = [
        "f:q 1 Delete ",
        "f:q 2 DeleteColumn ",
        "f: 3 DeleteFamily ",
        "f: 4 DeleteFamilyVersion ",
        "f:q now Delete ",
    ];
    let op = read(&proto);
    assert_eq!(format_cells(&op), markers);
    let (counted, mut block) = mutate::to_counted(&op).unwrap();
    assert_eq!(format_cells(&from_proto(&counted, &mut block).unwrap()), markers);
}

#[test]
fn block_cell_type_must_match_mutation() {
    let refused = |kind: MutationType, code: u8| {
        let mut cells = CellsBuilder::default();
        puts(&[("f", "q", 1, "12345678")]).iter().for_each(|cell| {
            let mut key = cell.key().to_vec();
            *key.last_mut().unwrap() = code;
            cells.push(halite_types::CellRef::new(&key, cell.value(), &[], 0));
        });
        let counted = pb::MutationProto { associated_cell_count: Some(1), ..message(kind, &[]) };
        from_proto(&counted, &mut cells.finish())
            .err()
            .map(|refused| (refused.kind(), refused.message().to_owned()))
    };
    for kind in
        [MutationType::Put, MutationType::Delete, MutationType::Increment, MutationType::Append]
    {
        for code in [0, 1, 5, 9, 15, 255] {
            let (class, text) = refused(kind, code).unwrap_or_else(|| panic!("{kind:?} {code}"));
            assert_eq!(class, Some(ExceptionKind::DoNotRetry));
            assert!(text.contains(&format!("type {code}")), "{text}");
        }
    }
    assert_eq!(refused(MutationType::Put, 4), None);
    assert_eq!(
        [8, 10, 12, 14].map(|code| refused(MutationType::Delete, code)),
        [None, None, None, None]
    );
    // A put may contain markers, but a delete no puts: those in a full or strict table would bypass
    // its checks.
    assert_eq!(refused(MutationType::Put, 12), None);
    assert!(refused(MutationType::Delete, 4).is_some());
    assert_eq!(
        [MutationType::Increment, MutationType::Append].map(|kind| refused(kind, 4)),
        [None, None]
    );
}

#[test]
fn delete_without_columns_deletes_row() {
    let proto = pb::MutationProto { timestamp: Some(9), ..message(MutationType::Delete, &[]) };
    assert!(
        matches!(read(&proto), RowOp::Delete(delete) if delete.timestamp == 9 && delete.mutation().cells().is_empty())
    );
    assert!(
        matches!(read(&message(MutationType::Delete, &[])), RowOp::Delete(delete) if delete.timestamp == LATEST_TIMESTAMP)
    );
}

#[test]
fn put_can_contain_delete_markers() {
    let marker = QualifierValue {
        delete_type: Some(DeleteType::DeleteMultipleVersions.into()),
        ..value("q", "")
    };
    assert_eq!(
        format_cells(&read(&message(MutationType::Put, &[("f", marker)]))),
        ["f:q now DeleteColumn "]
    );
}

#[test]
fn mutation_without_cells_is_empty_operation() {
    for kind in [MutationType::Put, MutationType::Increment, MutationType::Append] {
        assert!(
            matches!(read(&message(kind, &[])), RowOp::Mutate(all) if all.ops.is_empty() && all.row() == "r")
        );
    }
    let delete = message(MutationType::Delete, &[]);
    let all = mutate::row_mutations("r", [read(&message(MutationType::Put, &[])), read(&delete)]);
    assert!(matches!(&all.ops[..], [RowOp::Delete(_)]));
}

#[test]
fn ttl_attribute_becomes_tag_of_every_cell() {
    let with_ttl =
        |proto| pb::MutationProto { attribute: attribute("_ttl", &1000i64.to_be_bytes()), ..proto };
    let inside =
        with_ttl(message(MutationType::Put, &[("f", value("a", "1")), ("f", value("b", "2"))]));
    let beside = with_ttl(pb::MutationProto {
        associated_cell_count: Some(2),
        ..message(MutationType::Put, &[])
    });
    let mut block = puts(&[("f", "a", 1, "x"), ("f", "b", 2, "y")]);
    for op in [read(&inside), from_proto(&beside, &mut block).unwrap()] {
        let RowOp::Put(put) = op else { panic!("not a put") };
        assert_eq!(
            put.mutation().cells().iter().map(|cell| cell.ttl_ms()).collect::<Vec<_>>(),
            [Some(1000); 2]
        );
        let again = mutate::to_proto(&put.into()).unwrap();
        assert_eq!(again.attribute, attribute("_ttl", &1000i64.to_be_bytes()));
        assert!(
            again
                .column_value
                .iter()
                .flat_map(|column| &column.qualifier_value)
                .all(|value| value.tags.is_none())
        );
    }
    let wrong = pb::MutationProto {
        attribute: attribute("_ttl", b"short"),
        ..message(MutationType::Put, &[])
    };
    assert!(from_proto(&wrong, &mut Cells::default()).is_err());
}

#[test]
fn ttl_attribute_replaces_only_ttl_tag_of_cell() {
    let mut tags = Vec::new();
    write_tag(&mut tags, TAG_TTL, &5i64.to_be_bytes());
    write_tag(&mut tags, 1, b"acl");
    let tagged = QualifierValue { tags: Some(Bytes::from(tags)), ..value("a", "1") };
    let proto = pb::MutationProto {
        attribute: attribute("_ttl", &1000i64.to_be_bytes()),
        ..message(MutationType::Put, &[("f", tagged)])
    };
    let RowOp::Put(put) = read(&proto) else { panic!("not a put") };
    let cell = put.mutation().cells().iter().next().unwrap();
    let kinds: Vec<_> = halite_types::cell::tags(cell.tags()).map(|(kind, _)| kind).collect();
    assert_eq!((cell.ttl_ms(), kinds), (Some(1000), vec![1, TAG_TTL]));
}

#[test]
fn different_tags_stay_with_their_cells_in_message() {
    let put: RowOp = Put::new("r").add("f", "a", "1").ttl_ms(10).add("f", "b", "2").into();
    let (proto, block) = mutate::to_counted(&put).unwrap();
    assert!(
        block.is_empty() && proto.associated_cell_count.is_none() && proto.attribute.is_empty()
    );
    assert_eq!(
        format!("{:?}", read(&proto)),
        format!("{:?}", from_proto(&proto, &mut Cells::default()).unwrap())
    );
    let RowOp::Put(again) = read(&proto) else { panic!("not a put") };
    assert_eq!(
        again.mutation().cells().iter().map(|cell| cell.ttl_ms()).collect::<Vec<_>>(),
        [None, Some(10)]
    );
}

#[test]
fn increments_and_appends_have_time_range_and_result_flag() {
    let mut quiet = Increment::new("r").add("f", "q", -2);
    (quiet.return_results, quiet.time_range) = (false, TimeRange::new(3, 9).unwrap());
    let proto = mutate::to_proto(&quiet.into()).unwrap();
    assert_eq!(proto.attribute, attribute("_rr_", &[0]));
    let RowOp::Increment(again) = read(&proto) else { panic!("not an increment") };
    assert_eq!((again.return_results, again.time_range), (false, TimeRange::new(3, 9).unwrap()));
    assert_eq!(again.mutation().cells().iter().next().unwrap().value(), (-2i64).to_be_bytes());
    let RowOp::Append(append) = read(&message(MutationType::Append, &[("f", value("q", "more"))]))
    else {
        panic!("not an append")
    };
    assert!(append.return_results && append.time_range.is_all());
}

#[test]
fn mutations_rejected_by_hbase_are_rejected_with_its_text() {
    let text = |proto: &pb::MutationProto| {
        let refused = from_proto(proto, &mut Cells::default()).unwrap_err();
        assert_eq!(refused.kind(), Some(ExceptionKind::DoNotRetry));
        refused.message().to_string()
    };
    let put = |value| message(MutationType::Put, &[("f", value)]);
    assert!(
        text(&message(MutationType::Increment, &[("f", value("q", "abc"))]))
            .starts_with("Field is not a long, it's 3 bytes wide")
    );
    assert!(
        text(&put(QualifierValue::default()))
            .starts_with("Missing required field: qualifier value")
    );
    assert!(
        text(&put(QualifierValue { timestamp: Some(u64::MAX), ..value("q", "v") }))
            .starts_with("Timestamp cannot be negative. ts=-1")
    );
    assert!(
        text(&message(MutationType::Put, &[("", value("q", "v"))]))
            .starts_with("Family cannot be null")
    );
    assert!(
        text(&message(MutationType::Put, &[(&"f".repeat(128), value("q", "v"))]))
            .contains("128 bytes")
    );
    assert!(
        text(&pb::MutationProto { row: Some(Bytes::new()), ..put(value("q", "v")) })
            .contains("row length is 0")
    );
    assert!(
        text(&pb::MutationProto {
            row: Some(Bytes::from(vec![0; 40_000])),
            ..put(value("q", "v"))
        })
        .contains("40000 bytes")
    );
    for name in ["VISIBILITY", "acl"] {
        let attribute = vec![pb::NameBytesPair { name: name.to_owned(), value: Some(bytes("x")) }];
        assert!(
            text(&pb::MutationProto { attribute, ..put(value("q", "v")) })
                .starts_with(&format!("attribute {name}: "))
        );
    }
    assert!(
        text(&pb::MutationProto { row: None, ..put(value("q", "v")) })
            .contains("neither a row nor cells")
    );
    assert!(
        text(&pb::MutationProto { mutate_type: Some(9), ..put(value("q", "v")) })
            .contains("unknown mutation type")
    );
    assert!(
        text(&pb::MutationProto { associated_cell_count: Some(-1), ..put(value("q", "v")) })
            .contains("associated_cell_count is -1")
    );
}

#[test]
fn long_row_of_empty_cells_is_rejected_before_allocation() {
    let column = ColumnValue { family: bytes("f"), qualifier_value: vec![value("", ""); 20_000] };
    let proto = pb::MutationProto {
        row: Some(Bytes::from(vec![1; 32_767])),
        column_value: vec![column],
        ..message(MutationType::Put, &[])
    };
    let refused = from_proto(&proto, &mut Cells::default()).unwrap_err();
    assert!(
        refused.message().contains("take 655840000 bytes") && refused.message().len() < 2000,
        "{refused}"
    );
}

#[test]
fn cell_bytes_are_computed_before_cells_are_collected() {
    let column = ColumnValue { family: bytes("f"), qualifier_value: vec![value("", ""); 100] };
    let proto = pb::MutationProto {
        row: Some(Bytes::from(vec![1; 1000])),
        column_value: vec![column],
        ..message(MutationType::Put, &[])
    };
    let gathered = from_proto(&proto, &mut Cells::default()).unwrap();
    assert_eq!(mutate::inside_bytes(&proto), gathered.mutation().unwrap().cells().bytes().len());
    assert_eq!(
        mutate::inside_bytes(&pb::MutationProto { associated_cell_count: Some(1), ..proto }),
        0
    );
    mutate::check_inside(256 << 20).unwrap();
    assert!(
        mutate::check_inside((256 << 20) + 1)
            .unwrap_err()
            .message()
            .contains("take 268435457 bytes, more than 268435456")
    );
}

#[test]
fn several_mutations_are_not_one_message() {
    assert!(mutate::to_proto(&RowMutations::new("r").into()).is_err());
}

fn operations() -> impl Strategy<Value = RowOp> {
    let durability = prop::sample::select(vec![
        Durability::UseDefault,
        Durability::SkipWal,
        Durability::AsyncWal,
        Durability::SyncWal,
        Durability::FsyncWal,
    ]);
    let row = || Bytes::from_static(b"row");
    let extra = (durability, strategies::time_range(), any::<bool>(), 0..=i64::MAX);
    let cells = prop_oneof![
        strategies::cells_of(row(), false, 0..20).prop_map(|cells| (cells, 0)),
        strategies::cells_of(row(), true, 8..=8).prop_map(|cells| (cells, 1)),
    ];
    (cells, extra, any::<bool>()).prop_map(
        move |((cells, kind), (durability, time_range, return_results, timestamp), other)| {
            let mut builder = CellsBuilder::default();
            builder.extend(&cells);
            match (kind, other) {
                (0, false) => Put::from_cells(row(), builder, durability).into(),
                (0, true) => {
                    let mut markers = CellsBuilder::default();
                    builder
                        .iter()
                        .filter(halite_types::CellRef::is_delete)
                        .for_each(|cell| markers.push(cell));
                    Delete::from_cells(row(), markers, durability).up_to(timestamp).into()
                }
                (_, false) => {
                    let mut increment = Increment::from_cells(row(), builder, durability);
                    (increment.time_range, increment.return_results) = (time_range, return_results);
                    increment.into()
                }
                (_, true) => {
                    let mut append = Append::from_cells(row(), builder, durability);
                    (append.time_range, append.return_results) = (time_range, return_results);
                    append.into()
                }
            }
        },
    )
}

/// Returns a delete as decoded from its message, where a marker of a whole family replaces the
/// preceding ones.
fn without_replaced(op: &RowOp) -> RowOp {
    let RowOp::Delete(delete) = op else { return op.clone() };
    let cells: Vec<_> = delete.mutation().cells().iter().collect();
    let is_family = |cell: &halite_types::CellRef<'_>| {
        cell.cell_type() == Some(halite_types::CellType::DeleteFamily)
    };
    let is_replaced = |index: usize| {
        cells[index..]
            .iter()
            .skip(1)
            .any(|later| is_family(later) && later.family() == cells[index].family())
    };
    let mut kept = CellsBuilder::default();
    cells
        .iter()
        .enumerate()
        .filter(|(index, _)| !is_replaced(*index))
        .for_each(|(_, cell)| kept.push(*cell));
    Delete::from_cells(delete.row().clone(), kept, delete.mutation().durability)
        .up_to(delete.timestamp)
        .into()
}

#[test]
fn family_delete_replaces_earlier_column_deletes() {
    let marker = |kind: DeleteType, qualifier: &str| QualifierValue {
        delete_type: Some(kind.into()),
        ..value(qualifier, "")
    };
    let one = |kind| ("f", marker(kind, "q"));
    let mut proto = message(MutationType::Delete, &[one(DeleteType::DeleteMultipleVersions)]);
    let values = [
        DeleteType::DeleteMultipleVersions,
        DeleteType::DeleteFamily,
        DeleteType::DeleteOneVersion,
    ]
    .map(|kind| marker(kind, "q"));
    proto.column_value[0].qualifier_value = values.to_vec();
    let RowOp::Delete(delete) = read(&proto) else { panic!("not a delete") };
    let kinds: Vec<_> =
        delete.mutation().cells().iter().map(|cell| cell.cell_type().unwrap().name()).collect();
    assert_eq!(kinds, ["DeleteFamily", "Delete"]);
}

proptest! {
    #[test]
    fn every_operation_round_trips_through_message(op in operations()) {
        let inside = read(&mutate::to_proto(&op).unwrap());
        prop_assert_eq!(format!("{:?}", inside), format!("{:?}", without_replaced(&op)));
        let (proto, mut block) = mutate::to_counted(&op).unwrap();
        prop_assert_eq!(mutate::into_counted(op.clone()).unwrap(), (proto.clone(), block.clone()));
        let beside = from_proto(&proto, &mut block).unwrap();
        let expected = if proto.associated_cell_count.is_some() { op } else { without_replaced(&op) };
        prop_assert_eq!(format!("{:?}", beside), format!("{:?}", expected));
        prop_assert!(block.is_empty());
    }
}
