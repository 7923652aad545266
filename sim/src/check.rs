//! Comparison of the engine's results with those that the model allows.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::{CellRef, CellType, Row, Scan, Selection};

use crate::model::{AcceptedResults, Model, PackedName, VisibleCell};

/// Numbers of checked results, so that the report shows that a run checked something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Families of rows with one correct result.
    pub certain: u64,
    /// Families of rows with several correct results.
    pub doubtful: u64,
    /// Families of rows with too many possible results to check.
    pub unknown: u64,
}

/// Description of an incorrect result.
pub type Mismatch = String;

/// Checks one row; an empty row was not returned by the engine.
///
/// # Errors
/// Returns the difference.
pub fn check_row(
    model: &Model,
    key: &[u8],
    selection: &Selection,
    now: i64,
    row: &Row,
    checked: &mut CheckCounts,
) -> Result<(), Mismatch> {
    let seen = visible_cells(key, row)?;
    let mut rest = &seen[..];
    for (family, answers) in model.accepted_results(key, selection, now) {
        let count = rest.iter().take_while(|cell| cell.family == family).count();
        let (answer, tail) = rest.split_at(count);
        rest = tail;
        match &answers {
            AcceptedResults::Unknown => checked.unknown += 1,
            _ if answers.is_certain() => checked.certain += 1,
            AcceptedResults::Among(_) => checked.doubtful += 1,
        }
        if !answers.accepts(answer) {
            let (row, history) = (to_string_binary(key), model.history(key, family));
            let (got, right) = (format_cells(answer), format_results(&answers));
            return Err(format!(
                "row {row}, family {family}:\n  got   {got}\n  right {right}\n  written{history}"
            ));
        }
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "row {}: cells of a family not requested, or out of order: {}",
            to_string_binary(key),
            format_cells(rest)
        ))
    }
}

/// Checks the whole result of a scan; partial rows of one row are consecutive.
///
/// # Errors
/// Returns the difference.
pub fn check_scan(
    model: &Model,
    scan: &Scan,
    now: i64,
    rows: &[Row],
    checked: &mut CheckCounts,
) -> Result<(), Mismatch> {
    let mut found = join_partial_rows(rows, scan.batch)?.into_iter().peekable();
    let mut returned = 0;
    let in_range = model.rows().filter(|row| scan.range.contains(row));
    let order: Vec<&Bytes> =
        if scan.reverse { in_range.rev().collect() } else { in_range.collect() };
    for key in order {
        if scan.limit == Some(returned) {
            break;
        }
        let cells =
            found.next_if(|(row, _)| row == key).map(|(_, cells)| cells).unwrap_or_default();
        returned += usize::from(!cells.is_empty());
        if scan.raw {
            check_raw(model, key, now, &cells)?;
        } else {
            check_row(model, key, &scan.selection, now, &cells, checked)?;
        }
    }
    match found.next() {
        Some((row, _)) => {
            Err(format!("row {} must not be returned, or does not exist", to_string_binary(&row)))
        }
        None => Ok(()),
    }
}

/// Contents of a table, read in every way that does not depend on a step.
pub(crate) struct TableContents {
    pub(crate) all: (Scan, Vec<Row>),
    pub(crate) raw: (Scan, Vec<Row>),
    pub(crate) reversed: Option<(Scan, Vec<Row>)>,
}

impl TableContents {
    pub(crate) fn check(
        &self,
        model: &Model,
        now: i64,
        checked: &mut CheckCounts,
    ) -> Result<(), Mismatch> {
        let mut reads = [&self.all, &self.raw].into_iter().chain(&self.reversed);
        reads.try_for_each(|(scan, rows)| check_scan(model, scan, now, rows, checked))
    }
}

/// Rows returned by a scan, indexed by key.
pub(crate) struct RowsByKey(BTreeMap<Bytes, Row>);

impl RowsByKey {
    pub(crate) fn from_rows(rows: &[Row]) -> Result<Self, Mismatch> {
        Ok(Self(join_partial_rows(rows, None)?.into_iter().collect()))
    }

    /// Returns the cells of a row.
    pub(crate) fn visible_cells(&self, row: &Bytes) -> BTreeSet<VisibleCell> {
        self.0
            .get(row)
            .into_iter()
            .flat_map(|row| row.iter().map(|cell| visible_cell(row, cell)))
            .collect()
    }
}

/// Checks a row returned by a scan of all versions and by a raw one.
pub(crate) fn check_stored_row(
    model: &Model,
    key: &Bytes,
    now: i64,
    all: &RowsByKey,
    raw: &RowsByKey,
) -> Result<(), Mismatch> {
    let nothing = Row::default();
    let found = |rows: &RowsByKey| rows.0.get(key).unwrap_or(&nothing).clone();
    check_raw(model, key, now, &found(raw))?;
    let selection = Scan::all().all_versions().selection;
    check_row(model, key, &selection, now, &found(all), &mut CheckCounts::default())
}

