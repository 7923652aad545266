//! M07: a scan from a start row to a stop row.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "M07",
    title: "A scan from a row to a row",
    rules: &[],
    see: &["M10", "M08", "M09"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A scan reads the rows between two keys, in the order of their bytes. The first key is \
         included, and the last one is not: so ranges that follow one another share no row and \
         miss none.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("rows", &["f"], &[])?;
    lab.paragraph("Ten rows, k01 to k10:");
    lab.load(&table, "f:q", (1..=10).map(|row| (format!("k{row:02}"), row.to_string())))?;
    let open = lab.scan(&table, &ScanSpec::from_row("k03").to("k07"))?;
    let keys: Vec<_> = open.iter().map(halite::Row::key).collect();
    lab.assert_claim(
        keys == [b"k03", b"k04", b"k05", b"k06"],
        "k03 to k07 is four rows: k07 is not among them.",
    )?;
    lab.paragraph(
        "To have the last row too, the range ends at the next key there can be: the same bytes \
         followed by the smallest byte.",
    );
    let closed = lab.scan(&table, &ScanSpec::from_row("k03").to("k07\0"))?;
    lab.assert_claim(closed.len() == 5, "Now there are five.")?;
    let filtered =
        lab.scan(&table, &ScanSpec::from_row("k03").filter("InclusiveStopFilter('k07')")?)?;
    lab.assert_claim(
        filtered == closed,
        "InclusiveStopFilter gives the same five; in Java it is withStopRow(row, true).",
    )?;
    let backwards = lab.scan(&table, &ScanSpec::from_row("k07").to("k03").reversed())?;
    let keys: Vec<_> = backwards.iter().map(halite::Row::key).collect();
    lab.assert_claim(
        keys == [b"k07", b"k06", b"k05", b"k04"],
        "In reverse the scan begins with the greater key, and again the second one is left out.",
    )
}
