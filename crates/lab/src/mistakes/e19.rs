//! E19: a key that its comment describes in another way than its code.

use halite::rowkey::KeySchema;
use halite::rowkey::language::ROW_KEY;

use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "E19", title: "The comment says one key, the code makes another", rules: &[], see: &["E05", "E13"], run };

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Wrong);
    lab.say("Logins of a user are counted for each day. The comment above the code says that the key is userId_loginCount_date; the code makes userId_date.");
    let table = lab.create("logins", &["c"], &[])?;
    for _ in 0..3 {
        lab.incr(&table, "user_1_20240315", "c:n", 1)?;
    }

    lab.part(Part::Happens);
    lab.say("A second program is written by the comment. It looks for the third login of the day, and then counts one more, the fourth:");
    let found = lab.get(&table, "user_1_3_20240315")?;
    let count = lab.incr(&table, "user_1_4_20240315", "c:n", 1)?;
    lab.claim(
        found.is_empty() && count == 1,
        "It finds no third login. Its own is counted as the first, in a row that the first program never reads.",
    )?;
    let all = lab.scan(&table, &Read::prefix("user_1_"))?;
    lab.claim(all.len() == 2, "The day now has two rows with two counts.")?;

    lab.part(Part::Why);
    lab.say(
        "A comment is checked by nobody. Here it is also wrong in itself: what changes with every login cannot be in the key of the row that counts \
         logins, since each login would then make a row of its own, and whoever wants the count would have to know it to find it.",
    );

    lab.part(Part::Right);
    lab.say("The declaration is the description. It makes the keys, and the table keeps it.");
    let text = "CREATE TABLE logins_2 (n I64 FAMILY c, ROW KEY (user_id STRING, day DATE))";
    let (table, key) = lab.declare(text)?;
    let row = lab.encode(&key, &["user_id=user_1", "day=2024-03-15"])?;
    let mut count = 0;
    for _ in 0..4 {
        count = lab.incr(&table, &row, "c:n", 1)?;
    }
    lab.claim(count == 4, "Four logins of a day are one row with a count of four.")?;
    let kept = table.calls().descriptor()?.attributes.get(ROW_KEY).cloned().unwrap_or_default();
    lab.done("describe 'logins_2'", vec![format!("... TABLE_ATTRIBUTES => {{METADATA => {{'{ROW_KEY}' => '{kept}'}}}} ...")]);
    let read: KeySchema = kept.parse()?;
    let values = read.parse_values(["user_id=user_1", "day=2024-03-15"]).map_err(anyhow::Error::msg)?;
    lab.claim(
        read.encode(&values)?[..] == row[..],
        "A program that has nothing but the table reads the declaration from it, and makes the same key.",
    )?;
    lab.decode(&key, &row)?;
    Ok(())
}
