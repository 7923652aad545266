//! M17: received and sent messages as two families of one row.

use halite::Get;

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "M17",
    title: "Inbox and outbox as two families of a user",
    rules: &[],
    see: &["M16", "M15", "K06"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A row for each user, with the messages received in one family and those sent in another, \
         and the message's id in the qualifier. One row holds both boxes, and each is read without \
         touching the other.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create("boxes", &["inbox", "outbox"], &[])?;
    lab.put(&table, "user_1", "inbox:msg:001", "hello from user_2")?;
    lab.put(&table, "user_1", "inbox:msg:002", "and again")?;
    lab.put(&table, "user_1", "outbox:msg:001", "hello to user_2")?;
    let row = table.inner().get(Get::new("user_1"))?;
    lab.assert_claim(
        row.value("inbox", "msg:001") == Some(b"hello from user_2"),
        "The qualifier is msg:001: the family ends at the first colon.",
    )?;
    lab.assert_claim(
        row.len() == 3 && row.value("outbox", "msg:001").is_some(),
        "The same qualifier in the other family is another column.",
    )?;
    let inbox = lab.scan(&table, &ScanSpec::from_row("user_1").column("inbox"))?;
    lab.assert_claim(inbox.len() == 1 && inbox[0].len() == 2, "The inbox is read by its family.")?;
    let one = lab.scan(&table, &ScanSpec::all().filter("ColumnPrefixFilter('msg:002')")?)?;
    lab.assert_claim(
        one.len() == 1 && one[0].len() == 1,
        "Columns in a row are sorted, so a range or a prefix of them can be read.",
    )?;
    lab.paragraph(
        "It is a good layout for some hundreds of messages. A row is never split, and a user of \
         many years has one that no longer fits: then each message gets a row, under receiver and \
         time (K06), and a second one under the sender.",
    );
    Ok(())
}
