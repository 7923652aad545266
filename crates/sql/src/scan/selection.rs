//! Cells that a scan reads: the columns that are named, and as much of the others as tells that a
//! row exists.

use std::collections::BTreeSet;

use halite_types::filter::{Comparator, CompareOp};
use halite_types::{Bytes, Filter, Scan};

use crate::catalog::shape::{CellPart, Pseudo, ShapeColumn, Source, TableShape};

/// Cells of a piece of a row.
const CELLS_PER_PIECE: usize = 1000;

/// Columns of a filter, by position, and what is known of the rows that it includes.
#[derive(Clone, Debug, Default)]
pub(super) struct TestedColumns {
    /// Columns that it tests.
    pub(super) tested: Vec<usize>,
    /// Columns of which every included row has a cell.
    pub(super) present: Vec<usize>,
    /// Columns that are NOT NULL, of which every row has a cell; none in the past, when it may have
    /// had another one that is not kept.
    pub(super) never_null: BTreeSet<(Bytes, Bytes)>,
}

/// Returns the cells of the columns that are declared NOT NULL.
pub(super) fn never_null(shape: &TableShape) -> BTreeSet<(Bytes, Bytes)> {
    let is_never_null = |column: &ShapeColumn| {
        column.cell.as_ref().is_some_and(|cell| cell.not_null && !cell.is_counter)
    };
    let positions = 0..shape.columns.len();
    positions
        .filter(|at| is_never_null(&shape.columns[*at]))
        .filter_map(|at| cell_of(shape, at))
        .collect()
}

impl TestedColumns {
    /// Returns a cell that every row has: one of those that are read anyway, or of a family of
    /// theirs, or any.
    fn cell_of_every_row(&self, read: &BTreeSet<(Bytes, Bytes)>) -> Option<&(Bytes, Bytes)> {
        let is_read = |cell: &&(Bytes, Bytes)| read.contains(*cell);
        let is_near = |(family, _): &&(Bytes, Bytes)| read.iter().any(|(of, _)| of == family);
        let known = self.never_null.iter();
        known
            .clone()
            .find(is_read)
            .or_else(|| known.clone().find(is_near))
            .or_else(|| self.never_null.first())
    }
}

/// Returns the scan of the cells of `columns`, and of those that `filter` tests: of cells that are
/// not read it would take the row to have none. Where only times are shown, no value is sent.
pub(super) fn select(
    shape: &TableShape,
    columns: &[usize],
    of_filter: &TestedColumns,
    filter: Option<Filter>,
) -> Scan {
    let needs_values = filter.is_some() || !shows_only_times(shape, columns);
    let scan = select_cells(shape, columns, of_filter, filter);
    let is_on_demand = families_on_demand(&scan).next().is_some();
    // Tables may have another default.
    let scan = if is_on_demand { scan.load_families_on_demand(true) } else { scan };
    if needs_values {
        return scan;
    }
    let without = Filter::KeyOnly(false);
    match scan.selection.filter.clone() {
        None => scan.filter(without),
        Some(filter) => scan.filter(Filter::All(vec![filter, without])),
    }
}

/// Returns the families of a scan whose cells are read only of rows that its filter includes, as in
/// HBase (`Filter.isFamilyEssential`).
pub(crate) fn families_on_demand(scan: &Scan) -> impl Iterator<Item = &Bytes> {
    let filter = scan.selection.filter.as_ref().filter(|_| !scan.reverse);
    let families = scan.selection.columns.keys();
    families.filter(move |family| filter.is_some_and(|filter| !is_essential(filter, family)))
}

/// Returns `true` if a filter includes rows by cells of the family.
fn is_essential(filter: &Filter, family: &Bytes) -> bool {
    match filter {
        Filter::SingleColumnValue { family: tested, filter_if_missing, .. } => {
            !filter_if_missing || tested == family
        }
        Filter::All(filters) | Filter::One(filters) => {
            filters.iter().any(|filter| is_essential(filter, family))
        }
        _ => true,
    }
}

/// Returns `true` if times of cells are all that is read of cells.
fn shows_only_times(shape: &TableShape, columns: &[usize]) -> bool {
    let sources = || columns.iter().map(|at| &shape.columns[*at].source);
    sources().any(|source| matches!(source, Source::CellTs { .. }))
        && sources().all(|source| match source {
            Source::CellTs { .. } | Source::Key(_) => true,
            Source::Pseudo(pseudo) => *pseudo != Pseudo::Cells,
            _ => false,
        })
        && !shape.is_points()
}

