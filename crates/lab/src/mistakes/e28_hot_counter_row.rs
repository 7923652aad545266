//! E28: one counter that all clients increment.

use bytes::Bytes;
use halite::Increment;
use halite::rowkey::SaltGenerator;
use halite_rowkey_tools::simulate::Skew;

use crate::table::LabTable;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E28",
    title: "A counter in one row is one server's work",
    rules: &["F-HOTCTR"],
    see: &["E05", "E26"],
    run,
};

const COUNTS: usize = 1_000;
const SHARDS: u32 = 16;

/// Adds 1 to the counter of each of these rows, in batches.
fn add_one(table: &LabTable, rows: &[Bytes]) -> anyhow::Result<()> {
    for rows in rows.chunks(100) {
        for result in table.inner().batch(
            rows.iter().map(|row| Increment::new(row.clone()).add("c", "n", 1).into()).collect(),
        )? {
            result?;
        }
    }
    Ok(())
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Page views of the whole site are counted for each day: one row for a metric and a day, \
         and {COUNTS} views come in. The table has 16 regions."
    ));
    let splits: Vec<Bytes> = (1..16_u8).map(|first| Bytes::from(vec![first])).collect();
    let text: Vec<&str> =
        ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"].to_vec();
    let table = lab.create("views", &["c"], &text)?;
    let row = Bytes::from_static(b"page_views_2024-03-15");
    add_one(&table, &vec![row.clone(); COUNTS - 1])?;
    lab.statement(
        format!("{} times incr 'views', 'page_views_2024-03-15', 'c:n', 1", COUNTS - 1),
        Vec::new(),
    );
    let counted = lab.incr(&table, &row, "c:n", 1)?;

    lab.section(Section::Outcome);
    let one = Skew::from_keys(std::iter::repeat_n(&row[..], COUNTS), table.splits(), 0);
    lab.assert_claim(
        usize::try_from(counted).ok() == Some(COUNTS),
        format!("The count is right: {counted}."),
    )?;
    lab.assert_claim(
        one.effective_regions < 1.01 && one.empty_regions == 15,
        "All increments went to one region, and 15 had nothing to do.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A row is in one region, and changes of a row come one after the other, each under the \
         row's lock and each with its own entry in the log. A split cannot divide a row. More \
         servers do not make it faster; only less writing to this row does.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The counter becomes several rows. Each writer adds to a random one of them, and readers \
         add them up. It is the one place where a random salt is right: no row has to be found \
         again.",
    );
    let key = lab.key("ROW KEY (SALT(16 USING random), metric STRING, day DATE)")?;
    let right = lab.create_with_splits("views_2", &["c"], splits)?;
    let values =
        key.parse_values(["metric=page_views", "day=2024-03-15"]).map_err(anyhow::Error::msg)?;
    let (draw, mut written) = (SaltGenerator::seeded(lab.rng().u64(..)), Vec::new());
    for _ in 0..COUNTS {
        let row = Bytes::copy_from_slice(&key.encode_with(&values, &draw)?);
        written.push(row);
    }
    add_one(&right, &written)?;
    lab.statement(
        format!(
            "{COUNTS} times incr 'views_2', <salt>page_views<day>, 'c:n', 1    -- each time with a \
             salt drawn below {SHARDS}"
        ),
        Vec::new(),
    );
    let even = lab.skew(&right, &written);
    let rows = lab.query_rows(&right, &key, &["metric=page_views", "day=2024-03-15"], None)?;
    let sum: i64 = rows
        .iter()
        .filter_map(|row| row.value("c", "n")?.try_into().ok().map(i64::from_be_bytes))
        .sum();
    lab.assert_claim(
        usize::try_from(sum).ok() == Some(COUNTS) && rows.len() == 16,
        format!("Sixteen rows are read, and add up to {sum}: no count is lost."),
    )?;
    lab.assert_claim(
        even.effective_regions > 14.5 && even.max_over_mean < 1.7,
        format!(
            "The increments went to 16 regions, {:.2} times the mean to the busiest.",
            even.max_over_mean
        ),
    )?;
    lab.paragraph(
        "As many rows are needed as the rate of counting is above what one row takes, which a \
         measurement of the cluster tells. A counter of hundreds of views a second needs none of \
         it.",
    );
    let table = |key: &str, rate: u32| {
        format!(
            "CREATE TABLE views (n I64 FAMILY c, ROW KEY ({key})) WITH QUERIES (count: INCREMENT \
             metric = ? AND day = ? RATE {rate})"
        )
    };
    let right = "SALT(16 USING random), metric STRING, day DATE";
    lab.expect_finding(
        "F-HOTCTR",
        &table("metric STRING, day DATE", 8_000),
        &table(right, 8_000 / SHARDS),
    )
}
