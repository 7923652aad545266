//! Tests of the parsing of commands.

use std::ops::Bound;

use halite_types::{CellType, CompareOp, Condition, ErrorKind, Filter, LATEST_TIMESTAMP};

use super::*;

fn one(line: &str) -> Command {
    command(line).unwrap()
}

fn applied(line: &str) -> RowOp {
    match one(line) {
        Command::Apply(op) => op,
        other => panic!("{other:?}"),
    }
}

/// Returns the family, qualifier, timestamp, type and value of each cell of a put or delete.
fn cells(op: &RowOp) -> Vec<(String, String, i64, Option<CellType>, String)> {
    let mutation = match op {
        RowOp::Put(put) => put.mutation(),
        RowOp::Delete(delete) => delete.mutation(),
        other => panic!("{other:?}"),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let cells = mutation.cells().clone().finish();
    cells
        .iter()
        .map(|cell| {
            (
                text(cell.family()),
                text(cell.qualifier()),
                cell.timestamp(),
                cell.cell_type(),
                text(cell.value()),
            )
        })
        .collect()
}

fn cell(
    column: (&str, &str),
    timestamp: i64,
    kind: CellType,
    value: &str,
) -> (String, String, i64, Option<CellType>, String) {
    (column.0.into(), column.1.into(), timestamp, Some(kind), value.into())
}

#[test]
fn file_is_parsed_into_cases_commands_and_answers() {
    let text = "# head\n\ncase first\ncreate f\nget r1\n    r1 f:q @1 Put = a\n    r1 f:q @0 Put = \
                b\nflush\n\ncase second\n# inside\nfiles\n    f 1\n";
    let cases = Case::parse_file(text).unwrap();
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    let steps: Vec<(usize, &str, usize)> = cases[0]
        .steps
        .iter()
        .map(|step| (step.line, step.text.as_str(), step.expected.len()))
        .collect();
    assert_eq!(steps, [(4, "create f", 0), (5, "get r1", 2), (8, "flush", 0)]);
    assert_eq!(cases[1].steps[0].expected, ["f 1"]);
}

#[test]
fn parse_error_names_line() {
    for (text, line, part) in [
        ("flush\n", 1, "before any case"),
        ("case a\n    answer\n", 2, "before any command"),
        ("case a\nflush\n\ncase a\n", 4, "duplicate case"),
        ("case a\nflip\n", 2, "unknown command"),
        ("case a\nflush now\n", 2, "unexpected word"),
        ("case a\nput r1 f:q\n", 2, "missing"),
        ("case a\nput r1 q a\n", 2, "colon"),
        ("case a\nget r1 version=3\n", 2, "unknown option"),
        ("case a\nscan versions=many\n", 2, "invalid number"),
        ("case a\nmutate r1 { put r1 f:q a\n", 2, "closing brace"),
        ("case a\ncheck r1 f:q ~ a then deleterow r1\n", 2, "invalid operator"),
        ("case a\ncreate f:COLOR=red\n", 2, "unknown attribute"),
    ] {
        let found = Case::parse_file(text).unwrap_err();
        assert_eq!(found.line, line, "{found}");
        assert!(found.reason.contains(part), "{found}");
    }
}

#[test]
fn invalid_values_are_errors_of_the_command() {
    let cases =
        Case::parse_file("case a\nget r1 range=6..5\nget r1 ts=-1\nget r1 versions=-1\n").unwrap();
    for step in &cases[0].steps {
        assert_eq!(
            step.command.as_ref().map(|_| ()).map_err(Error::kind),
            Err(ErrorKind::InvalidRequest),
            "{}",
            step.text
        );
    }
}

#[test]
fn families_have_attributes() {
    let Command::Create(families, _) =
        one("create f:VERSIONS=3,TTL=20 g:VERSIONS=all,KEEP_DELETED=TTL,MIN_VERSIONS=1 h")
    else {
        panic!()
    };
    assert_eq!(
        families.iter().map(FamilyDescriptor::max_versions).collect::<Vec<_>>(),
        [3, i32::MAX as u32, 1]
    );
    assert_eq!(families[0].ttl_ms(), Some(20_000));
    assert_eq!(families[1].min_versions(), 1);
    assert_eq!(families[1].keep_deleted_cells(), halite_types::KeepDeletedCells::Ttl);
}

#[test]
fn put_accepts_columns_with_and_without_timestamps() {
    let put = applied("put r\\x00 f:q v1 @5 f: \"\"");
    assert_eq!(put.row().as_ref(), b"r\x00");
    assert_eq!(
        cells(&put),
        [
            cell(("f", "q"), 5, CellType::Put, "v1"),
            cell(("f", ""), LATEST_TIMESTAMP, CellType::Put, "")
        ]
    );
}

#[test]
fn put_ttl_applies_at_any_position() {
    let RowOp::Put(put) = applied("put r f:a 1 ttl=500 f:b 2") else { panic!() };
    let cells = put.mutation().cells().clone().finish();
    assert_eq!(cells.iter().map(|cell| cell.ttl_ms()).collect::<Vec<_>>(), [Some(500), Some(500)]);
}

#[test]
fn delete_forms_and_row_delete_are_parsed() {
    let marker = |column, timestamp, kind| cell(column, timestamp, kind, "");
    assert_eq!(
        cells(&applied("delete r f:q")),
        [marker(("f", "q"), LATEST_TIMESTAMP, CellType::Delete)]
    );
    assert_eq!(
        cells(&applied("deletecolumn r f:p f:q @5")),
        [
            marker(("f", "p"), LATEST_TIMESTAMP, CellType::DeleteColumn),
            marker(("f", "q"), 5, CellType::DeleteColumn)
        ]
    );
    assert_eq!(
        cells(&applied("deletefamily r f @5")),
        [marker(("f", ""), 5, CellType::DeleteFamily)]
    );
    assert_eq!(
        cells(&applied("deletefamilyversion r f @5")),
        [marker(("f", ""), 5, CellType::DeleteFamilyVersion)]
    );
    let RowOp::Delete(row) = applied("deleterow r @7") else { panic!() };
    assert_eq!((row.timestamp, row.mutation().cells().clone().finish().iter().count()), (7, 0));
}

#[test]
fn increments_and_appends_have_options() {
    let RowOp::Increment(increment) = applied("incr r f:q -5 range=1..9 noresult") else {
        panic!()
    };
    assert_eq!(
        (increment.time_range.min(), increment.time_range.max(), increment.return_results),
        (1, 9, false)
    );
    let RowOp::Append(append) = applied("append r f:q abc f:p d") else { panic!() };
    assert_eq!(append.mutation().cells().clone().finish().iter().count(), 2);
}

#[test]
fn check_has_condition_and_mutation() {
    let RowOp::CheckAndMutate(check) =
        applied("check r f:q <= a range=0..5 then mutate r { put r f:a 1 ; deleterow r }")
    else {
        panic!()
    };
    assert!(
        matches!(&check.condition, Condition::Column { op: CompareOp::LessOrEqual, value: Some(value), .. } if value == "a")
    );
    assert_eq!(check.time_range.max(), 5);
    assert!(matches!(check.then.as_ref(), RowOp::Mutate(mutations) if mutations.ops.len() == 2));
    let RowOp::CheckAndMutate(check) = applied("check r f:q = null then put r f:q a") else {
        panic!()
    };
    assert!(matches!(&check.condition, Condition::Column { value: None, .. }));
    let RowOp::CheckAndMutate(check) = applied("check r filter FirstKeyOnly() then put r f:q a")
    else {
        panic!()
    };
    assert!(matches!(&check.condition, Condition::Filter(Filter::FirstKeyOnly)));
}

#[test]
fn batch_spans_rows() {
    let Command::Batch(ops) = one("batch { put a f:q 1 ; deleterow b ; }") else { panic!() };
    assert_eq!(ops.iter().map(|op| op.row().as_ref()).collect::<Vec<_>>(), [b"a", b"b"]);
}

#[test]
fn get_selects_columns_and_versions() {
    let Command::Get(get) =
        one("get r f g:q versions=all range=5.. familyrange=f:1..2 storelimit=3 storeoffset=1")
    else {
        panic!()
    };
    let selection = get.selection;
    assert_eq!(selection.columns.len(), 2);
    assert_eq!(
        (selection.max_versions, selection.family_limit, selection.family_offset),
        (i32::MAX as u32, Some(3), 1)
    );
    assert_eq!((selection.time_range.min(), selection.time_range.max()), (5, i64::MAX));
    assert_eq!(selection.family_time_ranges.len(), 1);
    assert!(matches!(one("get r exists"), Command::Exists(_)));
}

#[test]
fn scan_bounds_are_in_ascending_order() {
    let range = |line| match one(line) {
        Command::Scan(scan) => (scan.range.start, scan.range.end),
        other => panic!("{other:?}"),
    };
    let (a, b) = (Bytes::from("a"), Bytes::from("b"));
    assert_eq!(
        range("scan start=a stop=b"),
        (Bound::Included(a.clone()), Bound::Excluded(b.clone()))
    );
    assert_eq!(
        range("scan startexclusive start=a stop=b stopinclusive"),
        (Bound::Excluded(a.clone()), Bound::Included(b.clone()))
    );
    assert_eq!(
        range("scan reverse start=b stop=a"),
        (Bound::Excluded(a.clone()), Bound::Included(b.clone()))
    );
    assert_eq!(range("scan reverse stop=a"), (Bound::Excluded(a.clone()), Bound::Unbounded));
    assert_eq!(range("scan prefix=a"), (Bound::Included(a), Bound::Excluded(b)));
    let Command::Scan(scan) = one("scan f raw batch=0 limit=2") else { panic!() };
    assert_eq!(
        (scan.raw, scan.batch, scan.limit, scan.selection.columns.len()),
        (true, None, Some(2), 1)
    );
}
