//! Compares what the engine answered with what the model allows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use halite_types::key::print_bytes;
use halite_types::{CellRef, CellType, Row, Scan, Selection};

use crate::model::{Answers, Model, Name, Seen};

/// How many answers were checked, for the report that a run checked something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Families of rows with one right answer.
    pub certain: u64,
    /// Families of rows with several.
    pub doubtful: u64,
    /// Families of rows with too many to tell.
    pub unknown: u64,
}

/// Why an answer is wrong.
pub type Mismatch = String;

/// Checks one row, which the engine did not return if it is empty.
///
/// # Errors
/// What differs.
pub fn check_row(model: &Model, key: &[u8], selection: &Selection, now: i64, row: &Row, checked: &mut Checked) -> Result<(), Mismatch> {
    let seen = seen_cells(key, row)?;
    let mut rest = &seen[..];
    for (family, answers) in model.answers(key, selection, now) {
        let count = rest.iter().take_while(|cell| cell.family == family).count();
        let (answer, behind) = rest.split_at(count);
        rest = behind;
        match &answers {
            Answers::Unknown => checked.unknown += 1,
            _ if answers.is_certain() => checked.certain += 1,
            Answers::Among(_) => checked.doubtful += 1,
        }
        if !answers.admit(answer) {
            let (row, history) = (print_bytes(key), model.history(key, family));
            let (got, right) = (print(answer), print_answers(&answers));
            return Err(format!("row {row}, family {family}:\n  got   {got}\n  right {right}\n  written{history}"));
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("row {}: cells of no family asked for, or out of order: {}", print_bytes(key), print(rest))) }
}

/// Checks the whole answer of a scan; pieces of one row follow each other.
///
/// # Errors
/// What differs.
pub fn check_scan(model: &Model, scan: &Scan, now: i64, rows: &[Row], checked: &mut Checked) -> Result<(), Mismatch> {
    let mut found = join_pieces(rows, scan.batch)?.into_iter().peekable();
    let mut returned = 0;
    let in_range = model.rows().filter(|row| scan.range.contains(row));
    let order: Vec<&Bytes> = if scan.reverse { in_range.rev().collect() } else { in_range.collect() };
    for key in order {
        if scan.limit == Some(returned) {
            break;
        }
        let cells = found.next_if(|(row, _)| row == key).map(|(_, cells)| cells).unwrap_or_default();
        returned += usize::from(!cells.is_empty());
        if scan.raw { check_raw(model, key, now, &cells)? } else { check_row(model, key, &scan.selection, now, &cells, checked)? }
    }
    match found.next() {
        Some((row, _)) => Err(format!("row {} was not to be returned, or not there", print_bytes(&row))),
        None => Ok(()),
    }
}

/// What a table holds, read in every way that does not depend on a step.
pub(crate) struct Found {
    pub(crate) all: (Scan, Vec<Row>),
    pub(crate) raw: (Scan, Vec<Row>),
    pub(crate) backwards: Option<(Scan, Vec<Row>)>,
}

impl Found {
    pub(crate) fn check(&self, model: &Model, now: i64, checked: &mut Checked) -> Result<(), Mismatch> {
        let mut reads = [&self.all, &self.raw].into_iter().chain(&self.backwards);
        reads.try_for_each(|(scan, rows)| check_scan(model, scan, now, rows, checked))
    }
}

/// All rows that a scan found, to be looked up by key.
pub(crate) struct RowsFound(BTreeMap<Bytes, Row>);

impl RowsFound {
    pub(crate) fn of(rows: &[Row]) -> Result<Self, Mismatch> {
        Ok(Self(join_pieces(rows, None)?.into_iter().collect()))
    }

    /// The cells of a row.
    pub(crate) fn seen(&self, row: &Bytes) -> BTreeSet<Seen> {
        self.0.get(row).into_iter().flat_map(|row| row.iter().map(|cell| seen_cell(row, cell))).collect()
    }
}

/// Checks a row that was found by a scan of all versions and by a raw one.
pub(crate) fn check_found(model: &Model, key: &Bytes, now: i64, all: &RowsFound, raw: &RowsFound) -> Result<(), Mismatch> {
    let nothing = Row::default();
    let found = |rows: &RowsFound| rows.0.get(key).unwrap_or(&nothing).clone();
    check_raw(model, key, now, &found(raw))?;
    let selection = Scan::all().all_versions().selection;
    check_row(model, key, &selection, now, &found(all), &mut Checked::default())
}

