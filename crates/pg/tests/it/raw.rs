//! Client of bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::door::Door;

/// Connection whose bytes a test chooses.
pub(crate) struct Raw<S = TcpStream> {
    pub(crate) socket: S,
}

/// Message of the server: its type and its body.
pub(crate) type Answer = (u8, Vec<u8>);

impl Raw {
    pub(crate) fn connect(door: &Door) -> Self {
        let socket = TcpStream::connect(door.address).expect("a connection");
        socket.set_read_timeout(Some(Duration::from_mins(2))).expect("a timeout");
        Self { socket }
    }

    /// Connects and starts a session.
    pub(crate) fn session(door: &Door) -> Self {
        let mut raw = Self::connect(door);
        raw.send(&startup(&[("user", "ann")]));
        raw.until(b'Z');
        raw
    }
}

impl<S: Read + Write> Raw<S> {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("bytes are taken");
    }

    /// Reads a message; `None` at the end.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut head = [0u8; 5];
        self.socket.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; usize::try_from(length).ok()? - 4];
        self.socket.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// Reads messages up to one of a type.
    pub(crate) fn until(&mut self, kind: u8) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.answer() {
            let is_last = answer.0 == kind;
            answers.push(answer);
            if is_last {
                return answers;
            }
        }
        panic!("the connection ended before {}: {answers:?}", char::from(kind))
    }

    /// Reads messages to the end of the connection, and returns the code of the error.
    pub(crate) fn error_at_end(&mut self) -> Option<String> {
        // No message is of this type.
        self.error_at_end_or(0)
    }

    /// Reads messages up to one of a type or the end, and returns the code of the error.
    pub(crate) fn error_at_end_or(&mut self, last: u8) -> Option<String> {
        let mut found = None;
        while let Some((kind, body)) = self.answer() {
            if kind == b'E' {
                found = code_of(&body);
            } else if kind == last {
                break;
            }
        }
        found
    }
}

/// Returns the code of an error.
pub(crate) fn code_of(body: &[u8]) -> Option<String> {
    let mut fields = body.split(|byte| *byte == 0);
    let code = fields.find(|field| field.first() == Some(&b'C'))?;
    Some(String::from_utf8_lossy(&code[1..]).into_owned())
}

/// Returns a message of a type.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&u32::try_from(body.len() + 4).expect("a length").to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Returns the first message of a session.
pub(crate) fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = vec![0, 3, 0, 0];
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    message(0, &body)[1..].to_vec()
}
