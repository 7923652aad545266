//! Rows, cells, plans and lint.

use halite::Put;
use halite::rowkey::KeySchema;
use halite_types::key::to_hex;
use serde_json::json;

use super::{Web, texts};

/// Creates a table of 50 rows `row-00` to `row-49`, each with two versions of one cell.
fn plain() -> Web {
    let web = Web::new();
    let table = halite::TableDescriptor::new("plain".parse().unwrap())
        .family(halite::FamilyDescriptor::new("f").versions(3));
    web.store().create_table(table, &[b"row-20"]).unwrap();
    let table = web.store().table("plain").unwrap();
    for number in 0..50 {
        for version in 1..=2 {
            let put = Put::new(format!("row-{number:02}"));
            let value = format!("value {version}");
            table.put(put.add_at("f", "q", version, value)).unwrap();
        }
    }
    web
}

fn row(number: usize) -> String {
    to_hex(format!("row-{number:02}").as_bytes())
}

#[tokio::test]
async fn rows_of_keys_are_paged_in_both_directions() {
    let web = plain();
    for (reverse, first, second) in [(0, 0, 1), (1, 49, 48)] {
        let path = format!("/api/tables/plain/rows?limit=20&reverse={reverse}");
        let (mut next, mut keys) = (String::new(), Vec::new());
        loop {
            let page = web.get(&format!("{path}{next}")).await.json();
            let found = texts(&page["rows"], "/key/hex");
            keys.extend(found.into_iter().map(str::to_owned));
            match page["next"].as_str() {
                Some(token) => next = format!("&next={token}"),
                None => break,
            }
        }
        assert_eq!(keys.len(), 50);
        assert_eq!(keys[..2], [row(first), row(second)]);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 50);
    }
}

