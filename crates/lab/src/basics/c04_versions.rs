//! C04: the number of retained versions, and when the others are deleted.

use std::time::Duration;

use halite::FamilyDescriptor;

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "C04",
    title: "VERSIONS and MIN_VERSIONS",
    rules: &["F-VER"],
    see: &["M13", "C05"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A family keeps as many versions of a column as VERSIONS specifies, one by default. Excess \
         versions are hidden at once, and removed when files are written: at a flush where the \
         versions are in memory together, and for certain at a major compaction.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create_with_families("prices", &[FamilyDescriptor::new("p").versions(3)])?;
    for price in 1..=5 {
        lab.put_at(&table, "book", "p:eur", format!("{price}.00"), T0 + price * MINUTE)?;
    }
    let row = lab.get_versions(&table, "book", 5)?;
    let values: Vec<_> = row.iter().map(|cell| cell.value().to_vec()).collect();
    lab.assert_claim(
        values == [b"5.00", b"4.00", b"3.00"],
        "Of five prices the three newest are returned, whatever number is requested.",
    )?;
    let raw = lab.rows(&table, &ScanSpec::all().versions(10).raw())?;
    lab.measurement(format!(
        "before the flush a raw scan sees {} versions",
        raw.iter().map(halite::Row::len).sum::<usize>()
    ));
    lab.flush(&table)?;
    lab.major_compact(&table)?;
    let raw = lab.scan(&table, &ScanSpec::all().versions(10).raw())?;
    lab.assert_claim(
        raw.iter().map(halite::Row::len).sum::<usize>() == 3,
        "After a flush and a major compaction a raw scan, which sees what is stored, finds three.",
    )?;

    lab.paragraph(
        "MIN_VERSIONS keeps that many versions even when the time to live of the family is over. \
         One second of TTL, and two seconds of waiting:",
    );
    let families =
        ["gone", "kept"].map(|name| FamilyDescriptor::new(name).versions(3).ttl_seconds(1));
    let [gone, kept] = families;
    let table = lab.create_with_families("states", &[gone, kept.set("MIN_VERSIONS", 1)])?;
    for value in ["old", "new"] {
        lab.put(&table, "door", "gone:state", value)?;
        lab.put(&table, "door", "kept:state", value)?;
    }
    std::thread::sleep(Duration::from_secs(2));
    let row = lab.get_versions(&table, "door", 3)?;
    let left: Vec<_> =
        row.iter().map(|cell| (cell.family().to_vec(), cell.value().to_vec())).collect();
    lab.assert_claim(
        left == [(b"kept".to_vec(), b"new".to_vec())],
        "Of the family without MIN_VERSIONS nothing is left, of the other one the newest version.",
    )?;
    lab.paragraph(
        "In Java these are set on ColumnFamilyDescriptorBuilder; in older programs it is \
         HColumnDescriptor.",
    );
    let with = |versions: u32| {
        format!("CREATE TABLE t (v DOUBLE FAMILY f, ROW KEY (id U32)) WITH (VERSIONS = {versions})")
    };
    lab.expect_finding("F-VER", &with(1_000), &with(3))
}
