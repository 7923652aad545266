//! Name of a server: its address and start time.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// Server of a cluster. Its text form is HBase's: `host,port,startcode`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName {
    /// Host name or address; clients connect to it unchanged.
    pub host: String,
    /// Port of its RPC endpoint.
    pub port: u16,
    /// Start time of the process in milliseconds since the epoch: the same address with another
    /// start time is another server.
    pub start_code: u64,
}

impl ServerName {
    /// Returns `host:port`, the format of `info:server` in meta.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{},{},{}", self.host, self.port, self.start_code)
    }
}

impl FromStr for ServerName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts: Vec<_> = text.rsplitn(3, ',').collect();
        if let [start_code, port, host] = parts[..]
            && let (Ok(start_code), Ok(port), false) =
                (start_code.parse(), port.parse(), host.is_empty())
        {
            return Ok(Self { host: host.to_string(), port, start_code });
        }
        Err(Error::invalid(format!("invalid server name {text:?}: expected host,port,startcode")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_server_name_is_rejected() {
        for text in ["", "a", "a,1", ",1,2", "a,70000,2", "a,1,-1", "a,1,x"] {
            assert!(text.parse::<ServerName>().is_err(), "{text}");
        }
        assert_eq!("a,b,1,2".parse::<ServerName>().unwrap().host, "a,b");
    }
}
