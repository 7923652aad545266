//! E08: a time bucket at the start of the key, mistaken for a way to spread load.

use bytes::Bytes;
use halite::rowkey::{KeySchema, Value};
use halite_rowkey_tools::simulate::{Skew, panel_of_keys};

use crate::distribution::WINDOW;
use crate::manual_keys::perfect_splits;
use crate::samples::{HOUR, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E08",
    title: "A time bucket in front puts every moment into one region",
    rules: &["K-BUCKETLEAD"],
    see: &["E09", "E26"],
    run,
};

const HOSTS: usize = 300;
const HOURS: i64 = 55;
const REGIONS: u32 = 16;

/// Returns the keys of the samples in the order in which they were taken.
fn keys(schema: &KeySchema, samples: &[(String, i64)]) -> anyhow::Result<Vec<Bytes>> {
    let key = |(host, ts): &(String, i64)| {
        Ok(Bytes::copy_from_slice(&schema.encode(&[Value::Signed(*ts), host.as_str().into()])?))
    };
    samples.iter().map(key).collect()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (BUCKET(ts, '1h'), host STRING)";
    const SALTED: &str = "ROW KEY (SALT(16 BY host), BUCKET(ts, '1h'), host STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "{HOSTS} hosts send their load once an hour for {HOURS} hours. The key begins with the \
         hour, which should avoid hot spots, because rows of different hours lie in different \
         places.",
    ));
    let wrong = lab.key(WRONG)?;
    let mut samples = Vec::new();
    for hour in 0..HOURS {
        let mut hosts: Vec<_> = (0..HOSTS).collect();
        lab.rng().shuffle(&mut hosts);
        samples.extend(hosts.into_iter().map(|host| (format!("host{host:03}"), T0 + hour * HOUR)));
    }
    let wrong_keys = keys(&wrong, &samples)?;
    lab.paragraph(
        "The creator of the table knew all future keys: its 16 regions are of exactly the same \
         size in the end.",
    );
    let table = lab.create_with_splits("load", &["l"], perfect_splits(&wrong_keys, REGIONS)?)?;
    lab.load(&table, "l:v", wrong_keys.iter().map(|key| (key.clone(), "1")))?;

    lab.section(Section::Outcome);
    let whole = lab.stored_skew(&table)?;
    lab.assert_claim(
        whole.max_over_mean < 1.01,
        "Afterwards all regions have as many rows, and the table shows nothing wrong.",
    )?;
    let skew = lab.skew(&table, &wrong_keys);
    lab.paragraph(format!("But at a time, here {WINDOW} writes one after the other:"));
    lab.skews(&[("hour, host", &skew)]);
    lab.assert_claim(
        skew.window_mean > 14.0 && skew.window_effective_regions < 1.4,
        format!(
            "The busiest of 16 regions gets {:.1} times the mean: one region takes the writes, and \
             15 wait for their hour.",
            skew.window_mean
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "What comes first in the key decides where a row goes, and all rows of this hour have the \
         same bucket. Regions are filled one after the other. Splits do not help: the hot place \
         moves on into a region of its own each time. Buckets make rows wide; they spread nothing.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "A salt of the host in front of the bucket, or the host itself, if queries specify hosts:",
    );
    let salted = lab.key(SALTED)?;
    let hosts = lab.key("ROW KEY (host STRING, BUCKET(ts, '1h'))")?;
    let salted_keys = keys(&salted, &samples)?;
    let right = lab.create_with_splits(
        "load_2",
        &["l"],
        halite::rowkey::Splits::by_salt(&salted, 1, None)?.keys,
    )?;
    lab.load(&right, "l:v", salted_keys.iter().map(|key| (key.clone(), "1")))?;
    let swapped = |(host, ts): &(String, i64)| {
        Ok(Bytes::copy_from_slice(&hosts.encode(&[host.as_str().into(), Value::Signed(*ts)])?))
    };
    let host_keys = samples.iter().map(swapped).collect::<anyhow::Result<Vec<Bytes>>>()?;
    let by_host = Skew::from_keys(
        host_keys.iter().map(|key| &key[..]),
        &perfect_splits(&host_keys, REGIONS)?,
        WINDOW,
    );
    let by_salt = lab.skew(&right, &salted_keys);
    lab.skews(&[
        ("hour, host", &skew),
        ("salt of host, hour, host", &by_salt),
        ("host, hour", &by_host),
    ]);
    lab.picture(
        "One load under two keys: the hour in front, and a salt in front of it",
        vec![
            panel_of_keys(&wrong, &wrong_keys, table.splits(), &skew),
            panel_of_keys(&salted, &salted_keys, right.splits(), &by_salt),
        ],
    );
    lab.assert_claim(
        by_salt.window_mean < 2.0 && by_host.window_mean < 2.0,
        "Both ways all 16 regions work at any time, and the busiest has less than twice the mean.",
    )?;
    lab.paragraph(
        "An hour of all hosts is still one question. It reads a range under each salt, and gives \
         the rows in one order.",
    );
    let found = lab.query_rows(&right, &salted, &["ts=2024-03-15T07:00:00Z"], None)?;
    lab.assert_claim(
        found.len() == HOSTS,
        format!(
            "For seven o'clock of the first day, the salted table returns {HOSTS} rows, one for \
             each host."
        ),
    )?;
    lab.expect_finding("K-BUCKETLEAD", WRONG, SALTED)
}
