//! K17: a table with two families that is created with four regions.

use crate::samples::region_for_key;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K17",
    title: "A table that begins as four regions",
    rules: &["P-NONE"],
    see: &["K21", "M10", "K19"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A new table is one region on one server, until that has grown enough to split. Where the \
         keys to come are known, the table is split when it is made: three split keys make four \
         regions, and writes go to four places from the first row on.",
    );
    lab.section(Section::Declaration);
    lab.paragraph("In the shell, with the families common and data:");
    let table = lab.create("testtable", &["common", "data"], &["1", "2", "3"])?;
    lab.paragraph("Or with a declared key, whose salt determines the boundaries:");
    let (salted, _) = lab.declare(
        "CREATE TABLE salted (\n  v STRING FAMILY data,\n  ROW KEY (SALT(4 BY id), id STRING)\n) \
         SPLIT BY SALT",
    )?;

    lab.section(Section::Demonstration);
    let regions = table.inner().regions()?;
    let shown = |key: &[u8]| {
        if key.is_empty() { "(open)".to_owned() } else { halite::to_string_binary(key) }
    };
    lab.data_table(
        &[">region", "from", "to, not included"],
        regions.iter().enumerate().map(|(index, region)| {
            [(index + 1).to_string(), shown(&region.start), shown(&region.end)]
        }),
    );
    let boundaries: Vec<_> =
        regions.iter().map(|region| (region.start.to_vec(), region.end.to_vec())).collect();
    let expected: Vec<(Vec<u8>, Vec<u8>)> = [("", "1"), ("1", "2"), ("2", "3"), ("3", "")]
        .map(|(from, to)| (from.into(), to.into()))
        .to_vec();
    lab.assert_claim(
        boundaries == expected,
        "Three split keys make four regions: below 1, from 1, from 2, and from 3 on.",
    )?;
    for (key, column) in [("0zz", "common:a"), ("1", "data:a"), ("2999", "data:a"), ("~", "data:a")]
    {
        lab.put(&table, key, column, "x")?;
    }
    let places: Vec<_> = ["0zz", "1", "2999", "~"]
        .map(|key| region_for_key(key.as_bytes(), table.splits()) + 1)
        .to_vec();
    lab.assert_claim(
        places == [1, 2, 3, 4],
        "These four rows lie in the four regions, one in each.",
    )?;
    lab.assert_claim(
        table.inner().descriptor()?.family_count() == 2,
        "Both families have these split keys: a region holds all families of its rows.",
    )?;
    lab.assert_claim(
        salted.inner().regions()?.len() == 4,
        "The declared table has four regions too.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Boundaries without keys between them create empty regions, and each region costs memory \
         and files on its server. A boundary is not permanent either: regions continue to split as \
         they grow, and can be merged.",
    );
    let with = |splits: &str| {
        format!(
            "CREATE TABLE salted (v STRING FAMILY d, ROW KEY (SALT(4 BY id), id STRING)) {splits}"
        )
    };
    lab.expect_finding("P-NONE", &with(""), &with("SPLIT BY SALT"))
}
