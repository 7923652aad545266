//! K06: the key of an inbox: receiver, reversed time, sender.

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K06",
    title: "An inbox: receiver, reversed time, sender",
    rules: &["K-DELIM"],
    see: &["K04", "K12"],
    run,
};

const DECLARED: &str =
    "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}' WHERE receiver MATCHES 'user_[0-9]{3}'";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "An inbox shows the latest messages to one user, a page at a time. The receiver comes \
         first, then the time backwards; the sender at the end keeps two messages of one \
         millisecond apart.",
    );
    lab.section(Section::Declaration);
    let key = lab.key(DECLARED)?;

    lab.section(Section::Demonstration);
    let one =
        lab.encode(&key, &["receiver=user_001", "ts=2024-03-15T00:00:00Z", "sender=user_002"])?;
    lab.assert_claim(
        &one[..] == b"user_001_9223370326393975807_user_002",
        "The time is Long.MAX_VALUE - 1710460800000, in 19 digits.",
    )?;
    let table = lab.create("inbox", &["m"], &[])?;
    for (receiver, minute, sender) in [
        ("user_001", 0, "user_002"),
        ("user_001", 0, "user_003"),
        ("user_001", 5, "user_002"),
        ("user_002", 3, "user_001"),
    ] {
        let given = [
            format!("receiver={receiver}"),
            format!("ts={}", T0 + minute * MINUTE),
            format!("sender={sender}"),
        ];
        lab.write(
            &table,
            &key,
            &given.each_ref().map(String::as_str),
            "m:text",
            format!("from {sender}, minute {minute}"),
        )?;
    }
    let all = lab.query(&table, &key, &["receiver=user_001"], None)?;
    lab.assert_claim(
        all.len() == 3,
        "The three messages to user_001 come, newest first; that to user_002 does not.",
    )?;
    let page = lab.query(&table, &key, &["receiver=user_001"], Some(2))?;
    lab.assert_claim(
        page == all[..2],
        "A page of two reads two rows. The next one begins after its last key, not at an offset.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "What a user has sent cannot be found in this table: it takes a second one, with the \
         sender in front. Two messages from one sender to one receiver in one millisecond are one \
         row; a message id at the end keeps them apart. A text of 37 bytes is repeated in every \
         cell, of which 8 would do for the time.",
    );
    lab.expect_finding(
        "K-DELIM",
        "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}'",
        "ROW KEY (receiver STRING, ts TIMESTAMP DESC, sender STRING)",
    )
}
