//! Rows of a declared table, generated, as the declaration writes them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use fastrand::Rng;
use halite_rowkey::cell::CellCodec;
use halite_rowkey::language::{Column, ColumnType, TableDeclaration};
use halite_rowkey::record::{Place, RecordCodec};
use halite_rowkey::schema::SegmentKind;
use halite_rowkey::series::{Point, SeriesColumn, pack};
use halite_rowkey::value::{FieldType, Value};
use halite_types::cell::{Cells, CellsBuilder, make_key};
use halite_types::{CellRef, CellType, Error, Result};

use super::tree::size;
use super::typical;
use crate::simulate::{FieldSpec, TrafficResolver};

/// Time of the first row, 2024-03-15T00:00:00Z.
const START_MS: i64 = 1_710_460_800_000;
/// Rows of one time bucket.
const ROWS_PER_BUCKET: u64 = 64;
/// Bytes of a cell in the log beside row, family, qualifier and value: two lengths, those of row
/// and family, timestamp and type.
const CELL_BYTES: u64 = 8 + 2 + 1 + 8 + 1;

/// Bytes of the values of a row at most.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// Generator of rows.
pub(super) struct RowSource<'a> {
    table: &'a TableDeclaration,
    fields: &'a HashMap<String, FieldSpec>,
    /// Points of a row of a `SERIES`.
    points: u32,
    /// Cells of a `MAP`.
    map_cells: u32,
    codec: RecordCodec,
    series: HashMap<usize, SeriesColumn>,
    map_keys: HashMap<usize, CellCodec>,
    resolver: TrafficResolver,
    /// Milliseconds between two rows.
    step_ms: f64,
}

/// Cells of a family: by row and qualifier, with the time and the value.
type FamilyCells = BTreeMap<(Bytes, Bytes), (i64, Bytes)>;

/// Generated rows.
#[derive(Default)]
pub(super) struct Sample {
    families: BTreeMap<Bytes, FamilyCells>,
    /// Number of rows, of which some may have the same key.
    pub(super) generated: u64,
    /// Sum of the lengths of their keys.
    pub(super) key_bytes: u64,
    /// Cells as they are written, of which a compaction packs those of a `SERIES`.
    pub(super) written: u64,
    /// Bytes of these cells in the log.
    pub(super) logged_bytes: u64,
}

impl<'a> RowSource<'a> {
    pub(super) fn new(
        table: &'a TableDeclaration,
        fields: &'a HashMap<String, FieldSpec>,
        points: u32,
        map_cells: u32,
        writes_per_second: u64,
    ) -> Result<Self> {
        let invalid = |error: String| Error::invalid(error);
        let (mut series, mut map_keys) = (HashMap::new(), HashMap::new());
        for (at, column) in table.columns.iter().enumerate() {
            match column.ty {
                ColumnType::Series { .. } => {
                    series.insert(at, SeriesColumn::new(&table.key, column).map_err(invalid)?);
                }
                ColumnType::Map { key, .. } => {
                    let codec = CellCodec::new(key, column.encoding).map_err(invalid)?;
                    map_keys.insert(at, codec);
                }
                _ => {}
            }
        }
        Ok(Self {
            table,
            fields,
            points,
            map_cells,
            codec: RecordCodec::new(table).map_err(invalid)?,
            series,
            map_keys,
            resolver: TrafficResolver::seeded(1),
            step_ms: step_ms(table, writes_per_second),
        })
    }

    /// Returns rows, as many as specified, or fewer if their cells reach the bytes; equal seeds
    /// give equal ones.
    ///
    /// # Errors
    /// `InvalidRequest` for generated values that their field or column cannot have.
    pub(super) fn rows(&self, count: u64, max_bytes: u64, seed: u64) -> Result<Sample> {
        let mut sample = Sample::default();
        let mut rng = Rng::with_seed(seed);
        for number in 0..count {
            self.add_row(&mut sample, number, &mut rng).map_err(Error::invalid)?;
            if sample.logged_bytes >= max_bytes {
                break;
            }
        }
        Ok(sample)
    }

    fn add_row(&self, sample: &mut Sample, number: u64, rng: &mut Rng) -> Result<(), String> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "a sample is far below 2^53 rows"
        )]
        let time_ms = START_MS.saturating_add((number as f64 * self.step_ms) as i64);
        let mut bytes = 0;
        let mut draw = |name: &str, ty: FieldType| -> Result<Value<'static>, String> {
            let value = self.value(name, ty, rng, number, time_ms)?;
            bytes += length(&value);
            if bytes <= MAX_ROW_BYTES {
                return Ok(value);
            }
            Err(format!(
                "a row has more than {}, too much for a sample; specify fewer --map-cells or \
                 shorter values",
                size(MAX_ROW_BYTES)
            ))
        };
        let mut values: Vec<(Place, Value<'static>)> = Vec::new();
        for (at, field) in self.table.key.fields().iter().enumerate() {
            values.push((Place::Field(at), draw(&field.name, field.ty)?));
        }
        let mut points = Vec::new();
        for (at, column) in self.table.columns.iter().enumerate() {
            if let ColumnType::Series { of, .. } = column.ty {
                for _ in 0..self.points {
                    points.push((at, point_value(&draw(&column.name, of)?)?));
                }
                continue;
            }
            let ty = self.codec.ty(&Place::Column(at));
            match self.map_keys.get(&at) {
                Some(codec) => {
                    for key in 0..self.map_cells {
                        let place = Place::Entry(at, map_qualifier(column, codec, key)?);
                        values.push((place, draw(&column.name, ty)?));
                    }
                }
                None => values.push((Place::Column(at), draw(&column.name, ty)?)),
            }
        }
        let fields = self.codec.fields(&values);
        let key = self.table.key.encode_with(&fields, &self.resolver);
        let row =
            Bytes::copy_from_slice(&key.map_err(|error| self.table.key.describe_error(&error))?);
        sample.generated += 1;
        sample.key_bytes += row.len() as u64;
        if values.len() > fields.len() {
            let put = self.codec.put(&values, &self.resolver)?;
            for cell in put.mutation().cells() {
                sample.log(&row, cell.family(), cell.qualifier().len(), cell.value().len());
                let qualifier = Bytes::copy_from_slice(cell.qualifier());
                let value = Bytes::copy_from_slice(cell.value());
                sample.add(cell.family(), row.clone(), qualifier, time_ms, value);
            }
        }
        for (at, series) in &self.series {
            let values: Vec<f64> =
                points.iter().filter(|(of, _)| of == at).map(|(_, value)| *value).collect();
            sample.add_series(series, &row, time_ms, &values)?;
        }
        Ok(())
    }

    fn value(
        &self,
        name: &str,
        ty: FieldType,
        rng: &mut Rng,
        number: u64,
        time_ms: i64,
    ) -> Result<Value<'static>, String> {
        let Some(spec) = self.fields.get(name) else {
            return Ok(typical::value(ty, rng, time_ms));
        };
        let value = spec.generate(rng, number, time_ms).value(ty);
        value.map_err(|error| format!("--field {name}: {error}"))
    }
}

