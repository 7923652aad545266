//! Actions, tasks, and who may start them.

use std::time::Duration;

use halite::Put;
use serde_json::{Value, json};

use super::{TOKEN, Web};

const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef");

async fn table_with_region(web: &Web) -> String {
    web.create_table("t", &[]);
    let table = web.store().table("t").unwrap();
    for key in ["a", "k", "z"] {
        table.put(Put::new(key).add("f", "q", "v")).unwrap();
    }
    let page = web.get("/api/tables/t/regions").await.json();
    let name = page["regions"][0]["encoded_name"].as_str().unwrap();
    format!("/api/tables/t/regions/{name}")
}

/// Waits for the end of a task and returns it.
async fn ended(web: &Web, id: &Value) -> Value {
    loop {
        let task = web.get(&format!("/api/tasks/{id}")).await.json();
        if task["state"] != "RUNNING" {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn split_is_planned_without_and_done_with_token() {
    assert_eq!(BEARER.1.strip_prefix("Bearer "), Some(TOKEN));
    let web = Web::new();
    let region = table_with_region(&web).await;
    let split = format!("{region}/split");
    let plan = web.post(&split, r#"{"split_key": "k"}"#, &[]).await.json();
    assert!(plan["statement"].as_str().unwrap().ends_with(", 'k'"));
    assert_eq!(plan["would"][1], json!({"do": "open", "count": 2}));
    let body = r#"{"dry_run": false, "split_key": "k"}"#;
    for headers in [&[][..], &[("authorization", "Bearer 0123456789abcdeX")]] {
        let problem = web.post(&split, body, headers).await;
        assert_eq!(problem.problem(), (401, "token".into(), "authorization".into()));
        assert_eq!(problem.headers["www-authenticate"], "Bearer");
    }
    assert_eq!(web.store().regions("t").unwrap().len(), 1);
    let started = web.post(&split, body, &[BEARER]).await;
    assert_eq!(started.status, 202);
    let task = ended(&web, &started.json()["task"]).await;
    assert_eq!(task["state"], "COMPLETE", "{task}");
    assert_eq!(web.store().regions("t").unwrap().len(), 2);
    let page = web.get("/api/tables/t/regions").await.json();
    let [first, second] =
        [0, 1].map(|at: usize| page["regions"][at]["encoded_name"].as_str().unwrap().to_owned());
    let merge = format!("/api/tables/t/regions/{first}/merge");
    let body = json!({"dry_run": false, "with": second}).to_string();
    let started = web.post(&merge, &body, &[BEARER]).await.json();
    let task = ended(&web, &started["task"]).await;
    assert_eq!(task["state"], "COMPLETE", "{task}");
    assert_eq!(web.store().regions("t").unwrap().len(), 1);
}

#[tokio::test]
async fn wrong_actions_are_reported_with_field() {
    let web = Web::new();
    let region = table_with_region(&web).await;
    for (path, body, expected) in [
        ("split", r#"{"split_key": ""}"#, (400, "fix_request", "split_key")),
        ("split", r#"{"dry_run": "no"}"#, (400, "fix_request", "body")),
        ("split", "[", (400, "fix_request", "body")),
        ("split", r#"{"key": "k"}"#, (400, "fix_request", "body")),
        ("merge", "{}", (400, "fix_request", "with")),
        ("merge", r#"{"with": "nope"}"#, (404, "not_found", "with")),
        ("move", r#"{"server": "a'; drop"}"#, (400, "fix_request", "server")),
    ] {
        let (status, kind, field) =
            web.post(&format!("{region}/{path}"), body, &[]).await.problem();
        assert_eq!((status, kind.as_str(), field.as_str()), expected, "{path} {body}");
    }
    let unknown = format!("/api/tables/t/regions/{}/flush", "0".repeat(32));
    assert_eq!(web.post(&unknown, "", &[]).await.problem().0, 404);
    // Nothing here can flush a single region, which the task says.
    let body = r#"{"dry_run": false}"#;
    let started = web.post(&format!("{region}/flush"), body, &[BEARER]).await.json();
    assert_eq!(ended(&web, &started["task"]).await["state"], "ABORTED");
}

#[tokio::test]
async fn region_is_moved_to_live_servers_only() {
    let web = super::heat::web(|_| ());
    let page = web.get("/api/tables/t/regions").await.json();
    let name = page["regions"][0]["encoded_name"].as_str().unwrap();
    let path = format!("/api/tables/t/regions/{name}/move");
    let problem = web.post(&path, r#"{"server": "gone,16020,1"}"#, &[]).await;
    let live = "live servers: host,16020,1 other,16020,2";
    assert!(problem.text().contains(live), "{}", problem.text());
    assert_eq!(problem.problem(), (400, "fix_request".into(), "server".into()));
    let problem = web.post(&path, r#"{"server": "host,16020,1"}"#, &[]).await;
    assert!(problem.text().contains("on this server already"), "{}", problem.text());
    let plan = web.post(&path, r#"{"server": "other,16020,2"}"#, &[]).await.json();
    let step = json!({
        "do": "move", "region": name, "text": "from host,16020,1 to other,16020,2"
    });
    assert_eq!(plan["would"], json!([step]));
    let body = r#"{"dry_run": false, "server": "other,16020,2"}"#;
    let started = web.post(&path, body, &[BEARER]).await.json();
    assert_eq!(ended(&web, &started["task"]).await["state"], "COMPLETE");
}

#[tokio::test]
async fn table_is_flushed_and_compacted() {
    let web = Web::new();
    table_with_region(&web).await;
    let plan = web.post("/api/tables/t/flush", "{}", &[]).await.json();
    assert_eq!((&plan["would"][0]["do"], &plan["would"][0]["count"]), (&json!("flush"), &json!(1)));
    assert_eq!(plan["statement"], "flush 't'");
    for (path, body) in
        [("flush", r#"{"dry_run": false}"#), ("compact", r#"{"dry_run": false, "major": true}"#)]
    {
        let started = web.post(&format!("/api/tables/t/{path}"), body, &[BEARER]).await.json();
        assert_eq!(ended(&web, &started["task"]).await["state"], "COMPLETE");
    }
    let page = web.get("/api/tables/t/regions").await.json();
    assert_eq!(page["regions"][0]["store_files"], 1);
    let tasks = web.get("/api/tasks").await.json();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(web.get("/api/tasks/99").await.problem().0, 404);
}

#[tokio::test]
async fn page_without_token_changes_nothing() {
    let web = Web::with(|config| config.token = None);
    table_with_region(&web).await;
    let body = r#"{"dry_run": false}"#;
    let problem = web.post("/api/tables/t/flush", body, &[BEARER]).await.problem();
    assert_eq!((problem.0, problem.1.as_str()), (403, "token"));
    web.post("/api/tables/t/flush", "{}", &[]).await.json();
    assert_eq!(web.get("/api/cluster").await.json()["read_only"], true);
    let mark = web.post("/api/events", r#"{"text": "release"}"#, &[]).await.problem();
    assert_eq!((mark.0, mark.1.as_str()), (403, "token"));
}

#[tokio::test]
async fn missing_sources_are_named() {
    let web = Web::new();
    web.create_table("t", &[]);
    for path in [
        "/api/events",
        "/api/slow-log",
        "/api/diagnosis",
        "/api/tables/t/heat",
        "/api/tables/t/heat/cell?at=5",
        "/api/tables/t/hot-keys",
        "/api/tables/t/diagnosis",
        "/api/tables/t/operations",
        "/api/tables/t/what-if",
    ] {
        let problem = web.get(path).await.problem();
        assert_eq!((problem.0, problem.1.as_str()), (501, "missing_source"), "{path}");
    }
    let mark = web.post("/api/events", r#"{"text": "release"}"#, &[BEARER]).await.problem();
    assert_eq!((mark.0, mark.1.as_str()), (501, "missing_source"));
    assert_eq!(web.get("/api/events?kind=nope").await.problem().2, "kind");
}
