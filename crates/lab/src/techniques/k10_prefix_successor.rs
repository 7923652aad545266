//! K10: four digits of a digest, the region, the time: one region is one range that ends at its
//! successor.

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K10",
    title: "A prefix ends where its successor begins",
    rules: &["Q-HASHRANGE"],
    see: &["K01", "K09"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Events by region: four digits of the region's digest spread regions over the table, then \
         come the region and the time. All events of a region have one beginning, and the range of \
         a beginning ends at its successor: the same bytes with one more in the last of them.",
    );
    lab.section(Section::Declaration);
    let key =
        lab.key("ROW KEY TEXT '{md5(region):4}_{region}_{ts:13}' WHERE region MATCHES '[a-z]+'")?;

    lab.section(Section::Demonstration);
    let table = lab.create("events", &["e"], &[])?;
    let mut keys = Vec::new();
    for region in ["beijing", "beijin", "shanghai", "guangzhou"] {
        for minute in 0..5 {
            keys.push(lab.encode_key(
                &key,
                &[&format!("region={region}"), &format!("ts={}", T0 + minute * MINUTE)],
            )?);
        }
    }
    lab.load(&table, "e:v", keys.into_iter().map(|key| (key, "x")))?;
    lab.paragraph("Four regions with five events each. One of them, as it is planned:");
    let plan = lab.explain(&key, &["region=beijing"], None)?;
    let found = lab.query(&table, &key, &["region=beijing"], None)?;
    let bounds = plan.ranges().next().map(|range| range.range.clone());
    lab.assert_claim(
        bounds.is_some_and(|range| {
            range.contains(b"0420_beijing_~") && !range.contains(b"0420_beijing`")
        }),
        "The range ends at 0420_beijing`: the underscore is byte 5F, followed by 60, the back \
         quote.",
    )?;
    lab.assert_claim(found.len() == 5, "It holds the five events of beijing.")?;
    let by_hand = lab.scan(&table, &ScanSpec::from_row("0420_beijing_").to("0420_beijing`"))?;
    lab.assert_claim(
        by_hand == found,
        "The same two bounds typed into a shell give the same rows.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A time range over all regions reads the whole table, because the digest of an unknown \
         region is unknown. And a region is one place, however its name is hashed: with eight \
         regions, at most eight places take writes.",
    );
    let with = |query: &str| {
        format!(
            "CREATE TABLE events (v STRING FAMILY e, ROW KEY (HASH(region BYTES 2 USING md5), \
             region STRING, ts TIMESTAMP)) WITH QUERIES ({query})"
        )
    };
    lab.expect_finding(
        "Q-HASHRANGE",
        &with("recent: ts IN RANGE"),
        &with("recent: region = ? AND ts IN RANGE"),
    )
}
