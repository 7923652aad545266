//! Rust client on a real HBase: one process, and a cluster that loses a server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::clients::child;
use crate::clients::cluster::Cluster;
use crate::clients::server::Server;
use crate::{remote_load, remote_recipes};

/// Maximum duration of a program.
const LIMIT: Duration = Duration::from_mins(10);
/// HBase's heap size, as in Java's `-Xmx`.
const HEAP: &str = "1g";
const REGION_SERVERS: usize = 3;
/// Concurrent pages of the lab: each waits for tables most of the time.
const PAGES_AT_ONCE: &str = "8";
/// Duration of the load on the cluster, and the time at which a server is lost. HBase needs half a
/// minute to detect it, its session timeout, and some ten seconds to open the regions elsewhere.
const LOAD_SECONDS: u64 = 75;
const LOST_AFTER: Duration = Duration::from_secs(8);

/// Programs built from this repository.
struct Examples<'a> {
    folder: PathBuf,
    work: &'a Path,
    zookeeper: u16,
}

impl Examples<'_> {
    fn log(&self, name: &str) -> PathBuf {
        self.work.join(name).with_added_extension("log")
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join(name));
        command.arg(format!("zk://127.0.0.1:{}/hbase", self.zookeeper)).args(arguments);
        command
    }

    /// Runs a program to its end and prints the last line of its output.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<()> {
        child::run(&mut self.command(name, arguments), &self.log(name), LIMIT)
            .map_err(|error| format!("{name} {error}"))?;
        self.print_last_line(name);
        Ok(())
    }

    fn print_last_line(&self, name: &str) {
        let text = child::text(&self.log(name));
        println!("{name}: {}", text.lines().last().unwrap_or_default());
    }
}

/// Runs the conformance suite, a bulk load, the checks of the recipes, the pages of the lab and the
/// client's first steps on one HBase, then a load on a cluster while one of its region servers is
/// killed. The examples are in a directory next to the program `halite`.
///
/// # Errors
/// Returns an error if HBase does not start, a result differs from the recorded one, or an
/// acknowledged write is lost.
pub(crate) fn check(halite: &Path, jars: &Path, work: &Path) -> Result<()> {
    let folder =
        halite.parent().ok_or("the program path has no parent directory")?.join("examples");
    let jars = jars.join("hbase-2.6.4");
    let server = Server::hbase(&jars, work, HEAP)?;
    let examples = Examples { folder: folder.clone(), work, zookeeper: server.zookeeper };
    examples.run("first_steps", &[])?;
    examples.run("on_cluster", &[])?;
    remote_load::check(halite, work, server.zookeeper)?;
    remote_recipes::check(halite, work, server.zookeeper)?;
    run_lab(halite, &examples)?;
    drop(server);
    let cluster = Cluster::start(&jars, work, REGION_SERVERS)?;
    survive_server_loss(&Examples { folder, work, zookeeper: cluster.zookeeper }, cluster)
}

/// Runs every page of the lab on HBase.
fn run_lab(halite: &Path, examples: &Examples<'_>) -> Result<()> {
    let uri = format!("zk://127.0.0.1:{}/hbase", examples.zookeeper);
    let mut command = Command::new(halite);
    command.args(["lab", "all", "--jobs", PAGES_AT_ONCE, "--connect", &uri]);
    child::run(&mut command, &examples.log("lab"), LIMIT)
        .map_err(|error| format!("lab {error}"))?;
    examples.print_last_line("lab");
    Ok(())
}

fn survive_server_loss(examples: &Examples<'_>, mut cluster: Cluster) -> Result<()> {
    let log = examples.log("survive");
    let mut load =
        child::start(&mut examples.command("survive", &[&LOAD_SECONDS.to_string()]), &log)?;
    child::await_log(&mut load, &log, LIMIT, |text| text.contains("begun").then_some(()))?;
    std::thread::sleep(LOST_AFTER);
    cluster.lose_region_server()?;
    child::finish(&mut load, &log, LIMIT)
        .map_err(|error| format!("the load on a cluster after a server loss {error}"))?;
    examples.print_last_line("survive");
    Ok(())
}
