//! M10: the region of a row key.

use crate::samples::region_for_key;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "M10",
    title: "Which region a key belongs to",
    rules: &[],
    see: &["K17", "M07"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A region is a range of rows: it has a first key, which is included, and an end, which is \
         the first key of the next region. The first region begins with the empty key, and the \
         last one has no end, so every key there can be belongs to one region.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("regions", &["f"], &["1", "2", "3"])?;
    let keys = ["0zz", "1", "1~", "2", "3", "~"];
    for key in keys {
        lab.load(&table, "f:q", [(key, "x")])?;
    }
    let regions = table.inner().regions()?;
    let mut rows = Vec::new();
    let mut agree = true;
    for key in keys {
        let region = region_for_key(key.as_bytes(), table.splits());
        let (start, end) = (&regions[region].start, &regions[region].end);
        agree &= &start[..] <= key.as_bytes() && (end.is_empty() || key.as_bytes() < &end[..]);
        let shown = |key: &[u8]| {
            if key.is_empty() { "(open)".to_owned() } else { halite::to_string_binary(key) }
        };
        rows.push([key.to_owned(), (region + 1).to_string(), shown(start), shown(end)]);
    }
    lab.data_table(&["key", ">region", "from", "to, not included"], rows);
    lab.assert_claim(
        agree && regions.len() == 4,
        "Each key is between the boundaries of its region, as the store reports them.",
    )?;
    let of = |key: &str| region_for_key(key.as_bytes(), table.splits()) + 1;
    lab.assert_claim(
        of("1") == 2 && of("0zz") == 1,
        "Key 1 is the first of the second region; 0zz is in the first one.",
    )?;
    lab.assert_claim(
        of("3") == 4 && of("~") == 4,
        "3 and everything after it belong to the fourth.",
    )?;
    lab.paragraph(
        "A client asks once where the regions of a table are, remembers it, and from then on sends \
         each request to the server of its region.",
    );
    Ok(())
}
