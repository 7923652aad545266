//! K09: region, category, product: prefixes of a key, and the fields after them.

use halite::rowkey::PlanOptions;

use crate::declared_keys::field;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K09",
    title: "Prefixes of fields, and skipping over an open one",
    rules: &["Q-FULL"],
    see: &["K02", "K28"],
    run,
};

const COLUMNS: &str =
    "price DECIMAL FAMILY c QUALIFIER p, ROW KEY (region STRING, category STRING, product STRING)";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A catalogue is browsed from the general to the particular: a region, a category in it, a \
         product. With the fields in that order each step is one range, and no step reads more \
         than it shows.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE catalogue (\n  price DECIMAL FAMILY c QUALIFIER p,\n  ROW KEY (region \
                STRING, category STRING, product STRING)\n)";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.paragraph("Four regions with three categories of five products each, 60 rows.");
    let mut keys = Vec::new();
    for region in ["asia", "eu", "eu-west", "us"] {
        for category in ["books", "shoes", "tv"] {
            for product in 1..=5 {
                keys.push(lab.encode_key(
                    &key,
                    &[
                        &format!("region={region}"),
                        &format!("category={category}"),
                        &format!("product={category}-{product}"),
                    ],
                )?);
            }
        }
    }
    lab.load(&table, "c:p", keys.into_iter().map(|key| (key, "10")))?;
    let region = lab.explain(&key, &["region=eu"], None)?;
    let both = lab.explain(&key, &["region=eu", "category=tv"], None)?;
    let found = [
        lab.query_rows(&table, &key, &["region=eu"], None)?.len(),
        lab.query_rows(&table, &key, &["region=eu", "category=tv"], None)?.len(),
    ];
    let one_range = region.ranges().count() == 1
        && both.ranges().count() == 1
        && !region.has_residual()
        && !both.has_residual();
    lab.assert_claim(
        one_range && found == [15, 5],
        "Each is one range, of 15 and of 5 rows, and the rows of eu-west are not among them.",
    )?;

    lab.paragraph("A category of all regions is not a prefix:");
    let scanned = lab.explain(&key, &["category=tv"], None)?;
    lab.assert_claim(
        scanned.has_residual(),
        "Without more information it reads and checks every row.",
    )?;
    lab.paragraph(
        "There are few regions. Given their number, the plan jumps from one to the next and reads \
         one range in each:",
    );
    let options =
        PlanOptions { distinct: vec![(field(&key, "region")?, 4)], ..PlanOptions::default() };
    let skipped = lab.explain_with(&key, &["category=tv"], "about 4 regions", &options)?;
    let (counted, reads) = crate::counting_table::CountingTable::wrap(lab.dyn_table(&table)?);
    let by_skipping = lab.execute_plan(counted, &skipped)?;
    let by_scanning = lab.query_rows(&table, &key, &["category=tv"], None)?;
    lab.assert_claim(
        skipped.is_skip_scan() && by_skipping == by_scanning && by_skipping.len() == 20,
        "It finds the same 20 rows.",
    )?;
    lab.assert_claim(
        reads.rows() <= 20 + 5,
        "No more than 25 rows are read for that instead of 60: five of them tell which regions \
         there are.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The order of the fields decides which questions are cheap, and there is one order. \
         Skipping pays as long as the open field has few values; with thousands of them it is a \
         scan by another name, and a second table with the category in front is the answer.",
    );
    let with = |query: &str| format!("CREATE TABLE catalogue ({COLUMNS}) WITH QUERIES ({query})");
    lab.expect_finding(
        "Q-FULL",
        &with("shelf: category = ?"),
        &with("shelf: region = ? AND category = ?"),
    )
}
