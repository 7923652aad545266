//! Points of packed series as CSV.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use halite::block_on;
use halite::rowkey::series::Series;
use halite::rowkey::{FieldId, FieldType, KeyQuery, KeySchema, TimeUnit, Value};

use crate::backend::Backend;
use crate::cmd::series::SeriesTarget;
use crate::units::format_ms;

/// CSV column that contains the value.
const VALUE: &str = "value";
/// Points per write call.
const BATCH: usize = 10_000;

/// Bounds of suspicious times: before 1990 as milliseconds, and from 2000 to 2100 as seconds.
const YEAR_1990_MS: i64 = 631_152_000_000;
const YEARS_2000_TO_2100_S: std::ops::Range<i64> = 946_684_800..4_102_444_800;

/// Fields of a key and the value of the point; `None` deletes the point.
type Point = (Vec<Value<'static>>, Option<f64>);

/// Writer of points from the lines of a file to a table.
struct PointWriter<'s> {
    series: &'s Series,
    points: Vec<Point>,
    /// Line numbers of the points.
    lines: Vec<u64>,
    /// Numbers of points written and of deletions requested.
    done: (u64, u64),
    has_warned: bool,
}

fn open(target: &SeriesTarget) -> anyhow::Result<(Backend, Series)> {
    let place = target.backend.open_existing()?;
    let series =
        block_on(Series::for_table(&**place.cluster(), &target.table, target.column.as_deref()))?;
    Ok((place, series))
}

/// Writes points from CSV.
pub(crate) fn write(target: &SeriesTarget, file: Option<&Path>) -> anyhow::Result<()> {
    let (place, series) = open(target)?;
    let (name, source): (String, Box<dyn Read>) = match file {
        Some(path) => (
            path.display().to_string(),
            Box::new(File::open(path).with_context(|| format!("file {}", path.display()))?),
        ),
        None => ("standard input".to_owned(), Box::new(std::io::stdin().lock())),
    };
    let counted = write_all(&series, csv::Reader::from_reader(source)).with_context(|| name)?;
    writeln!(std::io::stdout(), "{}", format_counts(counted))?;
    Ok(place.close()?)
}

/// Formats the counts. Deletions are counted by request: the existence of the point is not
/// checked.
fn format_counts((written, removed): (u64, u64)) -> String {
    format!("{written} points written, {removed} removals requested")
}

/// Writes all points. Returns the numbers of points written and of deletions requested.
fn write_all(
    series: &Series,
    mut lines: csv::Reader<Box<dyn Read + '_>>,
) -> anyhow::Result<(u64, u64)> {
    let columns = columns(series.key(), lines.headers()?)?;
    let mut writing = PointWriter {
        series,
        points: Vec::new(),
        lines: Vec::new(),
        done: (0, 0),
        has_warned: false,
    };
    let outcome = lines
        .records()
        .try_for_each(|line| writing.add(&columns, &line?))
        .and_then(|()| writing.write_batch());
    match writing.done {
        (0, 0) => outcome.map(|()| writing.done),
        done => {
            outcome.map(|()| done).with_context(|| format!("{} before this", format_counts(done)))
        }
    }
}

