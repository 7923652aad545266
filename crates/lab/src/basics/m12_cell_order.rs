//! M12: the three orders of cells: row, column, timestamp.

use crate::samples::T0;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "M12",
    title: "Row, column, time: how cells are sorted",
    rules: &[],
    see: &["M13", "M15"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Cells are sorted by row, in a row by family and qualifier, and in a column by time: rows \
         and columns in ascending order of their bytes, times from the newest to the oldest. So \
         the current value of a column is the first one that is met.",
    );
    lab.section(Section::Demonstration);
    lab.paragraph(
        "Five cells in a row that keeps ten versions, written out of order, at times 1, 5 and 9 \
         milliseconds after midnight:",
    );
    let table =
        lab.create_with_families("cells", &[halite::FamilyDescriptor::new("cf").versions(10)])?;
    for (column, time) in [("cf:b", 5), ("cf:a", 1), ("cf:B", 5), ("cf:a", 9), ("cf:a", 5)] {
        lab.put_at(&table, "r", column, format!("at {time}"), T0 + time)?;
    }
    let rows = lab.scan_timed(&table, &ScanSpec::all().versions(10))?;
    let cells: Vec<(String, i64)> = rows
        .iter()
        .flat_map(halite::Row::iter)
        .map(|cell| (String::from_utf8_lossy(cell.qualifier()).into_owned(), cell.timestamp() - T0))
        .collect();
    let expected = [("B", 5), ("a", 9), ("a", 5), ("a", 1), ("b", 5)]
        .map(|(column, time)| (column.to_owned(), time));
    lab.assert_claim(
        cells == expected,
        "Columns come as B, a, b: capital letters have smaller bytes. In column a, the newest cell \
         comes first.",
    )?;
    let newest = lab.get(&table, "r")?;
    lab.assert_claim(
        newest.value("cf", "a") == Some(b"at 9"),
        "A get without a number of versions gives the newest cell of each column.",
    )
}
