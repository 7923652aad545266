//! E07: a salt computed as `hashCode() % n`, which is negative for half of all keys.

use bytes::Bytes;
use halite::rowkey::Splits;
use halite_rowkey_tools::lint::{KeySample, LintInput};

use crate::manual_keys::java_hash;
use crate::{LabTable, Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E07",
    title: "Half of all salts are negative",
    rules: &["K-NEGMOD"],
    see: &["E29", "E33"],
    run,
};

/// Rows of the page.
const ROWS: usize = 5_000;
/// Keys of the larger count, which uses no table.
const MANY: usize = 100_000;

/// Returns a salt as the program computes it, padded with zeros.
fn salted(key: &str) -> String {
    let salt = java_hash(key) % 1000;
    let zeros = if salt < 10 {
        "00"
    } else if salt < 100 {
        "0"
    } else {
        ""
    };
    format!("{zeros}{salt}{key}")
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Calls are numbered by their time and a number of the line, as in 20150524002300_1232, and \
         would all be written to the end of the table. In front comes a salt: hashCode() % 1000, \
         filled up to three digits. The table has ten regions of 100 salts each.",
    );
    let splits: Vec<String> = (1..10).map(|region| format!("{region}00")).collect();
    let table =
        lab.create("calls", &["c"], &splits.iter().map(String::as_str).collect::<Vec<_>>())?;
    let key = |chance: &mut fastrand::Rng| {
        format!(
            "20150524{:02}{:02}{:02}_{:04}",
            chance.u8(..24),
            chance.u8(..60),
            chance.u8(..60),
            chance.u16(..10_000)
        )
    };
    let keys: Vec<String> = (0..ROWS).map(|_| key(lab.rng())).collect();
    lab.load(&table, "c:n", keys.iter().map(|key| (salted(key), "1")))?;
    lab.paragraph(format!("{ROWS} calls of one day are written, and then this one:"));
    lab.put(&table, salted("20150524002300_1232"), "c:n", "1")?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    let all = skew.operations;
    let first = skew.counts[0];
    lab.assert_claim(
        first * 100 > all * 53 && first * 100 < all * 57,
        format!(
            "{first} of {all} rows are in the first region of ten: its own tenth, and half of all."
        ),
    )?;
    lab.paragraph(
        "The calls of the day are read back salt by salt, from 00020150524 to 99920150525, a \
         thousand short ranges:",
    );
    let mut found = 0;
    for salt in 0..1000 {
        found += lab
            .rows(
                &table,
                &ScanSpec::from_row(format!("{salt:03}20150524")).to(format!("{salt:03}20150525")),
            )?
            .len() as u64;
    }
    lab.statement(
        "scan each salt of 'calls', {STARTROW => '<salt>20150524', STOPROW => '<salt>20150525'}",
        vec![format!("{found} row(s)")],
    );
    lab.assert_claim(
        found * 100 > all * 48 && found * 100 < all * 52,
        format!(
            "{found} of {all} are found. The others are in the table, and no question for a salt \
             ever reaches them."
        ),
    )?;
    let lost = lab.rows(&table, &ScanSpec::prefix("00-20320150524002300_1232"))?.len();
    lab.assert_claim(lost == 1, "The call above was written as 00-20320150524002300_1232.")?;

    lab.section(Section::Why);
    lab.paragraph(
        "A hash code in Java is an int with a sign, and % keeps the sign: -203, padded to 00-203. \
         The minus sign sorts before all digits, so all negative salts lie in front of salt 001, \
         in one region.",
    );
    let many: Vec<String> = (0..MANY).map(|_| key(lab.rng())).collect();
    let negative = many.iter().filter(|key| java_hash(key) % 1000 < 0).count();
    lab.assert_claim(
        negative.abs_diff(MANY / 2) < MANY / 100,
        format!(
            "Of {MANY} such keys {negative} have a negative salt; with a thousand regions the \
             first would take half of all rows."
        ),
    )?;
    let least = java_hash("polygenelubricants");
    lab.assert_claim(
        least == i32::MIN && least.wrapping_abs() % 1000 == -648 && least.rem_euclid(1000) == 352,
        "Math.abs is not a fix: the hash code of \"polygenelubricants\" is Integer.MIN_VALUE, \
         which has no positive counterpart, and the salt is -648. Math.floorMod gives 352.",
    )?;

    right(lab, &keys, &table, all)
}

/// Writes the same calls under a declared salt, and compares the two tables by lint.
fn right(lab: &mut PageWriter, keys: &[String], table: &LabTable, all: u64) -> anyhow::Result<()> {
    lab.section(Section::Right);
    lab.paragraph(
        "Math.floorMod, or a declared salt, which is never negative. A declared salt over Java's \
         hash code is that of floorMod, so both agree.",
    );
    let text = "ROW KEY TEXT '{salt(1000 by call using java):3}{call}'";
    let schema = lab.key(text)?;
    let right =
        lab.create_with_splits("calls_2", &["c"], Splits::into_regions(&schema, 10, None)?.keys)?;
    let encoded = keys
        .iter()
        .map(|key| Ok((Bytes::copy_from_slice(&schema.encode(&[key.as_str().into()])?), "1")))
        .collect::<anyhow::Result<Vec<_>>>()?;
    lab.load(&right, "c:n", encoded)?;
    let one = lab.encode(&schema, &["call=20150524002300_1232"])?;
    lab.assert_claim(one == "79720150524002300_1232", "The call above has salt 797.")?;
    lab.put(&right, one, "c:n", "1")?;
    let even = lab.distribution(&right)?;
    lab.assert_claim(
        even.max_over_mean < 1.15,
        format!("The greatest of ten regions has {:.2} times the mean.", even.max_over_mean),
    )?;
    let day = lab.query_rows(&right, &schema, &["call=20150524*"], None)?;
    lab.assert_claim(
        day.len() as u64 == all,
        format!(
            "The calls of the day, read from all 1000 salts and merged in the order of their \
             times, are all {all}."
        ),
    )?;
    let sampled = |table| -> anyhow::Result<KeySample> {
        Ok(KeySample {
            keys: lab
                .rows(table, &ScanSpec::all())?
                .iter()
                .map(|row| Bytes::copy_from_slice(row.key()))
                .collect(),
            is_in_arrival_order: false,
        })
    };
    let (bad, good) = (sampled(table)?, sampled(&right)?);
    lab.expect_finding_in(
        "K-NEGMOD",
        &LintInput { sample: Some(&bad), ..LintInput::default() },
        &LintInput { sample: Some(&good), ..LintInput::default() },
    )
}
