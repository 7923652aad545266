//! E41: a metric of all hosts in a range of time, from a key of metric, host and time.

use halite::rowkey::{KeySchema, PlanOptions, Value};

use crate::counting_table::CountingTable;
use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E41",
    title: "Metric, host, time is not one range for all hosts",
    rules: &[],
    see: &["E08", "E27"],
    run,
};

const HOSTS: i64 = 20;
const STEPS: i64 = 160;
const LATER: i64 = 40;

/// Returns one sample per host and minute, as host and time.
fn samples(minutes: std::ops::Range<i64>) -> Vec<(String, i64)> {
    minutes
        .flat_map(|minute| {
            (0..HOSTS).map(move |host| (format!("host{host:02}"), T0 + minute * MINUTE))
        })
        .collect()
}

/// Returns keys and values of the metric cpu for these samples.
fn keys(
    key: &KeySchema,
    samples: &[(String, i64)],
) -> anyhow::Result<Vec<(Vec<u8>, &'static str)>> {
    let one = |(host, ts): &(String, i64)| {
        let value = |name: &str| match name {
            "metric" => Value::from("cpu"),
            "host" => host.as_str().into(),
            _ => Value::Signed(*ts),
        };
        let values: Vec<_> = key.fields().iter().map(|field| value(&field.name)).collect();
        Ok((key.encode(&values)?.to_vec(), "1"))
    };
    samples.iter().map(one).collect()
}

/// Returns a line of the table that compares the keys.
fn compared(
    key: &str,
    ranges: &dyn std::fmt::Display,
    read: usize,
    selected: usize,
) -> [String; 4] {
    [key.to_owned(), ranges.to_string(), read.to_string(), selected.to_string()]
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Measurements are stored under metric, host and time, which is supposed to serve \"a \
         metric and a range of time\". {HOSTS} hosts, one value a minute for {STEPS} minutes; the \
         dashboard shows ten minutes of cpu of all hosts.",
    ));
    let (table, key) = lab.declare(
        "CREATE TABLE metrics (v DOUBLE FAMILY m, ROW KEY (metric STRING, host STRING, ts \
         TIMESTAMP))",
    )?;
    let first = samples(0..STEPS);
    lab.load(&table, "m:v", keys(&key, &first)?)?;

    lab.section(Section::Outcome);
    let question = ["metric=cpu", "ts=2024-03-15T02:00:00Z..2024-03-15T02:10:00Z"];
    let plan = lab.explain(&key, &question, None)?;
    let (found, read) = lab.query_counted(&table, &key, &question, None)?;
    lab.assert_claim(
        plan.fan_out() == 1
            && plan.has_residual()
            && i64::try_from(read)? == HOSTS * STEPS
            && found.len() == 200,
        format!(
            "It is one range: all of cpu. {read} rows are read for {} that are wanted, and more \
             with each day that is kept.",
            found.len()
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Within cpu, rows are sorted by host. The ten minutes are twenty parts, one in each host's \
         rows. A condition after an unspecified field narrows nothing.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "If the hosts are known, they are given, and each is a range. If only their number is \
         known, the plan skips from host to host and reads the ten minutes of each.",
    );
    let host = key.field_id("host").unwrap_or_default();
    let options = PlanOptions { distinct: vec![(host, 20)], ..PlanOptions::default() };
    let skipping = lab.explain_with(&key, &question, "about 20 hosts", &options)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let skipped = lab.execute_plan(counted, &skipping)?;
    lab.assert_claim(skipping.is_skip_scan() && skipped == found, "The same 200 rows.")?;
    let by_skipping = reads.rows();
    lab.paragraph(
        "If it is the question that matters most, it gets a key of its own: the metric and a \
         bucket of time in front, the hosts within. A salt of metric and host keeps the newest \
         bucket from being one place.",
    );
    let (buckets, bucketed) = lab.declare(
        "CREATE TABLE metrics_2 (v DOUBLE FAMILY m, ROW KEY (SALT(4 BY metric, host), metric \
         STRING, BUCKET(ts, '10m'), host STRING, ts TIMESTAMP)) SPLIT BY SALT",
    )?;
    lab.load(&buckets, "m:v", keys(&bucketed, &first)?)?;
    let (found_2, by_bucket) = lab.query_counted(&buckets, &bucketed, &question, None)?;
    let fan_out = lab.plan(&bucketed, &question, None)?.fan_out();
    lab.data_table(
        &["key", ">ranges", ">rows read", ">rows wanted"],
        [
            compared("metric, host, time", &1, read, found.len()),
            compared("the same, skipping", &HOSTS, by_skipping, found.len()),
            compared("salt, metric, bucket, host, time", &fan_out, by_bucket, found_2.len()),
        ],
    );
    lab.assert_claim(
        found_2.len() == found.len()
            && by_bucket == found.len()
            && by_skipping <= found.len() + 25
            && fan_out == 4,
        format!(
            "Skipping reads {by_skipping} rows, of which those above 200 tell which hosts there \
             are; the bucketed key reads what is wanted."
        ),
    )?;
    lab.paragraph(format!("{LATER} minutes later:"));
    let later = samples(STEPS..STEPS + LATER);
    lab.load(&table, "m:v", keys(&key, &later)?)?;
    lab.load(&buckets, "m:v", keys(&bucketed, &later)?)?;
    let (_, whole) = lab.query_counted(&table, &key, &question, None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    lab.execute_plan(counted, &skipping)?;
    let (_, bucket) = lab.query_counted(&buckets, &bucketed, &question, None)?;
    lab.assert_claim(
        whole > read && reads.rows() == by_skipping && bucket == by_bucket,
        format!(
            "The same ten minutes cost {whole} rows the first way now, and as many as before the \
             other ways: {by_skipping} and {bucket}."
        ),
    )
}
