//! K26: operations of a user between two times, newest first.

use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K26",
    title: "What a user did between two times, newest first",
    rules: &[],
    see: &["E01", "K12", "K25"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "With times that run backwards the range of an interval begins at its later end: at \
         Long.MAX_VALUE - t2, and it ends after Long.MAX_VALUE - t1. Halite accepts the two times \
         unchanged, and reverses them.",
    );
    lab.section(Section::Declaration);
    let (table, key) = lab.declare(
        "CREATE TABLE operations (\n  what STRING FAMILY o QUALIFIER w,\n  ROW KEY (user STRING, \
         ts TIMESTAMP DESC)\n)",
    )?;

    lab.section(Section::Demonstration);
    lab.paragraph(
        "One operation at each full hour from midnight to eight o'clock, of two users, and all of \
         user u1 from two to four o'clock, both included:",
    );
    for (user, hour) in
        ["u1", "u2"].into_iter().flat_map(|user| (0..9).map(move |hour| (user, hour)))
    {
        let row =
            lab.encode_key(&key, &[&format!("user={user}"), &format!("ts={}", T0 + hour * HOUR)])?;
        lab.load(&table, "o:w", [(row, format!("{user} at {hour}"))])?;
    }
    let question = ["user=u1", "ts>=2024-03-15T02:00:00Z", "ts<=2024-03-15T04:00:00Z"];
    let plan = lab.explain(&key, &question, None)?;
    let found = lab.query(&table, &key, &question, None)?;
    let whats: Vec<_> = found.iter().filter_map(|row| row.value("o", "w")).collect();
    lab.assert_claim(
        whats == [&b"u1 at 4"[..], b"u1 at 3", b"u1 at 2"],
        "The three operations come newest first.",
    )?;
    lab.assert_claim(
        plan.ranges().count() == 1 && !plan.has_residual(),
        "It is one range, and no row of it is read twice or discarded.",
    )?;

    lab.paragraph(
        "The same range built by hand, from the later time to the one after the earlier time:",
    );
    let bound = |time: i64| [b"u1\x00\x01", &time.to_be_bytes()[..]].concat();
    let (start, stop) = (bound(i64::MAX - (T0 + 4 * HOUR)), bound(i64::MAX - (T0 + 2 * HOUR) + 1));
    let by_hand = lab.scan(&table, &ScanSpec::from_row(start).to(stop))?;
    lab.assert_claim(by_hand == found, "It gives the same rows.")?;

    lab.section(Section::Costs);
    lab.paragraph(
        "None: the range is as narrow as one over times that rise. It only requires the two ends \
         in the right order (E01).",
    );
    Ok(())
}
