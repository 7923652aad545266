//! M09: a scan without a range.

use crate::counting_table::CountingTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "M09",
    title: "A scan of the whole table",
    rules: &["Q-FULL"],
    see: &["M07", "M08", "K09"],
    run,
};

const COLUMNS: &str =
    "amount DECIMAL FAMILY o QUALIFIER a, ROW KEY (shop STRING, day DATE, id U32)";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A scan without start and stop reads every row. So does one with a filter that no range \
         can replace: rows that it does not send are still read. The row key is the only index \
         there is.",
    );
    lab.section(Section::Demonstration);
    let (table, key) = lab.declare(
        "CREATE TABLE orders (\n  amount DECIMAL FAMILY o QUALIFIER a,\n  ROW KEY (shop STRING, \
         day DATE, id U32)\n)",
    )?;
    let mut keys = Vec::new();
    for shop in ["berlin", "lima", "oslo"] {
        for id in 0..100 {
            keys.push(lab.encode_key(
                &key,
                &[
                    &format!("shop={shop}"),
                    &format!("day=2024-03-{:02}", id % 30 + 1),
                    &format!("id={id}"),
                ],
            )?);
        }
    }
    lab.load(&table, "o:a", keys.into_iter().map(|key| (key, "10")))?;
    lab.paragraph("300 orders of three shops in a month.");
    let all = lab.count(&table, &ScanSpec::all())?;
    lab.assert_claim(all == 300, "Without a range all rows come.")?;
    let plan = lab.explain(&key, &["day=2024-03-15"], None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let found = lab.execute_plan(counted, &plan)?;
    lab.assert_claim(
        found.len() == 9 && reads.rows() == 300,
        "One day of all shops is nine orders, and all 300 are read for it: the key begins with the \
         shop.",
    )?;
    let filtered = lab.count(&table, &ScanSpec::all().filter("ValueFilter(=, 'binary:20')")?)?;
    lab.assert_claim(
        filtered == 0,
        "A filter on values that no row has sends nothing, and has also checked every row.",
    )?;
    let with = |query: &str| format!("CREATE TABLE orders ({COLUMNS}) WITH QUERIES ({query})");
    lab.expect_finding("Q-FULL", &with("day: day = ?"), &with("day: shop = ? AND day = ?"))
}
