//! E37: a TTL mistaken for one of rows.

use halite::{FamilyDescriptor, Put};

use crate::table::LabTable;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E37",
    title: "A lifetime ends cell by cell, not row by row",
    rules: &["F-TTL"],
    see: &["E38"],
    run,
};

/// Waits this many milliseconds.
fn wait(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// Writes user and page of a session in one put.
fn put_session(lab: &mut PageWriter, table: &LabTable, page: &str) -> anyhow::Result<()> {
    table.inner().put(Put::new("session_2").add("s", "user", "bob").add("s", "page", page))?;
    lab.statement(
        format!(
            "put 'sessions', 'session_2', {{'s:user' => 'bob', 's:page' => '{page}'}}    -- one \
             put of two cells"
        ),
        Vec::new(),
    );
    Ok(())
}

/// Writes a cell that has its own TTL.
fn put_with_ttl(
    lab: &mut PageWriter,
    table: &LabTable,
    row: &str,
    milliseconds: u64,
) -> anyhow::Result<()> {
    table.inner().put(Put::new(row.to_owned()).ttl_ms(milliseconds).add("s", "user", "eve"))?;
    lab.statement(
        format!("put 'sessions', '{row}', 's:user', 'eve', {{TTL => {milliseconds}}}"),
        Vec::new(),
    );
    Ok(())
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Sessions live in a family with a time to live of two seconds. Rows are taken to be \
         deleted when their time is over, so a session is there as a whole or not at all. \
         session_1 has its user written at the login, and its page at each click. session_2 has \
         both written each time. The others have a cell with a life of its own each, of 300 \
         milliseconds and of a minute.",
    );
    let table = lab.make("sessions", [FamilyDescriptor::new("s").ttl_seconds(2)], Vec::new())?;
    lab.statement("create 'sessions', {NAME => 's', TTL => 2}", Vec::new());
    lab.put(&table, "session_1", "s:user", "ann")?;
    lab.put(&table, "session_1", "s:page", "/")?;
    put_session(lab, &table, "/")?;
    put_with_ttl(lab, &table, "session_3", 300)?;
    put_with_ttl(lab, &table, "session_4", 60_000)?;
    wait(1_200);
    lab.paragraph("A second later both sessions go on to another page:");
    lab.put(&table, "session_1", "s:page", "/cart")?;
    put_session(lab, &table, "/cart")?;
    let short = lab.get(&table, "session_3")?;
    lab.assert_claim(
        short.is_empty(),
        "The cell with a life of 300 milliseconds is gone by then, before its family's time.",
    )?;

    lab.section(Section::Outcome);
    wait(1_100);
    lab.paragraph("Another second later:");
    let row = lab.get(&table, "session_1")?;
    lab.assert_claim(
        row.len() == 1 && row.value("s", "page") == Some(b"/cart"),
        "The session has a page and no user. The cell with the user is more than two seconds old, \
         the cell with the page is not.",
    )?;
    let long = lab.get(&table, "session_4")?;
    lab.assert_claim(
        long.is_empty(),
        "The cell with a life of a minute is gone too: a cell may die before its family says, not \
         after.",
    )?;

    // Before the flush, which takes a part of its life.
    let two = table.inner().get(halite::Get::new("session_2"))?;

    lab.section(Section::Why);
    lab.paragraph(
        "Each cell has a timestamp, from which its lifetime counts. A row is only what its cells \
         have in common. An expired cell is no longer returned; it is removed when a compaction \
         rewrites its file.",
    );
    lab.flush(&table)?;
    let raw = lab.rows(&table, &ScanSpec::prefix("session_1").raw().versions(5))?;
    lab.assert_claim(
        raw.iter().map(halite::Row::len).sum::<usize>() <= 1,
        "A flush writes no cell that is over: of session_1 no more than its last page is in the \
         file.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "What belongs together is written together, in one put, which gives all its cells one \
         timestamp, or in one cell.",
    );
    wait(1_200);
    let gone = lab.get(&table, "session_2")?;
    lab.assert_claim(
        two.len() == 2 && gone.is_empty(),
        "session_2 had its user and its page when session_1 had lost its user; now it is gone, as \
         a whole.",
    )?;
    let table = |ttl: &str| {
        format!(
            "CREATE TABLE sessions (user STRING FAMILY s, ROW KEY (id STRING)) WITH (TTL = 2) WITH \
             QUERIES (login: PUT id = ? TTL '{ttl}')"
        )
    };
    lab.expect_finding("F-TTL", &table("1m"), &table("1s"))
}
