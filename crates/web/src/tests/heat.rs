//! Heat maps, hot keys and diagnosis of loads that an extension has recorded.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use halite_heat::{
    BASE_MS, Column, ColumnTime, Finding, HeatMap, HeatQuery, History, HotRow, Load, PrefixLevel,
    Region, SampledKey, Shape, WeightedKey,
};
use halite_types::{Put, RegionInfo, Result, TableName};

use super::{Answer, TOKEN, Web};
use crate::{Extension, Token, WebConfig, WebSources, router};

/// Time of the tests.
const NOW_MS: i64 = 1_700_000_000_000;

/// Table with writes of 60 columns: each of 4 ranges of keys has as many per second as its number.
pub(super) struct Recorded;

impl Recorded {
    fn histories() -> (History, History) {
        let (mut history, mut times) = (History::default(), History::default());
        let region = || Region {
            start: Box::default(),
            boundaries: ["b", "m", "x"].map(|row| row.as_bytes().into()).into(),
            loads: (0..4).map(|at| Load::new([at, at * 10, 0, 0, 100, 200])).collect(),
        };
        for at in 0..60 {
            let from = NOW_MS - (60 - at) * BASE_MS;
            history.push(&Column::of_regions(ColumnTime::exact(from, from + BASE_MS), &[region()]));
            times.push(&Column::of_time(ColumnTime::exact(from, from + BASE_MS)));
        }
        (history, times)
    }
}

impl Extension for Recorded {
    fn now_ms(&self) -> u64 {
        u64::try_from(NOW_MS).unwrap()
    }

    fn servers(&self) -> Vec<String> {
        ["host,16020,1", "other,16020,2"].map(str::to_owned).into()
    }

    fn server_of(&self, _: &RegionInfo) -> Option<String> {
        Some("host,16020,1".to_owned())
    }

    fn move_region(&self, _: &str, server: &str) -> Result<()> {
        assert_eq!(server, "other,16020,2");
        Ok(())
    }

    fn heat_maps(&self, _: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        let (history, times) = Self::histories();
        Ok(queries.iter().map(|query| HeatMap::new(&history, &times, query)).collect())
    }

    fn hot_rows(&self, _: &TableName, span: (i64, i64)) -> Result<(Vec<HotRow>, u64)> {
        let row = |row: &[u8], count| HotRow {
            row: row.to_vec(),
            count,
            error: 60,
            writes: count,
            bytes: 6000,
            first_seen_ms: span.0,
            last_seen_ms: span.1,
        };
        Ok((vec![row(b"<script>alert(1)</script>", 600), row(b"n\xff", 120)], 1200))
    }

    fn prefix_levels(&self, _: &TableName, _: (i64, i64)) -> Result<Vec<PrefixLevel>> {
        Ok(vec![PrefixLevel::Bytes(4), PrefixLevel::Bytes(8)])
    }

    fn hot_prefixes(
        &self,
        _: &TableName,
        level: PrefixLevel,
        _: (i64, i64),
    ) -> Result<(Vec<HotRow>, u64)> {
        assert_eq!(level, PrefixLevel::Bytes(4));
        let row = HotRow { row: b"user".to_vec(), count: 900, error: 30, ..HotRow::default() };
        Ok((vec![row], 1200))
    }

    /// As many operations on each of the rows `n0` to `n9`.
    fn sampled_keys(&self, _: &TableName, _: (i64, i64)) -> Result<Vec<WeightedKey>> {
        let key = |number: u8| SampledKey {
            row: vec![b'n', b'0' + number],
            is_write: number.is_multiple_of(2),
            ..SampledKey::default()
        };
        let keys = (0..10).map(|number| WeightedKey { key: key(number), region: 1, weight: 8.0 });
        Ok(keys.collect())
    }

    fn window_skew(&self, _: &TableName, _: (i64, i64)) -> Result<Option<f64>> {
        Ok(Some(1.75))
    }

    fn diagnose_load(&self, _: &TableName, _: (i64, i64)) -> Result<Finding> {
        Ok(Finding {
            shape: Shape::HotRow,
            confidence: 0.9,
            key: Some(b"hot".to_vec()),
            evidence: vec![("share", 0.5)],
            doubts: vec!["doubt"],
        })
    }
}

pub(super) fn web(change: impl FnOnce(&mut WebConfig)) -> Web {
    let web = Web::new();
    web.create_table("t", &[b"m"]);
    let mut config = WebConfig { token: Some(Token::new(TOKEN).unwrap()), ..WebConfig::default() };
    change(&mut config);
    let cluster = Arc::clone(web.store().cluster());
    let sources = WebSources { cluster, extension: Arc::new(Recorded) };
    Web { router: router(sources, config), ..web }
}

#[tokio::test]
async fn heat_has_amounts_per_second() {
    let answer = web(|_| ()).get("/api/tables/t/heat").await.json();
    assert_eq!(
        (&answer["rows"], &answer["cols"], &answer["dt_ms"]),
        (&4.into(), &60.into(), &BASE_MS.into())
    );
    assert_eq!(answer["layer"], "10s");
    for row in 0..4 {
        for column in 0..60 {
            assert_eq!(answer["mean"][row][column], f64::from(u32::try_from(row).unwrap()));
        }
    }
    assert_eq!(answer["row"][1]["start"]["hex"], "62");
    assert_eq!(answer["row"][3]["end"]["hex"], "");
    assert_eq!(answer["regions"].as_array().unwrap().len(), 2);
    assert_eq!(answer["regions"][1]["row"], 2);
}

