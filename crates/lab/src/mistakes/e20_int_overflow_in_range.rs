//! E20: days in milliseconds computed as an int.

use crate::samples::{DAY, T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E20",
    title: "Thirty days in milliseconds do not fit into an int",
    rules: &["Q-INV"],
    see: &["E01", "E02"],
    run,
};

/// Returns `days * 24 * 3600 * 1000` of ints, as Java computes it.
fn days(days: i32) -> i32 {
    days.wrapping_mul(24).wrapping_mul(3600).wrapping_mul(1000)
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A sensor has a point a day under the sensor and the reversed time, for 40 days up to now. \
         The last n days are read from now back to now - n * 24 * 3600 * 1000, and n is an int.",
    );
    let table = lab.create("points", &["d"], &[])?;
    lab.load(
        &table,
        "d:v",
        (0..40).map(|day| (format!("s1_{}", reversed(T0 - day * DAY)), day.to_string())),
    )?;

    lab.section(Section::Outcome);
    let since = |from: i64| {
        ScanSpec::from_row(format!("s1_{}", reversed(T0))).to(format!("s1_{}", i64::MAX - from + 1))
    };
    let mut figures = Vec::new();
    let mut counts = Vec::new();
    for n in [1, 7, 24, 25, 30] {
        let found = lab.rows(&table, &since(T0 - i64::from(days(n))))?.len();
        figures.push([n.to_string(), days(n).to_string(), found.to_string()]);
        counts.push(found);
    }
    lab.data_table(&[">n", ">n * 24 * 3600 * 1000 as an int", ">points found"], figures);
    lab.assert_claim(
        counts[..3] == [2, 8, 25],
        "Up to 24 days every point of the days is found, both ends included.",
    )?;
    lab.assert_claim(
        days(30) == -1_702_967_296 && counts[3..] == [0, 0],
        "From 25 days on nothing is found: 30 days are -1,702,967,296 milliseconds, and the range \
         begins in the future.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "An int ends at 2,147,483,647, which is 24.8 days of milliseconds. All factors are ints, \
         so the product is one, whatever it is subtracted from. The mistake shows with the first \
         query for a month.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "A question names times, or a duration with its unit; nothing is multiplied. In Java it is \
         Duration.ofDays(30).toMillis(), or 30L.",
    );
    let key = lab.key("ROW KEY TEXT '{sensor}_{rev(ts):19}' WHERE sensor MATCHES '[^_]+'")?;
    let found = lab.query(&table, &key, &["sensor=s1", "ts=2024-02-14..2024-03-16"], None)?;
    lab.assert_claim(
        found.len() == 31,
        "The points of the last 30 days, from 14 February to 15 March, are 31.",
    )?;
    lab.expect_finding_in_scan(
        "Q-INV",
        &key,
        &since(T0 - i64::from(days(30))),
        &since(T0 - 30 * DAY),
    )
}
