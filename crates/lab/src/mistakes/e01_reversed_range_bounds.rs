//! E01: the bounds of a time range on reversed times, written the wrong way round.

use crate::samples::{HOUR, T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E01",
    title: "A range of reversed times, from its earlier end to its later one",
    rules: &["Q-INV"],
    see: &[],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A user's operations are stored under their id and the time counted down from \
         Long.MAX_VALUE, so that the newest comes first. Three operations, at midnight and one and \
         two hours later:",
    );
    let table = lab.create("operations", &["o"], &[])?;
    for hour in 0..3 {
        lab.put(
            &table,
            format!("u1_{}", reversed(T0 + hour * HOUR)),
            "o:what",
            format!("operation {hour}"),
        )?;
    }
    lab.paragraph(
        "The operations from midnight to two o'clock are requested like rising times: from the \
         first time to the last.",
    );
    let wrong = ScanSpec::from_row(format!("u1_{}", reversed(T0)))
        .to(format!("u1_{}", reversed(T0 + 2 * HOUR)));

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &wrong)?;
    lab.assert_claim(
        found.is_empty(),
        "The scan finds nothing. There is no error either: a range that ends before it begins is \
         empty.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Long.MAX_VALUE - t falls as t rises. The later time has the smaller key, so the range has \
         to begin with the later time and end with the earlier one; and as the end of a scan is \
         left out, with the earlier time's key plus one if that time is wanted too.",
    );

    lab.section(Section::Right);
    let right = ScanSpec::from_row(format!("u1_{}", reversed(T0 + 2 * HOUR)))
        .to(format!("u1_{}", reversed(T0 - 1)));
    let found = lab.scan(&table, &right)?;
    lab.assert_claim(found.len() == 3, "All three operations are found, the newest first.")?;
    lab.paragraph(
        "A declared key does not let it come to that: the question names times as they are, and \
         the range is computed.",
    );
    let key = lab.key("ROW KEY TEXT '{user}_{rev(ts):19}' WHERE user MATCHES '[^_]+'")?;
    let question = ["user=u1", "ts>=2024-03-15T00:00:00Z", "ts<=2024-03-15T02:00:00Z"];
    lab.explain(&key, &question, None)?;
    let planned = lab.query(&table, &key, &question, None)?;
    lab.assert_claim(
        planned == found,
        "The planned range begins with the later time, and gives the same three rows.",
    )?;
    lab.expect_finding_in_scan("Q-INV", &key, &wrong, &right)
}
