//! The web page of a server, and of `halite ui` over that server.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;

use crate::http::{ask, get};
use crate::program::{halite, output_of};
use crate::serve::TestServer;

#[track_caller]
pub(crate) fn json(address: SocketAddr, path: &str) -> Value {
    serde_json::from_str(&get(address, path)).unwrap()
}

/// Creates a table of two regions with one row in each.
fn with_table(served: &TestServer) {
    let uri = format!("rpc://{}", served.address("master"));
    let lines =
        "create 't', 'f', SPLITS => ['m']\nput 't', 'a', 'f:q', '1'\nput 't', 'z', 'f:q', '2'\n";
    let output = output_of(halite().args(["shell", "--connect", &uri]), lines);
    assert!(output.status.success());
}

#[test]
fn server_and_ui_show_the_same_table() {
    let served = TestServer::start(&["--ephemeral"]);
    with_table(&served);
    let uri = format!("rpc://{}", served.address("regionserver"));
    let ui = TestServer::spawn(halite().args(["ui", "--connect", &uri, "--port", "0"]));
    let of = |address: SocketAddr| {
        let cluster = json(address, "/api/cluster");
        let page = json(address, "/api/tables/t/regions");
        let rows = json(address, "/api/tables/t/rows");
        let regions = page["regions"].as_array().unwrap().iter();
        let requests: u64 =
            regions.map(|region| region["write_requests_total"].as_u64().unwrap()).sum();
        let server = page["regions"][1]["server"].as_str().unwrap().to_owned();
        assert_eq!(cluster["servers"][0]["name"], server.as_str());
        assert_eq!(rows["rows"].as_array().unwrap().len(), 2);
        let name = page["regions"][0]["encoded_name"].as_str().unwrap();
        let path = format!("/api/tables/t/regions/{name}/move");
        let (head, problem) = ask(address, "POST", &path, "", "{}");
        assert!(head.starts_with("HTTP/1.1 409 "), "{head}");
        assert!(problem.contains("one region server"), "{problem}");
        (cluster["mode"].as_str().unwrap().to_owned(), requests, server)
    };
    let (here, there) = (of(served.address("http")), of(ui.address("http")));
    assert_eq!((here.0.as_str(), there.0.as_str()), ("standalone", "attached"));
    assert_eq!((here.1, &here.2), (there.1, &there.2));
    for address in [served.address("http"), ui.address("http")] {
        let (head, body) = ask(address, "GET", "/", "Accept: text/html\r\n", "");
        assert!(head.contains("text/html"), "{head}");
        assert!(body.starts_with("<!doctype html>"), "{body}");
    }
    assert_eq!(ui.end(Signal::TERM).0, Some(0));
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn token_of_banner_or_file_allows_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let body = r#"{"dry_run": false}"#;
    for file in [None, Some(path.to_str().unwrap())] {
        let mut arguments = vec!["--ephemeral"];
        arguments.extend(file.into_iter().flat_map(|file| ["--web-token-file", file]));
        let served = TestServer::start(&arguments);
        with_table(&served);
        let printed =
            served.output().lines().find_map(|line| line.strip_prefix("Token for changes on it: "));
        let token = match file {
            None => printed.unwrap().to_owned(),
            Some(file) => {
                assert_eq!(printed, None);
                assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
                std::fs::read_to_string(file).unwrap().trim().to_owned()
            }
        };
        let post = |headers: &str| {
            ask(served.address("http"), "POST", "/api/tables/t/flush", headers, body)
        };
        assert!(post("").0.starts_with("HTTP/1.1 401 "));
        let (head, started) = post(&format!("Authorization: Bearer {token}\r\n"));
        assert!(head.starts_with("HTTP/1.1 202 "), "{head}: {started}");
        assert_eq!(served.end(Signal::TERM).0, Some(0));
    }
}