#[tokio::test]
async fn prefix_start_and_stop_select_rows() {
    let web = plain();
    for (query, first, rows) in [
        ("prefix=row-1", 10, 10),
        ("prefix=row-1&reverse=1", 19, 10),
        ("start=row-4", 40, 10),
        ("start=row-05&stop=row-08", 5, 3),
        ("start=row-08&stop=row-05&reverse=1", 8, 3),
        ("prefix=row-\\x32", 20, 10),
    ] {
        let page = web.get(&format!("/api/tables/plain/rows?{query}")).await.json();
        let keys = texts(&page["rows"], "/key/hex");
        assert_eq!((keys[0], keys.len()), (row(first).as_str(), rows), "{query}");
    }
    let plan = &web.get("/api/tables/plain/rows?prefix=row-1").await.json()["plan"];
    assert_eq!((&plan["ranges"], &plan["regions"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn values_are_cut_and_versions_returned_as_asked() {
    let web = plain();
    let path = "/api/tables/plain/rows?limit=1&value_bytes_max=3&versions=2&cols=f:q";
    let cells = &web.get(path).await.json()["rows"][0]["cells"];
    assert_eq!(cells.as_array().unwrap().len(), 2);
    assert_eq!(cells[0]["value"], json!({"hex": "76616c", "len": 7}));
    assert_eq!((&cells[0]["ts"], &cells[1]["ts"]), (&json!(2), &json!(1)));
    assert_eq!((&cells[0]["type"], &cells[0]["family"]), (&json!("Put"), &json!("f")));
    let one = &web.get("/api/tables/plain/rows?limit=1").await.json()["rows"][0];
    assert_eq!(one["cells"].as_array().unwrap().len(), 1);
    let family = web.get("/api/tables/plain/rows?cols=nope").await.problem();
    assert_eq!((family.0, family.1.as_str()), (400, "fix_request"));
}

#[tokio::test]
async fn cell_is_returned_as_attachment() {
    let web = plain();
    let of = |ts: &str| format!("/api/tables/plain/cell?row={}&family=66&qualifier=71{ts}", row(7));
    let newest = web.get(&of("")).await;
    assert_eq!(newest.body, b"value 2");
    assert_eq!(newest.headers["content-type"], "application/octet-stream");
    assert!(newest.headers["content-disposition"].to_str().unwrap().starts_with("attachment"));
    assert_eq!(web.get(&of("&ts=1")).await.body, b"value 1");
    assert_eq!(web.get(&of("&ts=3")).await.problem().0, 404);
    assert_eq!(web.get(&of("&ts=-5")).await.problem().0, 400);
}

/// Creates a table of 3 devices with 20 points each.
fn declared() -> Web {
    let web = Web::new();
    let text = "ROW KEY (SALT(4 BY device), device STRING, at TIMESTAMP)";
    web.create_declared("points", text);
    let schema: KeySchema = text.parse().unwrap();
    let table = web.store().table("points").unwrap();
    for device in ["a", "b", "it's"] {
        for minute in 0..20 {
            let quoted = device.replace('\'', "''");
            let (device, at) =
                (format!("device='{quoted}'"), format!("at=2024-03-15T08:{minute:02}:00Z"));
            let values = schema.parse_values([device.as_str(), at.as_str()]).unwrap();
            let key = schema.encode(&values).unwrap().to_vec();
            table.put(Put::new(key).add("f", "q", "v")).unwrap();
        }
    }
    web
}

#[tokio::test]
async fn rows_by_fields_use_a_plan() {
    let web = declared();
    let path = "/api/tables/points/rows?device=b&at.ge=2024-03-15T08:05:00Z&limit=10";
    let page = web.get(path).await.json();
    let rows = &page["rows"];
    assert_eq!(rows.as_array().unwrap().len(), 10);
    assert_eq!(rows[0]["key"]["fields"][1], "b");
    assert_eq!(rows[0]["key"]["fields"][2], "2024-03-15T08:05:00Z");
    assert_eq!(page["plan"]["ranges"], 1);
    assert_eq!(page["plan"]["salts"].as_array().unwrap().len(), 1);
    let rest = web.get(&format!("{path}&next={}", page["next"].as_str().unwrap())).await.json();
    assert_eq!(rest["rows"].as_array().unwrap().len(), 5);
    assert!(rest["next"].is_null());
    let all = web.get("/api/tables/points/rows?limit=1000").await.json();
    assert_eq!(all["rows"].as_array().unwrap().len(), 60);
    for (query, rows) in [
        ("device=it%27s", 20),
        ("device.in=a,b", 40),
        ("device.prefix=it", 20),
        ("device=a&at.ge=2024-03-15T08:05:00Z&at.lt=2024-03-15T08:07:00Z", 2),
        ("device=a&at.gt=2024-03-15T08:05:00Z&at.le=2024-03-15T08:07:00Z", 2),
        ("device=%27%20or%201", 0),
    ] {
        let page = web.get(&format!("/api/tables/points/rows?limit=1000&{query}")).await.json();
        assert_eq!(page["rows"].as_array().unwrap().len(), rows, "{query}");
    }
}

#[tokio::test]
async fn wrong_conditions_are_reported_with_parameter() {
    let web = declared();
    for (query, field) in [
        ("at=yesterday", "at"),
        ("nope.ge=1", "nope.ge"),
        ("device.like=x", "device.like"),
        ("device=a&start=b", "start"),
        ("device=a&next=k00", "next"),
        ("next=zz", "next"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("versions=0", "versions"),
        ("cols=:q", "cols"),
        ("reverse=maybe", "reverse"),
        ("key_bytes_max=0", "key_bytes_max"),
    ] {
        let problem = web.get(&format!("/api/tables/points/rows?{query}")).await.problem();
        assert_eq!(problem, (400, "fix_request".into(), field.into()), "{query}");
    }
    // Other parameters are ignored.
    web.get("/api/tables/points/rows?utm_source=x").await.json();
}

#[tokio::test]
async fn plan_names_ranges_and_fan_out() {
    let web = declared();
    let plan = web.get("/api/plan?table=points&query=device=b").await.json();
    assert_eq!((&plan["ranges_total"], &plan["fan_out"]), (&json!(1), &json!(1)));
    assert!(plan["text"].as_str().unwrap().contains("fan-out"));
    let all = web.get("/api/plan?table=points").await.json();
    assert_eq!(all["sort"], false);
    let wrong = web.get("/api/plan?table=points&query=at=x").await.problem();
    assert_eq!(wrong, (400, "fix_request".into(), "query".into()));
    assert_eq!(web.get("/api/plan").await.problem().2, "table");
}

#[tokio::test]
async fn lint_reports_rules_of_table_and_text() {
    let web = Web::new();
    web.create_declared("orders", "ROW KEY (order_id U64)");
    let found = web.get("/api/tables/orders/lint").await.json();
    assert!(found["rules"].as_u64().unwrap() > 10);
    let text = r#"{"ddl": "ROW KEY (\n  at TIMESTAMP)"}"#;
    let found = web.post("/api/lint", text, &[]).await.json();
    let rules = texts(&found["findings"], "/rule");
    assert!(rules.contains(&"K-MONO"), "{rules:?}");
    assert!(found["findings"].as_array().unwrap().iter().any(|finding| finding["line"] == 2));
    let wrong = web.post("/api/lint", r#"{"ddl": "ROW KEY (at NOTHING)"}"#, &[]).await;
    assert_eq!(wrong.problem(), (400, "fix_request".into(), "ddl".into()));
    assert!(wrong.text().contains("line 1, column 13"), "{}", wrong.text());
}

#[tokio::test]
async fn rows_can_be_switched_off() {
    let web = Web::with(|config| config.shows_rows = false);
    web.create_table("t", &[]);
    for path in ["rows", "cell?row=61&family=66&qualifier=71"] {
        let problem = web.get(&format!("/api/tables/t/{path}")).await.problem();
        assert_eq!((problem.0, problem.1.as_str()), (403, "token"));
    }
    assert_eq!(web.get("/api/cluster").await.json()["shows_rows"], false);
    web.get("/api/tables/t/regions").await.json();
}
