//! E03: all operations of a user, requested from a row of zeros to the reversed time of now.

use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E03",
    title: "All of a user's rows are a prefix, not a range that ends now",
    rules: &[],
    see: &["E01", "E06"],
    run,
};

/// Reversed user id, followed by the time newest first in eight bytes.
fn key(user: &str, time: i64) -> Vec<u8> {
    let mut key: Vec<u8> = user.bytes().rev().collect();
    key.extend_from_slice(&(i64::MAX - time).to_be_bytes());
    key
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Operations are stored under the user's id, read backwards so that ids counted up are \
         spread, and the reversed time in eight bytes. User 12345 has three operations.",
    );
    let table = lab.create("operations", &["o"], &[])?;
    for hour in 0..3 {
        lab.put(&table, key("12345", T0 - hour * HOUR), "o:what", format!("12345 did {hour}"))?;
    }
    lab.paragraph(
        "All operations of 12345 are taken to lie between the id with twelve zeros, as the least \
         time, and the id with the reversed time of now.",
    );
    let start = [&b"54321"[..], b"000000000000"].concat();

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &ScanSpec::from_row(start.clone()).to(key("12345", T0)))?;
    lab.assert_claim(found.is_empty(), "None of the three is found.")?;

    lab.section(Section::Why);
    lab.paragraph(
        "Reversed times fall: every operation up to now has a key at or after the reversed time of \
         now, and the range ends in front of that. The zeros are text, twelve bytes of 30, where \
         the key has eight bytes of a number; they happen to sort in front of the numbers of all \
         present times, which begin with 7F, so they do no more harm here.",
    );
    let first = lab.rows(&table, &ScanSpec::from_row(start).limit(1))?;
    lab.assert_claim(
        first.first().is_some_and(|row| row.key() == key("12345", T0)),
        "The first key after the start row is the very stop row of that scan, so there is nothing \
         in between.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "What all operations of a user have in common is what their keys begin with. Another user, \
         whose id ends alike, has one too:",
    );
    lab.put(&table, key("612345", T0), "o:what", "612345 did 0")?;
    let found = lab.scan(&table, &ScanSpec::prefix("54321"))?;
    let of = |user: &str| {
        found
            .iter()
            .filter(|row| {
                row.value("o", "what").is_some_and(|what| what.starts_with(user.as_bytes()))
            })
            .count()
    };
    lab.assert_claim(
        of("12345") == 3 && of("612345") == 1,
        "All three are found, and a fourth that is not the user's: 612345 read backwards begins \
         with 54321 too. Ids of different lengths need an end.",
    )?;
    lab.paragraph("Declared, the id has an end of its own, two bytes that no other text contains.");
    let (table, key) = lab.declare(
        "CREATE TABLE operations_2 (what STRING FAMILY o, ROW KEY (REVERSE(user) STRING, ts \
         TIMESTAMP DESC))",
    )?;
    let rows = [("12345", T0), ("12345", T0 - HOUR), ("12345", T0 - 2 * HOUR), ("612345", T0)];
    let keys =
        rows.map(|(user, time)| key.encode(&[user.into(), halite::rowkey::Value::Signed(time)]));
    for (key, (user, _)) in keys.into_iter().zip(rows) {
        lab.put(&table, key?, "o:what", user)?;
    }
    lab.explain(&key, &["user=12345"], None)?;
    let found = lab.query(&table, &key, &["user=12345"], None)?;
    lab.assert_claim(
        found.len() == 3 && found.iter().all(|row| row.value("o", "what") == Some(b"12345")),
        "The three operations of 12345, the newest first, and no other user's.",
    )
}
