//! Rows of `halite key scan` by the names of fields and columns: a table, CSV and lines of JSON.

use std::io::Write;

use anyhow::{Context as _, anyhow};
use halite::rowkey::literal::LiteralDisplay;
use halite::rowkey::record::{Place, Record, RecordCell, RecordCodec};
use halite::rowkey::{FieldType, KeyResolver, Value};
use halite::{Row, to_string_binary};
use serde_json::{Map, Value as Json};

/// Output format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RowFormat {
    /// A line per row
    Table,
    /// CSV with a header line
    Csv,
    /// A JSON object per line
    Jsonl,
}

/// Formatter of rows.
pub(crate) struct RecordOutput {
    codec: RecordCodec,
    format: RowFormat,
    /// Columns of CSV.
    places: Vec<Place>,
    /// Cells without a column of CSV.
    pub(crate) left_out: u64,
}

impl RecordOutput {
    pub(crate) fn new(codec: RecordCodec, format: RowFormat) -> Self {
        let fields = (0..codec.key().fields().len()).map(Place::Field);
        let columns = codec.columns().enumerate();
        let single = columns.filter(|(_, column)| column.ty.value_type().is_some());
        let places = fields.chain(single.map(|(at, _)| Place::Column(at))).collect();
        Self { codec, format, places, left_out: 0 }
    }

    /// Writes what precedes the rows: the header of CSV.
    pub(crate) fn begin(&self, out: &mut impl Write) -> anyhow::Result<()> {
        if self.format == RowFormat::Csv {
            let names: Vec<String> =
                self.places.iter().map(|place| self.codec.name(place)).collect();
            csv::Writer::from_writer(out).write_record(names)?;
        }
        Ok(())
    }

    /// Writes a row.
    ///
    /// # Errors
    /// For CSV and JSON, a cell whose bytes are no value of its column.
    pub(crate) fn write(
        &mut self,
        row: &Row,
        resolver: &dyn KeyResolver,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let record = self.codec.decode(row, resolver);
        let in_row = || format!("row {}", to_string_binary(row.key()));
        match self.format {
            RowFormat::Table => writeln!(out, "{}", self.line(row, &record))?,
            RowFormat::Csv => {
                let fields = self.csv(&record).with_context(in_row)?;
                let own = |cell: &&RecordCell<'_>| matches!(cell.place, Some(Place::Column(_)));
                self.left_out +=
                    (record.cells.len() - record.cells.iter().filter(own).count()) as u64;
                csv::Writer::from_writer(out).write_record(fields)?;
            }
            RowFormat::Jsonl => {
                let object = self.json(row, &record).with_context(in_row)?;
                writeln!(out, "{}", Json::Object(object))?;
            }
        }
        Ok(())
    }

    /// Formats fields and cells; bytes that are no value are printed as the shell prints them.
    fn line(&self, row: &Row, record: &Record<'_>) -> String {
        let fields = match &record.key {
            Ok(key) => self.codec.key().format_values(key),
            Err(_) => to_string_binary(row.key()),
        };
        let cells = record.cells.iter().map(|cell| match (&cell.place, &cell.value) {
            (Some(place), Ok(value)) => {
                let shown = LiteralDisplay(value, self.codec.ty(place)).to_string();
                format!("{}={shown}", self.codec.name(place))
            }
            (Some(place), Err(_)) => {
                format!("{}=?{}", self.codec.name(place), to_string_binary(cell.cell.value()))
            }
            (None, _) => format!("{}={}", stored_name(cell), to_string_binary(cell.cell.value())),
        });
        format!("{fields}  {}", cells.collect::<Vec<_>>().join("  "))
    }

    fn csv(&self, record: &Record<'_>) -> anyhow::Result<Vec<String>> {
        let key = record.key.as_ref().map_err(|error| anyhow!("{error}; --format jsonl has it"))?;
        let text = |place: &Place| {
            let value = match place {
                Place::Field(field) => key.get(*field),
                Place::Column(at) => record
                    .value(*at)
                    .map_err(|error| anyhow!("{}: {error}", self.codec.name(place)))?,
                Place::Entry(..) => None,
            };
            Ok(value.map_or_else(String::new, |value| plain(value, self.codec.ty(place))))
        };
        self.places.iter().map(text).collect()
    }

    fn json(&self, row: &Row, record: &Record<'_>) -> anyhow::Result<Map<String, Json>> {
        let mut object = Map::new();
        match &record.key {
            Ok(key) => {
                for (field, declared) in self.codec.key().fields().iter().enumerate() {
                    if let Some(value) = key.get(field) {
                        object.insert(declared.name.clone(), json_value(value, declared.ty));
                    }
                }
            }
            Err(_) => drop(object.insert("_row".into(), to_string_binary(row.key()).into())),
        }
        for cell in &record.cells {
            let value = cell.value.as_ref();
            let (name, value) = match &cell.place {
                Some(place) => {
                    let name = self.codec.name(place);
                    let value = value.map_err(|error| anyhow!("{name}: {error}"))?;
                    (name, json_value(value, self.codec.ty(place)))
                }
                None => (stored_name(cell), to_string_binary(cell.cell.value()).into()),
            };
            object.insert(name, value);
        }
        Ok(object)
    }
}

fn stored_name(cell: &RecordCell<'_>) -> String {
    let (family, qualifier) = (cell.cell.family(), cell.cell.qualifier());
    format!("{}:{}", to_string_binary(family), to_string_binary(qualifier))
}

/// Returns the text of a value that `halite key put --csv` reads; null is empty.
fn plain(value: &Value<'_>, ty: FieldType) -> String {
    if value.is_null() { String::new() } else { ty.print(value) }
}

/// Returns numbers as numbers where JSON has them, the others as text.
fn json_value(value: &Value<'_>, ty: FieldType) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Unsigned(number) => Json::from(*number),
        Value::Signed(number) if !ty.is_time() => Json::from(*number),
        Value::F32(number) if number.is_finite() => {
            serde_json::from_str(&number.to_string()).unwrap_or(Json::Null)
        }
        Value::F64(number) if number.is_finite() => Json::from(*number),
        value => Json::String(ty.print(value)),
    }
}
