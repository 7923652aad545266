//! C16: Append concatenates bytes, Increment adds numbers.

use halite::FamilyDescriptor;
use halite::key::to_hex;
use halite_rowkey_tools::lint::LintInput;

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "C16",
    title: "Append joins, Increment counts",
    rules: &["F-APPENDCNT"],
    see: &["M13", "K23"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Two operations read a value and write another one without interference by other clients. \
         Append adds bytes after the existing ones. Increment adds to a number of eight bytes. \
         Only one of them counts.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create_with_families("counters", &[FamilyDescriptor::new("c").versions(5)])?;
    for _ in 0..3 {
        lab.append(&table, "page", "c:text", "1")?;
    }
    let text = lab.get(&table, "page")?;
    lab.assert_claim(
        text.value("c", "text") == Some(b"111"),
        "Three times 1 appended is the text 111.",
    )?;
    for _ in 0..2 {
        lab.append(&table, "page", "c:long", 1_i64.to_be_bytes())?;
    }
    let joined = table.inner().get(halite::Get::new("page"))?;
    let long = joined.value("c", "long").unwrap_or_default().to_vec();
    lab.assert_claim(
        to_hex(&long) == "00000000000000010000000000000001",
        "A number of eight bytes appended twice is 16 bytes, and no number any more.",
    )?;
    let mut count = 0;
    for _ in 0..3 {
        count = lab.incr(&table, "page", "c:count", 1)?;
    }
    lab.assert_claim(count == 3, "Three increments are 3.")?;
    let refused = table.inner().increment(halite::Increment::new("page").add("c", "long", 1));
    let error = lab.expect_call_error("incr 'counters', 'page', 'c:long', 1", refused)?;
    let message = error.to_string();
    lab.assert_claim(
        error.kind() == halite::ErrorKind::InvalidRequest && message.contains("16 bytes"),
        "An increment of the 16 bytes is refused, and the error says how wide the value is.",
    )?;
    let after = table.inner().get(halite::Get::new("page"))?;
    lab.assert_claim(
        after.value("c", "long") == Some(&long[..]),
        "The 16 bytes are as they were.",
    )?;
    lab.paragraph(
        "Append is right for what grows by pieces, such as a list of events in one cell that is \
         read whole. Its answer is the value as it is now.",
    );
    let right = lab.make("counted", [FamilyDescriptor::new("c").versions(5)], Vec::new())?;
    for _ in 0..3 {
        right.inner().increment(halite::Increment::new("page").add("c", "count", 1))?;
    }
    let (appended, counted) = (lab.cell_sample(&table)?, lab.cell_sample(&right)?);
    let described = table.inner().descriptor()?;
    let subject =
        |cells| LintInput { table: Some(&*described), cells: Some(cells), ..LintInput::default() };
    lab.expect_finding_in("F-APPENDCNT", &subject(&appended), &subject(&counted))
}