impl PointWriter<'_> {
    fn add(&mut self, columns: &[Option<FieldId>], line: &csv::StringRecord) -> anyhow::Result<()> {
        let number = line.position().map_or(0, csv::Position::line);
        let point = point(self.series, columns, line).with_context(|| format!("line {number}"))?;
        self.warn_about_seconds(&point, number);
        self.points.push(point);
        self.lines.push(number);
        if self.points.len() >= BATCH { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> anyhow::Result<()> {
        block_on(self.series.apply(&self.points)).map_err(|error| {
            let lines = self.error_lines(&error);
            anyhow::Error::from(error).context(lines)
        })?;
        let written = self.points.iter().filter(|(_, value)| value.is_some()).count();
        self.done.0 += written as u64;
        self.done.1 += (self.points.len() - written) as u64;
        self.points.clear();
        self.lines.clear();
        Ok(())
    }

    /// Returns the line of the first point that fails alone with the same error, or else the lines
    /// of all points, some of which may be written.
    fn error_lines(&self, error: &halite::Error) -> String {
        let fails = |point: &Point| {
            self.series
                .key()
                .encode(&point.0)
                .is_err_and(|own| own.to_string() == error.to_string())
        };
        match (
            self.points.iter().position(fails).and_then(|at| self.lines.get(at)),
            self.lines.first(),
            self.lines.last(),
        ) {
            (Some(line), ..) => format!("line {line}"),
            (None, Some(first), Some(last)) => format!(
                "lines {first} to {last}, of which some may be written; writing them again does no \
                 harm"
            ),
            _ => "the end".to_owned(),
        }
    }

    /// Warns about seconds, which are valid milliseconds of January 1970.
    fn warn_about_seconds(&mut self, point: &Point, line: u64) {
        let (field, key) = (self.series.column().field(), self.series.key());
        let is_ms = key
            .fields()
            .get(field)
            .is_some_and(|field| field.ty == FieldType::Timestamp(TimeUnit::Millis));
        let Some(Value::Signed(time)) = point.0.get(field).filter(|_| is_ms && !self.has_warned)
        else {
            return;
        };
        if *time < YEAR_1990_MS && YEARS_2000_TO_2100_S.contains(time) {
            self.has_warned = true;
            let name = &key.fields()[field].name;
            // A failed write of this warning does not affect the points.
            let _ = writeln!(
                std::io::stderr(),
                "halite: warning: line {line}: {name} {time} is in 1970, since it counts in \
                 milliseconds; if these are seconds, append 000"
            );
        }
    }
}

/// Maps each CSV column to a field of the key, or to `None` for the value.
fn columns(key: &KeySchema, headings: &csv::StringRecord) -> anyhow::Result<Vec<Option<FieldId>>> {
    let names = || key.fields().iter().map(|field| field.name.as_str()).chain([VALUE]);
    if let Some(missing) =
        names().find(|name| !headings.iter().any(|heading| heading.trim() == *name))
    {
        bail!(
            "the heading has no column {missing}; its columns have to be {}, in any order",
            names().collect::<Vec<_>>().join(", ")
        );
    }
    for (at, heading) in headings.iter().enumerate() {
        if headings.iter().take(at).any(|other| other.trim() == heading.trim()) {
            bail!("the heading has the column {} twice; leave one out", heading.trim());
        }
    }
    let column = |heading: &str| match key.field_id(heading.trim()) {
        Some(field) => Ok(Some(field)),
        None if heading.trim() == VALUE => Ok(None),
        None => Err(anyhow!(
            "the heading has a column {heading}, which the key has not; its fields are {}",
            names().collect::<Vec<_>>().join(", ")
        )),
    };
    headings.iter().map(column).collect()
}

/// Parses the fields and the value of a line.
fn point(
    series: &Series,
    columns: &[Option<FieldId>],
    line: &csv::StringRecord,
) -> anyhow::Result<Point> {
    let key = series.key();
    let (mut fields, mut value) = (vec![Value::Null; key.fields().len()], None);
    for (column, text) in columns.iter().zip(line) {
        match column {
            Some(field) => {
                let about = &key.fields()[*field];
                fields[*field] =
                    about.ty.parse(text).map_err(|error| anyhow!("{}: {error}", about.name))?;
            }
            None if text.trim().is_empty() => value = None,
            None => {
                value = Some(
                    parse_value(series, text.trim())
                        .map_err(|error| anyhow!("{VALUE}: {error}"))?,
                );
            }
        }
    }
    Ok((fields, value))
}

/// Parses a number that is valid for the column.
fn parse_value(series: &Series, text: &str) -> Result<f64, String> {
    let value = number(text)?;
    // The error quotes the parsed number, which may differ from the text; it is replaced by the
    // text.
    let quoted = |error: String| {
        error
            .strip_prefix(&value.to_string())
            .map_or_else(|| error.clone(), |rest| format!("{text}{rest}"))
    };
    series.column().value_bytes(value).map_err(quoted)?;
    Ok(value)
}

/// Parses a number; infinity is accepted only if written as such.
fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| format!("{text} is no number"))?;
    if number.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} is beyond what a DOUBLE holds ({:e})", f64::MAX));
    }
    Ok(number)
}

fn query(key: &KeySchema, conditions: &[String]) -> anyhow::Result<KeyQuery> {
    conditions
        .iter()
        .try_fold(KeyQuery::all(), |query, text| query.with_condition(key, text))
        .map_err(|error| anyhow!(error))
}

/// Prints points as CSV.
pub(crate) fn read(
    target: &SeriesTarget,
    conditions: &[String],
    reverse: bool,
    limit: Option<usize>,
) -> anyhow::Result<()> {
    let (place, series) = open(target)?;
    let key = series.key();
    let query = KeyQuery { limit, ..query(key, conditions)?.reverse(reverse) };
    let mut points = series.read(&query)?;
    let mut out = csv::Writer::from_writer(std::io::stdout().lock());
    out.write_record(key.fields().iter().map(|field| field.name.as_str()).chain([VALUE]))?;
    while let Some(point) = block_on(points.next())? {
        let fields =
            key.fields().iter().zip(&point.fields).map(|(field, value)| field.ty.print(value));
        out.write_record(fields.chain([point.value.to_string()]))?;
    }
    out.flush()?;
    drop(points);
    Ok(place.close()?)
}

/// Packs rows.
pub(crate) fn pack(
    target: &SeriesTarget,
    conditions: &[String],
    min_age_ms: u64,
) -> anyhow::Result<()> {
    let (place, series) = open(target)?;
    let before =
        jiff::Timestamp::now().as_millisecond() - i64::try_from(min_age_ms).unwrap_or(i64::MAX);
    let packed = block_on(series.pack(&query(series.key(), conditions)?, before))?;
    let mut out = std::io::stdout();
    writeln!(out, "{} points packed in {} rows", packed.points, packed.rows)?;
    if packed.changed > 0 {
        writeln!(
            out,
            "{} rows were changed meanwhile and stay as they are; run it again for them",
            packed.changed
        )?;
    }
    if packed.recent > 0 {
        writeln!(
            out,
            "{} points are younger than {} and stay loose; run it again later for them (--min-age \
             DURATION)",
            packed.recent,
            format_ms(min_age_ms)
        )?;
    }
    Ok(place.close()?)
}