impl Sample {
    /// Returns the names of the families.
    pub(super) fn families(&self) -> impl Iterator<Item = &Bytes> {
        self.families.keys()
    }

    /// Returns the number of different rows of a family, and its cells in order.
    pub(super) fn cells(&self, family: &Bytes) -> (u64, Cells) {
        let mut cells = CellsBuilder::default();
        let (mut rows, mut last) = (0, None);
        for ((row, qualifier), (time_ms, value)) in self.families.get(family).into_iter().flatten()
        {
            if last != Some(row) {
                (rows, last) = (rows + 1, Some(row));
            }
            let key = make_key(row, family, qualifier, *time_ms, CellType::Put.code());
            cells.push(CellRef::new(&key, value, b"", 0));
        }
        (rows, cells.finish())
    }

    fn add(&mut self, family: &[u8], row: Bytes, qualifier: Bytes, time_ms: i64, value: Bytes) {
        let cells = self.families.entry(Bytes::copy_from_slice(family)).or_default();
        cells.insert((row, qualifier), (time_ms, value));
    }

    /// Counts a cell as it is written.
    fn log(&mut self, row: &[u8], family: &[u8], qualifier: usize, value: usize) {
        self.written += 1;
        self.logged_bytes += CELL_BYTES + (row.len() + family.len() + qualifier + value) as u64;
    }

    /// Adds the points of a row: written one by one, and packed by a compaction.
    fn add_series(
        &mut self,
        series: &SeriesColumn,
        row: &Bytes,
        time_ms: i64,
        values: &[f64],
    ) -> Result<(), String> {
        let step = series.width() / (values.len() as u64).max(1);
        if step == 0 {
            return Err(format!(
                "a SERIES of {} points, and its row has {} times; specify fewer --points",
                values.len(),
                series.width()
            ));
        }
        let mut points = Vec::with_capacity(values.len());
        for (offset, value) in (0_u64..).map(|at| at * step).zip(values.iter().copied()) {
            let loose = series.value_bytes(value)?;
            let qualifier = series.loose_qualifier(offset).len();
            self.log(row, series.family(), qualifier, loose.len());
            points.push(Point { offset: offset.cast_signed(), value });
        }
        let packed = pack(&points).map_err(|error| error.to_string())?;
        let qualifier = series.qualifier().clone();
        self.add(series.family(), row.clone(), qualifier, time_ms, packed.into());
        Ok(())
    }
}

/// Returns the bytes of a value, roughly for those of a fixed length.
fn length(value: &Value<'_>) -> u64 {
    match value {
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        _ => 8,
    }
}

/// Returns the number of a point.
#[expect(clippy::cast_precision_loss, reason = "larger numbers are refused as points")]
fn point_value(value: &Value<'_>) -> Result<f64, String> {
    match *value {
        Value::F64(number) => Ok(number),
        Value::F32(number) => Ok(number.into()),
        Value::Signed(number) => Ok(number as f64),
        Value::Unsigned(number) => Ok(number as f64),
        _ => Err("the points of a SERIES are numbers".to_owned()),
    }
}

/// Returns the qualifier of a cell of a `MAP`, whose keys are numbers from 0 on.
fn map_qualifier(column: &Column, codec: &CellCodec, key: u32) -> Result<Bytes, String> {
    let value = codec.ty().parse(&key.to_string());
    let value =
        value.map_err(|error| format!("column {}: keys of its MAP: {error}", column.name))?;
    let bytes = codec.encode(&value).map_err(|error| format!("column {}: {error}", column.name))?;
    Ok([&column.qualifier[..], &bytes].concat().into())
}

/// Returns the milliseconds between two rows: those of the load, and of a time bucket a share.
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2^53 ms")]
fn step_ms(table: &TableDeclaration, writes_per_second: u64) -> f64 {
    let bucket_ms = table.key.segments().iter().find_map(|segment| match segment.kind {
        SegmentKind::Bucket { field, width } => match table.key.fields()[field].ty {
            FieldType::Timestamp(unit) => Some(width as f64 * 1_000.0 / unit.per_second() as f64),
            _ => None,
        },
        _ => None,
    });
    match bucket_ms {
        Some(width) => width / ROWS_PER_BUCKET as f64,
        None => 1_000.0 / writes_per_second.max(1) as f64,
    }
}
