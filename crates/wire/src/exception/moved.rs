//! The place a region went to, in the words that Java's `RegionMovedException` reads.

use std::fmt;

/// Where a region is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTo {
    /// Host name of its server.
    pub host: String,
    /// Port of its server.
    pub port: u16,
    /// When that server started, milliseconds since the epoch.
    pub start_code: u64,
    /// The region's sequence id when it was opened there; older news about the region is to be ignored.
    pub sequence: u64,
}

const HOST: &str = "hostname=";
const PORT: &str = "port=";
const START_CODE: &str = "startCode=";
const SEQUENCE: &str = "locationSeqNum=";

/// The shape is what the Java class writes and parses; it does not bear another blank.
impl fmt::Display for MovedTo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, start_code, sequence } = self;
        write!(out, "Region moved to: {HOST}{host} {PORT}{port} {START_CODE}{start_code}. As of {SEQUENCE}{sequence}.")
    }
}

impl MovedTo {
    /// Reads what [`fmt::Display`] wrote; `None` if a part is missing.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self {
            host: field(text, HOST)?.to_string(),
            port: number(text, PORT)?.try_into().ok()?,
            start_code: number(text, START_CODE)?,
            sequence: number(text, SEQUENCE)?,
        })
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(name)?;
    rest.split_ascii_whitespace().next()
}

fn number(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.trim_end_matches('.').parse().ok()
}
