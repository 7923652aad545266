//! E42: bucket rows with a single column for all samples.

use halite::Put;
use halite::rowkey::Value;

use crate::samples::{HOUR, MINUTE, SECOND, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E42",
    title: "In a bucket row each sample needs a column of its own",
    rules: &[],
    see: &["E32", "E44"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A row holds a quarter of an hour of a host's load: the key is the host and the time \
         divided by 15 minutes. Each sample is put into the column m:v of the row it belongs to. A \
         sample a second comes in for an hour.",
    );
    let (table, key) = lab.declare(
        "CREATE TABLE load (v STRING FAMILY m, ROW KEY (host STRING, BUCKET(ts, '15m')))",
    )?;
    let row = |at: i64| -> anyhow::Result<Vec<u8>> {
        Ok(key.encode(&["host01".into(), Value::Signed(T0 + at * SECOND)])?.to_vec())
    };
    let value = |at: i64| format!("{}", at % 60);
    let samples: Vec<i64> = (0..HOUR / SECOND).collect();
    let puts = samples
        .iter()
        .map(|&at| Ok(Put::new(row(at)?).add("m", "v", value(at))))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let written = lab.load_puts(&table, puts)?;

    lab.section(Section::Outcome);
    let found = lab.query_rows(&table, &key, &["host=host01"], None)?;
    let cells: usize = found.iter().map(halite::Row::len).sum();
    lab.data_table(
        &["", ">how many"],
        [
            ["samples written", &written.to_string()],
            ["rows", &found.len().to_string()],
            ["samples in them", &cells.to_string()],
        ],
    );
    lab.assert_claim(
        written == 3_600 && found.len() == 4 && cells == 4,
        "Four rows for four quarters, as meant, with one sample each: the last one. 3596 are gone.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "The bucket takes the seconds out of the key, and nothing else keeps them: all samples of \
         a quarter are the same cell. More versions in the family would keep some, for another \
         purpose, and those of one millisecond still replace each other.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "What the key has lost of the time becomes the qualifier: the offset in the bucket, in \
         milliseconds, as four bytes that sort.",
    );
    let right = lab.create("load_2", &["m"], &[])?;
    let offset = |at: i64| {
        u32::try_from((T0 + at * SECOND) % (15 * MINUTE)).unwrap_or_default().to_be_bytes()
    };
    let puts = samples
        .iter()
        .map(|&at| Ok(Put::new(row(at)?).add("m", offset(at), value(at))))
        .collect::<anyhow::Result<Vec<_>>>()?;
    lab.load_puts(&right, puts)?;
    let found = lab.query_rows(
        &right,
        &key,
        &["host=host01", "ts=2024-03-15T00:00:00Z..2024-03-15T01:00:00Z"],
        None,
    )?;
    let sizes: Vec<usize> = found.iter().map(halite::Row::len).collect();
    lab.assert_claim(
        sizes == [900; 4],
        "The hour is four rows of 900 columns, and no sample is missing.",
    )?;
    let one = found[1].value("m", offset(1_000));
    lab.assert_claim(
        one == Some(value(1_000).as_bytes()),
        "The sample of second 1000 is in the second row, at 100,000 milliseconds, with its value.",
    )?;
    let (_, read) = lab.query_counted(
        &right,
        &key,
        &["host=host01", "ts=2024-03-15T00:20:00Z..2024-03-15T00:40:00Z"],
        None,
    )?;
    lab.assert_claim(
        read == 2,
        "A question for twenty minutes reads the two rows that they lie in.",
    )
}
