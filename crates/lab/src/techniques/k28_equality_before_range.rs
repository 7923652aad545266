//! K28: host, event, time: fields with equality conditions precede fields with range conditions.

use crate::counting_table::CountingTable;
use crate::samples::{MINUTE, T0};
use crate::{LabTable, Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K28",
    title: "Host, event, time: equal fields first, ranges last",
    rules: &[],
    see: &["K07", "K27", "K31"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Questions to a log of events name a host, mostly an event too, and an interval. Fields \
         given as one value belong in front, and fields given as a range after them: then a result \
         is one contiguous part of the table.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE events (\n  text STRING FAMILY e QUALIFIER t,\n  ROW KEY (host \
                STRING, event STRING, ts TIMESTAMP)\n)";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "Ten hosts, five kinds of events, one of each kind in each of 100 minutes: 5,000 rows.",
    );
    let mut keys = Vec::new();
    for host in 0..10 {
        for event in ["boot", "error", "login", "logout", "update"] {
            for minute in 0..100 {
                let at = halite::rowkey::Value::Signed(T0 + minute * MINUTE);
                keys.push(
                    key.encode(&[format!("host-{host}").as_str().into(), event.into(), at])?
                        .to_vec(),
                );
            }
        }
    }
    lab.load(&table, "e:t", keys.into_iter().map(|key| (key, "x")))?;
    let queries: [&[&str]; 4] = [
        &["host=host-3"],
        &["host=host-3", "event=error"],
        &["host=host-3", "event=error", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"],
        &["host=host-3", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"],
    ];
    let measured = queries
        .iter()
        .map(|question| measure(lab, &table, &key, question))
        .collect::<anyhow::Result<Vec<_>>>()?;
    lab.data_table(
        &["condition", ">ranges", ">rows read", ">rows found"],
        [
            line("host", measured[0]),
            line("host, event", measured[1]),
            line("host, event, 10 minutes", measured[2]),
            line("host, 10 minutes", measured[3]),
        ],
    );
    lab.assert_claim(
        measured[..3] == [(1, 500, 500), (1, 100, 100), (1, 10, 10)],
        "Three of the questions are one range each, and read what they find.",
    )?;
    lab.assert_claim(
        measured[3] == (1, 500, 50),
        "Without the event, the time after it narrows nothing: all 500 rows of the host are read \
         for the 50 that are wanted.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The order serves hosts. An interval of all hosts reads the table. If host and interval \
         without the event is the question that counts, the order is host, time, event. And writes \
         of one host go to one place, which is fine as long as there are many hosts, none much \
         busier than the others.",
    );
    Ok(())
}

/// Returns the number of ranges, of rows read, and of rows found.
fn measure(
    lab: &PageWriter,
    table: &LabTable,
    key: &halite::rowkey::KeySchema,
    question: &[&str],
) -> anyhow::Result<(usize, usize, usize)> {
    let plan = lab.plan(key, question, None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(table)?);
    let found = lab.execute_plan(counted, &plan)?;
    Ok((plan.ranges().count(), reads.rows(), found.len()))
}

fn line(conditions: &str, (ranges, read, found): (usize, usize, usize)) -> Vec<String> {
    vec![conditions.to_owned(), ranges.to_string(), read.to_string(), found.to_string()]
}
