//! Single questions to the web page of a server.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// Time for connecting, and between two parts of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer.
const MAX_BYTES: u64 = 1 << 30;

/// Asks a server for a document, `http://HOST:PORT` and a path.
///
/// # Errors
/// Another kind of address; a server that cannot be reached; its problem document.
pub(super) fn get_json(url: &str, path: &str) -> anyhow::Result<Value> {
    let Some(address) = url.strip_prefix("http://") else {
        bail!(
            "{url}: give the address of the server's web page, as in http://127.0.0.1:16010; \
             HBase's protocol has no log of operations"
        );
    };
    let address = address.trim_end_matches('/');
    let answer = exchange(address, path).with_context(|| format!("server {url}"))?;
    let head_end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let head_end = head_end.with_context(|| format!("{url} does not answer in HTTP"))?;
    let head = String::from_utf8_lossy(&answer[..head_end]);
    let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body: Value = serde_json::from_slice(&answer[head_end + 4..])
        .with_context(|| format!("{url} answers with status {status} and no JSON"))?;
    if status != "200" {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let (title, detail) = (text("title"), text("detail"));
        let detail = if detail.is_empty() { detail } else { format!("; {detail}") };
        bail!("{url}: {title}{detail}");
    }
    Ok(body)
}

fn exchange(address: &str, path: &str) -> anyhow::Result<Vec<u8>> {
    let places = if address.contains(':') {
        address.to_socket_addrs()?
    } else {
        (address, 16_010).to_socket_addrs()?
    };
    let mut stream = Err(anyhow::anyhow!("the name has no address"));
    for place in places {
        stream = TcpStream::connect_timeout(&place, TIMEOUT).map_err(anyhow::Error::from);
        if stream.is_ok() {
            break;
        }
    }
    let mut stream = stream?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    // HTTP/1.0: the answer is in one piece and ends with the connection.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}
