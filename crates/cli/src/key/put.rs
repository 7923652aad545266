//! `halite key put`: rows by the names of their fields and columns, from the command line, CSV and
//! lines of JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use halite::rowkey::record::{Place, RecordCodec};
use halite::rowkey::{Dictionary, KeyResolver, Value};
use halite::{Put, RowOp, Table, TableName, block_on};
use serde_json::Value as Json;

use super::key_spec::{resolve_in, table_declaration};
use crate::backend::BackendArgs;
use crate::text_source::open_source;

/// Rows of one call to the table.
const BATCH_ROWS: usize = 1_000;
/// Bytes of the values of one call to the table.
const BATCH_BYTES: usize = 2 << 20;

/// Source of the rows.
pub(crate) enum PutSource {
    /// One row, as `NAME=VALUE`.
    Given(Vec<String>),
    /// CSV with a header line.
    Csv(PathBuf),
    /// A JSON object in each line.
    JsonLines(PathBuf),
}

/// Writes rows.
pub(crate) fn put(
    table: &TableName,
    place: &BackendArgs,
    source: &PutSource,
) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let found = resolve_in(&place, table)?;
    let handle = place.cluster().table(table);
    let descriptor = block_on(handle.descriptor())?;
    let declaration = table_declaration(&descriptor)?
        .ok_or_else(|| anyhow!("table {table} declares no row key"))?;
    let codec =
        RecordCodec::new(&declaration).map_err(|error| anyhow!("table {table}: {error}"))?;
    let dictionary = match found.dictionary {
        Some(_) => {
            Some(Arc::new(block_on(Dictionary::open(&**place.cluster(), table, &found.key))?))
        }
        None => None,
    };
    let resolver = match &dictionary {
        Some(dictionary) => Arc::clone(dictionary) as Arc<dyn KeyResolver + Send + Sync>,
        None => found.resolver(),
    };
    let mut writer = RowWriter {
        table: handle,
        codec: &codec,
        dictionary,
        resolver,
        ops: Vec::new(),
        bytes: 0,
        lines: (0, 0),
        written: 0,
    };
    let outcome = match source {
        PutSource::Given(values) => writer.given(values),
        PutSource::Csv(path) => writer.csv(path),
        PutSource::JsonLines(path) => writer.json_lines(path),
    };
    let written = writer.written;
    outcome.with_context(|| format!("{written} row(s) were written before this for certain"))?;
    writeln!(std::io::stdout(), "{written} row(s) written")?;
    place.close()?;
    Ok(ExitCode::SUCCESS)
}

/// Writer of rows in batches.
struct RowWriter<'c> {
    table: Arc<dyn Table>,
    codec: &'c RecordCodec,
    /// Dictionaries of the table, to which new values are added.
    dictionary: Option<Arc<Dictionary>>,
    resolver: Arc<dyn KeyResolver + Send + Sync>,
    ops: Vec<RowOp>,
    bytes: usize,
    /// First and last line of the batch; 0 on the command line.
    lines: (u64, u64),
    written: u64,
}

