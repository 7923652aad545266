//! E29: a new random salt for each write.

use bytes::Bytes;
use halite::rowkey::{KeySchema, SaltGenerator};

use crate::table::LabTable;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E29",
    title: "A random salt stores a row as often as it is written",
    rules: &["K-RNDSALT"],
    see: &["E07", "E28"],
    run,
};

/// Order in which rows are written: foo0003 twice.
const WRITES: [(&str, &str); 5] =
    [("foo0001", "1"), ("foo0002", "1"), ("foo0003", "1"), ("foo0004", "1"), ("foo0003", "2")];

fn write(
    lab: &mut PageWriter,
    table: &LabTable,
    key: &KeySchema,
    draw: &SaltGenerator,
) -> anyhow::Result<()> {
    for (id, version) in WRITES {
        let row = key.encode_with(&[id.into()], draw)?;
        lab.put(table, Bytes::copy_from_slice(&row), "f:version", version)?;
    }
    Ok(())
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (SALT(4 USING round_robin), id STRING)";
    const RIGHT: &str = "ROW KEY (SALT(4 BY id), id STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Rows foo0001 to foo0004 would all go to the same region. Each write puts one of four \
         salts in front, drawn as it comes. Later foo0003 is written again, to change it.",
    );
    let wrong = lab.key(WRONG)?;
    let table = lab.create("items", &["f"], &["\\x01", "\\x02", "\\x03"])?;
    write(lab, &table, &wrong, &SaltGenerator::default())?;

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &crate::ScanSpec::all())?;
    let third = found.iter().filter(|row| row.key().ends_with(b"foo0003")).count();
    lab.assert_claim(
        found.len() == 5 && third == 2,
        "Four rows were written, and five are there. foo0003 is two rows, with two versions that \
         know nothing of each other.",
    )?;
    let plan = lab.explain(&wrong, &["id=foo0003"], None)?;
    lab.assert_claim(
        plan.fan_out() == 4,
        "To find foo0003, all four salts are read. Which of the two rows is newer, the reader has \
         to find out; a delete has to find both.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A key has to be computable from what it identifies. No program knows a random salt \
         afterwards: writing twice makes two rows, a get becomes a search, and uniqueness, which \
         the row key alone provides in HBase, is lost.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The salt is computed from the id. It spreads as well, and it is the same each time.",
    );
    let right = lab.key(RIGHT)?;
    let table = lab.create("items_2", &["f"], &["\\x01", "\\x02", "\\x03"])?;
    write(lab, &table, &right, &SaltGenerator::default())?;
    let found = lab.scan(&table, &crate::ScanSpec::all())?;
    lab.assert_claim(found.len() == 4, "Four rows.")?;
    let one = lab.query(&table, &right, &["id=foo0003"], None)?;
    lab.assert_claim(
        one.len() == 1 && one[0].value("f", "version") == Some(b"2"),
        "foo0003 is found by one get, and has its second version.",
    )?;
    lab.expect_finding("K-RNDSALT", WRONG, RIGHT)
}
