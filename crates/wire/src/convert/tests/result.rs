//! Results.

use halite_types::{Cells, Row};
use proptest::prelude::*;
use prost::Message;

use super::super::result::{self, from_proto};
use super::{hex, puts, strategies};
use crate::proto as pb;

#[test]
fn get_response_matches_hbase_bytes() {
    let response = |result| pb::GetResponse { result: Some(result) }.encode_to_vec();
    assert_eq!(response(result::existence(false)), hex("0a0410001800"));
    assert_eq!(response(result::counted(&Row::default())), hex("0a021000"));
}

#[test]
fn row_is_sent_with_cells_in_block_or_message() {
    let row = Row::new(puts(&[("f", "a", 1, "x"), ("f", "b", 2, "y")]));
    let mut block = row.cells().clone();
    assert_eq!(from_proto(&result::counted(&row), &mut block).unwrap(), row);
    assert!(block.is_empty());
    let inside = result::inline(&row);
    let shared = inside.cell[1].value.as_ref().unwrap().as_ptr();
    assert!(
        row.cells().bytes().as_ptr_range().contains(&shared),
        "the value is shared, not copied"
    );
    assert_eq!(from_proto(&inside, &mut Cells::default()).unwrap(), row);
}

#[test]
fn response_with_missing_cells_is_corrupt() {
    let mut block = puts(&[("f", "a", 1, "x")]);
    for count in [2, -1] {
        let proto = pb::Result { associated_cell_count: Some(count), ..pb::Result::default() };
        assert!(
            from_proto(&proto, &mut block)
                .unwrap_err()
                .message()
                .contains("the cell block has 1 left")
        );
    }
    let long = pb::Result {
        cell: vec![pb::Cell { row: Some(vec![0; 40_000].into()), ..pb::Cell::default() }],
        ..pb::Result::default()
    };
    assert!(from_proto(&long, &mut block).is_err());
    let odd = pb::Result {
        cell: vec![pb::Cell { cell_type: Some(255), ..pb::Cell::default() }],
        ..pb::Result::default()
    };
    assert!(from_proto(&odd, &mut block).is_err());
}

#[test]
fn scan_rows_round_trip_with_flags() {
    let rows = [
        Row::partial(puts(&[("f", "a", 1, "x")])),
        Row::new(puts(&[("f", "b", 1, "y"), ("f", "c", 1, "z")])),
        Row::default(),
    ];
    let mut response = pb::ScanResponse::default();
    result::rows_to_response(&rows, true, &mut response);
    assert_eq!(
        (&response.cells_per_result[..], &response.partial_flag_per_result[..]),
        (&[1, 2, 0][..], &[true, false, false][..])
    );
    let mut block = puts(&[("f", "a", 1, "x"), ("f", "b", 1, "y"), ("f", "c", 1, "z")]);
    assert_eq!(result::rows_from_response(&response, &mut block).unwrap(), rows);
    let mut without_codec = pb::ScanResponse::default();
    result::rows_to_response(&rows, false, &mut without_codec);
    assert!(
        without_codec.cells_per_result.is_empty()
            && without_codec.partial_flag_per_result.is_empty()
    );
    assert_eq!(result::rows_from_response(&without_codec, &mut Cells::default()).unwrap(), rows);
    response.partial_flag_per_result.clear();
    let mut block = puts(&[("f", "a", 1, "x"), ("f", "b", 1, "y"), ("f", "c", 1, "z")]);
    assert!(
        !result::rows_from_response(&response, &mut block).unwrap()[0].is_partial(),
        "a flag that is not there is false"
    );
}

proptest! {
    #[test]
    fn every_row_round_trips_through_message(cells in strategies::cells_of("row".into(), false, 0..20), is_partial in any::<bool>()) {
        let row = if is_partial { Row::partial(cells) } else { Row::new(cells) };
        let partial = is_partial.then_some(true);
        let beside = pb::Result { partial, ..result::counted(&row) };
        prop_assert_eq!(&from_proto(&beside, &mut row.cells().clone()).unwrap(), &row);
        let inside = from_proto(&pb::Result { partial, ..result::inline(&row) }, &mut Cells::default()).unwrap();
        let parts = |row: &Row| row.iter().map(|cell| (cell.key().to_vec(), cell.value().to_vec())).collect::<Vec<_>>();
        prop_assert_eq!(parts(&inside), parts(&row));
    }
}
