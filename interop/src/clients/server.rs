//! Server for the clients: Halite, or HBase as the control.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::child;
use super::java::OPENED_PACKAGES;
use crate::Result;

/// Maximum duration of a start or stop of a server; HBase on a busy machine takes half a minute.
const LIMIT: Duration = Duration::from_mins(2);

/// Running server, killed on drop.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
    /// Port of its ZooKeeper on 127.0.0.1.
    pub(crate) zookeeper: u16,
}

impl Server {
    /// Starts Halite on free ports; its data is deleted when it exits.
    pub(crate) fn ephemeral(halite: &Path, work: &Path) -> Result<Self> {
        let any = [
            "--ephemeral",
            "--master-port",
            "0",
            "--regionserver-port",
            "0",
            "--zookeeper-port",
            "0",
            "--http-port",
            "0",
        ];
        // Directory in which the programs create the files to load.
        let load =
            std::path::absolute(work).map_err(|error| format!("{}: {error}", work.display()))?;
        Self::halite(
            Command::new(halite).arg("serve").args(any).arg("--bulkload-dirs").arg(load),
            &work.join("halite.log"),
        )
    }

    /// Starts Halite with its data in a directory, on ports that stay the same after restarts.
    pub(crate) fn persistent(
        halite: &Path,
        data: &Path,
        ports: [u16; 3],
        log: &Path,
        options: &[&str],
    ) -> Result<Self> {
        let [master, region, zookeeper] = ports.map(|port| port.to_string());
        let mut command = Command::new(halite);
        command.arg("serve").arg("--data").arg(data).args([
            "--master-port",
            &master,
            "--regionserver-port",
            &region,
            "--zookeeper-port",
            &zookeeper,
            "--http-port",
            "0",
        ]);
        Self::halite(command.args(options), log)
    }

    fn halite(command: &mut Command, log: &Path) -> Result<Self> {
        let mut child = child::start(command, log)?;
        let zookeeper = child::await_log(&mut child, log, LIMIT, zookeeper_port)?;
        Ok(Self { child, log: log.to_path_buf(), zookeeper })
    }

    /// Starts HBase in one process, from the jars of its server; `heap` as in Java's `-Xmx`.
    pub(crate) fn hbase(jars: &Path, work: &Path, heap: &str) -> Result<Self> {
        Self::hbase_with(jars, work, heap, &[])
    }

    /// As [`Server::hbase`] with more settings.
    pub(crate) fn hbase_with(
        jars: &Path,
        work: &Path,
        heap: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self> {
        let folder = work.join("hbase");
        let configuration = folder.join("conf");
        fs::create_dir_all(&configuration)
            .map_err(|error| format!("{}: {error}", configuration.display()))?;
        let ports = free_ports()?;
        let mut properties = hbase_site(&folder, ports);
        properties.push(("hbase.cluster.distributed", "false".to_string()));
        properties.extend_from_slice(settings);
        write(&configuration.join("hbase-site.xml"), &site(&properties))?;
        write(&configuration.join("log4j2.properties"), LOG_SETTINGS)?;
        let log = folder.join("hbase.log");
        let mut command = Command::new("java");
        command.args(OPENED_PACKAGES).args([&format!("-Xmx{heap}"), "-cp"]).arg(format!(
            "{}:{}/*",
            configuration.display(),
            jars.display()
        ));
        let mut child =
            child::start(command.args(["org.apache.hadoop.hbase.master.HMaster", "start"]), &log)?;
        child::await_log(&mut child, &log, LIMIT, |text| {
            text.contains("Master has completed initialization").then_some(())
        })?;
        Ok(Self { child, log, zookeeper: ports[2] })
    }

    /// Returns its process id.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(mut self) {
        child::kill(&mut self.child);
    }

