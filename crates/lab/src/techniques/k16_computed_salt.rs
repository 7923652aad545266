//! K16: four keys with a random salt become five rows; a computed salt avoids that.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K16",
    title: "A salt that is computed keeps a key unique",
    rules: &["K-RNDSALT"],
    see: &["K13", "K15"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A salt may be drawn or computed. Drawn at random it spreads just as well, but a row that \
         is written again becomes a second row, and a row that is wanted may be under any salt. \
         Computed from the key, it is the same every time.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY TEXT '{salt(4 by id):1}-{id}'")?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "First with salts a to d that were drawn. foo0003 is written, and later written again:",
    );
    let drawn = lab.create("drawn", &["f"], &["b", "c", "d"])?;
    for (salt, id, value) in [
        ("a", "foo0003", "old"),
        ("b", "foo0001", "x"),
        ("c", "foo0004", "x"),
        ("d", "foo0003", "new"),
        ("a", "foo0002", "x"),
    ] {
        lab.put(&drawn, format!("{salt}-{id}"), "f:v", value)?;
    }
    let rows = lab.scan(&drawn, &ScanSpec::all())?;
    lab.assert_claim(
        rows.len() == 5,
        "Four keys have become five rows: foo0003 is there twice, with its old and its new value.",
    )?;

    lab.paragraph("The same five writes with the salt that is declared above:");
    let table = lab.create("computed", &["f"], &["1", "2", "3"])?;
    for (id, value) in [
        ("foo0003", "old"),
        ("foo0001", "x"),
        ("foo0004", "x"),
        ("foo0003", "new"),
        ("foo0002", "x"),
    ] {
        lab.write(&table, &key, &[&format!("id={id}")], "f:v", value)?;
    }
    let rows = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(rows.len() == 4, "Four keys are four rows.")?;
    let found = lab.query(&table, &key, &["id=foo0003"], None)?;
    let value = found.first().and_then(|row| row.value("f", "v"));
    lab.assert_claim(
        found.len() == 1 && value == Some(b"new"),
        "foo0003 is found under its one key, with its new value.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A computed salt puts all that has the same key to one place; that is the price of being \
         found. A drawn one is right only for rows that are written once, never changed, and never \
         looked up one by one: a log.",
    );
    lab.expect_finding(
        "K-RNDSALT",
        "ROW KEY (SALT(4 USING random), id STRING)",
        "ROW KEY (SALT(4 BY id), id STRING)",
    )
}
