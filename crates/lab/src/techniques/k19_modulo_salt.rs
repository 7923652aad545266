//! K19: the remainder of the id by five, on four regions.

use bytes::Bytes;
use halite::rowkey::{KeySchema, Value};
use halite_rowkey_tools::lint::LintInput;

use crate::declared_keys::{encode_keys, skew_for_keys};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K19",
    title: "The remainder of the id, and as many regions as remainders",
    rules: &["P-SALTREG"],
    see: &["K13", "K17"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Whole numbers that are counted up spread best by their remainder: id mod 5 gives each \
         fifth id the same digit, in turn, and a reader who knows the id knows the digit. The \
         table then wants five regions, or one, but not four.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY TEXT '{salt(5 by id using modulo):1}{id:10}'")?;

    lab.section(Section::Demonstration);
    let four = lab.create("four", &["u"], &["1", "2", "3"])?;
    let five = lab.create("five", &["u"], &["1", "2", "3", "4"])?;
    let row = lab.write(&five, &key, &["id=1234567"], "u:n", "Ada")?;
    lab.assert_claim(
        &row[..] == b"20001234567",
        "1234567 mod 5 is 2. The id follows with a fixed number of digits, so that ids sort as \
         numbers.",
    )?;
    lab.get(&five, &row)?;
    lab.paragraph("100,000 ids as they are given out, in windows of 2000:");
    let keys: Vec<Bytes> = encode_keys(&key, (0..100_000).map(|id| [Value::Unsigned(id)]))?;
    let (on_four, on_five) =
        (skew_for_keys(&keys, four.splits(), 2_000), skew_for_keys(&keys, five.splits(), 2_000));
    lab.skews(&[("mod 5, 4 regions", &on_four), ("mod 5, 5 regions", &on_five)]);
    lab.region_bars(&on_four);
    lab.assert_claim(
        (on_four.max_over_mean - 1.6).abs() < 0.01,
        "On four regions the last one takes the remainders 3 and 4: 40 % of all, 1.6 times the \
         mean.",
    )?;
    lab.assert_claim(
        (on_five.window_mean - 1.0).abs() < 0.01,
        "On five regions all are alike, in every window.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The remainder is even for numbers that are counted up, and only for them: if all ids are \
         multiples of five, all are in one region. A hash of the id does not care how ids are \
         given out. And the digit is text in front of text: adding the two as numbers, which some \
         languages do unless they are declared as text, gives another id.",
    );
    let of =
        |key, splits| LintInput { key: Some(key), splits: Some(splits), ..LintInput::default() };
    let key: &KeySchema = &key;
    lab.expect_finding_in("P-SALTREG", &of(key, four.splits()), &of(key, five.splits()))
}