#[tokio::test]
async fn binary_heat_is_that_of_json() {
    let web = web(|_| ());
    let path = "/api/tables/t/heat?metric=bytes&rows=2&cols=7";
    let json = web.get(path).await.json();
    let binary: Answer =
        web.get_with(path, &[(header::ACCEPT.as_str(), "application/vnd.halite.heat")]).await;
    assert_eq!(binary.headers[header::CONTENT_TYPE], "application/vnd.halite.heat");
    let length = u32::from_le_bytes(binary.body[..4].try_into().unwrap()) as usize;
    let head: serde_json::Value = serde_json::from_slice(&binary.body[4..4 + length]).unwrap();
    assert!(head.get("mean").is_none());
    assert_eq!((&head["rows"], &head["cols"]), (&json["rows"], &json["cols"]));
    let numbers = &binary.body[(4 + length).next_multiple_of(8)..];
    let mean: Vec<f64> = numbers
        .chunks(4)
        .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
        .collect();
    let rows = json["mean"].as_array().unwrap();
    let expected: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|value| value.as_f64().unwrap())
        .collect();
    assert_eq!(mean.len(), 2 * expected.len(), "means and maxima");
    assert_eq!(mean[..expected.len()], expected);
}

#[tokio::test]
async fn bad_heat_parameters_are_reported() {
    let web = web(|_| ());
    for (query, status, field) in [
        ("metric=nope", 400, "metric"),
        ("metric=p99", 501, "metric"),
        ("order=unsalted", 400, "order"),
        ("order=pivot:a", 400, "order"),
        ("order=x", 400, "order"),
        ("from=5&to=5", 400, "from"),
        ("from=99999999999999999999", 400, "from"),
        ("k0=62&k1=61", 400, "k1"),
        ("k0=6", 400, "k0"),
        ("rows=0", 400, "rows"),
        ("cols=100000", 400, "cols"),
    ] {
        let answer = web.get(&format!("/api/tables/t/heat?{query}")).await;
        let (found, _, name) = answer.problem();
        assert_eq!((found, name.as_str()), (status, field), "{query}");
    }
    for query in ["from=-9223372036854775808&to=9223372036854775807", "from=0&to=1", "k0=ff"] {
        let answer = web.get(&format!("/api/tables/t/heat?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.text());
    }
}

#[tokio::test]
async fn hot_keys_have_rates_and_errors() {
    let answer = web(|_| ()).get("/api/tables/t/hot-keys?window=1m").await.json();
    let first = &answer["rows"][0];
    assert_eq!(
        (&first["per_s"], &first["error"], &first["share"]),
        (&10.into_json(), &1.into_json(), &0.5.into())
    );
    assert_eq!(answer["rows"][1]["key"]["hex"], "6eff");
    let cell = format!("/api/tables/t/heat/cell?at={}&k0=6d", NOW_MS - 3);
    let cell = web(|_| ()).get(&cell).await.json();
    assert_eq!(cell["top_rows"].as_array().unwrap().len(), 1, "one of them is in the range");
}

#[tokio::test]
async fn rows_are_hidden_where_their_reading_is_off() {
    let web = web(|config| config.shows_rows = false);
    for path in ["/api/tables/t/hot-keys", "/api/tables/t/heat/cell?at=5"] {
        assert_eq!(web.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    let finding = web.get("/api/tables/t/diagnosis").await.json();
    assert_eq!(finding["findings"][0]["key"], serde_json::Value::Null);
    let heat = web.get("/api/tables/t/heat").await.json();
    let starts: Vec<&str> =
        (0..4).map(|row| heat["row"][row]["start"]["hex"].as_str().unwrap()).collect();
    assert_eq!(starts, ["", "", "6d", "6d"], "bounds of regions only");
    // The load before and after a key would tell where rows are: only whole regions are drawn.
    for query in ["k0=6d", "k1=6d", "k0=&k1=", "k0=6d&k1="] {
        let answer = web.get(&format!("/api/tables/t/heat?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}");
    }
    let refused =
        [("k0=6e", "k0"), ("k1=6c", "k1"), ("k0=6d&k1=6d00", "k1"), ("k0=61&k1=62", "k0")];
    for (query, field) in refused {
        let problem = web.get(&format!("/api/tables/t/heat?{query}")).await.problem();
        assert_eq!(problem, (403, "token".into(), field.into()), "{query}");
    }
}

#[tokio::test]
async fn diagnosis_says_what_helps() {
    let web = web(|_| ());
    let table = web.store().table("t").unwrap();
    for row in ["a", "n0", "n1", "n2"] {
        table.put(Put::new(row).add("f", "q", "v")).unwrap();
    }
    for path in ["/api/tables/t/diagnosis", "/api/diagnosis"] {
        let answer = web.get(path).await.json();
        let finding = &answer["findings"][0];
        assert_eq!(
            (&finding["shape"], &finding["split"]),
            (&"hot_row".into(), &"will_not_help".into())
        );
        assert_eq!(finding["doubts"][0], "doubt");
        assert_eq!(finding["fix"]["kind"], "advice");
        assert!(finding["text"].as_str().unwrap().contains("50 %"));
        // K37: the region with most of the load, its share and its server.
        let region = &finding["region"];
        assert_eq!(
            (&region["start_key"]["hex"], &region["end_key"]["hex"]),
            (&"6d".into(), &"".into())
        );
        assert_eq!((&region["share"], &region["server"]), (&0.75.into(), &"host,16020,1".into()));
    }
}

trait IntoJson {
    fn into_json(self) -> serde_json::Value;
}

impl IntoJson for i32 {
    fn into_json(self) -> serde_json::Value {
        f64::from(self).into()
    }
}
