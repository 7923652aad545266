//! Operations that an extension has recorded: the log, causes of a cell, and other keys.

use std::sync::Arc;

use axum::http::StatusCode;
use halite::rowkey::KeySchema;
use halite_heat::operations::{Call, CallKind, Client, LoggedCalls};
use halite_heat::{BASE_MS, Column, ColumnTime, HeatMap, HeatQuery, History, Load, Region};
use halite_types::{Result, TableName};

use super::{Answer, Web};
use crate::{Extension, WebConfig, WebSources, router};

const NOW_MS: i64 = 1_700_000_000_000;
const KEY: &str = "ROW KEY (order_id U64, line U32)";

/// Rising order numbers of two clients over ten minutes.
struct Recorded {
    calls: Vec<Call>,
    since_ms: i64,
}

impl Recorded {
    fn new(count: i64) -> Self {
        let schema: KeySchema = KEY.parse().unwrap();
        let call = |at: i64| {
            let values = [format!("order_id={at}"), "line=1".to_owned()];
            let values = schema.parse_values(values.iter().map(String::as_str)).unwrap();
            Call {
                time_ms: NOW_MS - 600_000 + at * 600_000 / count,
                kind: CallKind::Put,
                weight: 1000,
                table: "t".into(),
                row: schema.encode(&values).unwrap()[..].into(),
                stop: None,
                cells: 2,
                rows: 1,
                bytes: 80,
                client: Client {
                    address: if at % 4 == 0 { "10.0.0.2" } else { "10.0.0.1" }.into(),
                    user: "<b>ann</b>".into(),
                    version: "2.6".into(),
                },
                statement: "put f:amount".into(),
            }
        };
        let mut calls: Vec<Call> = (0..count).map(call).collect();
        // One client reads an order by its prefix.
        for at in (0..count).step_by(10) {
            let put = &calls[usize::try_from(at).unwrap()];
            let mut stop = put.row[..8].to_vec();
            stop[7] += 1;
            let stop = (stop[7] != 0).then(|| stop.into());
            let Some(stop) = stop else { continue };
            let scan = Call {
                kind: CallKind::Scan,
                row: put.row[..8].into(),
                stop: Some(stop),
                statement: "scan f".into(),
                ..put.clone()
            };
            calls.push(scan);
        }
        calls.sort_by_key(|call| call.time_ms);
        Self { calls, since_ms: NOW_MS - 600_000 }
    }
}

impl Extension for Recorded {
    fn now_ms(&self) -> u64 {
        u64::try_from(NOW_MS).unwrap()
    }

    fn heat_maps(&self, _: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        let (mut history, mut times) = (History::default(), History::default());
        for at in 0..60 {
            let from = NOW_MS - (60 - at) * BASE_MS;
            let loads = vec![Load::new([0, 100, 0, 0, 0, 0])];
            let region = Region { loads, ..Region::default() };
            history.push(&Column::of_regions(ColumnTime::exact(from, from + BASE_MS), &[region]));
            times.push(&Column::of_time(ColumnTime::exact(from, from + BASE_MS)));
        }
        Ok(queries.iter().map(|query| HeatMap::new(&history, &times, query)).collect())
    }

    fn hot_rows(&self, _: &TableName, _: (i64, i64)) -> Result<(Vec<halite_heat::HotRow>, u64)> {
        Ok((Vec::new(), 0))
    }

    fn logged_calls(
        &self,
        _: &TableName,
        (from, to): (i64, i64),
        limit: usize,
    ) -> Result<LoggedCalls> {
        let is_asked = |call: &&Call| (from..to).contains(&call.time_ms);
        let mut calls: Vec<Call> = self.calls.iter().filter(is_asked).cloned().collect();
        calls.drain(..calls.len().saturating_sub(limit));
        Ok(LoggedCalls { calls, dropped: 3, since_ms: Some(self.since_ms), rate: 1000 })
    }
}

fn web(count: i64, config: WebConfig) -> Web {
    web_of(Recorded::new(count), config)
}

fn web_of(recorded: Recorded, config: WebConfig) -> Web {
    let web = Web::new();
    web.create_declared("t", KEY);
    web.create_table("opaque", &[]);
    let cluster = Arc::clone(web.store().cluster());
    let sources = WebSources { cluster, extension: Arc::new(recorded) };
    Web { router: router(sources, config), ..web }
}

