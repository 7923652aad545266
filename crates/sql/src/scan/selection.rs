//! Cells that a scan reads: the columns that are named, and as much of the others as tells that a
//! row exists.

use std::collections::BTreeSet;

use halite_types::filter::{Comparator, CompareOp};
use halite_types::{Bytes, Filter, Scan};

use crate::catalog::shape::{CellPart, Pseudo, Source, TableShape};

/// Cells of a piece of a row.
const CELLS_PER_PIECE: usize = 1000;

/// Columns of a filter, by position.
#[derive(Clone, Debug, Default)]
pub(super) struct TestedColumns {
    /// Columns that it tests.
    pub(super) tested: Vec<usize>,
    /// Columns of which every included row has a cell.
    pub(super) present: Vec<usize>,
}

/// Returns the scan of the cells of `columns`, and of those that `filter` tests: of cells that are
/// not read it would take the row to have none.
pub(super) fn select(
    shape: &TableShape,
    columns: &[usize],
    of_filter: &TestedColumns,
    filter: Option<Filter>,
) -> Scan {
    let wants =
        |pseudo| columns.iter().any(|at| shape.columns[*at].source == Source::Pseudo(pseudo));
    let scan = Scan::all();
    if wants(Pseudo::Cells) {
        return with_filters(scan, filter, None);
    }
    if reads_families(shape, columns) {
        return with_filters(of_families(shape, columns, of_filter), filter, None);
    }
    let mut cells: BTreeSet<(Bytes, Bytes)> =
        columns.iter().chain(&of_filter.tested).filter_map(|at| cell_of(shape, *at)).collect();
    if wants(Pseudo::Ts) {
        cells.extend(shape.cells().map(|(family, qualifier)| (family.clone(), qualifier.clone())));
    }
    if !of_filter.present.is_empty() {
        // Every row of the result has a cell that is read, so no other tells that it exists.
        let scan = cells
            .into_iter()
            .fold(scan, |scan, (family, qualifier)| scan.column(family, qualifier));
        return with_filters(scan, filter, None);
    }
    let is_read = |(family, qualifier): (&Bytes, &Bytes)| {
        cells.contains(&(family.clone(), qualifier.clone()))
    };
    let witness = match (cells.is_empty(), shape.cells().all(is_read)) {
        (true, _) if filter.is_none() => {
            Some(Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]))
        }
        (true, _) => Some(Filter::FirstKeyOnly),
        // Whatever else a row has is undeclared, and reading it costs no filter.
        (false, true) if shape.wide_families().next().is_none() => None,
        (false, _) => Some(Filter::One(
            std::iter::once(Filter::FirstKeyOnly)
                .chain(cells.into_iter().map(only_column))
                .collect(),
        )),
    };
    with_filters(scan, filter, witness)
}

/// Returns the scan of the cells of columns, and of one more of each row, of which `filter` includes
/// some.
pub(crate) fn presence(shape: &TableShape, filter: Option<Filter>) -> Scan {
    let declared = shape.cells().map(|(family, name)| only_column((family.clone(), name.clone())));
    let cells = std::iter::once(Filter::FirstKeyOnly).chain(declared).collect();
    with_filters(Scan::all(), filter, Some(Filter::One(cells)))
}

/// Returns `true` if whole families are read.
fn reads_families(shape: &TableShape, columns: &[usize]) -> bool {
    let is_wide = |at: &usize| match shape.columns[*at].source {
        Source::Map { .. } => true,
        Source::Pseudo(Pseudo::Ts) => shape.wide_families().next().is_some(),
        _ => false,
    };
    shape.is_points() || columns.iter().any(is_wide)
}

/// Returns the scan of the families of `MAP` and `SERIES` and of other cells. A row of a `SERIES`
/// is no row of the answer without its points; of others all cells are read unless one that is read
/// tells that the row exists.
fn of_families(shape: &TableShape, columns: &[usize], of_filter: &TestedColumns) -> Scan {
    if !shape.is_points() && of_filter.present.is_empty() {
        return Scan::all();
    }
    let mut families: BTreeSet<Bytes> =
        shape.series.iter().map(|series| series.family().clone()).collect();
    let mut cells = BTreeSet::new();
    for at in columns.iter().chain(&of_filter.tested) {
        match &shape.columns[*at].source {
            Source::Map { family, .. } => drop(families.insert(family.clone())),
            Source::Pseudo(Pseudo::Ts) => {
                families.extend(shape.wide_families().cloned());
                cells.extend(shape.cells().map(|(family, name)| (family.clone(), name.clone())));
            }
            _ => cells.extend(cell_of(shape, *at)),
        }
    }
    cells.retain(|(family, _)| !families.contains(family));
    let scan = families.into_iter().fold(Scan::all(), Scan::family);
    cells.into_iter().fold(scan, |scan, (family, qualifier)| scan.column(family, qualifier))
}

/// Returns the scan of all cells, wide rows in pieces; with delete markers if their type is read.
pub(super) fn cells(shape: &TableShape, columns: &[usize]) -> Scan {
    let is_type = |at: &usize| shape.columns[*at].source == Source::Part(CellPart::Type);
    let raw = columns.iter().any(is_type);
    Scan { raw, batch: Some(CELLS_PER_PIECE), ..Scan::all() }
}

pub(super) fn cell_of(shape: &TableShape, column: usize) -> Option<(Bytes, Bytes)> {
    match &shape.columns[column].source {
        Source::Cell { family, qualifier } => Some((family.clone(), qualifier.clone())),
        _ => None,
    }
}

/// Includes the cells of one column. Unlike a pair of `FamilyFilter` and `QualifierFilter`, it does
/// not end the row at a cell of another family.
fn only_column((family, qualifier): (Bytes, Bytes)) -> Filter {
    Filter::ColumnValue { family, qualifier, op: CompareOp::NotEqual, comparator: Comparator::Null }
}

/// Sets the filter that includes rows by both. Conditions come first: they see every cell.
fn with_filters(scan: Scan, conditions: Option<Filter>, witness: Option<Filter>) -> Scan {
    match (conditions, witness) {
        (Some(conditions), Some(witness)) => scan.filter(Filter::All(vec![conditions, witness])),
        (Some(only), None) | (None, Some(only)) => scan.filter(only),
        (None, None) => scan,
    }
}
