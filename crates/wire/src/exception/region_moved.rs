//! New location of a region, in the message format that Java's `RegionMovedException` parses.

use std::fmt;

/// Current location of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTo {
    /// Host name of its server.
    pub host: String,
    /// Port of its server.
    pub port: u16,
    /// Start time of that server, in milliseconds since the epoch.
    pub start_code: u64,
    /// Sequence id of the region when it was opened there; older locations of the region are
    /// ignored.
    pub sequence: u64,
}

const HOST: &str = "hostname=";
const PORT: &str = "port=";
const START_CODE: &str = "startCode=";
const SEQUENCE: &str = "locationSeqNum=";

/// The Java class writes and parses this format; an additional blank breaks it.
impl fmt::Display for MovedTo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, start_code, sequence } = self;
        write!(
            out,
            "Region moved to: {HOST}{host} {PORT}{port} {START_CODE}{start_code}. As of \
             {SEQUENCE}{sequence}."
        )
    }
}

impl MovedTo {
    /// Parses the output of [`fmt::Display`]; returns `None` if a part is missing.
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
