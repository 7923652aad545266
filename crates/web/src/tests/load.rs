//! Load of regions and tables: what splits would do, prefixes, pivots, thumbnails.

use serde_json::json;

use super::heat::web;
use super::texts;

#[tokio::test]
async fn region_has_its_sub_ranges_and_best_split() {
    let web = web(|_| ());
    let list = web.get("/api/tables/t/regions").await.json();
    let name = list["regions"][1]["encoded_name"].as_str().unwrap();
    let path = format!("/api/tables/t/regions/{name}");
    let region = web.get(&path).await.json();
    // Of the second region, m has 22 and x 33 requests per ten seconds; m is divided by its sample.
    assert_eq!(texts(&region["sub_ranges"], "/start/hex"), ["6d", "78"]);
    assert_eq!(region["sub_ranges"][0]["load"], 0.4);
    assert_eq!(region["half_load_key"]["hex"], "78");
    assert_eq!((&region["half_load"], &region["divisible"]), (&json!([0.4, 0.6]), &json!(true)));
    let body = format!("{{\"split_key\":\"{}\"}}", "n5");
    let plan = web.post(&format!("{path}/split"), &body, &[]).await.json();
    assert_eq!(plan["would"][1]["load"], json!([0.2, 0.8]));
    let hidden = super::heat::web(|config| config.shows_rows = false);
    let list = hidden.get("/api/tables/t/regions").await.json();
    let name = list["regions"][1]["encoded_name"].as_str().unwrap();
    let region = hidden.get(&format!("/api/tables/t/regions/{name}")).await.json();
    for key in ["sub_ranges", "half_load_key", "half_size_key"] {
        assert!(region[key].is_null(), "{key}");
    }
    // Nor does a dry run tell the load on both sides of a row.
    let plan = hidden.post(&format!("/api/tables/t/regions/{name}/split"), &body, &[]).await.json();
    assert!(plan["would"][1]["load"].is_null() && plan["would"][1]["text"].is_null(), "{plan}");
}

#[tokio::test]
async fn tables_have_shape_skew_and_thumbnail() {
    let web = web(|_| ());
    // Tables without requests have no findings.
    let put = halite_types::Put::new("row").add("f", "q", "v");
    web.store().table("t").unwrap().put(put).unwrap();
    for query in ["thumb=20x4", "thumb=20x4&show=bad", "thumb=20x4&sort=-shape&q=hot+row"] {
        let tables = web.get(&format!("/api/tables?{query}")).await.json();
        let table = &tables["tables"][0];
        assert_eq!((&table["shape"], &table["severity"]), (&json!("hot_row"), &json!("bad")));
        assert_eq!(
            (&table["skew_window_p99"], &tables["counts"]["bad"]),
            (&json!(1.75), &json!(1))
        );
        let thumb = &table["thumb"];
        let (width, height) = (thumb["w"].as_u64().unwrap(), thumb["h"].as_u64().unwrap());
        assert!(width <= 20 && height <= 4, "{thumb}");
        let cells = usize::try_from(width * height).unwrap();
        assert_eq!(thumb["data"].as_str().unwrap().len(), 2 * cells);
        assert!(!tables["missing"].as_array().unwrap().contains(&json!("shape")));
    }
    let problem = web.get("/api/tables?thumb=9x9999").await.problem();
    assert_eq!(problem, (400, "fix_request".into(), "thumb".into()));
}

#[tokio::test]
async fn hot_prefixes_have_their_lengths() {
    let web = web(|_| ());
    for query in ["", "&bytes=4"] {
        let path = format!("/api/tables/t/hot-keys?of=prefix{query}");
        let answer = web.get(&path).await.json();
        assert_eq!(answer["levels"], json!([{"bytes": 4}, {"bytes": 8}]));
        assert_eq!((&answer["level"], &answer["counters"]), (&json!({"bytes": 4}), &json!(32)));
        let row = &answer["rows"][0];
        assert_eq!((&row["key"]["hex"], &row["per_s"]), (&json!("75736572"), &json!(15.0)));
        assert_eq!(row["error"], 0.5);
    }
    for (query, field) in [("bytes=5", "bytes"), ("bytes=x", "bytes"), ("field=a", "field")] {
        let problem = web.get(&format!("/api/tables/t/hot-keys?of=prefix&{query}")).await.problem();
        assert_eq!(problem, (400, "fix_request".into(), field.into()), "{query}");
    }
}

#[tokio::test]
async fn pivot_has_sums_of_physical_map() {
    let web = web(|_| ());
    web.create_declared("d", "ROW KEY (a STRING, b U8)");
    let sums = |map: &serde_json::Value| -> f64 {
        let rows = map["mean"].as_array().unwrap().iter();
        rows.map(|row| row[5].as_f64().unwrap()).sum()
    };
    let physical = web.get("/api/tables/d/heat").await.json();
    let pivot = web.get("/api/tables/d/heat?order=pivot:a").await.json();
    assert!((sums(&physical) - sums(&pivot)).abs() < 1e-5);
    let rows = pivot["row"].as_array().unwrap();
    let last = rows.last().unwrap();
    // Neither bounds nor samples of this table are keys of the declaration.
    assert_eq!((&rows[0]["label"], &last["other"]), (&json!(["(not in schema)"]), &json!(true)));
    assert!(rows[0]["estimated"].as_bool().unwrap());
    let problem = web.get("/api/tables/d/heat?order=pivot:c").await.problem();
    assert_eq!(problem, (400, "fix_request".into(), "order".into()));
}

#[tokio::test]
async fn ranges_of_map_have_rows_and_bytes() {
    let web = web(|_| ());
    for row in ["a", "b", "c", "n"] {
        let put = halite_types::Put::new(row.as_bytes().to_vec()).add("f", "q", "v");
        web.store().table("t").unwrap().put(put).unwrap();
    }
    let heat = web.get("/api/tables/t/heat").await.json();
    let rows: Vec<u64> = heat["row"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["rows_est"].as_u64().unwrap())
        .collect();
    // Three rows in two ranges, and one in two.
    assert_eq!(rows, [1, 1, 0, 0]);
    assert_eq!(heat["missing"], json!([]));
}