impl RowWriter<'_> {
    fn given(&mut self, values: &[String]) -> anyhow::Result<()> {
        let values = values
            .iter()
            .map(|text| self.codec.parse(text).map_err(|error| anyhow!(error)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        self.add(&values, 0)?;
        self.flush()
    }

    fn csv(&mut self, path: &Path) -> anyhow::Result<()> {
        let (name, source, _) = open_source(path)?;
        let mut reader = csv::Reader::from_reader(source);
        let places = self.places(reader.headers().with_context(|| name.clone())?);
        let places = places.with_context(|| format!("{name}, line 1"))?;
        for record in reader.records() {
            let record = record.with_context(|| name.clone())?;
            let line = record.position().map_or(0, csv::Position::line);
            let mut values = Vec::with_capacity(places.len());
            for ((at, place), text) in (1..).zip(&places).zip(&record) {
                let value = self.text_value(place, text).with_context(|| {
                    format!("{name}, line {line}, column {at} ({})", self.codec.name(place))
                })?;
                values.push((place.clone(), value));
            }
            self.add(&values, line).with_context(|| format!("{name}, line {line}"))?;
        }
        self.flush().with_context(|| name)
    }

    /// Returns the places of the header.
    fn places(&self, headers: &csv::StringRecord) -> anyhow::Result<Vec<Place>> {
        let names = headers.iter().map(|name| name.trim_start_matches('\u{feff}'));
        let place = |(at, name)| {
            self.codec.place(name).map_err(|error: String| anyhow!("column {at}: {error}"))
        };
        (1..).zip(names).map(place).collect()
    }

    /// Returns the value of CSV text: empty is null, except for text, which may be empty.
    fn text_value(&self, place: &Place, text: &str) -> anyhow::Result<Value<'static>> {
        let ty = self.codec.ty(place);
        if ty.is_text() {
            return Ok(Value::Text(text.to_owned().into()));
        }
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        ty.parse(text.trim()).map_err(|error| anyhow!(error))
    }

    fn json_lines(&mut self, path: &Path) -> anyhow::Result<()> {
        let (name, source, _) = open_source(path)?;
        for (line, text) in (1..).zip(BufReader::new(source).lines()) {
            let text = text.with_context(|| format!("{name}, line {line}"))?;
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() {
                continue;
            }
            let values = self.json_values(text).with_context(|| format!("{name}, line {line}"))?;
            self.add(&values, line).with_context(|| format!("{name}, line {line}"))?;
        }
        self.flush().with_context(|| name)
    }

    fn json_values(&self, text: &str) -> anyhow::Result<Vec<(Place, Value<'static>)>> {
        let object: serde_json::Map<String, Json> = serde_json::from_str(text)
            .map_err(|error| anyhow!("column {}: {error}", error.column()))?;
        let mut values = Vec::with_capacity(object.len());
        for (name, value) in &object {
            let place = self.codec.place(name).map_err(|error| anyhow!(error))?;
            let value = self.json_value(&place, value).with_context(|| name.clone())?;
            values.push((place, value));
        }
        Ok(values)
    }

    fn json_value(&self, place: &Place, value: &Json) -> anyhow::Result<Value<'static>> {
        let ty = self.codec.ty(place);
        match value {
            Json::Null => Ok(Value::Null),
            Json::String(text) if ty.is_text() => Ok(Value::Text(text.clone().into())),
            Json::String(text) => ty.parse(text).map_err(|error| anyhow!(error)),
            Json::Number(_) | Json::Bool(_) if ty.is_text() => {
                bail!("{value} is no {ty}; write \"{value}\"")
            }
            Json::Number(number) => ty.parse(&number.to_string()).map_err(|error| anyhow!(error)),
            Json::Bool(value) => ty.parse(&value.to_string()).map_err(|error| anyhow!(error)),
            Json::Array(_) | Json::Object(_) => {
                bail!("a {ty} is one value, not a list or an object; write text for bytes")
            }
        }
    }

    fn add(&mut self, values: &[(Place, Value<'static>)], line: u64) -> anyhow::Result<()> {
        if let Some(dictionary) = &self.dictionary {
            block_on(dictionary.assign(&self.codec.fields(values)))?;
        }
        let put: Put = self.codec.put(values, &*self.resolver).map_err(|error| anyhow!(error))?;
        if self.ops.is_empty() {
            self.lines.0 = line;
        }
        self.lines.1 = line;
        self.bytes += put.mutation().cells().bytes().len();
        self.ops.push(RowOp::from(put));
        if self.ops.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the batch, and counts its rows.
    fn flush(&mut self) -> anyhow::Result<()> {
        self.bytes = 0;
        let ops = std::mem::take(&mut self.ops);
        if ops.is_empty() {
            return Ok(());
        }
        let results = block_on(self.table.batch(ops))?;
        let mut failed = None;
        for result in results {
            match result {
                Ok(_) => self.written += 1,
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        match (failed, self.lines) {
            (None, _) => Ok(()),
            (Some(error), (0, _)) => Err(error.into()),
            (Some(error), (first, last)) => Err(anyhow::Error::from(error)
                .context(format!("a row of lines {first} to {last}; writing them again is safe"))),
        }
    }
}
