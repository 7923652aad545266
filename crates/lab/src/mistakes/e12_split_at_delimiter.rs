//! E12: keys split by `String.split`.

use crate::manual_keys::java_split;
use crate::samples::{T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E12",
    title: "Keys are not decoded by splitting at a delimiter",
    rules: &["K-DELIM"],
    see: &["E11"],
    run,
};

const DECLARED: &str =
    "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}' WHERE receiver MATCHES 'user_[0-9]+'";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A message is stored under its receiver, its reversed time and its sender, joined by \
         underscores. One has no sender: the field is empty.",
    );
    let table = lab.create("inbox", &["m"], &[])?;
    lab.put(&table, format!("user_1_{}_user_2", reversed(T0)), "m:body", "hello")?;
    lab.put(&table, format!("user_3_{}_", reversed(T0)), "m:body", "welcome")?;
    lab.paragraph(
        "A Java program reads the rows and takes rowKey.split(\"_\"): the receiver is piece 0, the \
         time piece 1, the sender piece 2.",
    );

    lab.section(Section::Outcome);
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let texts: Vec<String> =
        rows.iter().map(|row| String::from_utf8_lossy(row.key()).into_owned()).collect();
    let cut: Vec<Vec<String>> = texts.iter().map(|text| java_split(text, '_')).collect();
    lab.data_table(
        &["key", ">pieces", "pieces"],
        texts
            .iter()
            .zip(&cut)
            .map(|(text, cut)| [text.clone(), cut.len().to_string(), cut.join(" | ")]),
    );
    lab.assert_claim(
        cut[0].len() == 5 && cut[0][0] == "user" && cut[0][1] == "1",
        "The first key has five pieces. Its receiver is read as user, its time as 1, and its \
         sender as a number of 19 digits.",
    )?;
    lab.assert_claim(
        cut[1].len() == 3,
        "The second has three, the number that is expected, of which none is what it is taken for: \
         split drops what is empty at the end.",
    )?;
    let bars = java_split("a|b", '|');
    lab.assert_claim(
        bars == ["a", "|", "b"],
        "With | as the delimiter \"a|b\" has three pieces, a, | and b: the delimiter is a regular \
         expression, and | is one that matches nothing, everywhere.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Splitting knows only characters, not fields. The ids contain the delimiter, the count of \
         pieces depends on the data, and the way back from the key to its fields is written a \
         second time, apart from the way there.",
    );

    lab.section(Section::Right);
    lab.paragraph("One declaration says both ways, and which texts a receiver may be.");
    let key = lab.key(DECLARED)?;
    let first = lab.decode(&key, texts[0].as_bytes())?;
    let second = lab.decode(&key, texts[1].as_bytes())?;
    lab.assert_claim(
        first == "receiver = 'user_1', ts = 2024-03-15T00:00:00Z, sender = 'user_2'",
        "Three fields: the receiver, the time as a time, the sender.",
    )?;
    lab.assert_claim(
        second == "receiver = 'user_3', ts = 2024-03-15T00:00:00Z, sender = ''",
        "An empty sender is an empty sender.",
    )?;
    let again = lab.encode(&key, &["receiver=user_1", "ts=2024-03-15", "sender=user_2"])?;
    lab.assert_claim(again == rows[0].key(), "The same declaration makes the key that was read.")?;
    lab.expect_finding("K-DELIM", "ROW KEY TEXT '{receiver}_{rev(ts):19}_{sender}'", DECLARED)
}
