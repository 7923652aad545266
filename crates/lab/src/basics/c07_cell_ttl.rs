//! C07: the time to live of a single cell, in milliseconds.

use std::time::{Duration, Instant};

use halite::{FamilyDescriptor, Put};

use crate::{LabTable, Page, PageWriter, Section};

pub(super) const PAGE: Page =
    Page { id: "C07", title: "TTL of a single cell", rules: &[], see: &["C05"], run };

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A put can give its cells a time to live of their own, in milliseconds where that of a \
         family is in seconds. A code that is sent by mail ends after minutes, in a row that \
         stays. The shorter of the two counts.",
    );
    lab.section(Section::Demonstration);
    let table = lab.create_with_families(
        "logins",
        &[FamilyDescriptor::new("l"), FamilyDescriptor::new("short").ttl_seconds(1)],
    )?;
    let began = Instant::now();
    put(lab, &table, "l:code", 1_000)?;
    put(lab, &table, "short:code", 60_000)?;
    lab.put(&table, "user_1", "l:name", "Ada")?;
    let early = lab.get(&table, "user_1")?;
    lab.paragraph(
        "The code in family l may live for one second. The one in family short for a minute, and \
         the family itself for one second.",
    );
    lab.assert_claim(
        early.value("l", "name").is_some() && early.value("l", "code").is_some(),
        "At first the code is there.",
    )?;
    std::thread::sleep(Duration::from_millis(1_800).saturating_sub(began.elapsed()));
    lab.paragraph("Almost two seconds later:");
    let late = lab.get(&table, "user_1")?;
    lab.assert_claim(
        late.value("l", "code").is_none() && late.value("l", "name") == Some(b"Ada"),
        "The code is gone, and the name, in the same family, is not.",
    )?;
    lab.assert_claim(
        late.value("short", "code").is_none(),
        "A cell does not outlive its family: of the minute nothing was left after a second.",
    )?;
    lab.paragraph(
        "The time of a cell counts from its timestamp. Nothing is deleted when it ends, and so \
         nothing hides an older version that is still stored:",
    );
    let doors = lab.create_with_families("doors", &[FamilyDescriptor::new("d").versions(2)])?;
    lab.put(&doors, "door_1", "d:state", "closed")?;
    doors.inner().put(Put::new("door_1").ttl_ms(500).add("d", "state", "open"))?;
    lab.statement("put 'doors', 'door_1', 'd:state', 'open', {TTL => 500}", Vec::new());
    std::thread::sleep(Duration::from_secs(1));
    let row = lab.get(&doors, "door_1")?;
    lab.assert_claim(
        row.value("d", "state") == Some(b"closed"),
        "Half a second later the door is closed again: the older value shows.",
    )
}

fn put(lab: &mut PageWriter, table: &LabTable, column: &str, ttl_ms: u64) -> anyhow::Result<()> {
    let (family, qualifier) = column.split_once(':').unwrap_or((column, ""));
    table.inner().put(Put::new("user_1").ttl_ms(ttl_ms).add(family, qualifier, "4711"))?;
    lab.statement(
        format!("put 'logins', 'user_1', '{column}', '4711', {{TTL => {ttl_ms}}}"),
        Vec::new(),
    );
    Ok(())
}
