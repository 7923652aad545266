//! What can be told of a cluster elsewhere: the servers of its regions, from `hbase:meta`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite::{Cluster, RegionInfo, Result, Row, Scan, ServerName, block_on};
use halite_web::{About, Extension, Mode};

/// Time for which the servers of regions are remembered.
const MAX_AGE: Duration = Duration::from_secs(10);

/// Facts of a cluster elsewhere.
pub(super) struct AttachedExtension {
    cluster: Arc<dyn Cluster>,
    servers: Mutex<Servers>,
}

/// Servers of regions by their encoded names.
#[derive(Default)]
struct Servers {
    read: Option<Instant>,
    by_region: HashMap<String, Arc<str>>,
}

impl AttachedExtension {
    pub(super) fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self { cluster, servers: Mutex::default() }
    }

    fn read_servers(&self) -> Result<HashMap<String, Arc<str>>> {
        let table = self.cluster.blocking_table(&"hbase:meta".parse()?)?;
        let mut rows =
            table.scan(Scan::all().column("info", "server").column("info", "serverstartcode"));
        let mut by_region = HashMap::new();
        let mut names: HashMap<String, Arc<str>> = HashMap::new();
        while let Some(row) = block_on(rows.next())? {
            let Some(region) = RegionInfo::encoded_name_in(row.key()) else { continue };
            let Some(server) = server_in(&row) else { continue };
            let name = names.entry(server).or_insert_with_key(|name| Arc::from(name.as_str()));
            by_region.insert(region.to_owned(), Arc::clone(name));
        }
        Ok(by_region)
    }
}

/// Returns the server in a row of `hbase:meta`, `host,port,startcode`.
fn server_in(row: &Row) -> Option<String> {
    let address = std::str::from_utf8(row.value("info", "server")?).ok()?;
    let (host, port) = address.rsplit_once(':')?;
    let code = row.value("info", "serverstartcode")?;
    let name = ServerName {
        host: host.to_owned(),
        port: port.parse().ok()?,
        start_code: u64::from_be_bytes(code.try_into().ok()?),
    };
    Some(name.to_string())
}

impl Extension for AttachedExtension {
    fn about(&self) -> About {
        About { mode: Mode::Attached, ..About::default() }
    }

    fn server_of(&self, region: &RegionInfo) -> Option<String> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.read.is_none_or(|read| read.elapsed() > MAX_AGE) {
            match self.read_servers() {
                Ok(by_region) => servers.by_region = by_region,
                Err(error) => tracing::debug!(%error, "reading hbase:meta for the web page"),
            }
            // After a failure the next attempt waits too.
            servers.read = Some(Instant::now());
        }
        servers.by_region.get(&region.encoded_name).map(ToString::to_string)
    }
}
