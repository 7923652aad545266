//! E38: the belief that versions beyond the limit stay until a major compaction.

use halite::FamilyDescriptor;

use crate::samples::{SECOND, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E38",
    title: "Extra versions go at a flush, not only at a major compaction",
    rules: &["F-VER"],
    see: &["E37"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A family keeps three versions. More than that are said to be there until a major \
         compaction takes them away, once a week, and a program counts on it: it reads older ones \
         back with a raw scan, as an undo. A price is changed five times:",
    );
    let table = lab.make("prices", [FamilyDescriptor::new("p").versions(3)], Vec::new())?;
    lab.statement("create 'prices', {NAME => 'p', VERSIONS => 3}", Vec::new());
    for version in 1..=5 {
        lab.put_at(&table, "tea", "p:eur", format!("{version}.00"), T0 + version * SECOND)?;
    }
    let shown = lab.get_versions(&table, "tea", 10)?;
    let raw = lab.rows(&table, &ScanSpec::all().raw().versions(10))?;
    lab.assert_claim(
        shown.len() == 3 && raw[0].len() == 5,
        "A get shows three, and a raw scan finds all five.",
    )?;

    lab.section(Section::Outcome);
    lab.paragraph(
        "Some minutes later the memstore is full and is written to a file. No compaction has run.",
    );
    lab.flush(&table)?;
    let raw = lab.scan(&table, &ScanSpec::all().raw().versions(10))?;
    lab.assert_claim(
        raw[0].len() == 3,
        "The raw scan finds three. The two oldest prices are permanently deleted.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A flush writes a new file, and omits cells that are no longer readable; so does every \
         compaction for the files it reads. What no flush and no minor compaction sees together \
         stays: versions of one cell in two files. Only a major compaction reads all files, so \
         only after that it is certain that extra versions are gone. When they go earlier is not \
         promised.",
    );
    for version in 6..=7 {
        table.inner().put(halite::Put::new("tea").add_at(
            "p",
            "eur",
            T0 + version * SECOND,
            format!("{version}.00"),
        ))?;
    }
    lab.flush(&table)?;
    let raw = lab.rows(&table, &ScanSpec::all().raw().versions(10))?;
    lab.assert_claim(
        raw[0].len() == 5,
        "Two more prices in a second file: five versions are there again, three in the one and two \
         in the other.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "What has to be found later is a row of its own, with the time in its key, newest first.",
    );
    let (table, key) = lab.declare(
        "CREATE TABLE price_changes (eur STRING FAMILY p, ROW KEY (item STRING, ts TIMESTAMP \
         DESC))",
    )?;
    for version in 1..=5 {
        let row =
            key.encode(&["tea".into(), halite::rowkey::Value::Signed(T0 + version * SECOND)])?;
        lab.put(&table, row, "p:eur", format!("{version}.00"))?;
    }
    lab.flush(&table)?;
    let found = lab.query(&table, &key, &["item=tea"], None)?;
    lab.assert_claim(
        found.len() == 5 && found[0].value("p", "eur") == Some(b"5.00"),
        "All five prices, the newest first, whatever is flushed.",
    )?;
    let family = |versions| {
        format!(
            "CREATE TABLE prices (eur STRING FAMILY p, ROW KEY (item STRING)) WITH (VERSIONS = \
             {versions})"
        )
    };
    lab.expect_finding("F-VER", &family(1_000), &family(3))
}
