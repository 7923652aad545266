//! Rows as Arrow batches.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, RecordBatch, RecordBatchOptions, StringViewBuilder, TimestampMillisecondBuilder,
    UInt32Builder,
};
use halite_rowkey::cell::CellCodec;
use halite_rowkey::series::SeriesColumn;
use halite_rowkey::value::{FieldType, Value};
use halite_rowkey::{DecodedKey, FieldId, SegmentKind};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, Row};

use super::points::{PointRow, PointRows};
use super::row_cells::{RowCells, for_each_version};
use super::spec::ScanSpec;
use crate::catalog::shape::{CellDeclaration, CellPart, Pseudo, RowKind, Source};
use crate::error::{Result, SqlError, SqlState};
use crate::session::settings::BadCells;
use crate::types::builder::{CellsBuilder, ColumnBuilder};
use crate::types::cells::read_declared;
use crate::types::map::MapColumnBuilder;
use crate::types::point_list::PointListBuilder;

/// Bytes of a point in a list: its time and its number. Packed they take much less.
const POINT_BYTES: usize = 16;

/// Batch that grows by one row at a time.
pub(super) struct RowDecoder {
    spec: Arc<ScanSpec>,
    /// `true` if a column is a field of the key.
    needs_key: bool,
    output: Output,
}

/// Columns of a batch.
struct Output {
    columns: Vec<OutputColumn>,
    /// Columns of cells, in the order of cells in a row.
    in_row_order: Vec<usize>,
    bad_cells: BadCells,
    rows: usize,
    /// Bytes of the rows' cells, and of points in lists.
    bytes: usize,
    /// Cells so far that were none of their column's type and became null.
    bad: u64,
}

/// Column of the result.
enum OutputColumn {
    Key(FieldId, ColumnBuilder),
    /// Field of which the key has only a hash.
    Given(Value<'static>, ColumnBuilder),
    Cell {
        ty: FieldType,
        declared: Option<Arc<CellDeclaration>>,
        family: bytes::Bytes,
        qualifier: bytes::Bytes,
        to: ColumnBuilder,
    },
    CellTs {
        family: bytes::Bytes,
        qualifier: bytes::Bytes,
        to: TimestampMillisecondBuilder,
    },
    Row(ColumnBuilder),
    Salt(UInt32Builder),
    Region(StringViewBuilder),
    Ts(TimestampMillisecondBuilder),
    Version(UInt32Builder),
    Cells(CellsBuilder),
    Map {
        ty: FieldType,
        declared: Option<Arc<CellDeclaration>>,
        keys: Arc<CellCodec>,
        family: bytes::Bytes,
        prefix: bytes::Bytes,
        to: MapColumnBuilder,
    },
    /// Number of a point, by the position of its series.
    Point(usize, FieldType, ColumnBuilder),
    /// Points of a bucket row.
    Points {
        series: SeriesColumn,
        ty: FieldType,
        to: PointListBuilder,
    },
    PartText(CellPart, StringViewBuilder),
    PartBytes(CellPart, ColumnBuilder),
}

impl RowDecoder {
    pub(super) fn new(spec: Arc<ScanSpec>, bad_cells: BadCells) -> Self {
        let columns: Vec<OutputColumn> = spec.columns.iter().map(|at| output(&spec, *at)).collect();
        let is_of_key = |column: &OutputColumn| {
            matches!(column, OutputColumn::Key(..) | OutputColumn::Points { .. })
        };
        let needs_key = columns.iter().any(is_of_key);
        let mut in_row_order: Vec<usize> =
            (0..columns.len()).filter(|at| columns[*at].cell().is_some()).collect();
        in_row_order.sort_by(|one, other| columns[*one].cell().cmp(&columns[*other].cell()));
        let output = Output { columns, in_row_order, bad_cells, rows: 0, bytes: 0, bad: 0 };
        Self { spec, needs_key, output }
    }

    /// Returns the rows of the batch so far.
    pub(super) fn rows(&self) -> usize {
        self.output.rows
    }

    /// Returns the bytes of cells of the batch so far, and of points in lists.
    pub(super) fn bytes(&self) -> usize {
        self.output.bytes
    }

