//! K11: phone numbers back to front.

use bytes::Bytes;
use halite::rowkey::Value;

use crate::keyed::{keys_of, skew_of};
use crate::samples::{digit_borders, phone};
use crate::{Lab, Page, Part};

pub(super) const PAGE: Page = Page { id: "K11", title: "Phone numbers back to front", rules: &["K-REVVAR"], see: &["K25"], run };

const PHONES: usize = 100_000;

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "All mobile numbers of a country begin alike, and differ in their last digits. Written back to front they begin with what differs, and \
         regions by first digit share them evenly. Nothing is added to the key, and nothing is lost.",
    );
    lab.part(Part::Declared);
    let text = "CREATE TABLE profiles (\n  name STRING FAMILY f QUALIFIER n,\n  ROW KEY (REVERSE(phone) CHAR(11))\n) SPLIT INTO 10";
    let (table, key) = lab.declare(text)?;

    lab.part(Part::Shown);
    lab.write(&table, &key, &["phone=13812345678"], "f:n", "Li Na")?;
    let row = lab.get(&table, "87654321831")?;
    lab.claim(row.value("f", "n") == Some(b"Li Na"), "The number 13812345678 is written as 87654321831.")?;
    let back = lab.decode(&key, b"87654321831")?;
    lab.claim(back == "phone = '13812345678'", "Read back it is the number again.")?;

    lab.say(format!("{PHONES} numbers that begin with 138, 139, 152, 185 or 186, in ten regions, one for each first digit:"));
    let phones: Vec<String> = (0..PHONES).map(|_| phone(lab.chance())).collect();
    let raw: Vec<Bytes> = phones.iter().cloned().map(Bytes::from).collect();
    let reversed = keys_of(&key, phones.iter().map(|phone| [Value::from(phone.as_str())]))?;
    let (as_is, turned) = (skew_of(&raw, &digit_borders(), 2_000), skew_of(&reversed, &digit_borders(), 2_000));
    lab.skews(&[("as they are", &as_is), ("back to front", &turned)]);
    lab.claim(table.splits() == digit_borders(), "The declared splits are those ten.")?;
    lab.claim(as_is.max_over_mean > 9.99 && as_is.empty_regions == 9, "As they are, all of them lie in one region.")?;
    lab.claim(turned.max_over_mean < 1.03, "Back to front, no region has 3 % more than the mean.")?;

    lab.part(Part::Costs);
    lab.say(
        "Numbers of one area code no longer stand together: a range or a prefix of numbers is a scan of the whole table. And the length has to be \
         fixed. Of numbers with different lengths one may end like another, and the scan for the shorter one meets the longer one too.",
    );
    lab.caught("K-REVVAR", "ROW KEY (REVERSE(account) STRING)", "ROW KEY (REVERSE(account) CHAR(11))")
}
