//! K02: several fields as one text key, with a delimiter between them.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K02",
    title: "Fields joined by a delimiter that none of them may hold",
    rules: &["K-AMBIG"],
    see: &["K04", "K09"],
    run,
};

const TYPED: &str = "ROW KEY TEXT '{shop}_{shelf}_{item}' WHERE shop MATCHES '[^_]+' AND shelf \
                     MATCHES '[^_]+' AND item MATCHES '[^_]+'";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A key of several fields as text needs something between them. With an underscore, shop a, \
         shelf b and item c become a_b_c; the prefix a_b_ is all of the shelf.",
    );
    lab.section(Section::Declaration);
    let key = lab.key(TYPED)?;

    lab.section(Section::Demonstration);
    let joined = lab.encode(&key, &["shop=a", "shelf=b", "item=c"])?;
    lab.assert_claim(&joined[..] == b"a_b_c", "Three fields become one text.")?;
    let message = lab.expect_encode_error(&key, &["shop=a_b", "shelf=c", "item=d"])?;
    lab.assert_claim(
        message.contains("segment 1 "),
        "A value that holds the delimiter is refused before it is written.",
    )?;

    lab.paragraph(
        "What happens without that check: two items that have nothing to do with one another are \
         written under joined texts.",
    );
    let table = lab.create("stock", &["s"], &[])?;
    for (shop, shelf, item) in [("a_b", "c", "d"), ("a", "b_c", "d")] {
        lab.put(
            &table,
            [shop, shelf, item].join("_"),
            "s:where",
            format!("shop {shop}, shelf {shelf}"),
        )?;
    }
    let rows = lab.scan(&table, &ScanSpec::all())?;
    lab.assert_claim(rows.len() == 1, "Both are a_b_c_d: the second one has replaced the first.")?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A check of every value at every write, and letters that cannot be used. Binary keys have \
         neither: ROW KEY (shop STRING, shelf STRING, item STRING) ends each field by two bytes \
         that cannot occur in it, whatever the field holds.",
    );
    lab.expect_finding("K-AMBIG", "ROW KEY TEXT '{shop}{shelf}_{item}'", TYPED)
}