async fn what_if(web: &Web, table: &str, key: &str, more: &str) -> Answer {
    let key: Vec<String> = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let key = key.concat();
    let span = format!("from={}&to={NOW_MS}", NOW_MS - 600_000);
    web.get(&format!("/api/tables/{table}/what-if?row_key={key}&{span}{more}")).await
}

#[tokio::test]
async fn candidates_have_the_fields_of_the_key() {
    let web = web(3000, WebConfig::default());
    let answer = web.get("/api/tables/t/what-if").await.json();
    assert_eq!((&answer["key"]["ddl"], &answer["key"]["declared"]), (&KEY.into(), &true.into()));
    let found = answer["candidates"].as_array().unwrap();
    assert!(found.len() >= 3, "{found:?}");
    for candidate in found {
        let key = candidate["ddl"].as_str().unwrap();
        let tried = what_if(&web, "t", key, "").await.json();
        assert!(tried["metrics"]["d1"]["then"].as_f64().unwrap() >= 1.0, "{key}: {tried}");
    }
}

#[tokio::test]
async fn salt_spreads_recorded_frontier() {
    let web = web(6000, WebConfig::default());
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    let answer = what_if(&web, "t", key, "&rows=64&cols=60").await.json();
    let figure = |name: &str, when: &str| answer["metrics"][name][when].as_f64().unwrap();
    assert!(figure("d1", "now") > 10.0 && figure("d1", "then") < 3.0, "{}", answer["metrics"]);
    assert!(figure("d2", "then") > 10.0 && figure("d2", "now") < 3.0);
    assert_eq!(answer["metrics"]["d1"]["source"], "measured");
    assert!((figure("d11", "then") - figure("d11", "now") - 1.0).abs() < 1e-9);
    assert_eq!(answer["operations"], 6600 - answer["misfits"].as_u64().unwrap());
    assert_eq!(answer["worse"].as_array().unwrap().len(), 0, "a scan of one order knows its salt");
    assert!(answer["migration"]["ddl"].as_str().unwrap().contains("t_rekeyed"));
    let verdict = |when: &str| answer["verdicts"][when]["title"].as_str().unwrap();
    assert!(verdict("now").starts_with("Sequential frontier, "), "{}", answer["verdicts"]);
    assert!(verdict("then").starts_with("Even, "), "{}", answer["verdicts"]);
    let heat = &answer["heat"];
    assert_eq!((&heat["cols"], &heat["dt_ms"]), (&60.into(), &BASE_MS.into()));
    let rows = heat["mean"].as_array().unwrap();
    assert_eq!(rows.len(), heat["row"].as_array().unwrap().len());
    assert!((50..=64).contains(&rows.len()), "{}", rows.len());
    let sum: f64 = rows
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|value| value.as_f64().unwrap_or(0.0) * 10.0)
        .sum();
    assert!((sum - 6_000_000.0).abs() < 10_000.0, "weights are kept: {sum}");
    assert_eq!(heat["regions"].as_array().unwrap().len(), 16);
    assert_eq!(heat["row"][5]["start"]["fields"].as_array().map(Vec::is_empty), Some(false));
}

#[tokio::test]
async fn query_that_gets_worse_is_named() {
    let web = web(3000, WebConfig::default());
    let key = "ROW KEY (SALT(16), order_id U64, line U32)";
    let answer = what_if(&web, "t", key, "&metric=reads").await.json();
    assert_eq!(answer["worse"][0]["query"], "scan f");
    assert_eq!(answer["worse"][0]["then"], "16 ranges merged");
    assert!(answer["metrics"]["d8"]["then"].as_f64().unwrap() > 15.0);
}

#[tokio::test]
async fn too_few_operations_are_counted() {
    let web = web(20, WebConfig::default());
    let answer = what_if(&web, "t", "ROW KEY (line U32, order_id U64)", "").await.json();
    assert_eq!(answer["metrics"], serde_json::Value::Null);
    let note = answer["notes"][0].as_str().unwrap();
    assert!(note.starts_with("22 operations are recorded") && note.contains("1/1000"), "{note}");
}

