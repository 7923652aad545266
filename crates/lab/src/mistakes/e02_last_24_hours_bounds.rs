//! E02: the last 24 hours of a sensor, newest first, requested from the older end.

use crate::manual_keys::bounds;
use crate::samples::{DAY, HOUR, T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E02",
    title: "The last 24 hours begin with now, not with yesterday",
    rules: &["Q-INV"],
    see: &["E01", "E03"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Points of sensors are stored under the sensor and the reversed time. A helper of the \
         application makes the scan for the last 24 hours: it begins with the key of the time 24 \
         hours ago, and ends with the key of now plus one millisecond, so that the point of now is \
         in it. Here are the points of sensor s1 of now, of an hour ago, of 24 hours ago, and of \
         one millisecond before that:",
    );
    let table = lab.create("points", &["d"], &[])?;
    for (time, value) in
        [(T0, "20.5"), (T0 - HOUR, "20.4"), (T0 - DAY, "19.0"), (T0 - DAY - 1, "18.9")]
    {
        lab.put(&table, format!("s1_{}", reversed(time)), "d:v", value)?;
    }

    lab.section(Section::Outcome);
    let wrong = ScanSpec::from_row(format!("s1_{}", reversed(T0 - DAY)))
        .to(format!("s1_{}", reversed(T0 + 1)));
    let found = lab.scan(&table, &wrong)?;
    lab.assert_claim(
        found.is_empty(),
        "Nothing is found: not now, not at any other time, and not for any sensor.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "The key of now is the smallest of all, as it should be when the newest comes first. The \
         scan begins 24 hours further down and ends in front of its own beginning. So it is for \
         every sensor and at any time, and what the application shows looks like sensors that have \
         not sent anything.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Newest first, the range begins with now and ends after the key of 24 hours ago: that \
         number plus one, because the stop row is left out.",
    );
    let key = lab.key("ROW KEY TEXT '{sensor}_{rev(ts):19}' WHERE sensor MATCHES '[^_]+'")?;
    let question = ["sensor=s1", "ts>=2024-03-14T00:00:00Z", "ts<=2024-03-15T00:00:00Z"];
    let plan = lab.explain(&key, &question, None)?;
    let expected = (
        format!("s1_{}", i64::MAX - T0).into(),
        format!("s1_{}", i64::MAX - (T0 - DAY) + 1).into(),
    );
    lab.assert_claim(
        bounds(&plan) == [expected],
        "The declared key computes it: from s1_9223370326393975807, up to and without \
         s1_9223370326480375808.",
    )?;
    let found = lab.query(&table, &key, &question, None)?;
    let values: Vec<_> = found.iter().filter_map(|row| row.value("d", "v")).collect();
    lab.assert_claim(
        values == [&b"20.5"[..], b"20.4", b"19.0"],
        "Both ends of the 24 hours are found, and the point one millisecond older is not.",
    )?;
    let right = ScanSpec::from_row(format!("s1_{}", reversed(T0)))
        .to(format!("s1_{}", reversed(T0 - DAY - 1)));
    lab.expect_finding_in_scan("Q-INV", &key, &wrong, &right)
}
