//! E09: the remainder of a time as salt.

use bytes::Bytes;

use crate::samples::{SECOND, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E09",
    title: "The remainder of a time is the same for every full second",
    rules: &["K-TSMOD"],
    see: &["E07", "E08"],
    run,
};

const HOSTS: i64 = 50;
const SECONDS: i64 = 100;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (SALT(100 BY ts USING modulo), ts TIMESTAMP, host STRING)";
    const RIGHT: &str = "ROW KEY (SALT(100 BY host, ts), ts TIMESTAMP, host STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Measurements are put into 100 buckets, timestamp % 100, so that they go to 100 places. \
         The table has 20 regions of five buckets each.",
    );
    let wrong = lab.key(WRONG)?;
    let splits: Vec<Bytes> = (1..20_u8).map(|region| Bytes::from(vec![region * 5])).collect();
    let table = lab.create_with_splits("measurements", &["m"], splits.clone())?;
    lab.paragraph(format!(
        "{HOSTS} hosts measure at every full second, for {SECONDS} seconds. Times are in \
         milliseconds, as everywhere in HBase."
    ));
    let samples: Vec<(i64, String)> = (0..SECONDS * HOSTS)
        .map(|index| (T0 + index / HOSTS * SECOND, format!("host{:02}", index % HOSTS)))
        .collect();
    let keys = |key: &halite::rowkey::KeySchema,
                samples: &[(i64, String)]|
     -> anyhow::Result<Vec<Bytes>> {
        samples
            .iter()
            .map(|(ts, host)| {
                Ok(Bytes::copy_from_slice(
                    &key.encode(&[halite::rowkey::Value::Signed(*ts), host.as_str().into()])?,
                ))
            })
            .collect()
    };
    let wrong_keys = keys(&wrong, &samples)?;
    lab.load(&table, "m:v", wrong_keys.iter().map(|key| (key.clone(), "1")))?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    let buckets: std::collections::BTreeSet<u8> =
        wrong_keys.iter().filter_map(|key| key.first().copied()).collect();
    lab.assert_claim(
        buckets.len() == 1 && skew.empty_regions == 19,
        "One bucket of 100 has every row, and one region of 20 every write.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A full second is a multiple of 1000, and so of 100: the remainder is 0, always. Times \
         from timers, from other systems and from rounding are nearly all multiples of something. \
         With times that are spread over the milliseconds it looks right, which is how it comes \
         through tests:",
    );
    let spread: Vec<(i64, String)> =
        samples.iter().map(|(ts, host)| (ts + lab.rng().i64(0..SECOND), host.clone())).collect();
    let spread = lab.skew(&table, &keys(&wrong, &spread)?);
    let aligned = lab.skew(&table, &wrong_keys);
    lab.skews(&[
        ("times % 100, full seconds", &aligned),
        ("times % 100, any millisecond", &spread),
    ]);
    lab.assert_claim(
        aligned.max_over_mean > 19.9 && spread.max_over_mean < 1.3,
        "The same key, the same hosts, the same hundred seconds.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "A bucket is a hash of what differs between rows. Here it is of host and time; of the host \
         alone, if questions name the host.",
    );
    let right = lab.key(RIGHT)?;
    let right_keys = keys(&right, &samples)?;
    let table = lab.create_with_splits("measurements_2", &["m"], splits)?;
    lab.load(&table, "m:v", right_keys.iter().map(|key| (key.clone(), "1")))?;
    let even = lab.stored_skew(&table)?;
    lab.assert_claim(
        even.max_over_mean < 1.3 && even.empty_regions == 0,
        format!("The greatest of 20 regions has {:.2} times the mean.", even.max_over_mean),
    )?;
    let found = lab.query_rows(&table, &right, &["ts=2024-03-15T00:00:07Z"], None)?;
    lab.assert_claim(
        found.len() == 50,
        "A second is read from 100 ranges, which is what either kind of bucket costs, and gives \
         its 50 rows.",
    )?;
    lab.expect_finding("K-TSMOD", WRONG, RIGHT)
}
