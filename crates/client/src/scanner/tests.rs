//! Tests of the position of a scan after rows, partial rows, regions and failures.

use std::ops::Bound;

use halite_types::cell::CellParts;
use halite_types::{Bytes, CellType, Cells, CellsBuilder, RegionInfo, Row, Scan};

use super::locate_type;
use super::scan_state::ScanState;
use crate::config::{Config, RegistryKind};
use crate::meta::LocateType;

fn cells(row: &str, qualifiers: &str) -> Cells {
    let mut cells = CellsBuilder::default();
    for qualifier in qualifiers.as_bytes().chunks(1) {
        let (row, value, tags) = (row.as_bytes(), &b"v"[..], &b""[..]);
        cells.push_parts(CellParts {
            row,
            family: b"f",
            qualifier,
            timestamp: 1,
            cell_type: CellType::Put,
            value,
            tags,
        });
    }
    cells.finish()
}

fn whole(row: &str, qualifiers: &str) -> Row {
    Row::new(cells(row, qualifiers))
}

fn partial(row: &str, qualifiers: &str) -> Row {
    Row::partial(cells(row, qualifiers))
}

fn scan_state(scan: Scan) -> ScanState {
    ScanState::new(scan, true, &Config::new(RegistryKind::Rpc { servers: Vec::new() }))
}

fn format_rows(rows: &[Row]) -> Vec<String> {
    let qualifiers = |row: &Row| {
        row.iter()
            .map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned())
            .collect::<String>()
    };
    rows.iter()
        .map(|row| format!("{}:{}", String::from_utf8_lossy(row.key()), qualifiers(row)))
        .collect()
}

fn region(start: &'static str, end: &'static str) -> RegionInfo {
    RegionInfo {
        table: "t".parse().unwrap(),
        start: start.into(),
        end: end.into(),
        region_id: 1,
        encoded_name: "e".into(),
    }
}

#[test]
fn partial_rows_are_joined_across_responses() {
    let mut progress = scan_state(Scan::all());
    assert_eq!(format_rows(&progress.take(vec![whole("a", "x"), partial("b", "x")])), ["a:x"]);
    assert_eq!(format_rows(&progress.take(vec![partial("b", "yz")])), Vec::<String>::new());
    assert_eq!(
        format_rows(&progress.take(vec![whole("b", "0"), partial("c", "x"), whole("d", "x")])),
        ["b:xyz0", "c:x", "d:x"]
    );
    progress.take(vec![partial("e", "x")]);
    assert_eq!(
        format_rows(
            &progress.finish_region(&region("", ""), false).into_iter().collect::<Vec<_>>()
        ),
        ["e:x"]
    );
    assert!(progress.is_over());
}

#[test]
fn batch_limit_returns_partial_rows_and_resumes_after_them() {
    let mut progress = scan_state(Scan::all().batch(2));
    assert_eq!(format_rows(&progress.take(vec![partial("a", "xy")])), ["a:xy"]);
    progress.resume();
    assert_eq!(progress.range().start, Bound::Included("a".into()));
    assert_eq!(
        format_rows(&progress.take(vec![partial("a", "xy"), whole("a", "z"), whole("b", "x")])),
        ["a:z", "b:x"]
    );
}

#[test]
fn batch_limit_splits_rows_again_across_responses() {
    let mut progress = scan_state(Scan::all().batch(4));
    assert!(progress.take(vec![partial("a", "uv")]).is_empty());
    assert_eq!(
        format_rows(&progress.take(vec![partial("a", "wxy"), whole("a", "z"), partial("b", "x")])),
        ["a:uvwx", "a:yz"]
    );
    // Cells that were not returned arrive again after a failure, and are not skipped.
    progress.resume();
    assert!(progress.take(vec![partial("b", "x")]).is_empty());
    assert_eq!(format_rows(&progress.take(vec![whole("c", "z")])), ["b:x", "c:z"]);
    assert!(progress.take(vec![partial("d", "xyz")]).is_empty());
    assert_eq!(
        format_rows(&progress.finish_region(&region("", ""), true).into_iter().collect::<Vec<_>>()),
        ["d:xyz"]
    );
}

