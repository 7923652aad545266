//! M14: a row key cannot change; the row moves.

use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page =
    Page { id: "M14", title: "A row under another key", rules: &[], see: &["M13", "M15"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A row cannot get another key: its key determines where it is stored. It is copied to the \
         new key and then deleted under the old one, in that order, so that a failure in between \
         leaves two rows and not none. move_row does that, with all families and all versions.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create_with_families(
        "people",
        &[halite::FamilyDescriptor::new("p").versions(3), halite::FamilyDescriptor::new("q")],
    )?;
    lab.put_at(&table, "ada.king", "p:name", "Ada King", T0)?;
    lab.put_at(&table, "ada.king", "p:name", "Ada Lovelace", T0 + HOUR)?;
    lab.put_at(&table, "ada.king", "q:born", "1815", T0)?;
    let before = table.inner().get(halite::Get::new("ada.king").all_versions())?;
    let cells = lab.move_row(&table, "ada.king", "ada.lovelace", false)?;
    let after = lab.get_versions(&table, "ada.lovelace", 3)?;
    let parts = |row: &halite::Row| {
        row.iter()
            .map(|cell| (cell.family().to_vec(), cell.timestamp(), cell.value().to_vec()))
            .collect::<Vec<_>>()
    };
    lab.assert_claim(
        cells == 3 && parts(&before) == parts(&after),
        "Three cells of two families are under the new key, each at its old time.",
    )?;
    let old = lab.get(&table, "ada.king")?;
    lab.assert_claim(old.is_empty(), "Under the old key there is nothing any more.")?;

    lab.paragraph("A row that is there already is not overwritten by accident:");
    lab.put_at(&table, "mary", "p:name", "Mary Shelley", T0)?;
    let refused = table
        .inner()
        .move_row("mary", "ada.lovelace", false)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    lab.statement(
        "move_row 'people', 'mary', 'ada.lovelace'",
        vec![refused.replace("lab:m14_", "")],
    );
    let both = [lab.get(&table, "mary")?, lab.get(&table, "ada.lovelace")?];
    lab.assert_claim(
        refused.contains("nothing was moved") && both.iter().all(|row| !row.is_empty()),
        "Both rows are as they were.",
    )?;

    lab.paragraph(
        "A move that broke off between the two steps has left a copy. The same command again finds \
         it, and finishes:",
    );
    lab.put_at(&table, "mary.shelley", "p:name", "Mary Shelley", T0)?;
    lab.move_row(&table, "mary", "mary.shelley", false)?;
    lab.assert_claim(
        table.inner().get(halite::Get::new("mary"))?.is_empty(),
        "The old row is deleted, and the copy is the row.",
    )?;
    lab.paragraph(
        "The two steps are two writes: a reader may see both rows for a moment, and what others \
         write under the old key in the meantime stays there, which move_row documents. Where that \
         matters, writers have to be changed first. A column that refers to the old key has to be \
         changed by the application.",
    );
    Ok(())
}