    /// Returns how many cells so far were none of their column's type and became null.
    pub(super) fn bad(&self) -> u64 {
        self.output.bad
    }

    /// Appends a row, or its versions.
    ///
    /// # Errors
    /// A cell or a field that is no value of its type, with its row, column and bytes.
    pub(super) fn push(&mut self, row: &Row) -> Result<()> {
        let Self { spec, needs_key, output } = self;
        output.bytes += row.cells().bytes().len();
        let key = needs_key.then(|| spec.plan.decode(row.key()).ok()).flatten();
        let key = key.as_ref();
        match spec.history.versions {
            _ if spec.target.shape.is_cells() => row
                .iter()
                .try_for_each(|cell| output.push_row(spec, row, key, &RowCells::One(cell), None)),
            None if spec.target.shape.is_points() => output.push_points(spec, row, key),
            None => output.push_row(spec, row, key, &RowCells::Newest(row), None),
            Some(_) => for_each_version(row, |cells| output.push_row(spec, row, key, cells, None)),
        }
    }

    /// Returns the batch, and begins an empty one.
    ///
    /// # Errors
    /// None in practice: the arrays are of the schema.
    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        let columns = self.output.columns.iter_mut();
        let arrays: Vec<ArrayRef> = columns.map(OutputColumn::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.output.rows));
        (self.output.rows, self.output.bytes) = (0, 0);
        RecordBatch::try_new_with_options(Arc::clone(&self.spec.schema), arrays, &options)
            .map_err(|error| SqlError::new(SqlState::Internal, error.to_string()))
    }
}

impl Output {
    fn push_points(
        &mut self,
        spec: &ScanSpec,
        row: &Row,
        key: Option<&DecodedKey<'_>>,
    ) -> Result<()> {
        let series = &spec.target.shape.series;
        let points = points_of(spec, row, series, self.bad_cells, &mut self.bad)?;
        let is_descending = series.first().is_some_and(SeriesColumn::is_descending);
        let is_descending = is_descending != spec.plan.query().reverse;
        let cells = RowCells::Newest(row);
        points
            .iter(is_descending)
            .try_for_each(|point| self.push_row(spec, row, key, &cells, Some(point)))
    }

    fn push_row(
        &mut self,
        spec: &ScanSpec,
        row: &Row,
        key: Option<&DecodedKey<'_>>,
        cells: &RowCells<'_>,
        point: Option<PointRow<'_>>,
    ) -> Result<()> {
        for column in &mut self.columns {
            match column {
                OutputColumn::Key(field, to) => {
                    push_field(spec, row, (key, point), *field, to)?;
                }
                OutputColumn::Point(series, ty, to) => {
                    let value = point.map_or(Value::Null, |point| point.value(*series, *ty));
                    to.append(&value).map_err(|what| bad_value(spec, row, "a point", &what))?;
                }
                OutputColumn::Points { series, ty, to } => {
                    let of = std::slice::from_ref(series);
                    let points = points_of(spec, row, of, self.bad_cells, &mut self.bad)?;
                    self.bytes += points.len() * POINT_BYTES;
                    let start = key.and_then(|key| key.get(series.field()));
                    for point in points.iter(false) {
                        let time = point.time(start.unwrap_or(&Value::Null));
                        to.push(&time, &point.value(0, *ty))
                            .map_err(|what| bad_value(spec, row, "a point", &what))?;
                    }
                    to.end_row();
                }
                OutputColumn::Map { ty, declared, keys, family, prefix, to } => {
                    for cell in map_cells(row, family, prefix) {
                        let key = keys.decode(&cell.qualifier()[prefix.len()..]);
                        let value = read_declared(*ty, declared.as_deref(), cell.value());
                        let entry = key.map_err(|error| error.to_string());
                        match entry.and_then(|key| to.push(&key, value)) {
                            Err(what) if self.bad_cells == BadCells::Fail => {
                                return Err(bad_cell(spec, row, &cell, *ty, &what));
                            }
                            Err(_) => self.bad += 1,
                            Ok(()) => {}
                        }
                    }
                    to.end_row();
                }
                OutputColumn::Given(value, to) => {
                    to.append(value).map_err(|what| bad_value(spec, row, "a key field", &what))?;
                }
                OutputColumn::Cell { .. } | OutputColumn::CellTs { .. } => {}
                OutputColumn::Row(to) => {
                    let value = Value::Bytes(row.key().into());
                    to.append(&value).map_err(|what| bad_value(spec, row, "_row", &what))?;
                }
                OutputColumn::Salt(to) => to.append_option(salt(spec, row.key())),
                OutputColumn::Region(to) => to.append_option(region(spec, row.key())),
                OutputColumn::Ts(to) => {
                    to.append_option(cells.newest(|cell| is_declared(&spec.target.shape, cell)));
                }
                OutputColumn::Version(to) => to.append_value(cells.number()),
                OutputColumn::Cells(to) => push_cells(spec, row, to)?,
                OutputColumn::PartText(part, to) => to.append_option(cells.text_of(*part)),
                OutputColumn::PartBytes(part, to) => {
                    let value = Value::Bytes(cells.bytes_of(*part).into());
                    to.append(&value).map_err(|what| bad_value(spec, row, "a cell", &what))?;
                }
            }
        }
        self.rows += 1;
        match cells {
            RowCells::Newest(row) => self.push_newest(spec, row),
            RowCells::Version { .. } | RowCells::One(_) => self.push_found(spec, row, cells),
        }
    }

