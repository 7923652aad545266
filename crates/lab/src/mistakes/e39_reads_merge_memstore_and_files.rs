//! E39: the belief that a read only uses the files of a region.

use crate::samples::{SECOND, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page =
    Page { id: "E39", title: "A read merges memory and files", rules: &[], see: &["E38"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "The way to a row is drawn as: row key, region, store, HFile. So a backup copies the files \
         of a table while it is in use, and a report is made from them. A row is written, the \
         files are copied, and the row is written again:",
    );
    let table = lab.create("stock", &["s"], &[])?;
    lab.put_at(&table, "tea", "s:count", "7", T0)?;
    lab.put_at(&table, "tea", "s:place", "hall 1", T0)?;
    lab.flush(&table)?;
    lab.put_at(&table, "tea", "s:count", "3", T0 + SECOND)?;
    lab.put_at(&table, "rice", "s:count", "9", T0 + SECOND)?;

    lab.section(Section::Outcome);
    let tea = lab.get(&table, "tea")?;
    lab.assert_claim(
        tea.value("s", "count") == Some(b"3") && tea.value("s", "place") == Some(b"hall 1"),
        "The answer is one row from two places: the count from memory, the place from the file. \
         The file alone says 7.",
    )?;
    let rice = lab.get(&table, "rice")?;
    lab.assert_claim(rice.len() == 1, "rice is found, and is in no file at all.")?;
    let in_file = lab.rows(&table, &ScanSpec::all().raw().versions(5).times(T0, T0 + 1)?)?;
    lab.assert_claim(
        in_file.len() == 1 && in_file[0].len() == 2,
        "What was there at the flush, and all that a copy of the files has, is one row of two \
         cells.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A write goes to the log and to the memstore, and is acknowledged then. Files are written \
         later, when the memstore is full. A read asks all of them: the memstore; and of each file \
         its bloom filter, which says whether the row may be in it; its index, which says in which \
         block; and the block cache, which may have that block already. It merges what it finds by \
         row, column and time, and shows the newest.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "What is to be read outside the store is read through it, or from a snapshot, which \
         flushes first. After a flush the files are complete, and reads answer as before.",
    );
    let before = lab.rows(&table, &ScanSpec::all())?;
    lab.flush(&table)?;
    let after = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(
        before == after && after.len() == 2,
        "The same two rows before the flush and after it.",
    )
}
