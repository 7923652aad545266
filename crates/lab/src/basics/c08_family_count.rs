//! C08: few families, with similar row counts.

use std::time::{Duration, Instant};

use halite_rowkey_tools::lint::LintInput;

use crate::{LabTable, Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "C08",
    title: "Few families, of like sizes",
    rules: &["F-MANYCF", "F-CARD"],
    see: &["M15", "K35"],
    run,
};

const ROWS: usize = 4_000;
/// Unit to which HBase rounds file sizes.
const MEGABYTE: u64 = 1 << 20;
/// One of this many users has a cell in the small family.
const EACH: usize = 250;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Families share their regions: what splits a table splits all its families, at the same \
         keys. A family with a million rows next to one with a billion is therefore spread over as \
         many regions as the large one, a few rows in each, and flushed and compacted there.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("users", &["a", "b"], &["user-1000", "user-2000", "user-3000"])?;
    lab.paragraph(format!(
        "{ROWS} users have a cell in family a, and one of {EACH} has one in family b:"
    ));
    lab.load(&table, "a:visits", (0..ROWS).map(|user| (format!("user-{user:04}"), "x")))?;
    lab.load(
        &table,
        "b:award",
        (0..ROWS).step_by(EACH).map(|user| (format!("user-{user:04}"), "x")),
    )?;
    let in_a = lab.count(&table, &ScanSpec::all().column("a"))?;
    let in_b = lab.count(&table, &ScanSpec::all().column("b"))?;
    let regions: Vec<usize> = crate::parallel::each_region(&table, |_, rows| {
        Ok(rows.iter().filter(|row| row.value("b", "award").is_some()).count())
    })?;
    lab.assert_claim(in_a == ROWS && in_b == ROWS / EACH, "For each row in b there are 250 in a.")?;
    lab.assert_claim(
        regions == [4, 4, 4, 4],
        "The 16 rows of b lie in all four regions, four in each: a scan of b asks every server of \
         a.",
    )?;
    lab.paragraph("A flush writes a file for each family of each region:");
    lab.flush(&table)?;
    let of_table = table_files(lab, &table, 8)?;
    lab.paragraph("In tables of their own, the few rows are one region:");
    let alone = lab.create("awards", &["b"], &[])?;
    lab.load(
        &alone,
        "b:award",
        (0..ROWS).step_by(EACH).map(|user| (format!("user-{user:04}"), "x")),
    )?;
    lab.assert_claim(
        alone.inner().regions()?.len() == 1 && lab.rows(&alone, &ScanSpec::all())?.len() == 16,
        "All 16 of them are found in one place.",
    )?;
    lab.flush(&alone)?;
    let of_alone = table_files(lab, &alone, 1)?;
    let only_a =
        lab.make("only_a", [halite::FamilyDescriptor::new("a")], table.splits().to_vec())?;
    lab.load(&only_a, "a:visits", (0..ROWS).map(|user| (format!("user-{user:04}"), "x")))?;
    lab.cluster().flush(only_a.inner().descriptor()?.name())?;
    let without_b = table_files(lab, &only_a, 4)?;
    let for_b = of_table.bytes.saturating_sub(without_b.bytes);
    lab.measurement(format!(
        "files: {of_table:?} with both families, {without_b:?} with a alone, {of_alone:?} with b \
         alone"
    ));
    lab.assert_claim(
        of_table.files == 8 && without_b.files == 4 && of_alone.files == 1,
        "The flush wrote eight files, four of them with four rows of b each; alone, the 16 rows \
         are one file.",
    )?;
    if of_alone.bytes.is_multiple_of(MEGABYTE) {
        lab.measurement("this cluster tells the bytes of files in megabytes only");
    } else {
        lab.assert_claim(
            for_b > 2 * of_alone.bytes,
            "In four files the same 16 rows take more than twice the bytes of the one: a file has \
             a head, an index and a trailer, however small it is.",
        )?;
    }
    lab.paragraph(
        "A requested flush writes all families of a region. By itself the store leaves those in \
         memory whose memstores are small (FlushAllLargeStoresPolicy), until their cells are \
         the oldest of the log. Each family costs a memstore, files and compactions in every \
         region all the same. Two or three are plenty. A second one is right where some columns \
         are read without the others.",
    );
    let (cells_of_table, cells_of_alone) = (lab.cell_sample(&table)?, lab.cell_sample(&alone)?);
    let (described, described_alone) = (table.inner().descriptor()?, alone.inner().descriptor()?);
    let subject =
        |table, cells| LintInput { table: Some(table), cells: Some(cells), ..LintInput::default() };
    lab.expect_finding_in(
        "F-CARD",
        &subject(&*described, &cells_of_table),
        &subject(&*described_alone, &cells_of_alone),
    )?;
    let columns = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("c{name} STRING FAMILY {name}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let with = |names: &[&str]| format!("CREATE TABLE t ({}, ROW KEY (id U32))", columns(names));
    lab.expect_finding("F-MANYCF", &with(&["a", "b", "c", "d"]), &with(&["a", "b"]))
}

/// Store files of a table on disk.
#[derive(Clone, Copy, Debug, Default)]
struct Files {
    files: u64,
    bytes: u64,
}

/// Returns the store files of a table. A cluster reports its metrics every few seconds, so the
/// function polls until the number of files is `expected`, for at most 15 seconds.
fn table_files(lab: &PageWriter, table: &LabTable, expected: u64) -> anyhow::Result<Files> {
    let name = table.inner().descriptor()?.name().clone();
    let until = Instant::now() + Duration::from_secs(15);
    loop {
        let mut found = Files::default();
        for load in
            lab.cluster().cluster_status()?.regions.iter().filter(|load| load.region.table == name)
        {
            found = Files {
                files: found.files + load.store_files,
                bytes: found.bytes + load.store_file_bytes,
            };
        }
        if found.files == expected || Instant::now() > until {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
