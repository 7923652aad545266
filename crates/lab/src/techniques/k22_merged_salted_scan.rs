//! K22: a range over salted keys: the range of each salt is read, and the results are merged in one
//! order.

use std::sync::Arc;

use bytes::Bytes;
use halite::Row;

use crate::counting_table::CountingTable;
use crate::declared_keys::encode_keys;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K22",
    title: "One range under many salts, merged",
    rules: &["Q-FAN"],
    see: &["K13", "K27", "K23"],
    run,
};

const SALTS: usize = 64;
/// Orders in the table, one per hour from 2015-01-01 on.
const ORDERS: usize = 4_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Orders that lie under salts are still wanted by time: all from the beginning of the year \
         to the 24th of May. The range exists once under each salt. All of them are read at the \
         same time, and their rows merged as they come, so that the reader sees one list in the \
         order of time.",
    );
    lab.section(Section::Declaration);
    let thousand = lab.key("ROW KEY TEXT '{salt(1000 using java):3}{at:14}_{id}'")?;
    let plan = lab.explain(&thousand, &["at>=20150101000000", "at<20150524000000"], Some(10))?;
    let ranges: Vec<_> = plan.ranges().map(|range| range.range.clone()).collect();
    let holds =
        |salt: usize, at: &str| ranges[salt].contains(format!("{salt:03}{at}_1").as_bytes());
    let each = |salt| {
        holds(salt, "20150101000000")
            && holds(salt, "20150523235959")
            && !holds(salt, "20150524000000")
    };
    lab.assert_claim(
        ranges.len() == 1000 && (0..1000).all(each),
        "One range becomes 1000, of the same times under each salt from 000 to 999.",
    )?;

    lab.section(Section::Demonstration);
    let text = "CREATE TABLE orders (\n  total DECIMAL FAMILY o QUALIFIER t,\n  ROW KEY (SALT(64), \
                at CHAR(12), id STRING)\n) SPLIT INTO 16";
    let (salted, key) = lab.declare(text)?;
    let plain = lab.create("plain", &["o"], &[])?;
    lab.paragraph(format!(
        "{ORDERS} orders under {SALTS} salts, and the same orders without salts in a second table. \
         A range of {SALTS} parts, merged:"
    ));
    let orders: Vec<[String; 2]> =
        (0..ORDERS).map(|hour| [moment(hour), format!("order-{hour}")]).collect();
    let keys =
        encode_keys(&key, orders.iter().map(|[at, id]| [at.as_str().into(), id.as_str().into()]))?;
    lab.load(&salted, "o:t", keys.into_iter().map(|key| (key, "1")))?;
    lab.load(&plain, "o:t", orders.iter().map(|[at, id]| (format!("{at}{id}"), "1")))?;
    let question = ["at>=201501010000", "at<201505240000"];
    let merged = lab.query(&salted, &key, &question, None)?;
    let straight = lab.rows(&plain, &ScanSpec::from_row("201501010000").to("201505240000"))?;
    lab.assert_claim(
        unsalted(&merged)
            == straight.iter().map(|row| Bytes::copy_from_slice(row.key())).collect::<Vec<_>>(),
        format!(
            "The {} rows are those of the table without salts, byte for byte and in the same \
             order, once the salt is taken off.",
            merged.len()
        ),
    )?;
    limited(lab, &salted, &key, &question, &merged)?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Every salt is a scan of its own, and the answer is there when the slowest of them is: \
         with many salts, one slow server is felt by every question. A question that names what \
         the salt is made of asks one salt only; so take as few columns into BY as spread the \
         load.",
    );
    let with = |salt: &str, query: &str| {
        format!(
            "CREATE TABLE orders (t DECIMAL FAMILY o, ROW KEY ({salt}, shop STRING, at TIMESTAMP)) \
             WITH QUERIES (recent: {query}) SPLIT BY SALT"
        )
    };
    lab.expect_finding(
        "Q-FAN",
        &with("SALT(1000)", "at IN RANGE"),
        &with("SALT(1000 BY shop)", "shop = ? AND at IN RANGE"),
    )
}

/// Runs the same query with a limit: each range returns no more rows than the limit.
fn limited(
    lab: &mut PageWriter,
    table: &crate::LabTable,
    key: &halite::rowkey::KeySchema,
    question: &[&str],
    all: &[Row],
) -> anyhow::Result<()> {
    let plan = lab.plan(key, question, Some(10))?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(table)?);
    let first = lab.execute_plan(Arc::clone(&counted), &plan)?;
    lab.assert_claim(
        first == all[..10],
        "With a limit of 10, the first ten of the same list come.",
    )?;
    lab.assert_claim(
        reads.scans() <= SALTS && reads.max_rows_per_scan() <= 10,
        "No part was read further than ten rows.",
    )?;
    lab.measurement(format!("the parts gave {} rows together, of {}", reads.rows(), all.len()));
    Ok(())
}

/// Returns the time of the hour-th hour of 2015 as twelve digits. Years have 365 days, months their
/// real length.
fn moment(hour: usize) -> String {
    const DAYS: [usize; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut day, mut month) = (hour / 24, 0);
    while day >= DAYS[month] {
        day -= DAYS[month];
        month += 1;
    }
    format!("2015{:02}{:02}{:02}00", month + 1, day + 1, hour % 24)
}

fn unsalted(rows: &[Row]) -> Vec<Bytes> {
    rows.iter().map(|row| Bytes::copy_from_slice(&row.key()[1..])).collect()
}
