//! E34: a range over the hashed field.

use bytes::Bytes;
use halite::rowkey::Value;

use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E34",
    title: "A hashed key is found by its value only",
    rules: &["Q-HASHRANGE"],
    see: &["E04", "E14"],
    run,
};

const HOSTS: usize = 20;
const HOURS: i64 = 48;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (HASH(host, ts BYTES 4), host STRING, ts TIMESTAMP)";
    const RIGHT: &str = "ROW KEY (HASH(host BYTES 4), host STRING, ts TIMESTAMP)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Log lines of 20 hosts are spread by a hash of host and time in front of both. Readers can \
         compute a hash again, so rows are supposedly easy to find.",
    );
    let wrong = lab.key(WRONG)?;
    let table = lab.create("log", &["l"], &[])?;
    let lines: Vec<(String, i64)> = (0..HOSTS)
        .flat_map(|host| (0..HOURS).map(move |hour| (format!("host{host:02}"), T0 + hour * HOUR)))
        .collect();
    let keys = |key: &halite::rowkey::KeySchema| -> anyhow::Result<Vec<(Bytes, &str)>> {
        lines
            .iter()
            .map(|(host, ts)| {
                Ok((
                    Bytes::copy_from_slice(
                        &key.encode(&[host.as_str().into(), Value::Signed(*ts)])?,
                    ),
                    "line",
                ))
            })
            .collect()
    };
    lab.load(&table, "l:text", keys(&wrong)?)?;

    lab.section(Section::Outcome);
    lab.paragraph("One line of a known time is one get:");
    let one = lab.explain(&wrong, &["host=host07", "ts=2024-03-15T08:00:00Z"], None)?;
    lab.paragraph("The lines of a host between eight and noon:");
    let question = ["host=host07", "ts=2024-03-15T08:00:00Z..2024-03-15T12:00:00Z"];
    let range = lab.explain(&wrong, &question, None)?;
    lab.assert_claim(
        one.is_points()
            && range.has_residual()
            && crate::manual_keys::bounds(&range) == [(Bytes::new(), Bytes::new())],
        "The whole table is read, and every row examined.",
    )?;
    let found = lab.query_rows(&table, &wrong, &question, None)?;
    lab.assert_claim(
        found.len() == 4,
        format!("Of {} rows that are read, 4 are wanted.", lines.len()),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A hash can be computed only from all of its inputs. A range of times is not one time: \
         four hours of milliseconds are 14,400,000 hashes, each in another place.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The hash contains the fields that every query specifies as one value, here the host. \
         Fields queried by range follow unhashed.",
    );
    let right = lab.key(RIGHT)?;
    let table = lab.create("log_2", &["l"], &[])?;
    lab.load(&table, "l:text", keys(&right)?)?;
    let plan = lab.explain(&right, &question, None)?;
    let found = lab.query(&table, &right, &question, None)?;
    lab.assert_claim(
        plan.fan_out() == 1 && !plan.has_residual() && found.len() == 4,
        "One range, and nothing in it that is not wanted.",
    )?;
    let table = |key: &str| {
        format!(
            "CREATE TABLE log (text STRING FAMILY l, {key}) WITH QUERIES (hours: host = ? AND ts \
             IN RANGE)"
        )
    };
    lab.expect_finding("Q-HASHRANGE", &table(WRONG), &table(RIGHT))
}
