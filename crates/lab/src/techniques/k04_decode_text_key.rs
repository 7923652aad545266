//! K04: decoding the fields of a text key.

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K04",
    title: "Reading the fields back out of a text key",
    rules: &["K-DELIM"],
    see: &["K02", "K06"],
    run,
};

const MESSAGE: &str = "user_1_9223370326393975807_user_2";
const DECLARED: &str = "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}' WHERE receiver MATCHES \
                        'user_[0-9]+' AND sender MATCHES 'user_[0-9]+'";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(format!(
        "A program that reads rows wants the fields of their keys. Splitting {MESSAGE} at its \
         underscores gives five pieces where there are three fields, because the ids have \
         underscores of their own. A declaration knows what each field looks like, and reads three."
    ));
    lab.section(Section::Declaration);
    let key = lab.key(DECLARED)?;

    lab.section(Section::Demonstration);
    let fields = lab.decode(&key, MESSAGE.as_bytes())?;
    lab.assert_claim(
        fields == "receiver = 'user_1', ts = 2024-03-15T00:00:00Z, sender = 'user_2'",
        "Three fields come back, and the time among them is a time again.",
    )?;
    let pieces: Vec<&str> = MESSAGE.split('_').collect();
    lab.data_table(
        &["split at _", ""],
        pieces
            .iter()
            .enumerate()
            .map(|(index, piece)| [format!("piece {}", index + 1), (*piece).to_owned()]),
    );
    lab.assert_claim(
        pieces.len() == 5,
        "Split at underscores, the same key falls into five pieces, and the receiver seems to be \
         \"user\".",
    )?;
    let table = lab.create("messages", &["m"], &[])?;
    lab.put(&table, MESSAGE, "m:text", "hello")?;
    let found = lab.query(&table, &key, &["receiver=user_1"], None)?;
    lab.assert_claim(
        found.len() == 1,
        "The row is found by its receiver, whose whole name the declaration knows.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The pattern of every text field in front has to be known, and a pattern that matches too \
         much is as bad as none. In Java, String.split has two more surprises: its argument is a \
         regular expression, so that split(\"|\") cuts between all letters, and empty pieces at \
         the end are dropped. Binary keys are read back without patterns.",
    );
    lab.expect_finding(
        "K-DELIM",
        "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}'",
        "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}' WHERE receiver MATCHES '[^_]+'",
    )
}
