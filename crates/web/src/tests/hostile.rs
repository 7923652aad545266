//! Requests that no page sends.

use axum::body::Body;
use axum::http::Method;
use halite::Put;

use super::{Web, request};

#[tokio::test]
async fn other_hosts_are_sent_away() {
    let web = Web::with(|config| config.hosts.push("db.example".to_owned()));
    for host in
        ["localhost", "127.0.0.1:16010", "[::1]:16010", "10.0.0.9", "DB.example:1", "db.example."]
    {
        assert_eq!(web.get_with("/api/cluster", &[("host", host)]).await.status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:16010",
        "",
        "a@localhost",
    ] {
        let problem = web.get_with("/api/cluster", &[("host", host)]).await.problem();
        assert_eq!(problem, (421, "wrong_host".into(), "host".into()), "{host}");
        assert_eq!(web.get_with("/", &[("host", host)]).await.status, 421, "{host}");
    }
    // The host of an absolute target is the one that counts.
    let answer = web.get("http://evil.example/api/cluster").await;
    assert_eq!(answer.status, 421);
}

#[tokio::test]
async fn other_sites_cannot_post() {
    let web = Web::new();
    web.create_table("t", &[]);
    for site in ["cross-site", "same-site", "none"] {
        let headers = [("sec-fetch-site", site)];
        let problem = web.post("/api/tables/t/flush", "{}", &headers).await.problem();
        assert_eq!(problem, (403, "token".into(), "sec-fetch-site".into()), "{site}");
    }
    let same = web.post("/api/tables/t/flush", "{}", &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!(same.status, 200);
    for content_type in ["text/plain", "application/x-www-form-urlencoded"] {
        let headers = [("content-type", content_type)];
        let form = request(Method::POST, "/api/tables/t/flush", &headers, Body::from("{}"));
        let problem = web.ask(form).await.problem();
        assert_eq!(problem, (415, "fix_request".into(), "content-type".into()));
    }
}

#[tokio::test]
async fn long_requests_are_refused() {
    let web = Web::new();
    let problem = web.get(&format!("/api/tables?q={}", "x".repeat(17_000))).await.problem();
    assert_eq!((problem.0, problem.1.as_str()), (414, "fix_request"));
    let body = format!("{{\"ddl\": \"{}\"}}", "x".repeat(65 << 10));
    let problem = web.post("/api/lint", &body, &[]).await.problem();
    assert_eq!(problem, (413, "too_large".into(), "body".into()));
    // Refused before it arrives.
    let headers = [("content-length", "99999999999999"), ("content-type", "application/json")];
    let announced = request(Method::POST, "/api/lint", &headers, Body::empty());
    let problem = web.ask(announced).await.problem();
    assert_eq!(problem, (413, "too_large".into(), "body".into()));
}

#[tokio::test]
async fn absurd_pages_and_names_are_answered() {
    let web = Web::new();
    web.create_table("t", &[]);
    let path = "/api/tables/t/regions";
    let far = web.get(&format!("{path}?offset=18446744073709551615&limit=1000")).await.json();
    assert_eq!(far["regions"].as_array().unwrap().len(), 0);
    for query in [
        "offset=18446744073709551616",
        "offset=-1",
        "limit=0",
        "limit=1001",
        "limit=%00",
        "as_of=x",
        "series=7",
        "group=all",
        "key_bytes_max=99999",
    ] {
        let problem = web.get(&format!("{path}?{query}")).await.problem();
        assert_eq!((problem.0, problem.1.as_str()), (400, "fix_request"), "{query}");
        assert_eq!(problem.2, query.split('=').next().unwrap());
    }
    let long = "n".repeat(9000);
    let escaped = "%2e%2e%2f%2e%2e";
    for name in [long.as_str(), escaped, "%00", "%3Cscript%3E", "a:b:c", "t%0d%0aX: y"] {
        let name = name.replace(' ', "%20");
        for path in ["", "/regions", "/rows"] {
            let answer = web.get(&format!("/api/tables/{name}{path}")).await;
            assert_eq!(answer.problem().0, 404, "{name}{path}");
            assert!(answer.body.len() < 1000);
        }
    }
    // Invalid UTF-8 in the path.
    assert_eq!(web.get("/api/tables/%ff/rows").await.problem().0, 400);
    for (method, headers) in [
        (Method::DELETE, &[("content-type", "application/json")][..]),
        (Method::DELETE, &[]),
        (Method::OPTIONS, &[]),
        (Method::PUT, &[]),
    ] {
        let problem = web.ask(request(method, path, headers, Body::empty())).await;
        assert_eq!(problem.problem(), (405, "fix_request".into(), "method".into()));
        assert_eq!(problem.headers["allow"], "GET,HEAD");
    }
}

#[tokio::test]
async fn keys_and_values_of_any_bytes_are_returned() {
    let web = Web::new();
    let last = vec![0xff; 32_000];
    let splits: [&[u8]; 3] = [b"=1+1", b"\x80\xfe", &last];
    web.create_table("t", &splits);
    let table = web.store().table("t").unwrap();
    let long = vec![0xfe; 32_767];
    for key in [&b"<script>alert(1)</script>"[..], b"\x00", "\u{202e}x".as_bytes(), &long] {
        table.put(Put::new(key.to_vec()).add("f", &key[..1], key)).unwrap();
    }
    let page = web.get("/api/tables/t/rows?keys=escaped").await.json();
    let rows = page["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let cut = &rows[3]["key"];
    assert_eq!((cut["len"].as_u64(), cut["hex"].as_str().unwrap().len()), (Some(32_767), 512));
    assert_eq!(rows[3]["cells"][0]["value"]["hex"].as_str().unwrap().len(), 2048);
    assert_eq!(rows[0]["key"]["escaped"], "\\x00");
    // From the cut key on: the page after it begins at its whole bytes.
    let last = web.get("/api/tables/t/rows?limit=3").await.json();
    let next = last["next"].as_str().unwrap();
    let rest = web.get(&format!("/api/tables/t/rows?next={next}")).await.json();
    assert_eq!(rest["rows"].as_array().unwrap().len(), 1);
    let regions = web.get("/api/tables/t/regions?keys=escaped").await.json();
    assert_eq!(regions["regions"][3]["start_key"]["len"], 32_000);
    let csv = web.get("/api/tables/t/regions.csv").await;
    assert!(csv.text().contains(",\"'=1+1\",3d312b31,"), "{}", &csv.text()[..2000]);
    assert!(csv.text().contains("\\x80\\xFE,80fe,"));
    assert!(csv.text().is_ascii());
}
