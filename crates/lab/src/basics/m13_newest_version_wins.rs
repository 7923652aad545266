//! M13: one key is one row, and the later timestamp wins, not the later write.

use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "M13",
    title: "The same key again: which value wins",
    rules: &[],
    see: &["M12", "C04"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A key is unique as in a hash table: writing it again does not fail and makes no second \
         row. The column then has two versions, and the one with the later timestamp is its value. \
         That is mostly the later write, but not always.",
    );
    lab.section(Section::Demonstration);
    let table =
        lab.create_with_families("values", &[halite::FamilyDescriptor::new("f").versions(2)])?;
    lab.put_at(&table, "r", "f:q", "v1", T0)?;
    lab.put_at(&table, "r", "f:q", "v2", T0 + HOUR)?;
    let row = lab.get(&table, "r")?;
    lab.assert_claim(
        row.value("f", "q") == Some(b"v2"),
        "Without a word about versions, a get gives the newer value.",
    )?;
    let both = lab.get_versions(&table, "r", 2)?;
    lab.assert_claim(
        both.len() == 2,
        "The family keeps two versions, so the older one can still be read.",
    )?;
    lab.paragraph(
        "Now a third value, written last, with a timestamp of half an hour before the second:",
    );
    lab.put_at(&table, "r", "f:q", "v3", T0 + HOUR / 2)?;
    let row = lab.get(&table, "r")?;
    lab.assert_claim(
        row.value("f", "q") == Some(b"v2"),
        "The value is still v2: the later time wins, not the later write.",
    )?;
    lab.paragraph("And a fourth at the very time of the second:");
    lab.put_at(&table, "r", "f:q", "v4", T0 + HOUR)?;
    let row = lab.get(&table, "r")?;
    lab.assert_claim(
        row.value("f", "q") == Some(b"v4"),
        "Of two writes with one time the later one wins, and it takes the place of the other.",
    )?;
    lab.paragraph(
        "Programs that set timestamps themselves, from clocks of several machines, meet the third \
         case. A write without a timestamp gets the server's clock.",
    );
    Ok(())
}
