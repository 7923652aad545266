//! Requests to the web page of a server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use halite_patience::poll_until;

use crate::program::LIMIT;

/// Sends a request; returns the head and the body of the answer.
pub(crate) fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Returns the body of an answer. A server that is busy with other tests says so, and is asked
/// again as a page does.
#[track_caller]
pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let answered = poll_until(LIMIT, || {
        let (head, body) = ask(address, "GET", path, "", "");
        (!head.starts_with("HTTP/1.1 503 ")).then_some((head, body))
    });
    let (head, body) = answered.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}\n{body}");
    body
}
