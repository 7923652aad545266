//! E19: a key whose comment and code differ.

use halite::rowkey::KeySchema;
use halite::rowkey::language::ROW_KEY;

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E19",
    title: "The comment says one key, the code makes another",
    rules: &[],
    see: &["E05", "E13"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Logins of a user are counted for each day. The comment above the code says that the key \
         is userId_loginCount_date; the code makes userId_date.",
    );
    let table = lab.create("logins", &["c"], &[])?;
    for _ in 0..3 {
        lab.incr(&table, "user_1_20240315", "c:n", 1)?;
    }

    lab.section(Section::Outcome);
    lab.paragraph(
        "A second program is written by the comment. It looks for the third login of the day, and \
         then counts one more, the fourth:",
    );
    let found = lab.get(&table, "user_1_3_20240315")?;
    let count = lab.incr(&table, "user_1_4_20240315", "c:n", 1)?;
    lab.assert_claim(
        found.is_empty() && count == 1,
        "It finds no third login. Its own is counted as the first, in a row that the first program \
         never reads.",
    )?;
    let all = lab.scan(&table, &ScanSpec::prefix("user_1_"))?;
    lab.assert_claim(all.len() == 2, "The day now has two rows with two counts.")?;

    lab.section(Section::Why);
    lab.paragraph(
        "No program checks a comment. Here it is also wrong in itself: what changes with every \
         login cannot be in the key of the row that counts logins, since each login would then \
         create a separate row, and a reader would have to know the count to find it.",
    );

    lab.section(Section::Right);
    lab.paragraph("The declaration is the description. It makes the keys, and the table keeps it.");
    let text = "CREATE TABLE logins_2 (n I64 FAMILY c, ROW KEY (user_id STRING, day DATE))";
    let (table, key) = lab.declare(text)?;
    let row = lab.encode(&key, &["user_id=user_1", "day=2024-03-15"])?;
    let mut count = 0;
    for _ in 0..4 {
        count = lab.incr(&table, &row, "c:n", 1)?;
    }
    lab.assert_claim(count == 4, "Four logins of a day are one row with a count of four.")?;
    let kept = table.inner().descriptor()?.attributes.get(ROW_KEY).cloned().unwrap_or_default();
    lab.statement(
        "describe 'logins_2'",
        vec![format!("... TABLE_ATTRIBUTES => {{METADATA => {{'{ROW_KEY}' => '{kept}'}}}} ...")],
    );
    let read: KeySchema = kept.parse()?;
    let values =
        read.parse_values(["user_id=user_1", "day=2024-03-15"]).map_err(anyhow::Error::msg)?;
    lab.assert_claim(
        read.encode(&values)?[..] == row[..],
        "A program that has nothing but the table reads the declaration from it, and makes the \
         same key.",
    )?;
    lab.decode(&key, &row)?;
    Ok(())
}
