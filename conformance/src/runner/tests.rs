//! Tests of the runner with a system that supports only puts.

use halite_types::CellsBuilder;
use halite_types::cell::CellParts;

use super::*;

/// System that stores the cells of puts in order of arrival, without sorting.
#[derive(Default)]
struct Memory {
    now_ms: i64,
    cells: CellsBuilder,
}

impl SystemUnderTest for Memory {
    fn set_clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    fn create(&mut self, families: Vec<FamilyDescriptor>, _splits: Vec<Bytes>) -> Result<()> {
        if families.is_empty() { Err(Error::invalid("no families")) } else { Ok(()) }
    }

    fn change(&mut self, _change: &TableChange) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "no schema"))
    }

    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>> {
        Ok(ops.iter().map(|op| self.put(op)).collect())
    }

    fn get(&mut self, _get: Get) -> Result<Row> {
        Ok(Row::new(self.cells.clone().finish()))
    }

    fn scan(&mut self, _scan: Scan) -> Result<Vec<Row>> {
        let row = Row::new(self.cells.clone().finish());
        Ok(vec![row.clone(), Row::default(), row])
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn merge(&mut self, _how: MergeKind) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "no files"))
    }

    fn files(&mut self) -> Result<Vec<(String, usize)>> {
        Ok(vec![("f".into(), 0)])
    }
}

impl Memory {
    fn put(&mut self, op: &RowOp) -> Result<OpResult> {
        let RowOp::Put(put) = op else {
            return Err(Error::new(ErrorKind::NoSuchFamily, "only puts"));
        };
        for cell in &put.mutation().cells().clone().finish() {
            let timestamp = if cell.timestamp() == halite_types::LATEST_TIMESTAMP {
                self.now_ms
            } else {
                cell.timestamp()
            };
            self.cells.push_parts(CellParts {
                row: cell.row(),
                family: cell.family(),
                qualifier: cell.qualifier(),
                timestamp,
                cell_type: halite_types::CellType::Put,
                value: cell.value(),
                tags: b"",
            });
        }
        Ok(OpResult { row: Row::default(), processed: true })
    }
}

fn differences(script: &str) -> Vec<Difference> {
    let cases = Case::parse_file(&format!("case a\n{script}")).unwrap();
    run(&cases[0], &mut Memory::default())
}

#[test]
fn right_answers_pass() {
    let script = "create f\nput r f:q a\nadvance 5\nput r f: \"\"\nclock 7\nput r f:\\x00 b @3\n\
                  get r\n    r f:q @1000000 Put = a\n    r f: @1000005 Put = \"\"\n    r f:\\x00 \
                  @3 Put = b\nget r exists\n    true\nfiles\n    f 0\nflush\n";
    assert_eq!(differences(script), []);
}

#[test]
fn partial_rows_are_printed_separately() {
    assert_eq!(
        differences(
            "put r f:q a @1\nscan\n    r f:q @1 Put = a\n    --\n    r f:q @1 Put = a\nscan\n    r \
             f:q @1 Put = a\n"
        )
        .len(),
        1
    );
}

#[test]
fn exceptions_agree_with_kinds() {
    let script = "create\n    error: IllegalArgumentException\nincr r f:q 1\n    error: \
                  NoSuchColumnFamilyException\nget r range=6..5\n    error: IOException\nbatch \
                  { put r f:q a ; deleterow r }\n    ok\n    error: NoSuchColumnFamilyException\n";
    assert_eq!(differences(script), []);
    assert_eq!(differences("create\n    error: NoSuchColumnFamilyException\n").len(), 1);
    assert_eq!(differences("major\n    error: IOException\n").len(), 1);
    assert_eq!(differences("create\n").len(), 1);
}

#[test]
fn difference_shows_both_results_and_case_continues() {
    let found = differences(
        "put r f:q a @1\nget r\n    r f:q @1 Put = b\nflush\nget r exists\n    false\n",
    );
    assert_eq!(found.iter().map(|difference| difference.line).collect::<Vec<_>>(), [3, 6]);
    assert_eq!(
        found[0].to_string(),
        "  line 3: get r\n    - r f:q @1 Put = b\n    + r f:q @1 Put = a\n"
    );
}
