//! K07: user and time: one range for one user and an interval.

use crate::counting_table::CountingTable;
use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K07",
    title: "User, then time: an interval is one range",
    rules: &[],
    see: &["K12", "K28"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "The most common query of a log is what one user did between two times. With the user \
         first and the time second, the result is one contiguous part of the table: user and time \
         are compared byte by byte, in that order.",
    );
    lab.section(Section::Declaration);
    let (table, key) = lab.declare(
        "CREATE TABLE actions (\n  what STRING FAMILY a QUALIFIER w,\n  ROW KEY (user_id STRING, \
         ts TIMESTAMP)\n)",
    )?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "50 users with one action in each hour of ten days, 12,000 rows. One user, one day:",
    );
    let mut keys = Vec::new();
    for user in 0..50 {
        for hour in 0..240 {
            keys.push(
                key.encode(&[
                    format!("user_{user}").as_str().into(),
                    halite::rowkey::Value::Signed(T0 + hour * HOUR),
                ])?
                .to_vec(),
            );
        }
    }
    let written = lab.load(&table, "a:w", keys.into_iter().map(|key| (key, "login")))?;
    let question = ["user_id=user_7", "ts=2024-03-17..2024-03-18"];
    let plan = lab.explain(&key, &question, None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let found = lab.execute_plan(counted, &plan)?;
    lab.assert_claim(
        written == 12_000 && plan.ranges().count() == 1,
        "The question is one range.",
    )?;
    lab.assert_claim(
        found.len() == 24 && reads.rows() == 24,
        "24 rows are the answer, and 24 rows were read: none in vain.",
    )?;
    let all_users = lab.plan(&key, &["ts=2024-03-17..2024-03-18"], None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let found = lab.execute_plan(counted, &all_users)?;
    lab.assert_claim(
        found.len() == 50 * 24 && reads.rows() == 12_000,
        "The same day of all users has 1,200 rows, and all 12,000 are read: the time alone is not \
         the beginning of a key.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Times of all users are not together, as the last question shows. One very busy user is \
         one place in the table; no split takes that apart. If users are given out in rising order \
         and new ones are the busy ones, put a salt of the user in front.",
    );
    Ok(())
}