/// Time that the log no longer has is not a time without load.
#[tokio::test]
async fn time_before_log_is_unknown() {
    let mut recorded = Recorded::new(6000);
    recorded.since_ms = NOW_MS - 300_000;
    recorded.calls.retain(|call| call.time_ms >= NOW_MS - 300_000);
    let web = web_of(recorded, WebConfig::default());
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    let heat = what_if(&web, "t", key, "&rows=16&cols=60").await.json()["heat"].take();
    assert_eq!(heat["gaps"][0]["to"], NOW_MS - 300_000);
    let first = heat["mean"][0].as_array().unwrap();
    assert!(first[..30].iter().all(serde_json::Value::is_null), "{first:?}");
    assert!(first[30..].iter().all(serde_json::Value::is_number), "{first:?}");
}

/// The first column of a picture begins before the asked time, and the log may begin within one:
/// the rate is that of the known part, and not paler.
#[tokio::test]
async fn column_known_in_part_has_the_rate_of_that_part() {
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    let columns = |heat: &serde_json::Value| -> Vec<f64> {
        let rows = heat["mean"].as_array().unwrap();
        let cell = |row: &serde_json::Value, at: usize| row[at].as_f64().unwrap_or(0.0);
        let count = rows[0].as_array().unwrap().len();
        (0..count).map(|at| rows.iter().map(|row| cell(row, at)).sum()).collect()
    };
    let mut recorded = Recorded::new(6000);
    recorded.since_ms = NOW_MS - 255_000;
    recorded.calls.retain(|call| call.time_ms >= NOW_MS - 255_000);
    let web = web_of(recorded, WebConfig::default());
    let heat = what_if(&web, "t", key, "&rows=16&cols=60").await.json()["heat"].take();
    let rates = columns(&heat);
    // 6,000 writes of the weight 1,000 in ten minutes.
    assert!(rates[..34].iter().all(|rate| *rate == 0.0), "{rates:?}");
    assert!(rates[34..].iter().all(|rate| (rate - 10_000.0).abs() < 1100.0), "{rates:?}");
    let from = NOW_MS - 123_000;
    let web = self::web(6000, WebConfig::default());
    let path: Vec<String> = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let path = path.concat();
    let path = format!("/api/tables/t/what-if?row_key={path}&from={from}&to={NOW_MS}&rows=16");
    let rates = columns(&web.get(&path).await.json()["heat"]);
    assert!(rates.iter().all(|rate| (rate - 10_000.0).abs() < 3500.0), "{rates:?}");
}

/// The scale of an answer is that of its amounts, in the terminal and in files as on the page.
#[tokio::test]
async fn answers_have_the_scale_of_pictures() {
    use halite_rowkey_tools::picture::{LoadLevel, Scale};
    let web = web(6000, WebConfig::default());
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    let other = what_if(&web, "t", key, "&rows=64&cols=60").await.json()["heat"].take();
    let recorded = web.get("/api/tables/t/heat").await.json();
    for heat in [other, recorded] {
        let amounts = |name: &str| -> Vec<f64> {
            let rows = heat[name].as_array().unwrap().iter();
            rows.flat_map(|row| row.as_array().unwrap())
                .filter_map(serde_json::Value::as_f64)
                .collect()
        };
        let (mean, max) = (amounts("mean"), amounts("max"));
        let level = LoadLevel {
            sum: mean.iter().sum(),
            cells: mean.len() as u64,
            largest: max.into_iter().fold(0.0, f64::max),
        };
        let scale = Scale::of([level]);
        let near = |name: &str, value: f64| {
            let answered = heat["scale"][name].as_f64().unwrap();
            assert!((answered / value - 1.0).abs() < 1e-5, "{name}: {answered} {value}");
        };
        near("knee", scale.knee);
        near("top", scale.top);
    }
}

#[tokio::test]
async fn few_operations_of_asked_kind_say_nothing() {
    let mut recorded = Recorded::new(3000);
    let reads = recorded.calls.iter().filter(|call| call.kind.is_read()).take(5).cloned();
    let reads: Vec<Call> = reads.collect();
    recorded.calls.retain(|call| !call.kind.is_read());
    recorded.calls.extend(reads);
    let web = web_of(recorded, WebConfig::default());
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    let answer = what_if(&web, "t", key, "&metric=reads").await.json();
    assert_eq!(answer["metrics"], serde_json::Value::Null);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("5 of the operations are reads"), "{notes}");
}

