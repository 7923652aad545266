//! K31: which field goes first, by what is asked how often.

use halite::rowkey::{KeySchema, Value};

use crate::counted::Counted;
use crate::keyed::keys_of;
use crate::samples::{MINUTE, T0};
use crate::{Lab, LabTable, Page, Part};

pub(super) const PAGE: Page = Page { id: "K31", title: "What is asked most goes first", rules: &["K-UNUSED"], see: &["K28", "K09"], run };

const HOSTS: usize = 20;
const METRICS: usize = 10;
const MINUTES: i64 = 50;
const BY_HOST: &[&str] = &["host=host-7", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"];
const BY_METRIC: &[&str] = &["metric=metric-3", "ts=2024-03-15T00:10:00Z..2024-03-15T00:20:00Z"];

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "Measurements are asked for by host and by metric, and one of the two stands first in the key. Which one is a matter of counting: what each \
         question reads under each key, times how often it is asked. Rows that are read together then lie side by side.",
    );
    lab.part(Part::Declared);
    let (host_first, host_key) =
        lab.declare("CREATE TABLE host_first (\n  v DOUBLE FAMILY m,\n  ROW KEY (host STRING, ts TIMESTAMP, metric STRING)\n)")?;
    let (metric_first, metric_key) =
        lab.declare("CREATE TABLE metric_first (\n  v DOUBLE FAMILY m,\n  ROW KEY (metric STRING, ts TIMESTAMP, host STRING)\n)")?;

    lab.part(Part::Shown);
    lab.say(format!("{HOSTS} hosts with {METRICS} metrics each, a value a minute for {MINUTES} minutes, in both tables. Ten minutes of one host, and of one metric:"));
    for (table, key, first, last) in [(&host_first, &host_key, "host", "metric"), (&metric_first, &metric_key, "metric", "host")] {
        let (firsts, lasts) = if first == "host" { (HOSTS, METRICS) } else { (METRICS, HOSTS) };
        let names = |name: &str, count| (0..count).map(|at| format!("{name}-{at}")).collect::<Vec<_>>();
        let (firsts, lasts) = (names(first, firsts), names(last, lasts));
        let rows = firsts.iter().flat_map(|first| {
            let lasts = &lasts;
            (0..MINUTES).flat_map(move |minute| {
                lasts.iter().map(move |last| [first.as_str().into(), Value::Signed(T0 + minute * MINUTE), last.as_str().into()])
            })
        });
        lab.load(table, "m:v", keys_of(key, rows)?.into_iter().map(|key| (key, "1.5")))?;
    }
    let under_host = [rows_read(lab, &host_first, &host_key, BY_HOST)?, rows_read(lab, &host_first, &host_key, BY_METRIC)?];
    let under_metric = [rows_read(lab, &metric_first, &metric_key, BY_HOST)?, rows_read(lab, &metric_first, &metric_key, BY_METRIC)?];
    let weighed = |reads: [usize; 2], by_host: usize| (reads[0] * by_host + reads[1] * (100 - by_host)) / 100;
    let line = |name: &str, reads: [usize; 2]| {
        [name.to_owned(), reads[0].to_string(), reads[1].to_string(), weighed(reads, 90).to_string(), weighed(reads, 10).to_string()]
    };
    lab.figures(
        &["rows read", ">by host", ">by metric", ">90 % by host", ">10 % by host"],
        [line("host first", under_host), line("metric first", under_metric)],
    );
    lab.claim(under_host[0] == 100 && under_metric[1] == 200, "Under the key that begins with what is asked for, only the answer is read.")?;
    lab.claim(weighed(under_host, 90) * 5 < weighed(under_metric, 90), "If nine of ten questions are by host, host first reads a fifth or less.")?;
    lab.claim(weighed(under_metric, 10) * 5 < weighed(under_host, 10), "If nine of ten are by metric, it is the other way round.")?;

    lab.part(Part::Costs);
    lab.say(
        "The questions of the first day are not those of the third year, and the key stays. If both questions matter, both tables are written: twice the \
         space and twice the writes, for two questions that read what they show. What no question names goes last, where it only keeps rows apart.",
    );
    let with = |query: &str| format!("CREATE TABLE m (v DOUBLE FAMILY m, ROW KEY (host STRING, ts TIMESTAMP, metric STRING)) WITH QUERIES ({query})");
    lab.caught("K-UNUSED", &with("host: host = ? AND ts IN RANGE"), &with("host: host = ? AND ts IN RANGE AND metric = ?"))
}

/// Rows that a question reads, found or not.
fn rows_read(lab: &Lab, table: &LabTable, key: &KeySchema, question: &[&str]) -> anyhow::Result<usize> {
    let plan = lab.plan(key, question, None)?;
    let (counted, reads) = Counted::around(lab.seam(table)?);
    lab.carry_out(counted, &plan)?;
    Ok(reads.rows())
}
