//! E44: ten terabytes a year for a hundred thousand points a second, with a cell for each point.

use halite::Put;
use halite::rowkey::Value;
use halite::rowkey::series::{Point, pack, unpack};
use halite_rowkey_tools::cell_cost::{Compression, RECOMMENDED};

use crate::cell_bytes::mean_file_bytes;
use crate::samples::{HOUR, SECOND, T0, key_value_bytes};
use crate::table::LabTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E44",
    title: "A cell for each point is fourteen times the promised size",
    rules: &[],
    see: &["E17", "E42"],
    run,
};

/// Points received in a year, at 100,000 per second.
const POINTS_PER_YEAR: f64 = 100_000.0 * 365.0 * 86_400.0;
const PERIOD: i64 = 10 * SECOND;
const HOURS: i64 = 5;

/// Returns the bytes of all cells of a table, divided by the number of points in them.
#[expect(clippy::cast_precision_loss, reason = "bytes of a small table")]
fn bytes_per_point(lab: &PageWriter, table: &LabTable) -> anyhow::Result<f64> {
    let rows = lab.rows(table, &ScanSpec::all())?;
    let bytes: usize =
        rows.iter().flat_map(halite::Row::iter).map(|cell| key_value_bytes(&cell)).sum();
    Ok(bytes as f64 / (HOURS * HOUR / PERIOD) as f64)
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "100,000 points a second are to be kept for a year in about 10 TB. That is the plan for a \
         table with a row for each point, and one column.",
    );
    let allowed = 10e12 / POINTS_PER_YEAR;
    lab.assert_claim(
        (allowed - 3.17).abs() < 0.01,
        format!(
            "A year has {:.2} million million points, so each may take {allowed:.2} bytes.",
            POINTS_PER_YEAR / 1e12
        ),
    )?;
    let (table, key) = lab.declare(
        "CREATE TABLE points (v DOUBLE FAMILY d, ROW KEY (SALT(16 BY device), device U32, ts \
         TIMESTAMP DESC))",
    )?;
    lab.paragraph(
        "A device measures a temperature every ten seconds, with one decimal, for five hours:",
    );
    let mut tenths = 205_i32;
    let walk: Vec<(i64, f64)> = (0..HOURS * HOUR / PERIOD)
        .map(|index| {
            tenths += lab.rng().i32(-2..=2);
            (T0 + index * PERIOD, f64::from(tenths) / 10.0)
        })
        .collect();
    let rows = walk.iter().map(|(ts, value)| {
        Ok((key.encode(&[Value::Unsigned(42), Value::Signed(*ts)])?.to_vec(), value.to_be_bytes()))
    });
    lab.load(&table, "d:v", rows.collect::<anyhow::Result<Vec<_>>>()?)?;

    lab.section(Section::Outcome);
    let cell = bytes_per_point(lab, &table)?;
    lab.assert_claim(
        (42.0..44.0).contains(&cell),
        format!(
            "A cell has {cell:.0} bytes: 13 of the key, 8 of the value, and 22 around them. A year \
             is {}.",
            year(cell)
        ),
    )?;
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let measure = |codec| mean_file_bytes(&rows, RECOMMENDED, codec);
    let (encoded, compressed) = (measure(Compression::None)?, measure(Compression::Gz)?);
    lab.assert_claim(
        (allowed * 3.0..20.0).contains(&encoded),
        format!(
            "In store files FAST_DIFF leaves {encoded:.1} bytes of it, which is {}: more than \
             three times the available space.",
            year(encoded)
        ),
    )?;
    lab.assert_claim(
        compressed < encoded && compressed > allowed * 2.0,
        format!(
            "Compression takes some more away: with GZ such a cell has {compressed:.0} bytes. No \
             setting brings it to three."
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Every cell has its own lengths, timestamp and type, and its value's bits look random to a \
         compressor. What could be left out is not in one cell but between them: the times are ten \
         seconds apart, and the temperature hardly changes.",
    );

    right(lab, &walk, cell, allowed)
}

/// Formats the bytes of all points of a year.
fn year(bytes: f64) -> String {
    format!("{:.1} TB", bytes * POINTS_PER_YEAR / 1e12)
}

/// Returns the points of an hour as one packed cell.
fn of_hour(points: &[(i64, f64)]) -> anyhow::Result<Vec<u8>> {
    Ok(pack(
        &points
            .iter()
            .map(|(ts, value)| Point { offset: ts % HOUR, value: *value })
            .collect::<Vec<_>>(),
    )?)
}

/// Packs the points of `walk`, and compares their size with `cell`, that of a cell for each point,
/// and with the `allowed` one.
fn right(lab: &mut PageWriter, walk: &[(i64, f64)], cell: f64, allowed: f64) -> anyhow::Result<()> {
    lab.section(Section::Right);
    lab.paragraph(
        "A row is an hour of a device, and its points are one packed cell: times as what \
                   differs from their period, values as whole numbers of tenths.",
    );
    let (packed, hours) = lab.declare(
        "CREATE TABLE hours (p SERIES(DOUBLE) FAMILY d OFFSET OF ts, ROW KEY (SALT(16 \
                     BY device), device U32, BUCKET(ts, '1h') DESC))",
    )?;
    let per_hour = usize::try_from(HOUR / PERIOD)?;
    let mut puts = Vec::new();
    for points in walk.chunks(per_hour) {
        puts.push(
            Put::new(hours.encode(&[Value::Unsigned(42), Value::Signed(points[0].0)])?.to_vec())
                .add("d", "p", of_hour(points)?),
        );
    }
    lab.load_puts(&packed, puts)?;
    let small = bytes_per_point(lab, &packed)?;
    let rows = lab.rows(&packed, &ScanSpec::all())?;
    let first = rows
        .last()
        .and_then(|row| row.value("d", "p"))
        .map(unpack)
        .transpose()?
        .unwrap_or_default();
    let same = first.iter().zip(walk).all(|(point, (ts, value))| {
        point.offset == ts % HOUR && point.value.to_bits() == value.to_bits()
    });
    lab.assert_claim(
        rows.len() == 5 && first.len() == per_hour && same,
        "Five rows of 360 points. What is read back is the same, to the bit.",
    )?;
    let random: Vec<(i64, f64)> =
        (0..HOUR / PERIOD).map(|index| (T0 + index * PERIOD, lab.rng().f64())).collect();
    let noise =
        f64::from(u32::try_from(of_hour(&random)?.len())?) / f64::from(u32::try_from(per_hour)?);
    lab.data_table(
        &["", ">bytes a point", ">a year of 100,000 points a second"],
        [
            ["a cell for each point".to_owned(), format!("{cell:.1}"), year(cell)],
            ["packed, a value with one decimal".to_owned(), format!("{small:.2}"), year(small)],
            ["packed, random doubles".to_owned(), format!("{noise:.2}"), year(noise)],
        ],
    );
    lab.assert_claim(
        small < 1.5,
        format!("{small:.2} bytes a point, with key and all: half of what was promised, and less."),
    )?;
    lab.assert_claim(
        noise > allowed,
        "Values without any pattern cannot be packed into three bytes by any encoding: a random \
         double has 52 bits of its own.",
    )
}
