//! K05: the key of a measurement: a hash of the host, the host, a time bucket, the metric.

use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K05",
    title: "Hash of the host, host, quarter of an hour, metric",
    rules: &[],
    see: &["K01", "K30", "K28"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Measurements of many hosts: the host says which are read together, its digest in front \
         spreads hosts over regions, and all points of a quarter of an hour share one row. The \
         number of the quarter has ten digits, so that it sorts as a number.",
    );
    lab.section(Section::Declaration);
    let key = lab.key(
        "ROW KEY TEXT '{md5(host):8}_{host}_{bucket(ts,''15m''):10}_{metric}' WHERE host MATCHES \
         '[^_]+'",
    )?;

    lab.section(Section::Demonstration);
    let cpu = lab.encode(&key, &["host=host01", "ts=2024-03-15T00:00:00Z", "metric=cpu"])?;
    lab.assert_claim(
        &cpu[..] == b"fbb8bd61_host01_0001900512_cpu",
        "Midnight of 2024-03-15 is in quarter 1900512 since 1970.",
    )?;

    lab.paragraph(
        "Two hosts, two metrics, one row for each quarter of two hours; then the first hour of one \
         host:",
    );
    let table = lab.create("metrics", &["d"], &[])?;
    let mut keys = Vec::new();
    for host in ["host01", "host02"] {
        for metric in ["cpu", "memory"] {
            for quarter in 0..8 {
                keys.push(lab.encode_key(
                    &key,
                    &[
                        &format!("host={host}"),
                        &format!("ts={}", T0 + quarter * 15 * MINUTE),
                        &format!("metric={metric}"),
                    ],
                )?);
            }
        }
    }
    lab.load(&table, "d:0", keys.into_iter().map(|key| (key, "1.5")))?;
    let question = ["host=host01", "ts>=2024-03-15T00:00:00Z", "ts<2024-03-15T01:00:00Z"];
    let plan = lab.explain(&key, &question, None)?;
    let found = lab.query(&table, &key, &question, None)?;
    lab.assert_claim(
        plan.ranges().count() == 1 && found.len() == 8,
        "One range holds the four quarters of both metrics, and nothing else.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The metric follows the time: one metric over a day reads the others too, and discards \
         them. If dashboards show one metric, put it in front of the bucket. One metric of all \
         hosts is a scan of the whole table. And each point needs a separate column in its row, \
         named by its offset in the quarter (K30); without one the points of a quarter replace \
         each other.",
    );
    Ok(())
}
