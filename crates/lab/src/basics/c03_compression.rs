//! C03: the codec of a family's files.

use std::time::{Duration, Instant};

use halite::FamilyDescriptor;

use crate::{LabTable, Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "C03",
    title: "COMPRESSION: smaller files for some time per block",
    rules: &[],
    see: &["C01", "K34"],
    run,
};

/// Rows of 200 bytes each, 12 MB: a cluster reports the sizes of files in megabytes.
const ROWS: usize = 60_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "The blocks of a file can be compressed, each on its own. The family says how: SNAPPY and \
         LZ4 cost little time, ZSTD and GZ make smaller files. Blocks in the cache are \
         decompressed, so only reads from the disk take the time.",
    );
    lab.section(Section::Demonstration);
    let plain = lab.create("plain", &["cf1"], &[])?;
    let family = |codec: &str| [FamilyDescriptor::new("cf1").set("COMPRESSION", codec)];
    let (name, packed) = match lab.create_with_families("packed", &family("SNAPPY")) {
        // An HBase without Hadoop's native library has no SNAPPY unless it is configured.
        Err(error) if format!("{error:#}").contains("UnsatisfiedLinkError") => {
            ("GZ", lab.create_with_families("packed", &family("GZ"))?)
        }
        created => ("SNAPPY", created?),
    };
    let codec = |table: &LabTable| -> anyhow::Result<String> {
        let descriptor = table.inner().descriptor()?;
        Ok(descriptor.find_family(b"cf1").map_or_else(String::new, FamilyDescriptor::compression))
    };
    lab.assert_claim(
        codec(&plain)? == "NONE" && codec(&packed)? == name,
        "The description names the codec; without a word it is NONE.",
    )?;
    let row =
        |row: usize| (format!("row-{row:05}"), format!("event {} of a log ", row % 7).repeat(10));
    for table in [&plain, &packed] {
        lab.load(table, "cf1:q", (0..ROWS).map(row))?;
        lab.flush(table)?;
    }
    let sizes = [file_bytes(lab, &plain)?, file_bytes(lab, &packed)?];
    lab.measurement(format!(
        "{ROWS} rows of a log: {} bytes in the file of plain, {} in that of packed",
        sizes[0], sizes[1]
    ));
    lab.assert_claim(
        sizes[1] > 0 && sizes[1] * 3 < sizes[0],
        "The same rows take less than a third of the bytes.",
    )?;
    let rows = [lab.get(&plain, "row-01000")?, lab.get(&packed, "row-01000")?];
    let values = rows.each_ref().map(|row| row.value("cf1", "q"));
    lab.assert_claim(values[0].is_some() && values[0] == values[1], "Rows are what they were.")?;
    lab.paragraph(
        "A codec holds for files that are written from then on; a major compaction rewrites the \
         others. A codec that cannot be written is refused, so that no table relies on it.",
    );
    Ok(())
}

/// Returns the bytes of a table's files. A cluster reports its metrics every few seconds, so the
/// function polls until there are some, for at most 15 seconds.
fn file_bytes(lab: &PageWriter, table: &LabTable) -> anyhow::Result<u64> {
    let name = table.inner().descriptor()?.name().clone();
    let until = Instant::now() + Duration::from_secs(15);
    loop {
        let status = lab.cluster().cluster_status()?;
        let regions = status.regions.iter().filter(|load| load.region.table == name);
        let bytes = regions.map(|load| load.store_file_bytes).sum();
        if bytes > 0 || Instant::now() > until {
            return Ok(bytes);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
