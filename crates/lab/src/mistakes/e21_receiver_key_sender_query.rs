//! E21: sent messages queried in a table keyed by receiver.

use halite::rowkey::Value;

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E21",
    title: "A table keyed by receiver does not know what a user has sent",
    rules: &["Q-FULL", "Q-SORT"],
    see: &["E22", "E23"],
    run,
};

const MESSAGES: usize = 2_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Messages are stored in one table under their receiver, newest first. {MESSAGES} messages \
         are sent among 50 users, and the screen \"sent\" is to show those of user_07."
    ));
    let (inbox, by_receiver) = lab.declare(
        "CREATE TABLE inbox (body STRING FAMILY m, ROW KEY (receiver STRING, ts TIMESTAMP DESC, \
         sender STRING))",
    )?;
    let user = |chance: &mut fastrand::Rng| format!("user_{:02}", chance.u8(..50));
    let messages: Vec<(String, String, String)> = (0_i64..)
        .take(MESSAGES)
        .map(|index| {
            (
                format!("sender={}", user(lab.rng())),
                format!("receiver={}", user(lab.rng())),
                format!("ts={}", T0 + index * MINUTE),
            )
        })
        .collect();
    let keys = |lab: &PageWriter,
                key: &halite::rowkey::KeySchema|
     -> anyhow::Result<Vec<(bytes::Bytes, &'static str)>> {
        messages
            .iter()
            .map(|(sender, receiver, ts)| {
                Ok((lab.encode_key(key, &[sender, receiver, ts])?, "hello"))
            })
            .collect()
    };
    let rows = keys(lab, &by_receiver)?;
    lab.load(&inbox, "m:body", rows)?;

    lab.section(Section::Outcome);
    let plan = lab.explain(&by_receiver, &["sender=user_07"], None)?;
    let (sent, read) = lab.query_counted(&inbox, &by_receiver, &["sender=user_07"], None)?;
    lab.assert_claim(
        plan.has_residual() && read == MESSAGES && sent.len() < MESSAGES / 20,
        format!("All {read} messages of all users are read, to show {}.", sent.len()),
    )?;
    let times = sent
        .iter()
        .map(|row| Ok(by_receiver.decode(row.key())?.values()[1].clone()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let is_newest_first =
        times.windows(2).all(|pair| matches!(pair, [Value::Signed(a), Value::Signed(b)] if a >= b));
    lab.assert_claim(
        !is_newest_first,
        "They come in the order of their receivers, and have to be sorted by time.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A table has one order, and the sender is at its end. A filter on the sender, or an index \
         that is not there, changes what is returned and not what is read.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Each way to ask needs a table that has the answer side by side. A message is written \
         twice, under its receiver and under its sender.",
    );
    let (outbox, by_sender) = lab.declare(
        "CREATE TABLE outbox (body STRING FAMILY m, ROW KEY (sender STRING, ts TIMESTAMP DESC, \
         receiver STRING))",
    )?;
    let rows = keys(lab, &by_sender)?;
    lab.load(&outbox, "m:body", rows)?;
    let shown = lab.query(&outbox, &by_sender, &["sender=user_07"], Some(3))?;
    let (all, read) = lab.query_counted(&outbox, &by_sender, &["sender=user_07"], None)?;
    lab.assert_claim(
        shown.len() == 3 && all.len() == sent.len() && read == all.len(),
        format!("The same {} messages, {read} rows read, the newest first.", all.len()),
    )?;
    lab.paragraph(
        "The two writes are not one: write the outbox first, and let a repair look for messages \
         there that their receivers do not have.",
    );
    let table = |key: &str| {
        format!(
            "CREATE TABLE mail (body STRING FAMILY m, ROW KEY ({key})) WITH QUERIES (sent: sender \
             = ? ORDER BY ts DESC LIMIT 20)"
        )
    };
    let (wrong, right) = (
        table("receiver STRING, ts TIMESTAMP DESC, sender STRING"),
        table("sender STRING, ts TIMESTAMP DESC, receiver STRING"),
    );
    lab.expect_finding("Q-FULL", &wrong, &right)?;
    lab.expect_finding("Q-SORT", &wrong, &right)
}
