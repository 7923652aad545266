//! K34: each value is stored with its names, and each block has an entry in the index.

use std::time::{Duration, Instant};

use halite::FamilyDescriptor;

use crate::samples::key_value_bytes;
use crate::{LabTable, Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K34",
    title: "Names in every cell, and an index entry for each block",
    rules: &["F-LONGQ"],
    see: &["K35", "K32", "C01"],
    run,
};

const ROWS: usize = 8_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A value never travels alone: row key, family, qualifier and timestamp go with it, into \
         the log, into memory, over the wire. Files have an index besides, with the first key of \
         each block, which is kept in memory. Short names and larger blocks make both smaller.",
    );
    lab.section(Section::Declaration);
    let short = lab.create("short", &["f"], &[])?;
    let long = lab.create("long", &["information"], &[])?;

    lab.section(Section::Demonstration);
    let row = "x".repeat(100);
    lab.load(&short, "f:q", [(row.clone(), [0_u8; 8])])?;
    lab.load(&long, "information:temperature", [(row, [0_u8; 8])])?;
    let cell = |lab: &PageWriter, table: &LabTable| -> anyhow::Result<usize> {
        Ok(lab
            .rows(table, &ScanSpec::all())?
            .iter()
            .flat_map(halite::Row::iter)
            .map(|cell| key_value_bytes(&cell))
            .sum())
    };
    let (of_short, of_long) = (cell(lab, &short)?, cell(lab, &long)?);
    lab.data_table(
        &["column", ">bytes of a cell: key of 100, value of 8"],
        [
            ["f:q".to_owned(), of_short.to_string()],
            ["information:temperature".to_owned(), of_long.to_string()],
        ],
    );
    lab.assert_claim(
        of_long - of_short == 20,
        "Eleven letters each instead of one are 20 bytes more, in every cell.",
    )?;

    lab.paragraph(format!(
        "{ROWS} rows of 1,000 bytes with keys of 100, once in blocks of 64 KB and once in blocks \
         of 256 KB:"
    ));
    let (small, large) =
        (index_bytes(lab, "blocks_64", 65_536)?, index_bytes(lab, "blocks_256", 262_144)?);
    lab.measurement(format!(
        "index: {small} bytes with blocks of 64 KB, {large} with blocks of 256 KB"
    ));
    lab.assert_claim(
        (3 * large..=6 * large).contains(&small),
        "The index with blocks of 64 KB is about four times that with blocks of 256 KB.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A get reads a whole block, whatever it looks for: with blocks of 256 KB four times as \
         much of the disk and of the cache as with 64 KB. Scans do not mind. An index is small \
         even so: a terabyte in blocks of 64 KB has one of some gigabytes over all servers.",
    );
    let column = |qualifier: &str| {
        format!(
            "CREATE TABLE t (temperature DOUBLE FAMILY f {qualifier}, ROW KEY (sensor U32, ts \
             TIMESTAMP))"
        )
    };
    lab.expect_finding("F-LONGQ", &column(""), &column("QUALIFIER t"))
}

/// Returns the bytes of the index of a file with this block size.
fn index_bytes(lab: &mut PageWriter, name: &str, block_bytes: u32) -> anyhow::Result<u64> {
    let table = lab
        .create_with_families(name, &[FamilyDescriptor::new("f").set("BLOCKSIZE", block_bytes)])?;
    let value = vec![b'v'; 1_000];
    lab.load(&table, "f:q", (0..ROWS).map(|row| (format!("{row:0100}"), &value)))?;
    lab.flush(&table)?;
    let full = table.inner().descriptor()?.name().clone();
    // A cluster reports its metrics every few seconds.
    let until = Instant::now() + Duration::from_secs(15);
    loop {
        let index: u64 = lab
            .cluster()
            .cluster_status()?
            .regions
            .iter()
            .filter(|load| load.region.table == full)
            .map(|load| load.static_index_bytes)
            .sum();
        if index > 0 || Instant::now() > until {
            return Ok(index);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