#[test]
fn partial_row_is_read_again_without_batch_limit() {
    let mut progress = scan_state(Scan::all());
    progress.take(vec![whole("a", "x"), partial("b", "x")]);
    progress.resume();
    assert_eq!(progress.range().start, Bound::Included("b".into()));
    assert_eq!(format_rows(&progress.take(vec![partial("b", "x"), whole("b", "y")])), ["b:xy"]);
    progress.resume();
    assert_eq!(progress.range().start, Bound::Included("b\0".into()));
}

#[test]
fn limit_counts_rows_not_partial_rows() {
    let mut progress = scan_state(Scan::all().batch(1).limit(2));
    assert_eq!(progress.limit(), Some(2));
    assert_eq!(
        format_rows(&progress.take(vec![whole("a", "x"), partial("b", "x")])),
        ["a:x", "b:x"]
    );
    assert!(!progress.is_over() && progress.limit() == Some(1));
    assert_eq!(format_rows(&progress.take(vec![whole("b", "y"), whole("c", "x")])), ["b:y"]);
    assert!(progress.is_over());
    assert!(
        scan_state(Scan::all().limit(0)).is_over() && scan_state(Scan::range("b", "a")).is_over()
    );
}

#[test]
fn scan_continues_across_regions_to_range_end() {
    let mut forward = scan_state(Scan::range("b", "p"));
    forward.finish_region(&region("", "g"), false);
    assert_eq!(forward.range().start, Bound::Included("g".into()));
    forward.finish_region(&region("g", "p"), false);
    assert!(forward.is_over());
    let mut backward = scan_state(Scan::range("b", "p").reverse(true));
    assert!(matches!(locate_type(backward.range(), true), LocateType::Before(b"p")));
    backward.finish_region(&region("g", ""), false);
    assert_eq!(backward.range().end, Bound::Excluded("g".into()));
    backward.take(vec![whole("f", "x")]);
    backward.resume();
    assert_eq!(backward.range().end, Bound::Excluded("f".into()));
    backward.finish_region(&region("b", "g"), false);
    assert!(backward.is_over());
}

#[test]
fn meta_scan_does_not_use_byte_order() {
    let scan = || Scan::range("t,,", "t ,,");
    let progress = |is_plain| {
        ScanState::new(scan(), is_plain, &Config::new(RegistryKind::Rpc { servers: Vec::new() }))
    };
    assert!(progress(true).is_over());
    let mut meta = progress(false);
    meta.take(vec![whole("t,,1.", "x")]);
    meta.resume();
    assert!(!meta.is_over() && meta.range().start == Bound::Included("t,,1.\0".into()));
}

/// Range in which a scan resumes after the row `m`, this cursor, and the loss of its scanner.
fn resumed(scan: Scan, cursor: &'static str) -> (Bound<Bytes>, Bound<Bytes>) {
    let mut progress = scan_state(scan);
    progress.take(vec![whole("m", "x")]);
    progress.advance_to(cursor.into());
    progress.resume();
    (progress.range().start.clone(), progress.range().end.clone())
}

#[test]
fn resumed_scan_skips_rows_examined_without_result() {
    let scan = || Scan::all().family("f");
    assert_eq!(resumed(scan(), "p").0, Bound::Included("p".into()));
    assert_eq!(resumed(scan().reverse(true), "c").1, Bound::Included("c".into()));
}

#[test]
fn cursor_at_returned_row_does_not_repeat_it() {
    let scan = || Scan::all().family("f");
    for cursor in ["m", "c"] {
        assert_eq!(resumed(scan(), cursor).0, Bound::Included("m\0".into()), "{cursor}");
    }
    for cursor in ["m", "p"] {
        assert_eq!(
            resumed(scan().reverse(true), cursor).1,
            Bound::Excluded("m".into()),
            "{cursor}"
        );
    }
}

#[test]
fn cursor_of_multiple_families_is_ignored() {
    for scan in [Scan::all(), Scan::all().family("f").family("g")] {
        assert!(!scan_state(scan.clone()).query(&region("", "")).need_cursor_result);
        assert_eq!(resumed(scan, "p").0, Bound::Included("m\0".into()));
    }
    assert!(scan_state(Scan::all().family("f")).query(&region("", "")).need_cursor_result);
}
