//! K18: a random digit in front of the time, on as many regions.

use bytes::Bytes;

use crate::keyed::skew_of;
use crate::samples::T0;
use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page =
    Page { id: "K18", title: "A random digit in front of the time", rules: &["K-RNDSALT", "K-UNIQ"], see: &["K15", "K16"], run };

const DECLARED: &str = "ROW KEY TEXT '{salt(4 using random):1}{ts:13}'";

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "The shortest way to spread a log of times over four regions: a digit from 0 to 3, drawn for each row, in front of the time in milliseconds. \
         In Java, random.nextInt(4) + time as text.",
    );
    lab.part(Part::Declared);
    lab.key(DECLARED)?;
    let table = lab.create("log", &["l"], &["1", "2", "3"])?;

    lab.part(Part::Shown);
    lab.say("200,000 rows, 20 in each millisecond, in windows of 2000:");
    let drawn: Vec<Bytes> = (0..200_000_i64).map(|row| Bytes::from(format!("{}{}", lab.chance().u8(..4), T0 + row / 20))).collect();
    let skew = skew_of(&drawn, table.splits(), 2_000);
    lab.skews(&[("digit and time", &skew)]);
    lab.claim(skew.max_over_mean < 1.02 && skew.window_mean < 1.1, "All four regions are written to evenly, as a whole and at any moment.")?;

    lab.say("How many rows there are in the end shows when they are written: the first 10,000 of them.");
    let written = lab.load(&table, "l:v", drawn[..10_000].iter().map(|key| (key.clone(), "x")))?;
    let found = lab.count(&table, &Read::all())?;
    lab.claim(
        written == 10_000 && found <= 4 * 500,
        "There are no more rows than digits and milliseconds: 4 of each millisecond. The others had the key of one that was there, and replaced it.",
    )?;

    lab.part(Part::Costs);
    lab.say(
        "Besides what is lost, every question about an interval asks four times, and a row cannot be looked up by what it is about. A sequence number or \
         the writer's name behind the time keeps rows apart; a salt that is computed from them is found again.",
    );
    let right = "ROW KEY (SALT(4 BY writer, seq), ts TIMESTAMP, writer STRING, seq U32)";
    lab.caught("K-RNDSALT", "ROW KEY (SALT(4 USING random), ts TIMESTAMP)", right)?;
    lab.caught("K-UNIQ", "ROW KEY (SALT(4 USING random), ts TIMESTAMP)", right)
}