fn select_cells(
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
        return with_filters(of_columns(cells), filter, None);
    }
    let is_read = |(family, qualifier): (&Bytes, &Bytes)| {
        cells.contains(&(family.clone(), qualifier.clone()))
    };
    if cells.is_empty() {
        let first = match filter {
            None => Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]),
            Some(_) => Filter::FirstKeyOnly,
        };
        return with_filters(scan, filter, Some(first));
    }
    let is_declared_alone = !shape.is_extended && shape.wide_families().next().is_none();
    if is_declared_alone && shape.cells().all(is_read) {
        // Whatever else a row has is undeclared, and reading it costs no filter.
        return with_filters(scan, filter, None);
    }
    if let Some(witness) = of_filter.cell_of_every_row(&cells) {
        cells.insert(witness.clone());
        return with_filters(of_columns(cells), filter, None);
    }
    // Its first cell tells that a row exists: all cells pass this filter.
    let cells = std::iter::once(Filter::FirstKeyOnly).chain(cells.into_iter().map(only_column));
    with_filters(scan, filter, Some(Filter::One(cells.collect())))
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
        Source::Map { .. } | Source::Series(_) => true,
        Source::Pseudo(Pseudo::Ts) => shape.wide_families().next().is_some(),
        _ => false,
    };
    shape.is_points() || columns.iter().any(is_wide)
}

/// Returns the scan of the families of `MAP` and `SERIES` and of other cells. Where rows of the
/// answer are points, a row without any is none; of others all cells are read unless one that is
/// read tells that the row exists.
fn of_families(shape: &TableShape, columns: &[usize], of_filter: &TestedColumns) -> Scan {
    if !shape.is_points() && of_filter.present.is_empty() {
        return Scan::all();
    }
    let all = shape.series.iter().filter(|_| shape.is_points());
    let mut families: BTreeSet<Bytes> = all.map(|series| series.family().clone()).collect();
    let mut cells = BTreeSet::new();
    for at in columns.iter().chain(&of_filter.tested) {
        match &shape.columns[*at].source {
            Source::Map { family, .. } => drop(families.insert(family.clone())),
            Source::Series(series) => {
                families.extend(shape.series.get(*series).map(|series| series.family().clone()));
            }
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

fn of_columns(cells: BTreeSet<(Bytes, Bytes)>) -> Scan {
    let add = |scan: Scan, (family, qualifier)| scan.column(family, qualifier);
    cells.into_iter().fold(Scan::all(), add)
}

/// Returns the scan of all cells, wide rows in pieces; with delete markers if their type is read.
pub(super) fn cells(shape: &TableShape, columns: &[usize]) -> Scan {
    let is_type = |at: &usize| shape.columns[*at].source == Source::Part(CellPart::Type);
    let raw = columns.iter().any(is_type);
    Scan { raw, batch: Some(CELLS_PER_PIECE), ..Scan::all() }
}

pub(super) fn cell_of(shape: &TableShape, column: usize) -> Option<(Bytes, Bytes)> {
    match &shape.columns[column].source {
        Source::Cell { family, qualifier } | Source::CellTs { family, qualifier } => {
            Some((family.clone(), qualifier.clone()))
        }
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

#[cfg(test)]
mod tests {
    use halite_rowkey::language::{Statement, statements};

    use super::*;

    /// Returns the shape of a table with `columns`.
    fn shape(columns: &str) -> TableShape {
        let text = format!("CREATE TABLE t ({columns}, ROW KEY (k STRING));");
        let Statement::CreateTable(table) = statements(&text).unwrap().remove(0) else {
            panic!("{text}")
        };
        TableShape::of(&table.described(), false).unwrap()
    }

    /// Returns the columns that are read for the columns of some names, and whether a filter looks
    /// for the first cell of each row.
    fn read(shape: &TableShape, names: &[&str]) -> (Vec<String>, bool) {
        let columns: Vec<usize> =
            names.iter().map(|name| shape.position(name).expect("a column")).collect();
        let known = TestedColumns { never_null: never_null(shape), ..TestedColumns::default() };
        let scan = select(shape, &columns, &known, None);
        let mut read = Vec::new();
        for qualifiers in scan.selection.columns.values().flatten() {
            let names = qualifiers.iter().map(|name| String::from_utf8_lossy(name).into_owned());
            read.extend(names);
        }
        (read, scan.selection.filter.is_some())
    }

    #[test]
    fn a_column_that_is_never_null_tells_that_a_row_exists() {
        let told = shape(
            "a STRING FAMILY f, b I64 NOT NULL FAMILY f, c STRING FAMILY g, d STRING NOT NULL FAMILY g",
        );
        assert_eq!(read(&told, &["a"]), (vec!["a".into(), "b".into()], false));
        assert_eq!(read(&told, &["k", "b"]), (vec!["b".into()], false));
        assert_eq!(read(&told, &["c"]), (vec!["c".into(), "d".into()], false));
        assert_eq!(read(&told, &["a", "c"]).0.len(), 3);
        // All columns, and all cells; keys, and their first cells.
        assert_eq!(read(&told, &["a", "b", "c", "d"]), (Vec::new(), false));
        assert_eq!(read(&told, &["k"]), (Vec::new(), true));
        let untold = shape("a STRING, b I64, c I64 COUNTER");
        assert_eq!(read(&untold, &["a"]), (Vec::new(), true));
    }
}
