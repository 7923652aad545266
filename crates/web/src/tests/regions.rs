//! Cluster, tables and regions.

use std::time::{Duration, Instant};

use halite::{Get, Put};
use serde_json::json;

use super::{Web, texts};

/// Creates the table of the tutorial and issues its requests.
fn tutorial() -> Web {
    let web = Web::new();
    web.create_table("testtable", &[b"1", b"2", b"3"]);
    let table = web.store().table("testtable").unwrap();
    for (digit, requests) in [(0, 21), (1, 22), (2, 31), (3, 23)] {
        for number in 0..requests {
            let row = format!("{digit}{number:02}");
            // Reads and writes count alike.
            if number % 2 == 0 {
                table.put(Put::new(row).add("f", "q", "value")).unwrap();
            } else {
                table.get(Get::new(row)).unwrap();
            }
        }
    }
    web
}

#[tokio::test]
async fn w01_regions_as_json_and_csv_list_requests() {
    let web = tutorial();
    let page = web.get("/api/tables/testtable/regions?series=1&keys=escaped").await.json();
    let regions = &page["regions"];
    assert_eq!((&page["total"], &page["offset"]), (&json!(4), &json!(0)));
    assert_eq!(texts(regions, "/start_key/hex"), ["", "31", "32", "33"]);
    assert_eq!(texts(regions, "/end_key/hex"), ["31", "32", "33", ""]);
    assert_eq!(texts(regions, "/start_key/escaped"), ["", "1", "2", "3"]);
    let requests: Vec<u64> = regions
        .as_array()
        .unwrap()
        .iter()
        .map(|region| region["requests_total"].as_u64().unwrap())
        .collect();
    assert_eq!((requests.clone(), requests.iter().sum::<u64>()), (vec![21, 22, 31, 23], 97));
    let second = &regions[1];
    assert_eq!(second["write_requests_total"], 11);
    assert_eq!(second["rows"], 11, "of the memstore");
    assert_eq!(second["share"], 0.226_804);
    assert_eq!((&second["state"], &second["compaction"]), (&json!("OPEN"), &json!(null)));
    assert_eq!(second["reads_series"].as_array().unwrap().len(), 60);
    // Nothing measures these; what is not measured is named.
    for name in ["locality", "server"] {
        assert!(second[name].is_null());
        assert!(page["missing"].as_array().unwrap().contains(&json!(name)), "{name}");
    }

    for (path, accept) in [("regions.csv", "*/*"), ("regions", "text/csv")] {
        let path = format!("/api/tables/testtable/{path}");
        let csv = web.get_with(&path, &[("accept", accept)]).await;
        assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
        let disposition = csv.headers["content-disposition"].to_str().unwrap();
        assert_eq!(disposition, "attachment; filename=\"testtable-regions.csv\"");
        let mut lines = csv.text().lines();
        let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
        let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
        // The names of regions contain commas, in quotes.
        let cells: Vec<Vec<&str>> = lines
            .map(|line| line.rsplitn(heads.len(), ',').collect::<Vec<_>>())
            .map(|cells| cells.into_iter().rev().collect())
            .collect();
        let of = |name: &str| cells.iter().map(|line| line[column(name)]).collect::<Vec<_>>();
        assert_eq!(of("Start key"), ["", "1", "2", "3"]);
        assert_eq!(of("End key"), ["1", "2", "3", ""]);
        assert_eq!(of("Start key (hex)"), ["", "31", "32", "33"]);
        assert_eq!(of("Requests"), ["21", "22", "31", "23"]);
    }
}

