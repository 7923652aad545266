//! K11: reversed phone numbers.

use bytes::Bytes;
use halite::rowkey::Value;

use crate::declared_keys::{encode_keys, skew_for_keys};
use crate::samples::{digit_boundaries, phone};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K11",
    title: "Phone numbers back to front",
    rules: &["K-REVVAR"],
    see: &["K25"],
    run,
};

const PHONES: usize = 100_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "All mobile numbers of a country begin alike, and differ in their last digits. Written \
         back to front they begin with what differs, and regions by first digit share them evenly. \
         Nothing is added to the key, and nothing is lost.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE profiles (\n  name STRING FAMILY f QUALIFIER n,\n  ROW KEY \
                (REVERSE(phone) CHAR(11))\n) SPLIT INTO 10";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.write(&table, &key, &["phone=13812345678"], "f:n", "Li Na")?;
    let row = lab.get(&table, "87654321831")?;
    lab.assert_claim(
        row.value("f", "n") == Some(b"Li Na"),
        "The number 13812345678 is written as 87654321831.",
    )?;
    let back = lab.decode(&key, b"87654321831")?;
    lab.assert_claim(back == "phone = '13812345678'", "Read back it is the number again.")?;

    lab.paragraph(format!(
        "{PHONES} numbers that begin with 138, 139, 152, 185 or 186, in ten regions, one for each \
         first digit:"
    ));
    let phones: Vec<String> = (0..PHONES).map(|_| phone(lab.rng())).collect();
    let raw: Vec<Bytes> = phones.iter().cloned().map(Bytes::from).collect();
    let reversed = encode_keys(&key, phones.iter().map(|phone| [Value::from(phone.as_str())]))?;
    let (as_is, turned) = (
        skew_for_keys(&raw, &digit_boundaries(), 2_000),
        skew_for_keys(&reversed, &digit_boundaries(), 2_000),
    );
    lab.skews(&[("as they are", &as_is), ("back to front", &turned)]);
    lab.assert_claim(table.splits() == digit_boundaries(), "The declared splits are those ten.")?;
    lab.assert_claim(
        as_is.max_over_mean > 9.99 && as_is.empty_regions == 9,
        "As they are, all of them lie in one region.",
    )?;
    lab.assert_claim(
        turned.max_over_mean < 1.03,
        "Back to front, no region has 3 % more than the mean.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Numbers of one area code are no longer adjacent: a range or a prefix of numbers is a scan \
         of the whole table. And the length has to be fixed. Of numbers with different lengths one \
         may end like another, and the scan for the shorter one meets the longer one too.",
    );
    lab.expect_finding(
        "K-REVVAR",
        "ROW KEY (REVERSE(account) STRING)",
        "ROW KEY (REVERSE(account) CHAR(11))",
    )
}
