//! The Rust client on a real HBase: one process, and a cluster that loses a server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::clients::child;
use crate::clients::cluster::Cluster;
use crate::clients::server::Server;

/// How long one program may take.
const LIMIT: Duration = Duration::from_mins(10);
/// HBase's memory, as in Java's `-Xmx`.
const HEAP: &str = "1g";
const REGION_SERVERS: usize = 3;
/// Pages of the lab that run at the same time: each waits for tables most of the time.
const PAGES_AT_ONCE: &str = "8";
/// How long the load on the cluster lasts, and when in it a server is lost. It takes HBase some ten seconds to notice and
/// as many to open the regions elsewhere.
const LOAD_SECONDS: u64 = 35;
const LOST_AFTER: Duration = Duration::from_secs(8);

/// The programs that are built from this repository.
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

    /// Runs one to its end and shows the last line it says.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<()> {
        child::run(&mut self.command(name, arguments), &self.log(name), LIMIT).map_err(|error| format!("{name} {error}"))?;
        self.show(name);
        Ok(())
    }

    fn show(&self, name: &str) {
        let text = child::text(&self.log(name));
        println!("{name}: {}", text.lines().last().unwrap_or_default());
    }
}

/// The conformance battery, the pages of the lab and the client's first steps on one HBase; then a load on a cluster while one of its region
/// servers is killed. `halite` is the program beside whose folder the examples are.
///
/// # Errors
/// If HBase does not start, or answers otherwise than recorded, or what it acknowledged is lost.
pub(crate) fn check(halite: &Path, jars: &Path, work: &Path) -> Result<()> {
    let folder = halite.parent().ok_or("the program is in no folder")?.join("examples");
    let jars = jars.join("hbase-2.6.4");
    let server = Server::hbase(&jars, work, HEAP)?;
    let examples = Examples { folder: folder.clone(), work, zookeeper: server.zookeeper };
    examples.run("first_steps", &[])?;
    examples.run("on_cluster", &[])?;
    lab(halite, &examples)?;
    drop(server);
    let cluster = Cluster::start(&jars, work, REGION_SERVERS)?;
    survive(&Examples { folder, work, zookeeper: cluster.zookeeper }, cluster)
}

/// Every page of the lab holds there too.
fn lab(halite: &Path, examples: &Examples<'_>) -> Result<()> {
    let uri = format!("zk://127.0.0.1:{}/hbase", examples.zookeeper);
    let mut command = Command::new(halite);
    command.args(["lab", "all", "--jobs", PAGES_AT_ONCE, "--connect", &uri]);
    child::run(&mut command, &examples.log("lab"), LIMIT).map_err(|error| format!("lab {error}"))?;
    examples.show("lab");
    Ok(())
}

fn survive(examples: &Examples<'_>, mut cluster: Cluster) -> Result<()> {
    let log = examples.log("survive");
    let mut load = child::start(&mut examples.command("survive", &[&LOAD_SECONDS.to_string()]), &log)?;
    child::await_log(&mut load, &log, LIMIT, |text| text.contains("begun").then_some(()))?;
    std::thread::sleep(LOST_AFTER);
    cluster.lose_region_server()?;
    child::finish(&mut load, &log, LIMIT).map_err(|error| format!("the load on a cluster that lost a server {error}"))?;
    examples.show("survive");
    Ok(())
}