    /// Appends the newest cells of a row, in one walk over them.
    fn push_newest(&mut self, spec: &ScanSpec, row: &Row) -> Result<()> {
        let mut cells = row.iter();
        let mut next = cells.next();
        for at in &self.in_row_order {
            let column = &mut self.columns[*at];
            let Some(wanted) = column.cell() else { continue };
            let found = loop {
                let Some(cell) = next else { break None };
                match (cell.family(), cell.qualifier()).cmp(&wanted) {
                    // Another column, or an older version of the last one.
                    Ordering::Less => next = cells.next(),
                    Ordering::Equal => break Some(cell),
                    Ordering::Greater => break None,
                }
            };
            self.bad += column.push_cell(spec, row, found, self.bad_cells)?;
        }
        Ok(())
    }

    /// Appends cells that are not all of a row.
    fn push_found(&mut self, spec: &ScanSpec, row: &Row, cells: &RowCells<'_>) -> Result<()> {
        for at in &self.in_row_order {
            let column = &mut self.columns[*at];
            let found = column.cell().and_then(|(family, name)| cells.get(family, name));
            self.bad += column.push_cell(spec, row, found, self.bad_cells)?;
        }
        Ok(())
    }
}

impl OutputColumn {
    /// Returns family and qualifier of a column of cells.
    fn cell(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Cell { family, qualifier, .. } | Self::CellTs { family, qualifier, .. } => {
                Some((family, qualifier))
            }
            _ => None,
        }
    }

    /// Appends a cell of the column, or null; returns 1 for a cell that became null.
    fn push_cell(
        &mut self,
        spec: &ScanSpec,
        row: &Row,
        cell: Option<CellRef<'_>>,
        bad_cells: BadCells,
    ) -> Result<u64> {
        if let Self::CellTs { to, .. } = self {
            to.append_option(cell.map(|cell| cell.timestamp()));
        }
        let Self::Cell { ty, declared, to, .. } = self else { return Ok(0) };
        let Some(cell) = cell else {
            let is_counter = declared.as_ref().is_some_and(|cell| cell.is_counter);
            // At another time than its own a counter has no value.
            let is_zero = is_counter && spec.history.versions.is_none();
            let _ = to.append(if is_zero { &Value::Signed(0) } else { &Value::Null });
            return Ok(0);
        };
        let appended = read_declared(*ty, declared.as_deref(), cell.value())
            .and_then(|value| to.append(&value))
            .map_err(|what| bad_cell(spec, row, &cell, *ty, &what));
        match appended {
            Err(error) if bad_cells == BadCells::Fail => Err(error),
            Err(_) => {
                let _ = to.append(&Value::Null);
                Ok(1)
            }
            Ok(()) => Ok(0),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Key(_, to)
            | Self::Given(_, to)
            | Self::Cell { to, .. }
            | Self::Row(to)
            | Self::Point(_, _, to)
            | Self::PartBytes(_, to) => to.finish(),
            Self::Map { to, .. } => to.finish(),
            Self::Points { to, .. } => to.finish(),
            Self::Salt(to) | Self::Version(to) => Arc::new(to.finish()),
            Self::Region(to) | Self::PartText(_, to) => Arc::new(to.finish()),
            Self::Ts(to) | Self::CellTs { to, .. } => Arc::new(to.finish()),
            Self::Cells(to) => to.finish(),
        }
    }
}

