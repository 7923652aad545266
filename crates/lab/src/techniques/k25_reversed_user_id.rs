//! K25: a reversed user id and a reversed time: all operations of one user, and of no other.

use crate::samples::{HOUR, T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K25",
    title: "All operations of one user: reversed id, newest first",
    rules: &["K-REVVAR"],
    see: &["K26", "K11"],
    run,
};

const USERS: [&str; 3] = ["12345", "612345", "12346"];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "User ids are counted up, so the newest and most active users are adjacent. Reversed, \
         their ids spread by the last digit, as phone numbers do; after the id the time runs \
         backwards, so that a user's last operation comes first.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE operations (\n  what STRING FAMILY o QUALIFIER w,\n  ROW KEY \
                (REVERSE(user) STRING, ts TIMESTAMP DESC)\n) SPLIT INTO 10";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    for (user, hour) in USERS.iter().flat_map(|user| (0..2).map(move |hour| (user, hour))) {
        lab.write(
            &table,
            &key,
            &[&format!("user={user}"), &format!("ts={}", T0 + hour * HOUR)],
            "o:w",
            format!("{user} did {hour}"),
        )?;
    }
    lab.explain(&key, &["user=12345"], None)?;
    let found = lab.query(&table, &key, &["user=12345"], None)?;
    let whats: Vec<_> = found.iter().filter_map(|row| row.value("o", "w")).collect();
    lab.assert_claim(
        whats == [&b"12345 did 1"[..], b"12345 did 0"],
        "Both operations of user 12345 come, the newer one first, and none of 612345.",
    )?;
    lab.paragraph(
        "Reversed, 612345 begins with all of 12345. The bytes 00 01 after an id end it, so one is \
         not the beginning of the other.",
    );

    lab.section(Section::Costs);
    lab.paragraph(
        "Without such an end the two cannot be distinguished. The same operations under keys of \
         plain text:",
    );
    let plain = lab.create("plain", &["o"], &[])?;
    for user in USERS {
        let turned: String = user.chars().rev().collect();
        lab.put(&plain, format!("{turned}{}", reversed(T0)), "o:w", format!("{user} did 0"))?;
    }
    let leaked = lab.scan(&plain, &ScanSpec::prefix("54321"))?;
    lab.assert_claim(
        leaked.len() == 2,
        "The prefix of user 12345 finds an operation of user 612345 as well.",
    )?;
    lab.paragraph(
        "A fixed width does it too: ids filled up with zeros in front to CHAR(12), as one declares \
         where keys have to stay readable.",
    );
    let (open, fixed) = (
        "ROW KEY TEXT '{reverse(user)}{rev(ts):19}'",
        "ROW KEY (REVERSE(user) CHAR(12), ts TIMESTAMP DESC)",
    );
    lab.expect_finding("K-REVVAR", open, fixed)
}