/// Returns the rows of a range that an unlimited scan returned, each with its key, including empty
/// rows.
pub(crate) fn rows_in<'a>(
    model: &'a Model,
    scan: &'a Scan,
    rows: &[Row],
) -> Result<Vec<(Bytes, Row)>, Mismatch> {
    let mut found = join_partial_rows(rows, None)?.into_iter().peekable();
    let mut all = Vec::new();
    let in_range = model.rows().filter(|row| scan.range.contains(row));
    let order: Vec<&Bytes> =
        if scan.reverse { in_range.rev().collect() } else { in_range.collect() };
    for key in order {
        let row = found.next_if(|(row, _)| row == key).map(|(_, cells)| cells).unwrap_or_default();
        all.push((key.clone(), row));
    }
    match found.next() {
        Some((row, _)) => {
            Err(format!("row {} must not be returned, or does not exist", to_string_binary(&row)))
        }
        None => Ok(all),
    }
}

/// Joins partial rows to rows by key. A partial row with its flag set is full and may be followed
/// by another of its row; any other partial row is the last of its row.
fn join_partial_rows(rows: &[Row], batch: Option<usize>) -> Result<Vec<(Bytes, Row)>, Mismatch> {
    let mut joined: Vec<(Bytes, Row)> = Vec::new();
    let mut may_go_on = false;
    for row in rows {
        let key = Bytes::copy_from_slice(row.key());
        if row.is_empty()
            || batch.is_some_and(|max| row.len() > max)
            || (row.is_partial() && batch != Some(row.len()))
        {
            return Err(format!(
                "row {} has a partial result of {} cells, partial: {}",
                to_string_binary(&key),
                row.len(),
                row.is_partial()
            ));
        }
        match joined.last_mut() {
            Some((last, cells)) if *last == key && may_go_on => {
                let all: Vec<u8> = [&cells.cells().bytes()[..], &row.cells().bytes()[..]].concat();
                *cells = Row::new(
                    halite_types::Cells::from_bytes(all.into())
                        .map_err(|error| error.to_string())?,
                );
            }
            _ => joined.push((key, row.clone())),
        }
        may_go_on = row.is_partial();
    }
    Ok(joined)
}

fn check_raw(model: &Model, key: &[u8], now: i64, row: &Row) -> Result<(), Mismatch> {
    let seen: BTreeSet<VisibleCell> = row.iter().map(|cell| visible_cell(row, cell)).collect();
    let (must, may) = model.raw(key, now);
    if let Some(missing) = must.difference(&seen).next() {
        let history = model.history(key, missing.family);
        return Err(format!(
            "raw row {}: {} is missing\n  written{history}",
            to_string_binary(key),
            format_cells(std::slice::from_ref(missing))
        ));
    }
    match seen.difference(&may).next() {
        Some(wrong) => Err(format!(
            "raw row {}: {} was never written",
            to_string_binary(key),
            format_cells(std::slice::from_ref(wrong))
        )),
        None => Ok(()),
    }
}

/// Returns the values of a row, in the order returned.
///
/// # Errors
/// Returns an error if a cell belongs to another row or is a delete marker.
pub fn visible_cells(key: &[u8], row: &Row) -> Result<Vec<VisibleCell>, Mismatch> {
    let mut seen = Vec::new();
    for cell in row {
        if cell.row() != key || cell.cell_type() != Some(CellType::Put) {
            return Err(format!(
                "row {} was returned with {:?} of row {}",
                to_string_binary(key),
                cell.cell_type(),
                to_string_binary(cell.row())
            ));
        }
        seen.push(visible_cell(row, cell));
    }
    Ok(seen)
}

fn visible_cell(row: &Row, cell: CellRef<'_>) -> VisibleCell {
    let value = row.cells().bytes().slice_ref(cell.value());
    let kind = cell.cell_type().expect("only puts and markers are written here");
    VisibleCell {
        family: PackedName::new(cell.family()),
        qualifier: PackedName::new(cell.qualifier()),
        timestamp: cell.timestamp(),
        kind,
        value,
    }
}

/// Formats values as `family:qualifier@timestamp=value`, with long values truncated.
pub fn format_cells(cells: &[VisibleCell]) -> String {
    let what = |cell: &VisibleCell| match cell.kind {
        CellType::Put => format!("={}", to_string_binary(&cell.value[..cell.value.len().min(16)])),
        marker => format!(" {}", marker.name()),
    };
    let cell = |cell: &VisibleCell| {
        format!("{}:{}@{}{}", cell.family, cell.qualifier, cell.timestamp, what(cell))
    };
    if cells.is_empty() {
        "nothing".to_owned()
    } else {
        cells.iter().map(cell).collect::<Vec<_>>().join(", ")
    }
}

fn format_results(answers: &AcceptedResults) -> String {
    match answers {
        AcceptedResults::Among(answers) => {
            answers.iter().map(|answer| format_cells(answer)).collect::<Vec<_>>().join("\n     or ")
        }
        AcceptedResults::Unknown => "anything".to_owned(),
    }
}
