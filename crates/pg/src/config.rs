//! Configuration of the port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use halite_sql::{Resources, TableLint};

use crate::users::Users;

/// Configuration of the port.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on; port 0 for any free one.
    pub address: SocketAddr,
    /// Users; `None` to let everyone in, which is only possible on an address of this machine.
    pub users: Option<Users>,
    /// Certificate and key; needed on every other address.
    pub tls: Option<TlsFiles>,
    /// Limits.
    pub limits: Limits,
    /// Threads that read messages and run statements.
    pub threads: usize,
    /// Memory and temporary files of statements.
    pub resources: Resources,
    /// Rules of lint, which statements that declare tables tell; none if there are none.
    pub lint: Option<Arc<dyn TableLint>>,
}

/// Files for TLS, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Chain of certificates, the server's first.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Limits of the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions.
    pub max_connections: usize,
    /// Sessions beyond those, for admins if there are users.
    pub admin_connections: usize,
    /// Connections that have not logged in. At the limit, one that has taken over a second ends.
    pub max_logins: usize,
    /// Bytes of a message; a statement has at most 1 MiB whatever this is.
    pub max_message_bytes: usize,
    /// Bytes of large messages of all connections that are being worked off.
    pub max_buffered_bytes: usize,
    /// Time from connecting to the end of the login.
    pub login: Duration,
    /// Time in which a message that has begun has to come, and a client has to take what it asked
    /// for.
    pub stall: Duration,
    /// Time in which statements end after the stop was requested.
    pub stop: Duration,
    /// Default of `statement_timeout`.
    pub statement_timeout: Duration,
    /// Default of `halite.max_rows_examined`.
    pub max_rows_examined: u64,
    /// Prepared statements of a connection.
    pub max_statements: usize,
    /// Open portals of a connection.
    pub max_portals: usize,
    /// Bytes of the prepared statements and the portals of a connection, with their values.
    pub max_kept_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 200,
            admin_connections: 3,
            max_logins: 200,
            max_message_bytes: 16 << 20,
            max_buffered_bytes: 64 << 20,
            login: Duration::from_secs(30),
            stall: Duration::from_mins(1),
            stop: Duration::from_secs(5),
            statement_timeout: Duration::from_mins(5),
            max_rows_examined: 50_000_000,
            max_statements: 1000,
            max_portals: 64,
            max_kept_bytes: 32 << 20,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 5432),
            users: None,
            tls: None,
            limits: Limits::default(),
            threads: std::thread::available_parallelism().map_or(2, usize::from).max(2),
            resources: Resources::default(),
            lint: None,
        }
    }
}

impl Config {
    /// Checks that only this machine can connect, or that connections are encrypted and clients
    /// are known.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.address.ip().is_loopback() || self.users.is_some() && self.tls.is_some() {
            return Ok(());
        }
        Err(format!(
            "SQL on {} could be reached from other machines without {}: give --pg-users, \
             --pg-tls-cert and --pg-tls-key, or listen on 127.0.0.1",
            self.address,
            if self.users.is_none() { "a password" } else { "encryption" }
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_users_and_tls() {
        let files = TlsFiles { certificate: "c".into(), key: "k".into() };
        let line = Users::line("ann", crate::Access::Read, "secret").unwrap();
        let users = Users::parse(&line).unwrap();
        let config = |address: &str, users: Option<&Users>, tls: Option<&TlsFiles>| Config {
            address: address.parse().unwrap(),
            users: users.cloned(),
            tls: tls.cloned(),
            ..Config::default()
        };
        assert_eq!(config("127.0.0.1:0", None, None).check(), Ok(()));
        assert_eq!(config("[::1]:0", None, None).check(), Ok(()));
        for address in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
            let error = |users, tls| config(address, users, tls).check().unwrap_err();
            assert!(error(None, None).contains("without a password"));
            assert!(error(None, Some(&files)).contains("without a password"));
            assert!(error(Some(&users), None).contains("without encryption"));
            assert_eq!(config(address, Some(&users), Some(&files)).check(), Ok(()));
        }
    }
}