    /// Stops it as an operator does, and requires a clean exit.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.terminate()?;
        child::finish(&mut self.child, &self.log, LIMIT)
            .map_err(|error| format!("the server, after the stop signal, {error}"))
    }

    /// As [`Server::stop`] for HBase, which ends with the status of the signal after a clean stop.
    pub(crate) fn stop_hbase(mut self) -> Result<()> {
        self.terminate()?;
        let status = child::wait(&mut self.child, LIMIT)?;
        let is_clean = child::text(&self.log).contains("Shutdown hook finished");
        if status.is_some() && is_clean {
            return Ok(());
        }
        Err(format!("HBase did not stop cleanly\n{}", child::tail(&self.log)))
    }

    fn terminate(&self) -> Result<()> {
        let id = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or("a process has no id")?;
        kill_process(id, Signal::TERM)
            .map_err(|error| format!("cannot send the stop signal to the server: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        child::kill(&mut self.child);
    }
}

/// Parses Halite's line for scripts: `ready master=ADDRESS regionserver=ADDRESS zookeeper=ADDRESS`.
fn zookeeper_port(text: &str) -> Option<u16> {
    let line = text
        .split_inclusive('\n')
        .find(|line| line.starts_with("ready ") && line.ends_with('\n'))?;
    let address = line.split_whitespace().find_map(|word| word.strip_prefix("zookeeper="))?;
    address.rsplit(':').next()?.parse().ok()
}

/// Returns the root directory of an HBase that [`Server::hbase`] starts.
pub(crate) fn hbase_root(work: &Path) -> PathBuf {
    work.join("hbase/data")
}

/// Returns three free ports: for the master, the region server and ZooKeeper.
pub(crate) fn free_ports() -> Result<[u16; 3]> {
    let failed = |error: std::io::Error| format!("no free port: {error}");
    let mut ports = [0; 3];
    // All are bound until all are known, so that they differ.
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        *port = listener.local_addr().map_err(failed)?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Returns the configuration of every HBase started here; the ports are those of the master, a
/// region server and ZooKeeper.
pub(crate) fn hbase_site(
    folder: &Path,
    [master, region, zookeeper]: [u16; 3],
) -> Vec<(&'static str, String)> {
    let folder = folder.display();
    let endpoints = "org.apache.hadoop.hbase.coprocessor.AggregateImplementation,\
                     org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint";
    vec![
        ("hbase.rootdir", format!("file://{folder}/data")),
        ("hbase.tmp.dir", format!("{folder}/tmp")),
        ("hbase.zookeeper.property.dataDir", format!("{folder}/zookeeper")),
        ("hbase.zookeeper.property.clientPort", zookeeper.to_string()),
        ("hbase.master.port", master.to_string()),
        ("hbase.regionserver.port", region.to_string()),
        ("hbase.master.info.port", "-1".to_string()),
        ("hbase.regionserver.info.port", "-1".to_string()),
        ("hbase.master.hostname", "localhost".to_string()),
        ("hbase.regionserver.hostname", "localhost".to_string()),
        ("hbase.unsafe.stream.capability.enforce", "false".to_string()),
        ("hbase.wal.provider", "filesystem".to_string()),
        // HBase in one process ends when it has been stopped for longer than this; the default of
        // 10 s is less than a busy machine may stop it. It is the most that its ZooKeeper grants.
        ("zookeeper.session.timeout.localHBaseCluster", "40000".to_string()),
        // Disables activity that no client requested.
        ("hbase.balancer.period", "86400000".to_string()),
        ("hbase.coprocessor.user.region.classes", endpoints.to_string()),
    ]
}

/// Formats a configuration file for HBase.
pub(crate) fn site(properties: &[(&str, String)]) -> String {
    let mut text = String::from("<configuration>\n");
    for (name, value) in properties {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  <property><name>{name}</name><value>{value}</value></property>");
    }
    text + "</configuration>\n"
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) const LOG_SETTINGS: &str = "rootLogger.level=INFO
rootLogger.appenderRef.console.ref=console
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p [%t] %c{2}: %m%n
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_read_from_complete_ready_line() {
        let line = "ready master=127.0.0.1:1 regionserver=127.0.0.1:2 zookeeper=127.0.0.1:41234 \
                    http=127.0.0.1:3\n";
        assert_eq!(zookeeper_port(&format!("Halite serves\n\n{line}")), Some(41234));
        assert_eq!(zookeeper_port(&line[..70]), None);
        assert_eq!(zookeeper_port("not ready zookeeper=127.0.0.1:1\n"), None);
    }

    #[test]
    fn free_ports_differ() {
        let [a, b, c] = free_ports().expect("three ports");
        assert!(a != b && b != c && a != c);
    }
}
