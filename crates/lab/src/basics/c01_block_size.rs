//! C01: the block size.

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "C01",
    title: "BLOCKSIZE: how much is read at once",
    rules: &[],
    see: &["C02", "K34"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A store file is a sequence of blocks. A block is what is read from disk, kept in the \
         cache and looked up in the index: 64 KB, unless the family says otherwise. Families that \
         are read row by row can have smaller ones, families that are scanned larger ones.",
    );
    lab.section(Section::Demonstration);
    let declared = lab.create_with_families(
        "mytable",
        &[halite::FamilyDescriptor::new("cf1").set("BLOCKSIZE", 65_536)],
    )?;
    let silent = lab.create("by_default", &["cf1"], &[])?;
    let small = lab.create_with_families(
        "small",
        &[halite::FamilyDescriptor::new("cf1").set("BLOCKSIZE", 8_192)],
    )?;
    let size = |table: &crate::LabTable| -> anyhow::Result<u32> {
        let descriptor = table.inner().descriptor()?;
        Ok(descriptor.find_family(b"cf1").map_or(0, halite::FamilyDescriptor::block_size_bytes))
    };
    let sizes = [size(&declared)?, size(&silent)?, size(&small)?];
    lab.data_table(
        &["table", ">block size in its description"],
        ["mytable", "by_default", "small"]
            .iter()
            .zip(sizes)
            .map(|(name, size)| [(*name).to_owned(), size.to_string()]),
    );
    lab.assert_claim(
        sizes[0] == 65_536 && sizes[1] == 65_536,
        "65536 is what a family has without a word about it, too.",
    )?;
    lab.assert_claim(sizes[2] == 8_192, "Another size is kept in the description of the family.")?;
    lab.load(&small, "cf1:q", (0..500).map(|row| (format!("row-{row:03}"), "x".repeat(100))))?;
    lab.flush(&small)?;
    let row = lab.get(&small, "row-250")?;
    lab.assert_claim(
        !row.is_empty(),
        "Rows are found as before: the size of blocks changes what is read, not what is there.",
    )?;
    lab.paragraph(
        "A block ends after the cell that fills it, so blocks are a little larger than configured. \
         A change holds for files that are written from then on.",
    );
    Ok(())
}
