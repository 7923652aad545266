//! Points of packed series, from and to CSV.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use halite::block_on;
use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::{FieldId, KeyQuery, KeySchema, Value};

use crate::cmd::series::Which;
use crate::place::Place;

/// The column of a CSV that is the value.
const VALUE: &str = "value";
/// Points that are written with one call.
const BATCH: usize = 10_000;

fn open(which: &Which) -> anyhow::Result<(Place, Series)> {
    let place = which.place.open_existing()?;
    let series = block_on(Series::of_table(&*place.cluster(), &which.table, which.column.as_deref()))?;
    Ok((place, series))
}

/// Writes points from CSV.
pub(crate) fn write(which: &Which, file: Option<&Path>) -> anyhow::Result<()> {
    let (place, series) = open(which)?;
    let (name, source): (String, Box<dyn Read>) = match file {
        Some(path) => (path.display().to_string(), Box::new(File::open(path).with_context(|| format!("file {}", path.display()))?)),
        None => ("standard input".to_owned(), Box::new(std::io::stdin().lock())),
    };
    let counted = write_all(&series, csv::Reader::from_reader(source)).with_context(|| name)?;
    writeln!(std::io::stdout(), "{} points written, {} taken away", counted.0, counted.1)?;
    Ok(place.close()?)
}

/// Points written and points taken away.
fn write_all(series: &Series, mut lines: csv::Reader<Box<dyn Read + '_>>) -> anyhow::Result<(u64, u64)> {
    let columns = columns(series.key(), lines.headers()?)?;
    let (mut points, mut gone, mut counted) = (Vec::new(), Vec::new(), (0, 0));
    for line in lines.records() {
        let line = line?;
        let number = line.position().map_or(0, csv::Position::line);
        let (fields, value) = point(series.key(), &columns, &line).with_context(|| format!("line {number}"))?;
        match value {
            Some(value) => points.push(Measurement { fields, value }),
            None => gone.push(fields),
        }
        if points.len() + gone.len() >= BATCH {
            hand_over(series, &mut points, &mut gone, &mut counted)?;
        }
    }
    hand_over(series, &mut points, &mut gone, &mut counted)?;
    Ok(counted)
}

/// Writes first and takes away then: of a point that a batch has both of, the empty one counts.
fn hand_over(series: &Series, points: &mut Vec<Measurement>, gone: &mut Vec<Vec<Value<'static>>>, counted: &mut (u64, u64)) -> anyhow::Result<()> {
    block_on(series.write(points))?;
    block_on(series.remove(gone))?;
    counted.0 += std::mem::take(points).len() as u64;
    counted.1 += std::mem::take(gone).len() as u64;
    Ok(())
}

/// What each column of a CSV is: a field of the key, or `None` for the value.
fn columns(key: &KeySchema, headings: &csv::StringRecord) -> anyhow::Result<Vec<Option<FieldId>>> {
    let names = || key.fields().iter().map(|field| field.name.as_str()).chain([VALUE]);
    if let Some(missing) = names().find(|name| !headings.iter().any(|heading| heading.trim() == *name)) {
        bail!("the heading has no column {missing}; its columns have to be {}, in any order", names().collect::<Vec<_>>().join(", "));
    }
    let column = |heading: &str| match key.field_id(heading.trim()) {
        Some(field) => Ok(Some(field)),
        None if heading.trim() == VALUE => Ok(None),
        None => Err(anyhow!("the heading has a column {heading}, which the key has not; its fields are {}", names().collect::<Vec<_>>().join(", "))),
    };
    headings.iter().map(column).collect()
}

/// The fields of a line and its value.
fn point(key: &KeySchema, columns: &[Option<FieldId>], line: &csv::StringRecord) -> anyhow::Result<(Vec<Value<'static>>, Option<f64>)> {
    let (mut fields, mut value) = (vec![Value::Null; key.fields().len()], None);
    for (column, text) in columns.iter().zip(line) {
        match column {
            Some(field) => {
                let about = &key.fields()[*field];
                fields[*field] = about.ty.parse(text).map_err(|error| anyhow!("{}: {error}", about.name))?;
            }
            None if text.trim().is_empty() => value = None,
            None => value = Some(text.trim().parse::<f64>().map_err(|_| anyhow!("{VALUE}: {text} is no number"))?),
        }
    }
    Ok((fields, value))
}

fn query(key: &KeySchema, conditions: &[String]) -> anyhow::Result<KeyQuery> {
    conditions.iter().try_fold(KeyQuery::all(), |query, text| query.with_condition(key, text)).map_err(|error| anyhow!(error))
}

/// Prints points as CSV.
pub(crate) fn read(which: &Which, conditions: &[String], reverse: bool, limit: Option<usize>) -> anyhow::Result<()> {
    let (place, series) = open(which)?;
    let key = series.key();
    let query = KeyQuery { limit, ..query(key, conditions)?.reverse(reverse) };
    let mut points = series.read(&query)?;
    let mut out = csv::Writer::from_writer(std::io::stdout().lock());
    out.write_record(key.fields().iter().map(|field| field.name.as_str()).chain([VALUE]))?;
    while let Some(point) = block_on(points.next())? {
        let fields = key.fields().iter().zip(&point.fields).map(|(field, value)| field.ty.print(value));
        out.write_record(fields.chain([point.value.to_string()]))?;
    }
    out.flush()?;
    drop(points);
    Ok(place.close()?)
}

/// Packs rows.
pub(crate) fn pack(which: &Which, conditions: &[String], written_before: u32) -> anyhow::Result<()> {
    let (place, series) = open(which)?;
    let before = jiff::Timestamp::now().as_millisecond() - i64::from(written_before) * 1000;
    let packed = block_on(series.pack(&query(series.key(), conditions)?, before))?;
    let mut out = std::io::stdout();
    writeln!(out, "{} points packed in {} rows", packed.points, packed.rows)?;
    if packed.changed > 0 {
        writeln!(out, "{} rows were changed meanwhile and stay as they are; run it again for them", packed.changed)?;
    }
    Ok(place.close()?)
}
