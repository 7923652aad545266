//! C09: a table declared in SQL, as in other databases.

use halite::rowkey::language::{Statement, statements};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "C09",
    title: "A table of messages, declared as elsewhere",
    rules: &["Q-FULL"],
    see: &["K06", "K12", "S01"],
    run,
};

/// Declaration as in a tutorial: a primary key, and attributes after WITH.
const GIVEN: &str = "CREATE TABLE messages (
  msg_id VARCHAR,
  receiver_id VARCHAR,
  content VARCHAR,
  created_at TIMESTAMP,
  PRIMARY KEY (msg_id)
) WITH (COLUMN_FAMILY='msg', DATA_BLOCK_ENCODING='PREFIX', COMPRESSION='SNAPPY')";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Tables are declared in many dialects. Those of Phoenix, Lindorm and Kudu are read \
         unchanged, and printed back with the row key as the list of its segments. Queries that \
         the key does not serve are reported immediately.",
    );
    lab.section(Section::Demonstration);
    lab.paragraph(
        "A table of messages with the message's id as its primary key, one family, an encoding and \
         a codec:",
    );
    let Some(Statement::CreateTable(declared)) =
        statements(GIVEN).map_err(|error| anyhow::anyhow!(error.render(GIVEN)))?.pop()
    else {
        anyhow::bail!("it is one CREATE TABLE");
    };
    lab.declaration(GIVEN);
    lab.paragraph("The key is read as it is written here:");
    lab.declaration(declared.key.to_string());
    let family = declared.descriptor.families().next();
    let of = |name: &str| family.and_then(|family| family.attributes.get(name)).map(String::as_str);
    lab.assert_claim(
        declared.descriptor.family_count() == 1
            && family.is_some_and(|family| &family.name()[..] == b"msg"),
        "It has one family, msg.",
    )?;
    lab.assert_claim(
        of("DATA_BLOCK_ENCODING") == Some("PREFIX") && of("COMPRESSION") == Some("SNAPPY"),
        "The family has encoding PREFIX and codec SNAPPY.",
    )?;
    lab.paragraph(
        "The question of an inbox is: messages to one receiver, newest first. With the receiver in \
         front of the key it is one range:",
    );
    let right = "CREATE TABLE messages (\n  content STRING FAMILY msg QUALIFIER c,\n  ROW KEY \
                 (receiver_id STRING, created_at TIMESTAMP DESC, msg_id STRING)\n)";
    let (table, key) = lab.declare(right)?;
    for (receiver, minute, id) in
        [("user_001", 0, "m1"), ("user_002", 1, "m2"), ("user_001", 2, "m3")]
    {
        let given = [
            format!("receiver_id={receiver}"),
            format!("created_at=2024-03-15T00:0{minute}:00Z"),
            format!("msg_id={id}"),
        ];
        lab.write(&table, &key, &given.each_ref().map(String::as_str), "msg:c", "hello")?;
    }
    let plan = lab.explain(&key, &["receiver_id=user_001"], Some(100))?;
    let found = lab.query(&table, &key, &["receiver_id=user_001"], Some(100))?;
    lab.assert_claim(
        plan.ranges().count() == 1 && !plan.has_residual() && found.len() == 2,
        "One range, no sorting, and no row read that is not shown.",
    )?;
    let queries = " WITH QUERIES (inbox: receiver_id = ?)";
    lab.expect_finding("Q-FULL", &format!("{GIVEN}{queries}"), &format!("{right}{queries}"))
}
