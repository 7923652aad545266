//! S01: the messages of a receiver, newest first, asked in SQL under two keys.

use crate::Page;

pub(super) const PAGE: Page = Page {
    id: "S01",
    title: "One question in SQL, under two keys",
    rules: &["Q-FULL"],
    see: &["C09", "E22", "M08"],
    #[cfg(feature = "sql")]
    run: page::run,
    #[cfg(not(feature = "sql"))]
    run: super::run_without_sql,
};

#[cfg(feature = "sql")]
mod page {
    use halite::rowkey::KeySchema;

    use super::super::session::{Cost, Session};
    use crate::{PageWriter, Section};

    const MESSAGES: u64 = 3_000;
    const USERS: u64 = 20;
    /// Rows of one statement that writes.
    const BATCH: u64 = 1_000;

    const BY_ID: &str = "CREATE TABLE messages (receiver_id STRING, created_at TIMESTAMP, content \
                         STRING, ROW KEY (msg_id STRING))";
    const BY_RECEIVER: &str = "CREATE TABLE inbox (\n  content STRING,\n  ROW KEY (SALT(16 BY \
                               receiver_id), receiver_id STRING, created_at TIMESTAMP DESC, \
                               msg_id STRING)\n) SPLIT BY SALT";
    const QUERIES: &str = " WITH QUERIES (newest: receiver_id = ? ORDER BY created_at DESC LIMIT \
                           100)";

