//! A table of 100,000 regions.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::json;

use super::fake::Fake;
use super::heat::Recorded;
use super::{Answer, Web, texts};
use crate::status::StatusHistory;
use crate::{WebConfig, WebSources, router};

const REGIONS: u64 = 100_000;

/// Asks again while the server says that it was not ready in time: an unoptimised one beside other
/// tests may be slow.
async fn when_ready(web: &Web, path: &str) -> Answer {
    const TIMES: usize = 30;
    for _ in 1..TIMES {
        let answer = web.get(path).await;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE {
            return answer;
        }
    }
    web.get(path).await
}

#[tokio::test]
async fn large_table_is_listed_in_parts() {
    let web = Web::over(Arc::new(Fake::new(REGIONS)), |_| ());
    let path = "/api/tables/big/regions";
    let page = format!("{path}?sort=-size_bytes&limit=100&series=1&ruler=600");
    let page = when_ready(&web, &page).await.json();
    assert_eq!((&page["total"], page["regions"].as_array().unwrap().len()), (&json!(REGIONS), 100));
    assert_eq!(page["regions"][0]["size_bytes"], REGIONS - 1);
    assert_eq!(page["ruler"].as_array().unwrap().len(), 600);
    let as_of = &page["as_of"];
    let end = REGIONS - 2;
    let last = format!("{path}?sort=-size_bytes&offset={end}&as_of={as_of}&limit=100");
    let last = when_ready(&web, &last).await.json();
    assert_eq!(texts(&last["regions"], "/start_key/hex"), ["0000000000000001", ""]);
}

#[tokio::test]
async fn old_lists_of_large_table_are_dropped() {
    let web = Web::over(Arc::new(Fake::new(REGIONS)), |_| ());
    let path = "/api/tables/big/regions";
    let first = when_ready(&web, path).await.json()["as_of"].clone();
    for _ in 0..5 {
        when_ready(&web, &format!("{path}?limit=1")).await.json();
    }
    let problem = when_ready(&web, &format!("{path}?as_of={first}")).await.problem();
    assert_eq!(problem, (409, "conflict".into(), "as_of".into()));
}

#[tokio::test]
async fn page_of_ten_thousand_tables_has_shapes_and_thumbnails() {
    let cluster = Arc::new(Fake::with_tables(10_000));
    let web = Web::over(Arc::clone(&cluster) as _, |_| ());
    let sources = WebSources { cluster, extension: Arc::new(Recorded) };
    let web = Web { router: router(sources, WebConfig::default()), ..web };
    for query in ["", "&sort=-shape", "&show=bad"] {
        let began = Instant::now();
        let path = format!("/api/tables?limit=100&thumb=104x20{query}");
        let page = web.get(&path).await.json();
        println!("{path}: {:?}", began.elapsed());
        let tables = page["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 100);
        assert!(tables.iter().all(|table| table["shape"] == "hot_row"), "{query}");
        assert!(tables.iter().all(|table| table["thumb"]["w"].is_u64()), "{query}");
        let expected = if query == "&show=bad" { 1000 } else { 10_000 };
        assert_eq!(page["total"], expected, "those with the most requests are judged");
    }
}

#[tokio::test]
async fn heat_of_large_table_is_drawn() {
    let cluster = Arc::new(Fake::new(REGIONS));
    let web = Web::over(Arc::clone(&cluster) as _, |_| ());
    let sources = WebSources { cluster, extension: Arc::new(Recorded) };
    let web = Web { router: router(sources, WebConfig::default()), ..web };
    let began = Instant::now();
    let mut answer = web.get("/api/tables/big/heat?rows=1024&cols=886").await;
    // The first request also asks the cluster, which takes long beside other tests.
    for _ in 0..5 {
        if answer.status.is_success() {
            break;
        }
        answer = web.get("/api/tables/big/heat?rows=1024&cols=886").await;
    }
    let heat = answer.json();
    println!("heat of {REGIONS} regions: {:?}", began.elapsed());
    assert_eq!(heat["regions"].as_array().unwrap().len(), 2000, "no more can be seen");
    let bytes = heat["row"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap());
    assert!(bytes.sum::<u64>() > 0);
}

#[test]
fn waiting_requests_share_the_failure_of_a_cluster_that_is_away() {
    let cluster = Arc::new(Fake::away(Duration::from_secs(3)));
    let sources = WebSources { cluster: Arc::clone(&cluster) as _, extension: Arc::new(Recorded) };
    let history = StatusHistory::new(sources, Duration::from_secs(1));
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                assert!(history.current().is_err());
            });
        }
    });
    assert!(cluster.asked() < 4, "asked {} times", cluster.asked());
}