#[tokio::test]
async fn regions_are_sorted_filtered_and_paged() {
    let web = tutorial();
    let path = "/api/tables/testtable/regions";
    let page = web.get(&format!("{path}?sort=-requests_total&limit=2")).await.json();
    assert_eq!(texts(&page["regions"], "/start_key/hex"), ["32", "33"]);
    let as_of = &page["as_of"];
    // The table changes; the rest of the list does not.
    web.store().table("testtable").unwrap().put(Put::new("0").add("f", "q", "v")).unwrap();
    for _ in 0..20 {
        web.store().table("testtable").unwrap().get(Get::new("0")).unwrap();
    }
    let rest = format!("{path}?sort=-requests_total&limit=2&offset=2&as_of={as_of}");
    let rest = web.get(&rest).await.json();
    assert_eq!(texts(&rest["regions"], "/start_key/hex"), ["31", ""]);
    assert_eq!((&rest["as_of"], &rest["total"]), (as_of, &json!(4)));
    // A list is used again for a time that depends on how long it took to make.
    let patience = Instant::now();
    loop {
        let now = web.get(&format!("{path}?sort=-requests_total&limit=1")).await.json();
        if texts(&now["regions"], "/start_key/hex") == [""] {
            break;
        }
        assert!(patience.elapsed() < Duration::from_mins(1), "{now}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let found = web.get(&format!("{path}?q=3")).await.json();
    assert!(texts(&found["regions"], "/end_key/hex").contains(&"33"));
    assert_eq!(web.get(&format!("{path}?q=zz")).await.json()["total"], 0);
    let ends = web.get(&format!("{path}?sort=end_key")).await.json();
    assert_eq!(texts(&ends["regions"], "/end_key/hex"), ["31", "32", "33", ""]);
    let old = web.get(&format!("{path}?as_of=1")).await.problem();
    assert_eq!(old, (409, "conflict".into(), "as_of".into()));
    let sort = web.get(&format!("{path}?sort=nonsense")).await.problem();
    assert_eq!(sort, (400, "fix_request".into(), "sort".into()));
    let grouped = web.get(&format!("{path}?group=state&ruler=2")).await.json();
    let groups = &grouped["groups"];
    assert_eq!((&groups[0]["name"], &groups[0]["regions"]), (&json!("OPEN"), &json!(4)));
    assert_eq!((&groups[0]["offset"], &groups[0]["share"]), (&json!(0), &json!(1.0)));
    assert_eq!(grouped["ruler"].as_array().unwrap().len(), 2);
    let group = web.get(&format!("{path}?group=salt")).await.problem();
    assert_eq!(group, (400, "fix_request".into(), "group".into()));
}

#[tokio::test]
async fn cluster_and_tables_have_totals_and_keys() {
    let web = tutorial();
    web.create_declared("shop", "ROW KEY (SALT(4 BY id), id STRING, at TIMESTAMP DESC)");
    let cluster = web.get("/api/cluster").await.json();
    assert_eq!((&cluster["mode"], &cluster["read_only"]), (&json!("standalone"), &json!(false)));
    assert_eq!(cluster["requests_total"], 97);
    assert_eq!(cluster["servers"].as_array().unwrap().len(), 1);
    let tables = web.get("/api/tables?sort=-requests_total").await.json();
    assert_eq!(texts(&tables["tables"], "/name"), ["testtable", "shop"]);
    assert_eq!(tables["tables"][0]["regions"], 4);
    assert_eq!(tables["tables"][0]["skew_static"], 1.278_351);
    assert_eq!(web.get("/api/tables?q=SHO").await.json()["total"], 1);
    let shop = web.get("/api/tables/shop").await.json();
    assert_eq!(shop["state"], "ENABLED");
    let fields = &shop["row_key"]["fields"];
    assert_eq!(texts(fields, "/name"), ["salt", "id", "at"]);
    assert_eq!((&fields[0]["derived"], &fields[2]["desc"]), (&json!(true), &json!(true)));
    assert_eq!(shop["families"][0]["name"], "f");
    assert!(shop["ddl"].as_str().unwrap().starts_with("CREATE TABLE shop"));
    let plain = web.get("/api/tables/testtable").await.json();
    assert!(plain["row_key"].is_null() && plain["ddl"].is_null());
}

#[tokio::test]
async fn region_is_found_by_its_encoded_name() {
    let web = tutorial();
    let page = web.get("/api/tables/testtable/regions").await.json();
    let name = page["regions"][2]["encoded_name"].as_str().unwrap();
    let region = web.get(&format!("/api/tables/testtable/regions/{name}")).await.json();
    assert_eq!((&region["encoded_name"], &region["requests_total"]), (&json!(name), &json!(31)));
    let near = format!("{}{}", &name[..4], "0".repeat(28));
    let missing = web.get(&format!("/api/tables/testtable/regions/{near}")).await;
    assert_eq!(missing.problem(), (404, "not_found".into(), "encoded".into()));
    assert!(missing.text().contains(name), "{}", missing.text());
}

#[tokio::test]
async fn unknown_table_is_reported_with_nearest_name() {
    let web = tutorial();
    for path in
        ["", "/regions", "/rows", "/regions.csv", "/lint", "/cell?row=61&family=66&qualifier="]
    {
        let missing = web.get(&format!("/api/tables/testtabel{path}")).await;
        assert_eq!(missing.problem(), (404, "not_found".into(), "table".into()), "{path}");
        assert!(missing.text().contains("nearest: testtable"), "{}", missing.text());
    }
}

#[tokio::test]
async fn regions_of_salted_table_are_grouped() {
    let web = Web::new();
    let text = "ROW KEY (SALT(4 BY id), id STRING)";
    let key: halite::rowkey::KeySchema = text.parse().unwrap();
    let table = halite::TableDescriptor::new("salted".parse().unwrap())
        .family(halite::FamilyDescriptor::new("f"));
    let splits: [&[u8]; 3] = [&[1], &[1, b'm'], &[2]];
    web.store().create_table(key.declared_in(table), &splits).unwrap();
    let page = web.get("/api/tables/salted/regions?group=salt").await.json();
    let groups = page["groups"].as_array().unwrap();
    let sizes: Vec<u64> = groups.iter().map(|group| group["regions"].as_u64().unwrap()).collect();
    assert_eq!(texts(&page["groups"], "/name"), ["00000", "00001", "00002"]);
    assert_eq!(sizes, [1, 2, 1]);
    assert_eq!(page["regions"][1]["start_key"]["fields"], json!(["1"]));
}
