//! Files of the page, and headers of all answers.

use super::Web;

#[tokio::test]
async fn pages_are_the_same_document_with_tag() {
    let web = Web::new();
    let first = web.get_with("/", &[("accept", "text/html")]).await;
    assert_eq!(first.headers["content-type"], "text/html; charset=utf-8");
    let tag = first.headers["etag"].to_str().unwrap();
    for path in ["/tables", "/activity", "/t/a:b/regions", "/t/x"] {
        assert_eq!(web.get(path).await.body, first.body, "{path}");
    }
    let known = web.get_with("/", &[("if-none-match", tag)]).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
    assert_eq!(known.headers["etag"], tag);
}

#[tokio::test]
async fn every_answer_has_security_headers() {
    let web = Web::new();
    for path in ["/", "/api/cluster", "/api/nothing", "/nothing", "/api/tables/none"] {
        let headers = web.get(path).await.headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("require-trusted-types-for 'script'"));
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        let is_api = path.starts_with("/api");
        assert_eq!(headers.get("cache-control").is_some_and(|it| it == "no-store"), is_api);
        assert!(headers.get("access-control-allow-origin").is_none());
    }
}

#[tokio::test]
async fn pages_of_hbase_lead_to_those_like_them() {
    let web = Web::new();
    for (path, to) in [
        ("/master-status", "/"),
        ("/rs-status", "/"),
        ("/table.jsp?name=shop:orders", "/t/shop:orders/regions"),
        ("/table.jsp", "/tables"),
    ] {
        let answer = web.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["location"]),
            (307, &to.parse().unwrap())
        );
    }
}

#[tokio::test]
async fn answer_of_api_that_is_known_is_not_sent() {
    let web = Web::new();
    let first = web.get("/api/openapi.json").await;
    assert_eq!(first.json()["openapi"], "3.1.0");
    let tag = first.headers["etag"].to_str().unwrap();
    let known = web.get_with("/api/openapi.json", &[("if-none-match", tag)]).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
}

#[tokio::test]
async fn tables_are_listed_as_text() {
    let web = Web::new();
    web.create_table("notes", &[b"m"]);
    let page = web.get("/status.txt").await;
    assert_eq!(page.headers["content-type"], "text/plain; charset=utf-8");
    let line = page.text().lines().find(|line| line.starts_with("notes")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["notes", "2", "0", "0", "0", "0", "0"]);
}
