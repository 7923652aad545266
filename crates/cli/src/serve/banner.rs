//! Output of a ready server: client settings for the operator, and one line for scripts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use halite::Store;
use halite::schema::SYSTEM_NAMESPACE;
use halite_engine::OpenReport;
use halite_server::{Addresses, Advertise};

use super::config::ServeConfig;
use super::data_dir::DataDir;
use crate::web::WebToken;

/// Facts to print.
pub(crate) struct ServerInfo<'a> {
    pub(crate) addresses: Addresses,
    pub(crate) config: &'a ServeConfig,
    pub(crate) data_dir: &'a DataDir,
    pub(crate) store: &'a Store,
    pub(crate) token: &'a WebToken,
    /// Address of the SQL port.
    pub(crate) sql: Option<SocketAddr>,
}

/// Logs findings of opening the store that need an operator.
pub(crate) fn warn(report: &OpenReport, folder: &Path) {
    if let Some(directory) = &report.quarantine {
        let (files, bytes) = (report.quarantined_files, report.quarantined_bytes);
        tracing::warn!(
            files,
            bytes,
            directory,
            "files that the manifest does not name were moved to the quarantine; those without \
             unique cells are removed after a clean stop"
        );
    }
    if report.unlogged_files > 0 {
        let files = report.unlogged_files;
        let text = "files with unique cells are kept in the quarantine: if the manifest is an \
                    older one, stop the server and run: halite repair";
        tracing::error!(files, "{text} {}", format_path(folder));
    }
    if !report.exposed_directories.is_empty() {
        let directories = report.exposed_directories.join(" ");
        tracing::warn!(
            directories,
            "store directories can be entered by other users; close them with: chmod -R go-rwx {}",
            format_path(folder)
        );
    }
    for family in &report.unknown_encodings {
        tracing::warn!(
            "unknown data block encoding, so new files are written without one; alter \
             DATA_BLOCK_ENCODING of {family}"
        );
    }
}

fn format_path(folder: &Path) -> String {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).display().to_string()
}

/// Prints the facts. Standard output may be closed; the server continues.
pub(crate) fn print(facts: &ServerInfo<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text(facts).as_bytes()).and_then(|()| out.flush());
}

fn text(facts: &ServerInfo<'_>) -> String {
    let ServerInfo { addresses, config: settings, data_dir: place, store, token, sql } = facts;
    let host = host(settings, addresses);
    // Excludes the tables for the server's own records.
    let tables = store
        .engine()
        .descriptors()
        .iter()
        .filter(|table| table.name().namespace() != SYSTEM_NAMESPACE)
        .count();
    let mut out = format!(
        "Halite {} serves the store {}, {} {}",
        env!("CARGO_PKG_VERSION"),
        place.path().display(),
        tables,
        plural(tables)
    );
    out.push_str(if place.is_temporary() {
        ", which goes when the server ends\n\n"
    } else {
        "\n\n"
    });
    if let Some(zookeeper) = addresses.zookeeper {
        out.push_str("In the hbase-site.xml of clients:\n");
        let port = zookeeper.port().to_string();
        let mut properties = vec![
            ("hbase.zookeeper.quorum", host.as_str()),
            ("hbase.zookeeper.property.clientPort", &port),
        ];
        if settings.server.znode_parent != "/hbase" {
            properties.push(("zookeeper.znode.parent", &settings.server.znode_parent));
        }
        for (name, value) in properties {
            // Writing to a string cannot fail.
            let _ =
                writeln!(out, "  <property><name>{name}</name><value>{value}</value></property>");
        }
        out.push_str("or, for clients that ask the servers themselves (HBase 3 does):\n");
    } else {
        out.push_str(
            "In the hbase-site.xml of clients, which have to ask the servers themselves (HBase 3 \
             does):\n",
        );
    }
    let _ = writeln!(
        out,
        "  <property><name>hbase.masters</name><value>{host}:{}</value></property>",
        addresses.master.port()
    );
    let _ = writeln!(
        out,
        "  <property><name>hbase.client.bootstrap.servers</name><value>{host}:{}</value></property>",
        addresses.regionserver.port()
    );
    if let Some(web) = addresses.http {
        let _ = writeln!(out, "Web page: http://{host}:{}/", web.port());
        if let Some(token) = token.token.as_ref().filter(|_| token.is_generated) {
            let _ = writeln!(out, "Token for changes on it: {}", token.text());
        }
        let _ = writeln!(
            out,
            "Metrics: http://{host}:{port}/metrics and http://{host}:{port}/jmx",
            port = web.port()
        );
    }
    if let Some(sql) = sql {
        let _ = writeln!(out, "SQL: psql -h {host} -p {} -d halite", sql.port());
    }
    let _ = writeln!(out, "\n{}", ready(addresses, *sql));
    out
}