fn output(spec: &ScanSpec, at: usize) -> OutputColumn {
    let column = &spec.target.shape.columns[at];
    let builder = || ColumnBuilder::of(column.ty, &column.field);
    match &column.source {
        Source::Key(field) => match spec.given.iter().find(|(given, _)| *given == at) {
            Some((_, value)) => OutputColumn::Given(value.clone(), builder()),
            None => OutputColumn::Key(*field, builder()),
        },
        Source::Cell { family, qualifier } => OutputColumn::Cell {
            ty: column.ty,
            declared: column.cell.clone(),
            family: family.clone(),
            qualifier: qualifier.clone(),
            to: builder(),
        },
        Source::CellTs { family, qualifier } => OutputColumn::CellTs {
            family: family.clone(),
            qualifier: qualifier.clone(),
            to: TimestampMillisecondBuilder::new().with_timezone("+00:00"),
        },
        Source::Series(at) => {
            let shape = &spec.target.shape;
            match shape.series.get(*at).filter(|_| shape.rows == RowKind::Bucket) {
                Some(series) => {
                    let time = spec.plan.schema().fields()[series.field()].ty;
                    let to = PointListBuilder::new(time, column.ty);
                    OutputColumn::Points { series: series.clone(), ty: column.ty, to }
                }
                None => OutputColumn::Point(*at, column.ty, builder()),
            }
        }
        Source::Map { family, prefix } => match &column.map_key {
            Some(keys) => OutputColumn::Map {
                ty: column.ty,
                declared: column.cell.clone(),
                keys: Arc::clone(keys),
                family: family.clone(),
                prefix: prefix.clone(),
                to: MapColumnBuilder::new(&column.field, keys.ty(), column.ty),
            },
            None => OutputColumn::Row(builder()),
        },
        Source::Unread(_) | Source::Pseudo(Pseudo::Row) => OutputColumn::Row(builder()),
        Source::Pseudo(Pseudo::Salt) => OutputColumn::Salt(UInt32Builder::new()),
        Source::Pseudo(Pseudo::Region) => OutputColumn::Region(StringViewBuilder::new()),
        Source::Part(part @ (CellPart::Family | CellPart::Type)) => {
            OutputColumn::PartText(*part, StringViewBuilder::new())
        }
        Source::Part(part @ (CellPart::Qualifier | CellPart::Value)) => {
            OutputColumn::PartBytes(*part, builder())
        }
        Source::Pseudo(Pseudo::Ts) | Source::Part(CellPart::Ts) => {
            OutputColumn::Ts(TimestampMillisecondBuilder::new().with_timezone("+00:00"))
        }
        Source::Pseudo(Pseudo::Version) => OutputColumn::Version(UInt32Builder::new()),
        Source::Pseudo(Pseudo::Cells) => OutputColumn::Cells(CellsBuilder::new()),
    }
}

/// Returns the points of a row. A series whose cells are damaged has none, and is counted, if that
/// is no error.
fn points_of(
    spec: &ScanSpec,
    row: &Row,
    series: &[SeriesColumn],
    bad_cells: BadCells,
    bad: &mut u64,
) -> Result<PointRows> {
    PointRows::of(row, series, |column, error| match bad_cells {
        BadCells::Fail => Err(SqlError::new(
            SqlState::InvalidValue,
            format!(
                "table {}, row {}, column {column}: {error}; SET halite.bad_cells = 'null' leaves \
                 such points out",
                spec.target.table.name(),
                to_string_binary(row.key())
            ),
        )),
        BadCells::Null => {
            *bad += 1;
            Ok(())
        }
    })
}

