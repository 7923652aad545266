//! K12: a reversed time at the end of the key, so that the newest row of each comes first.

use crate::counting_table::CountingTable;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K12",
    title: "The newest row of each key first",
    rules: &[],
    see: &["K03", "K26"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "What is the last known position of this truck? With the time in ascending order the \
         answer is at the end of the truck's rows, after all of its past. With the time in \
         descending order it is the first row that a scan of the truck meets.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE positions (\n  place STRING FAMILY p QUALIFIER at,\n  ROW KEY (truck \
                STRING, ts TIMESTAMP DESC)\n)";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    for (truck, time, place) in [
        ("t7", "08:30", "depot"),
        ("t7", "11:45", "harbour"),
        ("t7", "10:00", "motorway"),
        ("t8", "12:00", "depot"),
    ] {
        lab.write(
            &table,
            &key,
            &[&format!("truck={truck}"), &format!("ts=2024-03-15T{time}:00Z")],
            "p:at",
            place,
        )?;
    }
    lab.explain(&key, &["truck=t7"], Some(1))?;
    let newest = lab.query(&table, &key, &["truck=t7"], Some(1))?;
    let place = newest.first().and_then(|row| row.value("p", "at"));
    lab.assert_claim(
        newest.len() == 1 && place == Some(b"harbour"),
        "The one row is that of 11:45, though it was not the last one written.",
    )?;
    let all = lab.query(&table, &key, &["truck=t7"], None)?;
    lab.assert_claim(
        all.len() == 3,
        "Without a limit all of the truck's rows come, from the newest to the oldest, and none of \
         another truck.",
    )?;

    lab.paragraph(
        "Truck t9 has a row for each of 100 minutes, and its newest is queried in the same way.",
    );
    let hundred = (0..100).map(|minute| {
        key.encode(&[
            "t9".into(),
            halite::rowkey::Value::Signed(crate::samples::T0 + minute * 60_000),
        ])
    });
    let keys: Vec<Vec<u8>> =
        hundred.map(|key| key.map(|key| key.to_vec())).collect::<Result<_, _>>()?;
    lab.load(&table, "p:at", keys.into_iter().map(|key| (key, "road")))?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    lab.execute_plan(counted, &lab.plan(&key, &["truck=t9"], Some(1))?)?;
    lab.assert_claim(reads.rows() == 1, "One row is read to find it.")?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A scan from old to new has to run in reverse, which costs more than a forward one. If the \
         current state is all that is read, one row for each truck that is overwritten is \
         smaller still: VERSIONS keeps a short history of it (C04).",
    );
    Ok(())
}