/// The rows of a range that a scan without limits found, each with its key, those with nothing in them included.
pub(crate) fn rows_in<'a>(model: &'a Model, scan: &'a Scan, rows: &[Row]) -> Result<Vec<(Bytes, Row)>, Mismatch> {
    let mut found = join_pieces(rows, None)?.into_iter().peekable();
    let mut all = Vec::new();
    let in_range = model.rows().filter(|row| scan.range.contains(row));
    let order: Vec<&Bytes> = if scan.reverse { in_range.rev().collect() } else { in_range.collect() };
    for key in order {
        let row = found.next_if(|(row, _)| row == key).map(|(_, cells)| cells).unwrap_or_default();
        all.push((key.clone(), row));
    }
    match found.next() {
        Some((row, _)) => Err(format!("row {} was not to be returned, or not there", print_bytes(&row))),
        None => Ok(all),
    }
}

/// Rows by key, put together from their pieces. A piece that says so may be followed by another of its row, and is
/// full; any other piece is the row's last.
fn join_pieces(rows: &[Row], batch: Option<usize>) -> Result<Vec<(Bytes, Row)>, Mismatch> {
    let mut joined: Vec<(Bytes, Row)> = Vec::new();
    let mut may_go_on = false;
    for row in rows {
        let key = Bytes::copy_from_slice(row.key());
        if row.is_empty() || batch.is_some_and(|most| row.len() > most) || (row.is_partial() && batch != Some(row.len())) {
            return Err(format!("row {} has a piece of {} cells, partial: {}", print_bytes(&key), row.len(), row.is_partial()));
        }
        match joined.last_mut() {
            Some((last, cells)) if *last == key && may_go_on => {
                let all: Vec<u8> = [&cells.cells().bytes()[..], &row.cells().bytes()[..]].concat();
                *cells = Row::new(halite_types::Cells::from_bytes(all.into()).map_err(|error| error.to_string())?);
            }
            _ => joined.push((key, row.clone())),
        }
        may_go_on = row.is_partial();
    }
    Ok(joined)
}

fn check_raw(model: &Model, key: &[u8], now: i64, row: &Row) -> Result<(), Mismatch> {
    let seen: BTreeSet<Seen> = row.iter().map(|cell| seen_cell(row, cell)).collect();
    let (must, may) = model.raw(key, now);
    if let Some(missing) = must.difference(&seen).next() {
        let history = model.history(key, missing.family);
        return Err(format!("raw row {}: {} is missing\n  written{history}", print_bytes(key), print(std::slice::from_ref(missing))));
    }
    match seen.difference(&may).next() {
        Some(wrong) => Err(format!("raw row {}: {} was never written", print_bytes(key), print(std::slice::from_ref(wrong)))),
        None => Ok(()),
    }
}

/// The values of a row, in the order they came.
///
/// # Errors
/// If one is of another row or a marker.
pub fn seen_cells(key: &[u8], row: &Row) -> Result<Vec<Seen>, Mismatch> {
    let mut seen = Vec::new();
    for cell in row {
        if cell.row() != key || cell.cell_type() != Some(CellType::Put) {
            return Err(format!("row {} came with {:?} of row {}", print_bytes(key), cell.cell_type(), print_bytes(cell.row())));
        }
        seen.push(seen_cell(row, cell));
    }
    Ok(seen)
}

fn seen_cell(row: &Row, cell: CellRef<'_>) -> Seen {
    let value = row.cells().bytes().slice_ref(cell.value());
    let kind = cell.cell_type().expect("what is written here is a put or a marker");
    Seen { family: Name::new(cell.family()), qualifier: Name::new(cell.qualifier()), timestamp: cell.timestamp(), kind, value }
}

/// Values for people: `family:qualifier@timestamp=value`, long values cut.
pub fn print(cells: &[Seen]) -> String {
    let what = |cell: &Seen| match cell.kind {
        CellType::Put => format!("={}", print_bytes(&cell.value[..cell.value.len().min(16)])),
        marker => format!(" {}", marker.name()),
    };
    let cell = |cell: &Seen| format!("{}:{}@{}{}", cell.family, cell.qualifier, cell.timestamp, what(cell));
    if cells.is_empty() { "nothing".to_owned() } else { cells.iter().map(cell).collect::<Vec<_>>().join(", ") }
}

fn print_answers(answers: &Answers) -> String {
    match answers {
        Answers::Among(answers) => answers.iter().map(|answer| print(answer)).collect::<Vec<_>>().join("\n     or "),
        Answers::Unknown => "anything".to_owned(),
    }
}
