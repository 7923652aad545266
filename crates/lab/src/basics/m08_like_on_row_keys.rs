//! M08: rows whose keys begin with a prefix, end with a suffix, or match a pattern.

use halite::rowkey::KeySchema;

use crate::counting_table::CountingTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page =
    Page { id: "M08", title: "LIKE on row keys", rules: &[], see: &["M07", "M09", "K10"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "SQL has LIKE; HBase has ranges and filters. Keys that begin with something are a range, \
         and cheap. Keys that end with something, or hold it, are found by a filter: each row is \
         read and checked, only not sent.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("users", &["u"], &[])?;
    for user in ["user_1", "user_10", "user_1a", "user_2", "user_21", "visitor_1"] {
        lab.load(&table, "u:n", [(user, "x")])?;
    }
    lab.paragraph(
        "Six rows: user_1, user_10, user_1a, user_2, user_21, visitor_1. LIKE 'user_1%':",
    );
    let key: KeySchema = "ROW KEY (id STRING)".parse()?;
    let plan = lab.explain(&key, &["id=user_1*"], None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let planned = lab.execute_plan(counted, &plan)?;
    let range = lab.scan(&table, &ScanSpec::from_row("user_1").to("user_2"))?;
    lab.assert_claim(
        range == planned && range.len() == 3 && reads.rows() == 3,
        "It is the range from user_1 to user_2: three rows, and no other row is read.",
    )?;
    let prefix = lab.scan(&table, &ScanSpec::all().filter("PrefixFilter('user_1')")?)?;
    let pattern =
        lab.count(&table, &ScanSpec::all().filter("RowFilter(=, 'regexstring:^user_1')")?)?;
    lab.assert_claim(
        prefix == range && pattern == 3,
        "PrefixFilter and RowFilter with a regular expression find the same rows.",
    )?;
    lab.paragraph(
        "Without a start row, though, those two begin at the first row of the table; PrefixFilter \
         at least ends after the last match.",
    );

    lab.paragraph("LIKE '%1' has no beginning:");
    let suffix = lab.scan(&table, &ScanSpec::all().filter("RowFilter(=, 'regexstring:1$')")?)?;
    let keys: Vec<_> = suffix.iter().map(halite::Row::key).collect();
    lab.assert_claim(
        keys == [&b"user_1"[..], b"user_21", b"visitor_1"],
        "The filter finds three rows.",
    )?;
    let ends = lab.plan(&key, &[], None)?;
    let whole = ends.is_full_scan();
    lab.assert_claim(
        whole,
        "No range of keys holds just these: the whole table is read for them (Q-FULL).",
    )?;
    lab.paragraph(
        "If rows are requested by their ends, the ends belong in front: a key that is written back \
         to front, or a second table.",
    );
    Ok(())
}
