//! K30: a row for each quarter of an hour, a column for each second in it.

use bytes::Bytes;
use halite::Put;
use halite::rowkey::series::{Point, pack, unpack};
use halite::rowkey::{KeySchema, Value};

use crate::samples::{MINUTE, SECOND, T0, key_value_bytes};
use crate::{Lab, Page, Part};

pub(super) const PAGE: Page =
    Page { id: "K30", title: "A row for each quarter of an hour", rules: &["K-BUCKETLEAD"], see: &["K05", "K28", "K34"], run };

const QUARTER: i64 = 15 * MINUTE;
const QUARTERS: i64 = 6;

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "A measurement each second is 86,400 rows a day, each with its whole key. With the quarter of an hour in the key, and the second within it as the \
         qualifier, 900 points share one row: charts read few rows, and a row is a piece of the chart.",
    );
    lab.part(Part::Declared);
    let key: KeySchema = lab.key("ROW KEY (host STRING, event STRING, BUCKET(ts, '15m'))")?;
    let table = lab.create("points", &["p"], &[])?;

    lab.part(Part::Shown);
    lab.say("One point a second of one host, for an hour and a half. The qualifier is the second within the quarter, in two bytes:");
    let points = lab.load_puts(&table, (0..QUARTERS).map(|quarter| row_of(&key, quarter)).collect::<anyhow::Result<Vec<_>>>()?)?;
    let question = ["host=web-1", "event=load", "ts>=2024-03-15T00:00:00Z", "ts<2024-03-15T01:00:00Z"];
    lab.explain(&key, &question, None)?;
    let found = lab.answers(&table, &key, &question, None)?;
    let columns: Vec<usize> = found.iter().map(halite::Row::len).collect();
    let first = found.first().map(|row| row.key()[row.key().len() - 4..].to_vec());
    lab.claim(points == 6 && columns == [900; 4], "An hour is four rows of 900 columns each, 3,600 points in all.")?;
    lab.claim(first == Some(1_900_512_u32.to_be_bytes().to_vec()), "The first is quarter 1900512 since 1970.")?;

    lab.say(
        "A row that is complete can be packed: its points in one cell, times as what changes of their period, values as whole numbers of tenths.",
    );
    let row = &found[0];
    let packed = pack(&points_of(row)?)?;
    let loose: usize = row.iter().map(|cell| key_value_bytes(&cell)).sum();
    lab.figures(
        &["900 points as", ">bytes", ">bytes a point"],
        [
            ["900 cells".to_owned(), loose.to_string(), format!("{:.2}", per_point(loose))],
            ["one packed cell, its value".to_owned(), packed.len().to_string(), format!("{:.2}", per_point(packed.len()))],
        ],
    );
    lab.claim(unpack(&packed)? == points_of(row)?, "Unpacked, they are the same 900 points, bit for bit.")?;
    lab.claim(
        per_point(packed.len()) < 1.5 && per_point(loose) > 40.0,
        "A point takes less than a byte and a half, where a cell of its own takes more than 40 bytes.",
    )?;

    lab.part(Part::Costs);
    lab.say(
        "An interval that begins within a quarter reads the whole quarter, and leaves columns out by their qualifiers. A row cannot be split, so the width \
         has to fit the rate: hundreds or thousands of points, not millions. And the bucket stands behind the host; in front, it would send every \
         write of the moment to one region.",
    );
    lab.caught("K-BUCKETLEAD", "ROW KEY (BUCKET(ts, '15m'), host STRING)", "ROW KEY (host STRING, BUCKET(ts, '15m'))")
}

/// The 900 points of a quarter: a walk in tenths.
fn row_of(key: &KeySchema, quarter: i64) -> anyhow::Result<Put> {
    let bytes = key.encode(&["web-1".into(), "load".into(), Value::Signed(T0 + quarter * QUARTER)])?;
    let put = Put::new(Bytes::copy_from_slice(&bytes));
    Ok((0..900_u16).fold(put, |put, second| {
        let tenths = 205 + (i32::from(second) * 7 % 11) - 5;
        put.add("p", second.to_be_bytes(), (f64::from(tenths) / 10.0).to_be_bytes())
    }))
}

fn points_of(row: &halite::Row) -> anyhow::Result<Vec<Point>> {
    row.iter()
        .map(|cell| {
            let second = u16::from_be_bytes(cell.qualifier().try_into()?);
            Ok(Point { offset: i64::from(second) * SECOND, value: f64::from_be_bytes(cell.value().try_into()?) })
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a row")]
fn per_point(bytes: usize) -> f64 {
    bytes as f64 / 900.0
}
