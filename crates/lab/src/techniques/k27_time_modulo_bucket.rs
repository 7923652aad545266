//! K27: the remainder of a time as a leading bucket: a hundred buckets, a hundred scans.

use halite::rowkey::{Order, Value};

use crate::declared_keys::{encode_keys, skew_for_keys};
use crate::samples::{MINUTE, T0};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K27",
    title: "A bucket of the time's remainder: a hundred scans",
    rules: &["K-TSMOD"],
    see: &["K22", "K28", "K15"],
    run,
};

const HOSTS: [&str; 3] = ["web-1", "web-2", "db-1"];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Log lines of all hosts, wanted by time and nothing else. Times alone all go to the end of \
         the table. With the time's remainder by n in front they go to n places in turn, and a \
         reader of an interval knows the places: all n of them.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE lines (\n  text STRING FAMILY l QUALIFIER t,\n  ROW KEY (SALT(100 BY \
                ts USING modulo), ts TIMESTAMP, host STRING, event STRING)\n) SPLIT INTO 10";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.paragraph("6,000 lines of three hosts, 20 ms apart on the average. Those of a minute:");
    let mut at = T0;
    let mut rows = Vec::new();
    for line in 0..6_000 {
        at += lab.rng().i64(0..=40);
        rows.push([Value::Signed(at), HOSTS[line % 3].into(), "request".into()]);
    }
    let keys = encode_keys(&key, rows.iter().cloned())?;
    lab.load(&table, "l:t", keys.iter().map(|key| (key.clone(), "x")))?;
    let question = ["ts>=2024-03-15T00:00:30Z", "ts<2024-03-15T00:01:30Z"];
    let plan = lab.explain(&key, &question, Some(5))?;
    let found = lab.query_rows(&table, &key, &question, None)?;
    let expected = rows.iter().filter(|[at, ..]| matches!(at, Value::Signed(at) if (T0 + MINUTE / 2..T0 + 3 * MINUTE / 2).contains(at))).count();
    lab.assert_claim(plan.fan_out() == 100, "One interval is 100 ranges, one in each bucket.")?;
    lab.assert_claim(
        found.len() == expected && plan.serves_order(&[(0, Order::Asc)]),
        format!(
            "Merged, its {expected} lines come in the order of time, though they lie in 100 places."
        ),
    )?;
    let times = found
        .iter()
        .map(|row| Ok(key.decode(row.key())?.get(0).cloned().map(Value::into_owned)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let rising = times.windows(2).all(|pair| matches!(pair, [Some(Value::Signed(before)), Some(Value::Signed(now))] if before <= now));
    lab.assert_claim(rising, "No line comes before one that is older.")?;
    let narrow =
        lab.plan(&key, &["ts>=2024-03-15T00:00:30Z", "ts<2024-03-15T00:00:30.003Z"], None)?;
    lab.assert_claim(
        narrow.fan_out() == 3,
        "Three milliseconds can lie in three buckets only, and only those are read.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The remainder spreads the randomness in the last digits of times. Where they have none, \
         it spreads nothing. The same lines, and lines stamped in full seconds:",
    );
    let seconds = rows.iter().map(|[at, host, event]| match at {
        Value::Signed(at) => [Value::Signed(at / 1000 * 1000), host.clone(), event.clone()],
        other => [other.clone(), host.clone(), event.clone()],
    });
    let stamped = skew_for_keys(&encode_keys(&key, seconds)?, &hundred_boundaries(), 2_000);
    let random = skew_for_keys(&keys, &hundred_boundaries(), 2_000);
    lab.skews(&[("random milliseconds", &random), ("full seconds", &stamped)]);
    lab.assert_claim(
        random.max_over_mean < 1.6 && random.empty_regions == 0,
        "With random milliseconds all 100 buckets are written to.",
    )?;
    lab.assert_claim(
        stamped.empty_regions == 99,
        "With full seconds, 99 of 100 buckets stay empty: 1000 is a multiple of 100.",
    )?;
    let right = "ROW KEY (SALT(100 BY host, event), ts TIMESTAMP, host STRING, event STRING)";
    lab.expect_finding(
        "K-TSMOD",
        "ROW KEY (SALT(100 BY ts USING modulo), ts TIMESTAMP, host STRING, event STRING)",
        right,
    )
}

/// Returns a split key at each bucket but the first.
fn hundred_boundaries() -> Vec<bytes::Bytes> {
    (1..100_u8).map(|bucket| bytes::Bytes::copy_from_slice(&[bucket])).collect()
}
