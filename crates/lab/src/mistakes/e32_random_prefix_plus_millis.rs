//! E32: a random prefix and the time in milliseconds as the whole key.

use std::collections::HashSet;

use halite_rowkey_tools::lint::{LintInput, LoadEstimate};

use crate::samples::{SECOND, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E32",
    title: "Two writes of one millisecond are one row",
    rules: &["K-UNIQ"],
    see: &["E29", "E42"],
    run,
};

const RATE: u32 = 1_000;
const SECONDS: i64 = 5;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (SALT(4 USING random), ts TIMESTAMP)";
    const RIGHT: &str = "ROW KEY (SALT(4 BY writer), writer U16, ts TIMESTAMP, number U32)";
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Events are written under a random number below 4, which spreads them over four regions, \
         and the time in milliseconds. {RATE} events a second come in, for {SECONDS} seconds."
    ));
    let table = lab.create("events", &["e"], &["1", "2", "3"])?;
    let events = (0..i64::from(RATE) * SECONDS)
        .map(|at| (T0 + at * SECOND / i64::from(RATE) + lab.rng().i64(0..50), lab.rng().u8(..4)))
        .collect::<Vec<_>>();
    let written =
        lab.load(&table, "e:n", events.iter().map(|(ts, prefix)| (format!("{prefix}{ts}"), "1")))?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    let there = usize::try_from(skew.operations)?;
    lab.assert_claim(skew.max_over_mean < 1.1, "The load is spread well.")?;
    let lost = written - there;
    lab.data_table(
        &["", ">events"],
        [
            ["written", &written.to_string()],
            ["in the table", &there.to_string()],
            ["lost", &lost.to_string()],
        ],
    );
    lab.assert_claim(
        (400..800).contains(&lost),
        format!(
            "{} events a second are gone, without an error: the later one is a new version of the \
             earlier one.",
            lost / 5
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Rows are distinguished only by the key. Of r events a second over B prefixes, each of the \
         1000 * B places of a second gets x = r / (1000 * B) in the mean, and 1000 * B * (x - 1 + \
         exp(-x)) events find their place taken: here 115 a second, and nearly four times as many \
         at twice the rate. A prefix that is computed from the time itself would be no help: the \
         two have the same one.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "After the time follows what makes the event unique: its writer, and its number there. The \
         prefix is a salt of these.",
    );
    let (table, key) =
        lab.declare(&format!("CREATE TABLE events_2 (n STRING FAMILY e, {RIGHT}) SPLIT BY SALT"))?;
    let rows = events.iter().zip(0_u64..).map(|((ts, _), number)| {
        let values = [
            halite::rowkey::Value::Unsigned(number % 40),
            halite::rowkey::Value::Signed(*ts),
            halite::rowkey::Value::Unsigned(number),
        ];
        Ok((key.encode(&values)?.to_vec(), "1"))
    });
    let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
    let distinct: HashSet<_> = rows.iter().map(|(key, _)| key.clone()).collect();
    lab.load(&table, "e:n", rows)?;
    let right = lab.stored_skew(&table)?;
    lab.assert_claim(
        distinct.len() == written && usize::try_from(right.operations)? == written,
        format!("All {written} events are there."),
    )?;
    let (wrong_key, right_key) = (WRONG.parse()?, RIGHT.parse()?);
    let load = LoadEstimate { writes_per_second: Some(f64::from(RATE)), ..LoadEstimate::default() };
    lab.expect_finding_in(
        "K-UNIQ",
        &LintInput { key: Some(&wrong_key), load, ..LintInput::default() },
        &LintInput { key: Some(&right_key), load, ..LintInput::default() },
    )
}
