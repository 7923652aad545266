//! K18: a random digit before the time, on as many regions as digits.

use bytes::Bytes;

use crate::declared_keys::skew_for_keys;
use crate::samples::T0;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K18",
    title: "A random digit in front of the time",
    rules: &["K-RNDSALT", "K-UNIQ"],
    see: &["K15", "K16"],
    run,
};

const DECLARED: &str = "ROW KEY TEXT '{salt(4 using random):1}{ts:13}'";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "The shortest way to spread a log of times over four regions: a digit from 0 to 3, drawn \
         for each row, in front of the time in milliseconds. In Java, random.nextInt(4) + time as \
         text.",
    );
    lab.section(Section::Declaration);
    lab.key(DECLARED)?;
    let table = lab.create("log", &["l"], &["1", "2", "3"])?;

    lab.section(Section::Demonstration);
    lab.paragraph("200,000 rows, 20 in each millisecond, in windows of 2000:");
    let drawn: Vec<Bytes> = (0..200_000_i64)
        .map(|row| Bytes::from(format!("{}{}", lab.rng().u8(..4), T0 + row / 20)))
        .collect();
    let skew = skew_for_keys(&drawn, table.splits(), 2_000);
    lab.skews(&[("digit and time", &skew)]);
    lab.assert_claim(
        skew.max_over_mean < 1.02 && skew.window_mean < 1.1,
        "All four regions are written to evenly, as a whole and at any moment.",
    )?;

    lab.paragraph(
        "How many rows there are in the end shows when they are written: the first 10,000 of them.",
    );
    let written = lab.load(&table, "l:v", drawn[..10_000].iter().map(|key| (key.clone(), "x")))?;
    let found = lab.count(&table, &ScanSpec::all())?;
    lab.assert_claim(
        written == 10_000 && found <= 4 * 500,
        "There are no more rows than digits and milliseconds: 4 of each millisecond. The others \
         had the key of one that was there, and replaced it.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Besides what is lost, every query of an interval runs four times, and a row cannot be \
         looked up by its content. A sequence number or the writer's name after the time \
         distinguishes rows; a salt computed from them can be computed again.",
    );
    let right = "ROW KEY (SALT(4 BY writer, seq), ts TIMESTAMP, writer STRING, seq U32)";
    lab.expect_finding("K-RNDSALT", "ROW KEY (SALT(4 USING random), ts TIMESTAMP)", right)?;
    lab.expect_finding("K-UNIQ", "ROW KEY (SALT(4 USING random), ts TIMESTAMP)", right)
}
