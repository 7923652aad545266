//! E10: a reversed time padded to less than its own width.

use crate::samples::{T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E10",
    title: "Padding to 13 digits does nothing to 19",
    rules: &["K-PAD"],
    see: &["E01", "E47"],
    run,
};

/// Returns `String.format("%013d", Long.MAX_VALUE - t)`, which wraps around as in Java.
fn padded(time: i64) -> String {
    format!("{:013}", i64::MAX.wrapping_sub(time))
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Reversed times are padded, so that all have as many digits and sort as numbers do: \
         String.format(\"%013d\", Long.MAX_VALUE - t), because a time in milliseconds has 13 \
         digits. Events of a museum's archive are stored this way, newest first, some of them from \
         before 1970:",
    );
    let table = lab.create("events", &["e"], &[])?;
    let events = [(T0, "2024"), (0, "1970"), (-1, "1969, the last millisecond"), (-T0, "1915")];
    for (time, year) in events {
        lab.put(&table, format!("archive_{}", padded(time)), "e:year", year)?;
    }

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &ScanSpec::prefix("archive_"))?;
    let years: Vec<_> = found.iter().filter_map(|row| row.value("e", "year")).collect();
    lab.assert_claim(
        years == [&b"1915"[..], b"1969, the last millisecond", b"2024", b"1970"],
        "Newest first should begin with 2024 and end with 1915. All that is from before 1970 comes \
         first, and the oldest of it first of all.",
    )?;
    lab.assert_claim(
        events
            .iter()
            .take(2)
            .all(|(time, _)| padded(*time) == reversed(*time) && padded(*time).len() == 19),
        "The padding never did anything: all reversed times from 1970 on have 19 digits without \
         it.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "What is padded is Long.MAX_VALUE - t, a number of 19 digits. That it sorts right from \
         1970 on is due to that alone. For a time before 1970 the subtraction exceeds a long and \
         turns negative, and a minus sign sorts before every digit. Nothing is reported, then or \
         ever.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Eight bytes in place of digits have no width to get wrong: a time that falls is a time \
         with all its bits turned round, for every long.",
    );
    let (table, key) = lab.declare(
        "CREATE TABLE events_2 (year STRING FAMILY e, ROW KEY (archive STRING, ts TIMESTAMP DESC))",
    )?;
    for (time, year) in events {
        let row = key.encode(&["archive".into(), halite::rowkey::Value::Signed(time)])?;
        lab.put(&table, row, "e:year", year)?;
    }
    let found = lab.query(&table, &key, &["archive=archive"], None)?;
    let years: Vec<_> = found
        .iter()
        .filter_map(|row| row.value("e", "year").map(|year| year[..4].to_vec()))
        .collect();
    lab.assert_claim(
        years == [b"2024", b"1970", b"1969", b"1915"],
        "The newest is first, on both sides of 1970.",
    )?;
    lab.paragraph(
        "Where keys have to be text, the width is 19, and it is checked when a key is made.",
    );
    lab.expect_finding(
        "K-PAD",
        "ROW KEY TEXT '{archive}_{rev(ts):13}' WHERE archive MATCHES '[a-z]+'",
        "ROW KEY TEXT '{archive}_{rev(ts):19}' WHERE archive MATCHES '[a-z]+'",
    )
}