/// Returns the line that scripts wait for. No other line starts with the word `ready`.
fn ready(addresses: &Addresses, sql: Option<SocketAddr>) -> String {
    let mut line = "ready".to_owned();
    let always =
        [("master", Some(addresses.master)), ("regionserver", Some(addresses.regionserver))];
    let optional = [("zookeeper", addresses.zookeeper), ("http", addresses.http), ("sql", sql)];
    for (name, address) in always.into_iter().chain(optional) {
        if let Some(address) = address {
            let _ = write!(line, " {name}={address}");
        }
    }
    line
}

/// Returns the host name under which clients reach this machine: the configured host, the listen
/// address, or the machine's host name if the server listens on all addresses.
fn host(settings: &ServeConfig, addresses: &Addresses) -> String {
    match (&settings.server.advertise_host, addresses.master) {
        (Advertise::Host(host), _) => host.clone(),
        (Advertise::Auto, SocketAddr::V4(v4)) if !v4.ip().is_unspecified() => v4.ip().to_string(),
        (Advertise::Auto, SocketAddr::V6(v6)) if v6.ip().is_loopback() => "localhost".to_owned(),
        (Advertise::Auto, SocketAddr::V6(v6)) if !v6.ip().is_unspecified() => {
            format!("[{}]", v6.ip())
        }
        (Advertise::Auto, _) => machine_name(),
    }
}

/// Returns the host name of this machine.
pub(crate) fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn plural(tables: usize) -> &'static str {
    if tables == 1 { "table" } else { "tables" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ip: &str) -> Addresses {
        let at = |port| SocketAddr::new(ip.parse().unwrap(), port);
        Addresses { master: at(1), regionserver: at(2), http: Some(at(3)), zookeeper: Some(at(4)) }
    }

    #[test]
    fn ready_line_lists_address_of_each_open_port() {
        assert_eq!(
            ready(&addresses("127.0.0.1"), None),
            "ready master=127.0.0.1:1 regionserver=127.0.0.1:2 zookeeper=127.0.0.1:4 \
             http=127.0.0.1:3"
        );
        let fewer = Addresses { http: None, zookeeper: None, ..addresses("::") };
        assert_eq!(ready(&fewer, None), "ready master=[::]:1 regionserver=[::]:2");
        let sql = SocketAddr::new("::1".parse().unwrap(), 5);
        assert_eq!(ready(&fewer, Some(sql)), "ready master=[::]:1 regionserver=[::]:2 sql=[::1]:5");
    }

    #[test]
    fn wildcard_address_is_never_shown_to_clients() {
        let mut settings = ServeConfig::default();
        assert_eq!(host(&settings, &addresses("10.1.2.3")), "10.1.2.3");
        assert_eq!(host(&settings, &addresses("::1")), "localhost");
        for everywhere in ["0.0.0.0", "::"] {
            let host = host(&settings, &addresses(everywhere));
            assert!(!host.is_empty() && host.parse::<std::net::IpAddr>().is_err(), "{host}");
        }
        settings.server.advertise_host = Advertise::Host("db.example".into());
        assert_eq!(host(&settings, &addresses("0.0.0.0")), "db.example");
    }

    #[test]
    fn banner_lists_client_settings() {
        let folder = tempfile::tempdir().unwrap();
        let store = halite::open(folder.path()).unwrap();
        let mut settings = ServeConfig::default();
        settings.server.znode_parent = "/other".into();
        let place = DataDir::Persistent(folder.path().to_owned());
        let text = text(&ServerInfo {
            addresses: addresses("127.0.0.1"),
            config: &settings,
            data_dir: &place,
            store: &store,
            token: &WebToken {
                token: Some(halite_web::Token::new("0123456789abcdef").unwrap()),
                is_generated: true,
            },
            sql: None,
        });
        for said in [
            "Web page: http://127.0.0.1:3/\n",
            "Token for changes on it: 0123456789abcdef\n",
            "<name>hbase.zookeeper.quorum</name><value>127.0.0.1</value>",
            "<name>hbase.zookeeper.property.clientPort</name><value>4</value>",
            "<name>zookeeper.znode.parent</name><value>/other</value>",
            "<name>hbase.masters</name><value>127.0.0.1:1</value>",
            "http://127.0.0.1:3/metrics",
        ] {
            assert!(text.contains(said), "{said}:\n{text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("ready ")).count(), 1);
    }
}
