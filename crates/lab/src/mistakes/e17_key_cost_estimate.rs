//! E17: the cost of a key estimated as its length times the number of rows.

use halite::Row;
use halite::rowkey::KeySchema;
use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use crate::cell_bytes::{mean_encoded_bytes, two_column_table};
use crate::manual_keys::md5_hex;
use crate::samples::{SECOND, T0, key_value_bytes, reversed};
use crate::table::LabTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E17",
    title: "What a key costs is not its length times the rows",
    rules: &["K-ENTROPY", "F-DBE"],
    see: &["E16", "E43"],
    run,
};

const ROWS: usize = 3_000;

/// Mean sizes in bytes: the key and its unshared part per row; per cell, the cell itself, and its
/// part of a store file, plain and encoded.
struct Costs {
    key: f64,
    cell: f64,
    own: f64,
    plain: f64,
    encoded: f64,
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a small table")]
fn costs(rows: &[Row]) -> anyhow::Result<Costs> {
    let cells: usize = rows.iter().map(Row::len).sum();
    let keys: usize = rows.iter().map(|row| row.key().len()).sum();
    let bytes: usize = rows.iter().flat_map(Row::iter).map(|cell| key_value_bytes(&cell)).sum();
    let shared =
        |pair: &[Row]| pair[0].key().iter().zip(pair[1].key()).take_while(|(a, b)| a == b).count();
    let shared: usize = rows.windows(2).map(shared).sum();
    let each = |bytes: usize, of: usize| bytes as f64 / of as f64;
    Ok(Costs {
        key: each(keys, rows.len()),
        cell: each(bytes, cells),
        own: each(keys - shared, rows.len()),
        plain: mean_encoded_bytes(rows, DataBlockEncoding::None)?,
        encoded: mean_encoded_bytes(rows, RECOMMENDED)?,
    })
}

/// Creates a table for each kind of key of the same points, in the order of the results.
fn tables(
    lab: &mut PageWriter,
    points: &[(usize, i64)],
) -> anyhow::Result<[(&'static str, LabTable); 4]> {
    let short: KeySchema = "(sensor U32, ts TIMESTAMP DESC)".parse()?;
    let text = |&(sensor, time): &(usize, i64)| format!("sensor_{sensor:05}_{}", reversed(time));
    let binary = |&(sensor, time): &(usize, i64)| {
        Ok(short
            .encode(&[
                halite::rowkey::Value::Unsigned(sensor as u64),
                halite::rowkey::Value::Signed(time),
            ])?
            .to_vec())
    };
    let long = |point| {
        format!(
            "{}{}",
            "factory/hall/machine/part/measuring-point/of/temperature/in/degrees/",
            text(point)
        )
    };
    let hashed = |point| Ok(format!("{}_{}", md5_hex(&text(point), 32)?, text(point)).into_bytes());
    Ok([
        (
            "text, 32 bytes",
            two_column_table(
                lab,
                "text",
                &points.iter().map(|point| text(point).into_bytes()).collect::<Vec<_>>(),
            )?,
        ),
        (
            "binary, 12 bytes",
            two_column_table(
                lab,
                "binary",
                &points.iter().map(binary).collect::<anyhow::Result<Vec<_>>>()?,
            )?,
        ),
        (
            "a path of 100 bytes",
            two_column_table(
                lab,
                "long",
                &points.iter().map(|point| long(point).into_bytes()).collect::<Vec<_>>(),
            )?,
        ),
        (
            "MD5 of the key, and the key",
            two_column_table(
                lab,
                "hashed",
                &points.iter().map(hashed).collect::<anyhow::Result<Vec<_>>>()?,
            )?,
        ),
    ])
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Ten million rows with keys of 100 bytes are reckoned as 1 GB of keys, and keys of 10 \
         bytes as 0.1 GB. So the time is shortened, or all of the \
         key is replaced by an MD5, which is always the same length. Four keys of a sensor's \
         points, two columns in each row:",
    );
    let points: Vec<(usize, i64)> =
        (0..ROWS).zip(0_i64..).map(|(at, time)| (at % 10, T0 + time * SECOND)).collect();
    let tables = tables(lab, &points)?;
    lab.section(Section::Outcome);
    let mut found = Vec::new();
    for (name, table) in &tables {
        let rows = lab.rows(table, &ScanSpec::all())?;
        found.push((*name, costs(&rows)?));
    }
    let [text, binary, long, hashed] = &found[..] else { anyhow::bail!("there are four tables") };
    outcome(lab, [text, binary, long, hashed])?;
    lab.section(Section::Why);
    why(lab, &found)?;
    lab.section(Section::Right);
    right(lab, &points, binary.1.own)
}

/// Compares the plain cells, and what is new of each key.
fn outcome(lab: &mut PageWriter, found: [&(&str, Costs); 4]) -> anyhow::Result<()> {
    let figures = found.iter().map(|(name, cost)| {
        [
            (*name).to_owned(),
            format!("{:.0}", cost.key),
            format!("{:.0}", cost.cell),
            format!("{:.1}", cost.own),
        ]
    });
    lab.paragraph(
        "Of a key, what it does not share with the beginning of the key before it is new:",
    );
    lab.data_table(&["key", ">its bytes", ">bytes of a cell", ">of the key new"], figures);
    let [text, _, long, hashed] = found;
    lab.assert_claim(
        (long.1.cell - long.1.key - 31.0).abs() < 0.1,
        "A plain cell is 31 bytes longer than its key: every cell contains the key, so the keys of \
         two columns are 2 GB and not 1.",
    )?;
    lab.assert_claim(
        (long.1.own - text.1.own).abs() < 0.1 && long.1.own < 12.0,
        format!(
            "Of the key of 100 bytes {:.1} differ from the key before, as many as of the key of \
             32: the rest is the same in all neighbours.",
            long.1.own
        ),
    )?;
    lab.assert_claim(
        hashed.1.own > 55.0,
        format!("Of the hashed key {:.0} bytes are new in every row.", hashed.1.own),
    )
}

/// Compares the cells in plain and in encoded files.
fn why(lab: &mut PageWriter, found: &[(&str, Costs)]) -> anyhow::Result<()> {
    lab.paragraph(
        "Two things act against each other. In the log, on the wire and in the memstore every cell \
         carries its whole key. In store files a block encoding writes only what differs from the \
         cell before. These cells written to store files, bytes for each cell with heads of blocks, \
         index and bloom filter:",
    );
    let line = |(name, cost): &(&str, Costs)| {
        let saved = 100.0 - cost.encoded * 100.0 / cost.plain;
        [
            (*name).to_owned(),
            format!("{:.1}", cost.plain),
            format!("{:.1}", cost.encoded),
            format!("{saved:.0} %"),
        ]
    };
    lab.data_table(&["key", ">file, plain", ">file, FAST_DIFF", ">saved"], found.iter().map(line));
    let [text_key, binary_key, long_key, hashed_key] =
        [0, 1, 2, 3].map(|index| found[index].1.encoded);
    lab.assert_claim(
        long_key < binary_key + 4.0 && hashed_key > 2.5 * text_key,
        "The key of 100 bytes takes hardly more than the one of 12. The hash takes more than two \
         and a half times as much, because it makes neighbours different.",
    )
}

/// Adds a salt to the binary key, of which `own` bytes are new in each row.
fn right(lab: &mut PageWriter, points: &[(usize, i64)], own: f64) -> anyhow::Result<()> {
    lab.paragraph(
        "Fields that many neighbours share come first, a block encoding is declared, and if load \
         has to be spread, one byte of salt does it: it leaves neighbours alike. Short names are \
         for the log and for memory.",
    );
    let salted: KeySchema = "(SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)".parse()?;
    let keys = points.iter().map(|&(sensor, time)| {
        Ok(salted
            .encode(&[
                halite::rowkey::Value::Unsigned(sensor as u64),
                halite::rowkey::Value::Signed(time),
            ])?
            .to_vec())
    });
    let right = two_column_table(lab, "salted", &keys.collect::<anyhow::Result<Vec<_>>>()?)?;
    let cost = costs(&lab.rows(&right, &ScanSpec::all())?)?;
    lab.assert_claim(
        (cost.own - own).abs() < 0.1,
        format!(
            "With a salt in front a key of 13 bytes has {:.1} of its own, as without it.",
            cost.own
        ),
    )?;
    lab.expect_finding(
        "K-ENTROPY",
        "ROW KEY TEXT '{md5(sensor, ts):32}_{sensor}_{rev(ts):19}'",
        "ROW KEY (SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)",
    )?;
    let table = "CREATE TABLE points (v DOUBLE FAMILY d, ROW KEY (SALT(16 BY sensor), sensor U32, \
                 ts TIMESTAMP DESC))";
    lab.expect_finding("F-DBE", table, &format!("{table} WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')"))
}
