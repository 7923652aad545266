//! M15: one row key in several families.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page =
    Page { id: "M15", title: "One row in several families", rules: &[], see: &["M16", "C08"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Families are kept apart on disk, each in files of its own, and a row is what has one key \
         in all of them. A row may have cells in one family, or in each. It is one row all the \
         same: written as one, counted once.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("rows", &["cf1", "cf2"], &[])?;
    lab.put(&table, "r", "cf1:a", "1")?;
    let empty = lab.rows(&table, &ScanSpec::from_row("r").column("cf2"))?;
    lab.assert_claim(empty.is_empty(), "With cells in cf1 only, a read of cf2 finds no row.")?;
    lab.put(&table, "r", "cf2:a", "2")?;
    let rows = lab.scan(&table, &ScanSpec::all())?;
    let families: Vec<_> =
        rows.iter().flat_map(halite::Row::iter).map(|cell| cell.family().to_vec()).collect();
    lab.assert_claim(
        rows.len() == 1 && families == [b"cf1", b"cf2"],
        "With cells in both it is one row, with the columns of both families.",
    )?;
    let one = lab.scan(&table, &ScanSpec::all().column("cf2"))?;
    lab.assert_claim(
        one.len() == 1 && one[0].len() == 1,
        "A read of cf2 gives the columns of cf2 only.",
    )
}