    pub(super) fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
        lab.section(Section::Purpose);
        lab.paragraph(
            "SQL names fields and columns; the key decides which rows are read for them. The same \
             SELECT is answered by any table that has its columns, from one range or from all \
             rows, and EXPLAIN tells which before it runs. SQL is in programs that are built with \
             the feature sql, as this page is.",
        );
        lab.section(Section::Demonstration);
        let (_, by_id) = lab.declare(BY_ID)?;
        let (_, by_receiver) = lab.declare(BY_RECEIVER)?;
        let session = Session::open(lab)?;
        let mut costs = Vec::new();
        write_rows(lab, &session)?;
        newest(lab, &session, &by_receiver, &mut costs)?;
        one_by_id(lab, &session, &by_id, &mut costs)?;
        beginning(lab, &session, &mut costs)?;
        lab.section(Section::Costs);
        lab.paragraph("What each question read, as EXPLAIN ANALYZE counts:");
        let headings = ["table", "question", ">ranges", "regions", ">examined", ">rows", "order"];
        lab.data_table(&headings, costs);
        lab.paragraph(
            "A second table costs a second write of each message. It pays where its question is \
             asked often; for one that is asked once a day, reading all rows may be cheaper.",
        );
        let with = |text: &str| match text.split_once(" SPLIT") {
            Some((table, split)) => format!("{table}{QUERIES} SPLIT{split}"),
            None => format!("{text}{QUERIES}"),
        };
        lab.expect_finding("Q-FULL", &with(BY_ID), &with(BY_RECEIVER))
    }

    /// Fills both tables.
    fn write_rows(lab: &mut PageWriter, session: &Session) -> anyhow::Result<()> {
        let values = |from: u64| {
            let row = |at: u64| {
                let id = at.wrapping_mul(2_654_435_761) & 0xffff_ffff;
                let (day, minute) = (15 + at / 1440, at % 1440);
                format!(
                    "('m{id:08x}', 'user_{:03}', '2024-03-{day} {:02}:{:02}', 'hello')",
                    at % USERS,
                    minute / 60,
                    minute % 60
                )
            };
            (from..(from + BATCH).min(MESSAGES)).map(row).collect::<Vec<_>>().join(", ")
        };
        for from in (0..MESSAGES).step_by(usize::try_from(BATCH)?) {
            let columns = "(msg_id, receiver_id, created_at, content)";
            session.run(&format!("UPSERT INTO @messages {columns} VALUES {}", values(from)))?;
        }
        lab.paragraph(format!(
            "{MESSAGES} messages for {USERS} users are in the first table, whose key is the id of \
             a message. The second one is filled from it, in SQL:"
        ));
        let copied = session.show(
            lab,
            "UPSERT INTO @inbox (receiver_id, created_at, msg_id, content) SELECT receiver_id, \
             created_at, msg_id, content FROM @messages",
        )?;
        anyhow::ensure!(copied.tag.is_some_and(|tag| tag.ends_with(&MESSAGES.to_string())));
        Ok(())
    }

    /// The newest messages of a receiver: sorted from all rows, or a range in its order.
    fn newest(
        lab: &mut PageWriter,
        session: &Session,
        by_receiver: &KeySchema,
        costs: &mut Vec<Vec<String>>,
    ) -> anyhow::Result<()> {
        let question = |table: &str| {
            format!(
                "SELECT created_at, msg_id FROM @{table} WHERE receiver_id = 'user_001' ORDER BY \
                 created_at DESC LIMIT 100"
            )
        };
        lab.paragraph("The 100 newest messages of a receiver, of the first table:");
        let first = session.show(lab, &question("messages"))?;
        let plan = session.show(lab, &format!("EXPLAIN {}", question("messages")))?;
        let cost = session.cost(&question("messages"))?;
        lab.assert_claim(
            cost.examined == MESSAGES && cost.is_sorted && cost.rows == 100,
            "All rows are examined for 100, and sorted: the receiver is not in the key.",
        )?;
        let serves = format!("serves   {by_receiver}");
        lab.assert_claim(
            plan.rows.iter().any(|row| row[0].trim() == serves),
            "EXPLAIN names the key that serves this question: what is compared by = first, then \
             the order, then what tells messages apart. It is the key of the second table.",
        )?;
        costs.push(line("messages", "newest of a receiver", &cost));

        lab.paragraph("The same of the second table:");
        let second = session.show(lab, &question("inbox"))?;
        session.show(lab, &format!("EXPLAIN {}", question("inbox")))?;
        let cost = session.cost(&question("inbox"))?;
        lab.assert_claim(first.rows == second.rows, "The answer is the same.")?;
        lab.assert_claim(
            cost.examined == 100 && !cost.is_sorted && cost.ranges == 1,
            "It is one range, under the one salt that the receiver has, in the order that is \
             requested: 100 rows are examined for 100.",
        )?;
        costs.push(line("inbox", "newest of a receiver", &cost));
        Ok(())
    }

    /// A message by its id: a get, or all rows under all salts.
    fn one_by_id(
        lab: &mut PageWriter,
        session: &Session,
        by_id: &KeySchema,
        costs: &mut Vec<Vec<String>>,
    ) -> anyhow::Result<()> {
        let question = |table: &str| {
            format!("SELECT receiver_id, content FROM @{table} WHERE msg_id = 'm9e3779b1'")
        };
        lab.paragraph("Neither key serves everything. One message, by its id:");
        let first = session.show(lab, &question("messages"))?;
        let second = session.run(&question("inbox"))?;
        let (by_get, by_scan) =
            (session.cost(&question("messages"))?, session.cost(&question("inbox"))?);
        lab.assert_claim(
            first.rows == second.rows && by_get.examined == 1 && by_scan.examined == MESSAGES,
            format!(
                "The first table gets it by its key, {by_id}; of the second one all rows are \
                 examined, under all {} salts.",
                by_scan.ranges
            ),
        )?;
        costs.push(line("messages", "one message by id", &by_get));
        costs.push(line("inbox", "one message by id", &by_scan));
        Ok(())
    }

    /// Receivers by the beginning of their names: a range under each salt.
    fn beginning(
        lab: &mut PageWriter,
        session: &Session,
        costs: &mut Vec<Vec<String>>,
    ) -> anyhow::Result<()> {
        lab.paragraph(
            "A salt by the receiver is known where the receiver is. By the beginning of a name, \
             each salt has a range (the backslash makes the underscore one, and not any letter):",
        );
        let question = r"SELECT count(*) FROM @inbox WHERE receiver_id LIKE 'user\_00%'";
        let answer = session.show(lab, question)?;
        let cost = session.cost(question)?;
        let half = MESSAGES / 2;
        lab.assert_claim(
            answer.rows == [[half.to_string()]] && cost.ranges == 16 && cost.examined == half,
            format!("16 ranges are read, and no row of another receiver: {half} of {MESSAGES}."),
        )?;
        costs.push(line("inbox", "count by a beginning", &cost));
        Ok(())
    }

    fn line(table: &str, question: &str, cost: &Cost) -> Vec<String> {
        let order = if cost.is_sorted { "sorted" } else { "as read" };
        vec![
            table.to_owned(),
            question.to_owned(),
            cost.ranges.to_string(),
            cost.regions.clone(),
            cost.examined.to_string(),
            cost.rows.to_string(),
            order.to_owned(),
        ]
    }
}
