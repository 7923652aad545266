//! E22: a table of messages with the message id as key, queried by receiver.

use std::time::Duration;

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E22",
    title: "The primary key is not what queries specify",
    rules: &["Q-FULL"],
    see: &["E21", "E38", "S01"],
    run,
};

const MESSAGES: u32 = 3_000;
const USERS: u32 = 20;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "The design says: receiver, time, sender. The table that was created has a message id as \
         its primary key, as tables have. {MESSAGES} messages for {USERS} users; the screen shows \
         the 100 newest of a receiver.",
    ));
    let (by_id, id_key) = lab.declare(
        "CREATE TABLE messages (receiver STRING FAMILY m, body STRING FAMILY m, ROW KEY (msg_id \
         STRING))",
    )?;
    let message = |index: u32| {
        (
            format!("m{:08x}", index.wrapping_mul(2_654_435_761)),
            format!("user_{:03}", index % USERS),
            T0 + i64::from(index) * MINUTE,
        )
    };
    let puts = (0..MESSAGES).map(|index| {
        let (id, receiver, time) = message(index);
        halite::Put::new(id)
            .add_at("m", "receiver", time, receiver)
            .add_at("m", "body", time, "hello")
    });
    lab.load_puts(&by_id, puts.collect::<Vec<_>>())?;

    lab.section(Section::Outcome);
    let read = crate::ScanSpec::all()
        .filter("SingleColumnValueFilter('m', 'receiver', =, 'binary:user_001')")?;
    let found = lab.count(&by_id, &read)?;
    let (_, examined) = lab.query_counted(&by_id, &id_key, &[], None)?;
    let expected = usize::try_from(MESSAGES / USERS)?;
    lab.assert_claim(
        found == expected && examined == usize::try_from(MESSAGES)?,
        format!(
            "{examined} rows are examined, {found} messages are of this receiver, in the order of \
             their ids. They are sorted by time afterwards, and 50 thrown away."
        ),
    )?;
    lab.put(&by_id, "m00000000", "m:body", "hello, corrected")?;
    let versions = lab.get_versions(&by_id, "m00000000", 5)?;
    let bodies = versions.iter().filter(|cell| cell.qualifier() == b"body").count();
    lab.assert_claim(
        bodies == 1,
        "The design also has edits as versions of a cell. A family keeps one version by default, \
         so the text before the edit is lost.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "In HBase the primary key is the order of the rows, and the only index. An id tells rows \
         apart and answers nothing else. The class that builds keys and the statement that creates \
         the table were written apart, and nothing holds the one to the other.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The declaration is the key that programs use. The id is at its end, where it \
         distinguishes messages of the same time.",
    );
    let text = "CREATE TABLE inbox (\n  body STRING FAMILY m,\n  ROW KEY (SALT(16 BY receiver), \
                receiver STRING, ts TIMESTAMP DESC, sender STRING, msg_id STRING)\n) WITH \
                (VERSIONS = 10)\n  WITH QUERIES (newest: receiver = ?)\n  SPLIT BY SALT";
    let (inbox, key) = lab.declare(text)?;
    let rows = (0..MESSAGES).map(|index| {
        let (id, receiver, time) = message(index);
        let values = [
            receiver.as_str().into(),
            halite::rowkey::Value::Signed(time),
            "user_999".into(),
            id.as_str().into(),
        ];
        Ok((key.encode(&values)?.to_vec(), "hello"))
    });
    lab.load(&inbox, "m:body", rows.collect::<anyhow::Result<Vec<_>>>()?)?;
    lab.explain(&key, &["receiver=user_001"], Some(100))?;
    let (found, examined) = lab.query_counted(&inbox, &key, &["receiver=user_001"], Some(100))?;
    let first = found
        .first()
        .map(|row| key.decode(row.key()).map(|decoded| key.format_values(&decoded)))
        .transpose()?
        .unwrap_or_default();
    lab.assert_claim(
        found.len() == 100 && examined <= 101,
        format!(
            "100 rows are returned, {examined} examined: one range, no sort. The first one is \
             {first}."
        ),
    )?;
    let row = found[0].key().to_vec();
    // An edit in the same millisecond as the message would replace it.
    std::thread::sleep(Duration::from_millis(2));
    lab.put(&inbox, &row, "m:body", "hello, corrected")?;
    let versions = lab.get_versions(&inbox, &row, 5)?;
    lab.assert_claim(
        versions.len() == 2,
        "With ten versions declared, an edited message has both its texts.",
    )?;
    let wrong = "CREATE TABLE messages (receiver STRING FAMILY m, body STRING FAMILY m, ROW KEY \
                 (msg_id STRING)) WITH QUERIES (newest: receiver = ?)";
    lab.expect_finding("Q-FULL", wrong, text)
}
