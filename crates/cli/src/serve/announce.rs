//! What is printed when the server is ready: for people what clients must be told, for scripts one line.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use halite::Store;
use halite::schema::SYSTEM_NAMESPACE;
use halite_engine::OpenReport;
use halite_server::{Addresses, Advertise};

use super::place::Place;
use super::settings::Settings;

/// What there is to tell.
pub(crate) struct Facts<'a> {
    pub(crate) addresses: Addresses,
    pub(crate) settings: &'a Settings,
    pub(crate) place: &'a Place,
    pub(crate) store: &'a Store,
}

/// Logs what opening the store has found and a person should look at.
pub(crate) fn warn(report: &OpenReport, folder: &Path) {
    if let Some(directory) = &report.quarantine {
        let (files, bytes) = (report.quarantined_files, report.quarantined_bytes);
        tracing::warn!(
            files,
            bytes,
            directory,
            "files that the manifest does not name were set aside; those without cells that are nowhere else are removed after a clean end"
        );
    }
    if report.unlogged_files > 0 {
        let files = report.unlogged_files;
        let text = "set aside, and kept, were files with cells that are nowhere else: if the manifest is an older one, end the server and run: halite repair";
        tracing::error!(files, "{text} {}", shown(folder));
    }
    if !report.exposed_directories.is_empty() {
        let directories = report.exposed_directories.join(" ");
        tracing::warn!(directories, "store directories can be entered by other users; close them with: chmod -R go-rwx {}", shown(folder));
    }
}

fn shown(folder: &Path) -> String {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).display().to_string()
}

/// Prints it. Nobody may be listening, and that is no reason to stop.
pub(crate) fn print(facts: &Facts<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text(facts).as_bytes()).and_then(|()| out.flush());
}

fn text(facts: &Facts<'_>) -> String {
    let Facts { addresses, settings, place, store } = facts;
    let host = host(settings, addresses);
    // Not those the server keeps its own notes in.
    let tables = store.tables().iter().filter(|table| table.name().namespace() != SYSTEM_NAMESPACE).count();
    let mut out = format!("Halite {} serves the store {}, {} {}", env!("CARGO_PKG_VERSION"), place.path().display(), tables, plural(tables));
    out.push_str(if place.is_temporary() { ", which goes when the server ends\n\n" } else { "\n\n" });
    if let Some(zookeeper) = addresses.zookeeper {
        out.push_str("In the hbase-site.xml of clients:\n");
        let port = zookeeper.port().to_string();
        let mut properties = vec![("hbase.zookeeper.quorum", host.as_str()), ("hbase.zookeeper.property.clientPort", &port)];
        if settings.server.znode_parent != "/hbase" {
            properties.push(("zookeeper.znode.parent", &settings.server.znode_parent));
        }
        for (name, value) in properties {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  <property><name>{name}</name><value>{value}</value></property>");
        }
        out.push_str("or, for clients that ask the servers themselves (HBase 3 does):\n");
    } else {
        out.push_str("In the hbase-site.xml of clients, which have to ask the servers themselves (HBase 3 does):\n");
    }
    let _ = writeln!(out, "  <property><name>hbase.masters</name><value>{host}:{}</value></property>", addresses.master.port());
    let _ = writeln!(out, "  <property><name>hbase.client.bootstrap.servers</name><value>{host}:{}</value></property>", addresses.region.port());
    if let Some(web) = addresses.web {
        let _ = writeln!(out, "Figures: http://{host}:{port}/metrics and http://{host}:{port}/jmx", port = web.port());
    }
    let _ = writeln!(out, "\n{}", ready(addresses));
    out
}

/// The line that scripts wait for. The word stands at its beginning and nowhere else.
fn ready(addresses: &Addresses) -> String {
    let mut line = "ready".to_owned();
    let always = [("master", Some(addresses.master)), ("regionserver", Some(addresses.region))];
    for (name, address) in always.into_iter().chain([("zookeeper", addresses.zookeeper), ("http", addresses.web)]) {
        if let Some(address) = address {
            let _ = write!(line, " {name}={address}");
        }
    }
    line
}

/// What a client may call this machine: the host it was told to be known by, the address it listens on, or its name if it listens on all.
fn host(settings: &Settings, addresses: &Addresses) -> String {
    match (&settings.server.advertise, addresses.master) {
        (Advertise::Host(host), _) => host.clone(),
        (Advertise::Auto, SocketAddr::V4(v4)) if !v4.ip().is_unspecified() => v4.ip().to_string(),
        (Advertise::Auto, SocketAddr::V6(v6)) if v6.ip().is_loopback() => "localhost".to_owned(),
        (Advertise::Auto, SocketAddr::V6(v6)) if !v6.ip().is_unspecified() => format!("[{}]", v6.ip()),
        (Advertise::Auto, _) => rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

fn plural(tables: usize) -> &'static str {
    if tables == 1 { "table" } else { "tables" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ip: &str) -> Addresses {
        let at = |port| SocketAddr::new(ip.parse().unwrap(), port);
        Addresses { master: at(1), region: at(2), web: Some(at(3)), zookeeper: Some(at(4)) }
    }

    #[test]
    fn the_line_for_scripts_has_an_address_for_each_port_there_is() {
        assert_eq!(ready(&addresses("127.0.0.1")), "ready master=127.0.0.1:1 regionserver=127.0.0.1:2 zookeeper=127.0.0.1:4 http=127.0.0.1:3");
        let fewer = Addresses { web: None, zookeeper: None, ..addresses("::") };
        assert_eq!(ready(&fewer), "ready master=[::]:1 regionserver=[::]:2");
    }

    #[test]
    fn a_client_is_never_told_to_connect_to_every_address() {
        let mut settings = Settings::default();
        assert_eq!(host(&settings, &addresses("10.1.2.3")), "10.1.2.3");
        assert_eq!(host(&settings, &addresses("::1")), "localhost");
        for everywhere in ["0.0.0.0", "::"] {
            let host = host(&settings, &addresses(everywhere));
            assert!(!host.is_empty() && host.parse::<std::net::IpAddr>().is_err(), "{host}");
        }
        settings.server.advertise = Advertise::Host("db.example".into());
        assert_eq!(host(&settings, &addresses("0.0.0.0")), "db.example");
    }

    #[test]
    fn a_person_is_told_what_clients_need() {
        let folder = tempfile::tempdir().unwrap();
        let store = halite::open(folder.path()).unwrap();
        let mut settings = Settings::default();
        settings.server.znode_parent = "/other".into();
        let place = Place::Kept(folder.path().to_owned());
        let text = text(&Facts { addresses: addresses("127.0.0.1"), settings: &settings, place: &place, store: &store });
        for said in [
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
