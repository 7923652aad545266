//! C02: families excluded from the block cache.

use halite::{FamilyDescriptor, Get};

use crate::{LabTable, Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "C02",
    title: "BLOCKCACHE: families that are not worth the cache",
    rules: &[],
    see: &["C01"],
    run,
};

const ROWS: usize = 2_000;
/// Threshold of cache growth, in bytes: more than indexes add to the cache, and less than a fifth
/// of a file.
const THRESHOLD_BYTES: u64 = 100_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Blocks that were read stay in memory, and those that are read again and again are then \
         read from there. A family that is only ever scanned once, such as an archive, pushes \
         useful blocks out for nothing. BLOCKCACHE => false keeps its blocks out.",
    );
    lab.section(Section::Demonstration);
    let out = lab.create_with_families(
        "archive",
        &[FamilyDescriptor::new("a").set("BLOCKCACHE", "false")],
    )?;
    let of_family = |table: &LabTable| -> anyhow::Result<bool> {
        Ok(table.inner().descriptor()?.find_family(b"a").is_some_and(FamilyDescriptor::block_cache))
    };
    lab.assert_claim(
        !of_family(&out)?,
        "The description of the family says that its blocks are not cached.",
    )?;
    let cached = lab.create("current", &["a"], &[])?;
    lab.assert_claim(of_family(&cached)?, "Without a word they are.")?;
    for table in [&out, &cached] {
        lab.load(table, "a:q", (0..ROWS).map(|row| (format!("row-{row:05}"), "x".repeat(500))))?;
        lab.flush(table)?;
    }
    lab.paragraph(format!(
        "{ROWS} rows of 500 bytes are in a file of each table, and every tenth of them is read, a \
         fifth of the file at a time."
    ));
    let before = cache_bytes(lab)?;
    read(&cached, 0..ROWS)?;
    let of_cached = cache_bytes(lab)?.saturating_sub(before);
    let of_archive = min_cache_growth(lab, &out)?;
    lab.measurement(format!(
        "reads of current: {of_cached} bytes more in the cache; of a fifth of archive: {of_archive}"
    ));
    if cache_bytes(lab)? == 0 {
        lab.measurement("this cluster does not tell what is in its cache");
        return Ok(());
    }
    lab.assert_claim(
        of_cached >= 5 * THRESHOLD_BYTES,
        "Reads of the table that is cached leave its million bytes in the cache.",
    )?;
    lab.assert_claim(
        of_archive < THRESHOLD_BYTES,
        "Reads of the archive leave none of its data there.",
    )?;
    lab.paragraph(
        "Index and bloom filter blocks are cached all the same, or every read would read them \
         again. A single scan can also disable caching (setCacheBlocks(false)).",
    );
    Ok(())
}

fn read(table: &LabTable, rows: std::ops::Range<usize>) -> anyhow::Result<()> {
    for row in rows.step_by(10) {
        anyhow::ensure!(
            !table.inner().get(Get::new(format!("row-{row:05}")))?.is_empty(),
            "row {row} is there"
        );
    }
    Ok(())
}

/// Returns the smallest growth of the cache, in bytes, over reads of each fifth of the file. Other
/// pages use the same cache concurrently.
fn min_cache_growth(lab: &PageWriter, table: &LabTable) -> anyhow::Result<u64> {
    let mut least = u64::MAX;
    for slice in 0..5 {
        let before = cache_bytes(lab)?;
        read(table, slice * ROWS / 5..(slice + 1) * ROWS / 5)?;
        least = least.min(cache_bytes(lab)?.saturating_sub(before));
    }
    Ok(least)
}

fn cache_bytes(lab: &PageWriter) -> anyhow::Result<u64> {
    Ok(lab.cluster().cluster_status()?.block_cache_bytes)
}
