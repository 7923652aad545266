//! E05: Append used to count.

use halite::{Append, ErrorKind, Increment, RowOp};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page =
    Page { id: "E05", title: "Append does not add", rules: &["F-APPENDCNT"], see: &["E28"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Logins of a user are counted by an operation of HBase that is atomic and needs no read \
         before it: Append. Three logins, counted as text:",
    );
    let table = lab.create("logins", &["c"], &[])?;
    let mut text = bytes::Bytes::new();
    for _ in 0..3 {
        text = lab.append(&table, "user_1", "c:text", "1")?;
    }
    lab.paragraph("Two more, counted as a long of eight bytes, as Bytes.toBytes(1L) makes it:");
    let mut long = bytes::Bytes::new();
    for _ in 0..2 {
        long = lab.append(&table, "user_1", "c:long", 1_i64.to_be_bytes())?;
    }

    lab.section(Section::Outcome);
    lab.assert_claim(
        text == "111",
        "Three logins are 111, and a thousand logins are a thousand digits.",
    )?;
    lab.assert_claim(
        long.len() == 16,
        "Two longs are 16 consecutive bytes. Bytes.toLong reads only the first eight of them: \
         always 1.",
    )?;
    let calls = table.inner().clone();
    let refused = calls.increment(Increment::new("user_1").add("c", "long", 1));
    let error = lab.expect_call_error("incr 'logins', 'user_1', 'c:long', 1", refused)?;
    lab.assert_claim(
        error.kind() == ErrorKind::InvalidRequest,
        "Nor can the cell be counted on from there: a counter has eight bytes, and this has 16.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Append adds bytes after bytes. It is atomic, so that no byte is lost when two clients \
         write at once, but it does not handle numbers. It is meant for logs that grow in a cell, \
         and each call reads and writes all that is there: n calls move n * n / 2 bytes.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Increment is as atomic as Append, and adds. The cell holds a long of eight bytes with the \
         greatest first, whatever number of calls.",
    );
    let mut count = 0;
    for _ in 0..3 {
        count = lab.incr(&table, "user_1", "c:count", 1)?;
    }
    lab.assert_claim(count == 3, "Three logins are 3.")?;
    let both = || {
        [
            RowOp::from(Increment::new("user_1").add("c", "count", 1)),
            RowOp::from(Append::new("user_1").add("c", "text", "1")),
        ]
    };
    for result in table.inner().batch((0..97).flat_map(|_| both()).collect())? {
        result?;
    }
    let row = table.inner().get(halite::Get::new("user_1"))?;
    let bytes = |qualifier: &str| row.value("c", qualifier).unwrap_or_default();
    lab.data_table(
        &["after 100 logins", ">bytes of the cell", "value"],
        [
            ["Increment", &bytes("count").len().to_string(), "100"],
            ["Append", &bytes("text").len().to_string(), "11111..."],
        ],
    );
    lab.assert_claim(
        bytes("count") == 100_i64.to_be_bytes() && bytes("text") == [b'1'; 100],
        "After 97 more of each, the counter is 100, in eight bytes.",
    )?;
    let table = |verb: &str| {
        format!(
            "CREATE TABLE logins (n I64 FAMILY c, ROW KEY (user STRING)) WITH QUERIES (count: \
             {verb} user = ?)"
        )
    };
    lab.expect_finding("F-APPENDCNT", &table("APPEND"), &table("INCREMENT"))
}