fn push_field(
    spec: &ScanSpec,
    row: &Row,
    (key, point): (Option<&DecodedKey<'_>>, Option<PointRow<'_>>),
    field: FieldId,
    to: &mut ColumnBuilder,
) -> Result<()> {
    let value = key.and_then(|key| key.get(field)).unwrap_or(&Value::Null);
    let time = point.filter(|_| spec.target.shape.point_time() == Some(field));
    let appended = match time {
        Some(point) => to.append(&point.time(value)),
        None => to.append(value),
    };
    appended.map_err(|what| bad_value(spec, row, &spec.plan.schema().fields()[field].name, &what))
}

fn bad_value(spec: &ScanSpec, row: &Row, name: &str, what: &str) -> SqlError {
    SqlError::new(
        SqlState::OutOfRange,
        format!(
            "table {}, row {}: {name}: {what}",
            spec.target.table.name(),
            to_string_binary(row.key())
        ),
    )
}

fn bad_cell(spec: &ScanSpec, row: &Row, cell: &CellRef<'_>, ty: FieldType, what: &str) -> SqlError {
    const SHOWN_BYTES: usize = 32;
    let value = cell.value();
    let shown = to_string_binary(&value[..value.len().min(SHOWN_BYTES)]);
    let more = if value.len() > SHOWN_BYTES { ".." } else { "" };
    let is_encoding = ty.is_text() && std::str::from_utf8(value).is_err();
    SqlError::new(
        if is_encoding { SqlState::NotInEncoding } else { SqlState::InvalidValue },
        format!(
            "table {}, row {}, column {}:{}: {what}: {shown}{more}; SET halite.bad_cells = 'null' \
             shows such cells as NULL",
            spec.target.table.name(),
            to_string_binary(row.key()),
            to_string_binary(cell.family()),
            to_string_binary(cell.qualifier())
        ),
    )
}

fn salt(spec: &ScanSpec, key: &[u8]) -> Option<u32> {
    let schema = spec.plan.schema();
    let at = schema
        .segments()
        .iter()
        .position(|segment| matches!(segment.kind, SegmentKind::Salt { .. }))?;
    let bounds = schema.split_segments(key).ok()?;
    schema.salt_in(at, key.get(bounds.get(at)?.clone())?)
}

fn region<'s>(spec: &'s ScanSpec, key: &[u8]) -> Option<&'s str> {
    let regions = &spec.target.regions;
    let after = regions.partition_point(|region| &region.start[..] <= key);
    let region = regions.get(after.checked_sub(1)?)?;
    Some(&region.encoded_name)
}

fn is_declared(shape: &crate::catalog::shape::TableShape, cell: &CellRef<'_>) -> bool {
    shape.is_cell_of_column(cell.family(), cell.qualifier())
}

/// Returns the newest cells of a `MAP`.
fn map_cells<'r>(
    row: &'r Row,
    family: &'r [u8],
    prefix: &'r [u8],
) -> impl Iterator<Item = CellRef<'r>> {
    let mut last: Option<&[u8]> = None;
    row.iter().filter(move |cell| {
        cell.family() == family
            && cell.qualifier().starts_with(prefix)
            // Older versions of a column follow the newest.
            && last.replace(cell.qualifier()) != Some(cell.qualifier())
    })
}

fn push_cells(spec: &ScanSpec, row: &Row, to: &mut CellsBuilder) -> Result<()> {
    let mut last: Option<(&[u8], &[u8])> = None;
    for cell in row {
        // Older versions of a column follow the newest.
        if last.replace((cell.family(), cell.qualifier()))
            == Some((cell.family(), cell.qualifier()))
            || spec.target.shape.is_declared_cell(cell.family(), cell.qualifier())
        {
            continue;
        }
        let name =
            format!("{}:{}", to_string_binary(cell.family()), to_string_binary(cell.qualifier()));
        to.push(&name, cell.value());
    }
    to.end_row().map_err(|what| bad_value(spec, row, "_cells", &what))
}
