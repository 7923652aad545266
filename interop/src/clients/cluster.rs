//! HBase cluster of several processes on this machine, of which one may be lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use super::child;
use super::java::OPENED_PACKAGES;
use super::server::{LOG_SETTINGS, free_ports, hbase_site, site, write};
use crate::Result;

const LIMIT: Duration = Duration::from_mins(2);
/// Heap size of each process, as in Java's `-Xmx`.
const HEAP: &str = "-Xmx400m";

/// ZooKeeper, a master and region servers. All are killed on drop.
pub(crate) struct Cluster {
    region_servers: Vec<Child>,
    others: Vec<Child>,
    /// Port of its ZooKeeper on 127.0.0.1.
    pub(crate) zookeeper: u16,
}

impl Cluster {
    /// Starts the cluster, from the jars of HBase's server, and waits until the master has
    /// registered all region servers.
    ///
    /// # Errors
    /// Returns an error with the end of the log if a process does not start.
    pub(crate) fn start(jars: &Path, work: &Path, region_servers: usize) -> Result<Self> {
        let home = ClusterDir { jars: jars.to_path_buf(), folder: work.join("cluster") };
        let [master, _, zookeeper] = free_ports()?;
        let mut cluster = Self { region_servers: Vec::new(), others: Vec::new(), zookeeper };
        cluster.others.push(home.start(
            "zookeeper",
            "zookeeper.HQuorumPeer",
            [master, 0, zookeeper],
        )?);
        cluster.others.push(home.start("master", "master.HMaster", [master, 0, zookeeper])?);
        for number in 0..region_servers {
            let [port, _, _] = free_ports()?;
            cluster.region_servers.push(home.start(
                &format!("region-server-{number}"),
                "regionserver.HRegionServer",
                [master, port, zookeeper],
            )?);
        }
        let ready = |text: &str| {
            let registered = text.matches("Registering regionserver=").count();
            (registered >= region_servers && text.contains("Master has completed initialization"))
                .then_some(())
        };
        let master = cluster.others.last_mut().ok_or("no master is running")?;
        child::await_log(master, &home.log("master"), LIMIT, ready)?;
        Ok(cluster)
    }

    /// Kills one region server with SIGKILL.
    pub(crate) fn lose_region_server(&mut self) -> Result<()> {
        let mut lost = self.region_servers.pop().ok_or("no region server is left")?;
        child::kill(&mut lost);
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.region_servers.iter_mut().chain(&mut self.others).for_each(child::kill);
    }
}

struct ClusterDir {
    jars: PathBuf,
    folder: PathBuf,
}

impl ClusterDir {
    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_added_extension("log")
    }

    /// Starts one of HBase's programs with a separate configuration; the ports are those of the
    /// master, of the process itself if it is a region server, and of ZooKeeper.
    fn start(&self, name: &str, class: &str, ports: [u16; 3]) -> Result<Child> {
        let configuration = self.folder.join(name);
        fs::create_dir_all(&configuration)
            .map_err(|error| format!("{}: {error}", configuration.display()))?;
        let mut properties = hbase_site(&self.folder, ports);
        properties.extend([
            ("hbase.cluster.distributed", "true".to_string()),
            ("hbase.zookeeper.quorum", "localhost".to_string()),
            // Time after which the loss of a server is detected, and longer than a busy machine
            // stops a server that is not lost.
            ("zookeeper.session.timeout", "30000".to_string()),
        ]);
        write(&configuration.join("hbase-site.xml"), &site(&properties))?;
        write(&configuration.join("log4j2.properties"), LOG_SETTINGS)?;
        let mut command = Command::new("java");
        command.args(OPENED_PACKAGES).args([HEAP, "-cp"]).arg(format!(
            "{}:{}/*",
            configuration.display(),
            self.jars.display()
        ));
        command.arg(format!("org.apache.hadoop.hbase.{class}")).arg("start");
        child::start(&mut command, &self.log(name))
    }
}
