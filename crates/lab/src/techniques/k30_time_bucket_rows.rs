//! K30: a row for each quarter of an hour, a column for each second in it.

use bytes::Bytes;
use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::{KeyQuery, KeySchema, Value};
use halite::{Put, block_on};

use crate::samples::{MINUTE, SECOND, T0, key_value_bytes};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K30",
    title: "A row for each quarter of an hour",
    rules: &["K-BUCKETLEAD"],
    see: &["K05", "K28", "K34"],
    run,
};

const QUARTER: i64 = 15 * MINUTE;
const QUARTERS: i64 = 6;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A measurement each second is 86,400 rows a day, each with its whole key. With the quarter \
         of an hour in the key, and the second within it as the qualifier, 900 points share one \
         row: charts read few rows, and a row is a piece of the chart.",
    );
    lab.section(Section::Declaration);
    let key: KeySchema = lab.key("ROW KEY (host STRING, event STRING, BUCKET(ts, '15m'))")?;
    let table = lab.create("points", &["p"], &[])?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "One point a second of one host, for an hour and a half. The qualifier is the second \
         within the quarter, in two bytes:",
    );
    let points = lab.load_puts(
        &table,
        (0..QUARTERS)
            .map(|quarter| row_for_quarter(&key, quarter))
            .collect::<anyhow::Result<Vec<_>>>()?,
    )?;
    let question =
        ["host=web-1", "event=load", "ts>=2024-03-15T00:00:00Z", "ts<2024-03-15T01:00:00Z"];
    lab.explain(&key, &question, None)?;
    let found = lab.query_rows(&table, &key, &question, None)?;
    let columns: Vec<usize> = found.iter().map(halite::Row::len).collect();
    let first = found.first().map(|row| row.key()[row.key().len() - 4..].to_vec());
    lab.assert_claim(
        points == 6 && columns == [900; 4],
        "An hour is four rows of 900 columns each, 3,600 points in all.",
    )?;
    lab.assert_claim(
        first == Some(1_900_512_u32.to_be_bytes().to_vec()),
        "The first is quarter 1900512 since 1970.",
    )?;

    let loose: usize = found[0].iter().map(|cell| key_value_bytes(&cell)).sum();
    packed(lab, loose)?;

    lab.section(Section::Costs);
    lab.paragraph(
        "An interval that begins within a quarter reads the whole quarter, and leaves columns out \
         by their qualifiers. A row cannot be split, so the width has to fit the rate: hundreds or \
         thousands of points, not millions. And the bucket follows the host; in front, it would \
         send every write of the moment to one region.",
    );
    lab.expect_finding(
        "K-BUCKETLEAD",
        "ROW KEY (BUCKET(ts, '15m'), host STRING)",
        "ROW KEY (host STRING, BUCKET(ts, '15m'))",
    )
}

/// Writes the same points to a column of packed points, and compares the sizes.
fn packed(lab: &mut PageWriter, loose: usize) -> anyhow::Result<()> {
    lab.paragraph(
        "Declared as a SERIES, the column takes points one by one and keeps those of a row packed \
         in one cell: times as what changes of their period, values as whole numbers of tenths. A \
         compaction packs them, or halite series pack.",
    );
    let (table, _) = lab.declare(
        "CREATE TABLE packed (p SERIES(DOUBLE) FAMILY p, ROW KEY (host STRING, event STRING, \
         BUCKET(ts, '15m')))",
    )?;
    let name = table.inner().descriptor()?.name().clone();
    let series = block_on(Series::for_table(&**lab.async_cluster(), &name, None))?;
    let points: Vec<Measurement> = (0..QUARTERS)
        .flat_map(|quarter| (0..900).map(move |second| point(quarter, second)))
        .collect();
    block_on(series.write(&points))?;
    // No other client writes here, so that points of the current millisecond may be packed.
    let done = block_on(series.pack(&KeyQuery::all(), i64::MAX))?;
    lab.statement(
        "halite series pack packed",
        vec![format!("{} points packed in {} rows", done.points, done.rows)],
    );
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let bytes: usize = rows[0].iter().map(|cell| key_value_bytes(&cell)).sum();
    lab.data_table(
        &["900 points as", ">bytes", ">bytes a point"],
        [
            ["900 cells".to_owned(), loose.to_string(), format!("{:.2}", per_point(loose))],
            ["one packed cell".to_owned(), bytes.to_string(), format!("{:.2}", per_point(bytes))],
        ],
    );
    lab.assert_claim(
        rows.len() == 6 && rows.iter().all(|row| row.len() == 1),
        "Six rows of one cell each, key and all.",
    )?;
    lab.assert_claim(
        per_point(bytes) < 1.5 && per_point(loose) > 40.0,
        "A point takes less than a byte and a half, where a cell of its own takes more than 40 \
         bytes.",
    )?;
    let mut read = series.read(&KeyQuery::all())?;
    let mut back = Vec::new();
    while let Some(point) = block_on(read.next())? {
        back.push(point);
    }
    lab.assert_claim(
        back == points,
        "Read back, they are the same 5,400 points, each with its time and its value to the bit.",
    )
}

/// Returns the sample value of a second, in steps of a tenth.
fn value_at(second: i64) -> f64 {
    let tenths = i32::try_from(205 + (second * 7 % 11) - 5).unwrap_or_default();
    f64::from(tenths) / 10.0
}

fn point(quarter: i64, second: i64) -> Measurement {
    let time = T0 + quarter * QUARTER + second * SECOND;
    Measurement {
        fields: vec!["web-1".into(), "load".into(), Value::Signed(time)],
        value: value_at(second),
    }
}

/// Returns the 900 points of a quarter of an hour, one column each.
fn row_for_quarter(key: &KeySchema, quarter: i64) -> anyhow::Result<Put> {
    let bytes =
        key.encode(&["web-1".into(), "load".into(), Value::Signed(T0 + quarter * QUARTER)])?;
    let put = Put::new(Bytes::copy_from_slice(&bytes));
    Ok((0..900_u16).fold(put, |put, second| {
        put.add("p", second.to_be_bytes(), value_at(second.into()).to_be_bytes())
    }))
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a row")]
fn per_point(bytes: usize) -> f64 {
    bytes as f64 / 900.0
}
