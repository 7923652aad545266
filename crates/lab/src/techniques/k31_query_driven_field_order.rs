//! K31: the field order, by the frequency of the queries.

use halite::rowkey::{KeySchema, Value};

use crate::counting_table::CountingTable;
use crate::declared_keys::encode_keys;
use crate::samples::{MINUTE, T0};
use crate::{LabTable, Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K31",
    title: "The most frequent condition goes first",
    rules: &["K-UNUSED"],
    see: &["K28", "K09"],
    run,
};

const HOSTS: usize = 20;
const METRICS: usize = 10;
const MINUTES: i64 = 50;
/// Queries of one mix.
const QUERIES: usize = 20;
const BY_HOST: &[&str] = &["host=host-7", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"];
const BY_METRIC: &[&str] = &["metric=metric-3", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Measurements are queried by host and by metric, and one of the two is first in the key. \
         Which one is a matter of counting: what each query reads under each key, times its \
         frequency. Rows that are read together are then adjacent.",
    );
    lab.section(Section::Declaration);
    let (host_first, host_key) = lab.declare(
        "CREATE TABLE host_first (\n  v DOUBLE FAMILY m,\n  ROW KEY (host STRING, ts TIMESTAMP, \
         metric STRING)\n)",
    )?;
    let (metric_first, metric_key) = lab.declare(
        "CREATE TABLE metric_first (\n  v DOUBLE FAMILY m,\n  ROW KEY (metric STRING, ts \
         TIMESTAMP, host STRING)\n)",
    )?;

    lab.section(Section::Demonstration);
    lab.paragraph(format!(
        "{HOSTS} hosts with {METRICS} metrics each, a value a minute for {MINUTES} minutes, in \
         both tables. Ten minutes of one host, and of one metric:"
    ));
    for (table, key, first, last) in
        [(&host_first, &host_key, "host", "metric"), (&metric_first, &metric_key, "metric", "host")]
    {
        let rows = rows_of(first, last);
        lab.load(table, "m:v", encode_keys(key, rows)?.into_iter().map(|key| (key, "1.5")))?;
    }
    measure(lab, [(&host_first, &host_key), (&metric_first, &metric_key)])?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The questions of the first day are not those of the third year, and the key stays. If \
         both questions matter, both tables are written: twice the \
         space and twice the writes, for two questions that read what they show. What no question \
         names goes last, where it only keeps rows apart.",
    );
    let with = |query: &str| {
        format!(
            "CREATE TABLE m (v DOUBLE FAMILY m, ROW KEY (host STRING, ts TIMESTAMP, metric \
             STRING)) WITH QUERIES ({query})"
        )
    };
    lab.expect_finding(
        "K-UNUSED",
        &with("host: host = ? AND ts IN RANGE"),
        &with("host: host = ? AND ts IN RANGE AND metric = ?"),
    )
}

/// Returns the values of all rows, in the order of a key that begins with hosts or with metrics.
fn rows_of(first: &str, last: &str) -> Vec<[Value<'static>; 3]> {
    let (firsts, lasts) = if first == "host" { (HOSTS, METRICS) } else { (METRICS, HOSTS) };
    let mut rows = Vec::new();
    for (at, minute) in (0..firsts).flat_map(|at| (0..MINUTES).map(move |minute| (at, minute))) {
        rows.extend((0..lasts).map(|to| {
            [
                Value::Text(format!("{first}-{at}").into()),
                Value::Signed(T0 + minute * MINUTE),
                Value::Text(format!("{last}-{to}").into()),
            ]
        }));
    }
    rows
}

/// Counts the rows that single queries and mixes of them read under both keys.
fn measure(
    lab: &mut PageWriter,
    [host, metric]: [(&LabTable, &KeySchema); 2],
) -> anyhow::Result<()> {
    let under_host =
        [rows_read(lab, host.0, host.1, BY_HOST)?, rows_read(lab, host.0, host.1, BY_METRIC)?];
    let under_metric = [
        rows_read(lab, metric.0, metric.1, BY_HOST)?,
        rows_read(lab, metric.0, metric.1, BY_METRIC)?,
    ];
    lab.paragraph(format!(
        "Then {QUERIES} questions for ten minutes of a host or a metric that is drawn, nine of ten \
         by host, and {QUERIES} of which one of ten is:"
    ));
    let (mostly_host, mostly_metric) = (random_queries(lab, 9), random_queries(lab, 1));
    let mut of_mixes = Vec::new();
    for (table, key) in [host, metric] {
        of_mixes.push([
            total_rows_read(lab, table, key, &mostly_host)?,
            total_rows_read(lab, table, key, &mostly_metric)?,
        ]);
    }
    let [host_mixes, metric_mixes] = of_mixes[..] else { anyhow::bail!("there are two tables") };
    let line = |name: &str, one: [usize; 2], mixes: [usize; 2]| {
        [
            name.to_owned(),
            one[0].to_string(),
            one[1].to_string(),
            mixes[0].to_string(),
            mixes[1].to_string(),
        ]
    };
    lab.data_table(
        &[
            "rows read",
            ">by host",
            ">by metric",
            ">18 by host, 2 by metric",
            ">2 by host, 18 by metric",
        ],
        [
            line("host first", under_host, host_mixes),
            line("metric first", under_metric, metric_mixes),
        ],
    );
    lab.assert_claim(
        under_host[0] == 100 && under_metric[1] == 200,
        "Under the key that begins with the queried field, only the result is read.",
    )?;
    lab.assert_claim(
        host_mixes[0] * 3 < metric_mixes[0],
        "If nine of ten questions are by host, host first reads less than a third for all of them.",
    )?;
    lab.assert_claim(
        metric_mixes[1] * 3 < host_mixes[1],
        "If nine of ten are by metric, it is the other way round.",
    )
}

/// Returns random queries, `by_host` of every ten by host and the others by metric.
fn random_queries(lab: &mut PageWriter, by_host: usize) -> Vec<[String; 2]> {
    let question = |index: usize| {
        let minute = lab.rng().i64(0..MINUTES - 10);
        let of = if index % 10 < by_host {
            format!("host=host-{}", lab.rng().usize(0..HOSTS))
        } else {
            format!("metric=metric-{}", lab.rng().usize(0..METRICS))
        };
        [of, format!("ts=2024-03-15T00:{minute:02}:00Z..2024-03-15T00:{:02}:00Z", minute + 10)]
    };
    (0..QUERIES).map(question).collect()
}

/// Returns the total number of rows that some queries read.
fn total_rows_read(
    lab: &PageWriter,
    table: &LabTable,
    key: &KeySchema,
    questions: &[[String; 2]],
) -> anyhow::Result<usize> {
    questions.iter().map(|question| rows_read(lab, table, key, &[&question[0], &question[1]])).sum()
}

/// Returns the number of rows that a query reads, whether or not they match.
fn rows_read(
    lab: &PageWriter,
    table: &LabTable,
    key: &KeySchema,
    question: &[&str],
) -> anyhow::Result<usize> {
    let plan = lab.plan(key, question, None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(table)?);
    lab.execute_plan(counted, &plan)?;
    Ok(reads.rows())
}
