//! M11: memstores and files have the same order.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "M11",
    title: "Sorted in memory and in files",
    rules: &[],
    see: &["M12", "M13"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Rows are written in any order. The memstore keeps them sorted from the first one on, a \
         flush writes them to a file in that order, and a compaction merges files into one. A \
         reader sees one sorted table and cannot see where a row is stored.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("places", &["f"], &[])?;
    for row in ["oslo", "lima", "cairo", "zagreb", "accra"] {
        lab.put(&table, row, "f:q", row.to_uppercase())?;
    }
    let in_memory = lab.scan(&table, &ScanSpec::all())?;
    let keys: Vec<_> = in_memory.iter().map(halite::Row::key).collect();
    lab.assert_claim(
        keys.is_sorted() && keys.len() == 5,
        "Before anything is in a file, rows come sorted.",
    )?;
    lab.flush(&table)?;
    let in_a_file = lab.rows(&table, &ScanSpec::all())?;
    lab.assert_claim(
        in_a_file == in_memory,
        "After the flush the same scan gives the same rows in the same order.",
    )?;
    lab.paragraph(
        "More rows come, between those that are in the file; then there is a second file, and a \
         compaction makes one of the two.",
    );
    for row in ["berlin", "quito"] {
        lab.put(&table, row, "f:q", row.to_uppercase())?;
    }
    let mixed = lab.rows(&table, &ScanSpec::all())?;
    let is_sorted = mixed.is_sorted_by_key(|row| row.key().to_vec());
    lab.assert_claim(
        is_sorted && mixed.len() == 7,
        "Rows of memory and file come as one sorted list.",
    )?;
    lab.flush(&table)?;
    lab.major_compact(&table)?;
    let compacted = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(compacted == mixed, "After the compaction the scan is the same again.")
}