#[tokio::test]
async fn table_without_key_has_keys_of_bytes() {
    let web = web(3000, WebConfig::default());
    let answer = web.get("/api/tables/opaque/what-if").await.json();
    assert_eq!(answer["key"]["declared"], false);
    assert!(answer["notes"][0].as_str().unwrap().contains("declares no row key"));
    let key = answer["candidates"][0]["ddl"].as_str().unwrap();
    let tried = what_if(&web, "opaque", key, "").await.json();
    assert!(tried["metrics"]["d1"]["now"].as_f64().unwrap() > 10.0);
}

#[tokio::test]
async fn bad_what_if_is_reported() {
    let web = web(300, WebConfig::default());
    for key in ["ROW KEY (", "ROW KEY (other U64)", "<script>"] {
        let (status, _, field) = what_if(&web, "t", key, "").await.problem();
        assert_eq!((status, field.as_str()), (400, "row_key"), "{key}");
    }
    let key = "ROW KEY (SALT(16 BY order_id), order_id U64, line U32)";
    for (more, field) in [("&metric=p99", "metric"), ("&rows=0", "rows"), ("&cols=x", "cols")] {
        let (status, _, found) = what_if(&web, "t", key, more).await.problem();
        assert_eq!((status, found.as_str()), (400, field), "{more}");
    }
    assert_eq!(web.get("/api/tables/none/what-if").await.status, StatusCode::NOT_FOUND);
    let hidden = self::web(300, WebConfig { shows_rows: false, ..WebConfig::default() });
    for path in ["/api/tables/t/what-if", "/api/tables/t/operations"] {
        assert_eq!(hidden.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn operations_have_keys_fields_and_clients() {
    let web = web(300, WebConfig::default());
    let answer = web.get("/api/tables/t/operations?limit=10").await.json();
    let operations = answer["operations"].as_array().unwrap();
    assert_eq!((operations.len(), &answer["sampled"]), (10, &"1/1000".into()));
    let put = operations.iter().find(|operation| operation["op"] == "put").unwrap();
    assert_eq!(put["values"]["line"], "1");
    assert_eq!((&put["client"]["version"], &put["weight"]), (&"2.6".into(), &1000.into()));
    assert_eq!(put["fingerprint"].as_str().unwrap().len(), 8);
}

#[tokio::test]
async fn cell_has_clients_and_statements_with_shares() {
    let web = web(4000, WebConfig::default());
    let at = NOW_MS - 300_000;
    let answer = web.get(&format!("/api/tables/t/heat/cell?at={at}&dt_ms=60000")).await.json();
    let clients = answer["clients"].as_array().unwrap();
    assert_eq!((clients.len(), &clients[0]["addr"]), (2, &"10.0.0.1".into()));
    let shares: f64 = clients.iter().map(|client| client["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 0.001, "{answer}");
    assert_eq!(answer["statements"][0]["text"], "put f:amount");
    assert!(answer["operations"].as_u64().unwrap() > 300);
    let outside = format!("/api/tables/t/heat/cell?at={at}&k0=ff");
    assert_eq!(web.get(&outside).await.json()["operations"], 0);
}

/// The cause of written cells was a statement that reads.
#[tokio::test]
async fn causes_of_a_cell_are_those_of_its_metric() {
    let web = web(3000, WebConfig::default());
    for (metric, expected) in [
        ("writes", &["put f:amount"][..]),
        ("bytes_written", &["put f:amount"]),
        ("reads", &["scan f"]),
        ("bytes", &["put f:amount", "scan f"]),
    ] {
        let path = format!("/api/tables/t/heat/cell?at={}&metric={metric}", NOW_MS - 20_000);
        let cell = web.get(&path).await.json();
        let statements = cell["statements"].as_array().unwrap();
        let texts: Vec<&str> = statements.iter().map(|one| one["text"].as_str().unwrap()).collect();
        assert_eq!(texts, expected, "{metric}");
    }
    let unknown = web.get(&format!("/api/tables/t/heat/cell?at={NOW_MS}&metric=x")).await;
    assert_eq!(unknown.status, 400);
}
