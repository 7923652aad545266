//! Where a cluster is, and every deadline, limit and number of retries.

mod site;
mod uri;

use std::path::Path;
use std::time::Duration;

use halite_types::{Error, ErrorKind, Result, Scan};
use halite_wire::cellblock::{Codec, Compressor, Format};

use crate::net::Door;
use crate::retry::RetryObserver;
pub(crate) use uri::Address;

/// Who is asked where the servers of the cluster are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// ZooKeeper servers, `host:port`, and the znode of the cluster (`hbase.zookeeper.quorum`, `zookeeper.znode.parent`).
    ZooKeeper {
        /// `host:port` of each.
        quorum: Vec<String>,
        /// `/hbase` unless somebody chose another.
        znode_parent: String,
    },
    /// Masters or region servers, `host:port` (`hbase.masters`, `hbase.client.bootstrap.servers`).
    Rpc {
        /// `host:port` of each.
        servers: Vec<String>,
    },
}

/// How a client finds its cluster and how long it tries. The defaults are HBase's own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Who is asked where the servers are.
    pub lookup: Lookup,
    /// The user the calls are made for: `HADOOP_USER_NAME`, else `USER`, else `halite`.
    pub user: String,
    /// Milliseconds until a call must be answered (`hbase.rpc.timeout`), and for which a server may read nothing of what is sent to it;
    /// 60,000.
    pub rpc_timeout_ms: u64,
    /// Milliseconds until an operation must be done, with all its calls (`hbase.client.operation.timeout`); 1,200,000.
    pub operation_timeout_ms: u64,
    /// Milliseconds until a scan must have its next rows (`hbase.client.scanner.timeout.period`); 60,000.
    pub scanner_timeout_ms: u64,
    /// Milliseconds until a connection must be made (`hbase.ipc.client.socket.timeout.connect`); 10,000.
    pub connect_timeout_ms: u64,
    /// Milliseconds before the second try; later ones wait up to 200 times that (`hbase.client.pause`); 100.
    pub pause_ms: u64,
    /// The same where a server says that it has too much to do (`hbase.client.pause.server.overloaded`); 100.
    pub pause_overloaded_ms: u64,
    /// How often a call is made again (`hbase.client.retries.number`); 15.
    pub retries_max: u32,
    /// Rows of one answer to a scan (`hbase.client.scanner.caching`); as many as fit its size.
    pub scanner_caching: u32,
    /// Bytes of one answer to a scan that does not say it itself (`hbase.client.scanner.max.result.size`); 2 MiB.
    pub scanner_result_bytes_max: usize,
    /// Regions that a scan without a limit reads ahead while its consumer has the rows of one; 0 for none. 2.
    pub scan_regions_ahead: usize,
    /// Bytes of answers that may wait for the consumer of such a scan, over all those regions, and one answer of each; 16 MiB.
    pub scan_ahead_bytes: usize,
    /// Calls on one connection that are not answered yet; those behind them wait. 1,000.
    pub outstanding_calls_max: usize,
    /// Actions that travel to a server in one call; 5,000, where HBase begins to warn.
    pub multi_actions_max: usize,
    /// Bytes of cells that travel to a server in one call, and one action more; 8 MiB. Twice as many may wait to be written to one
    /// connection; calls wait beyond that.
    pub multi_bytes_max: usize,
    /// Bytes of one cell that is sent (`hbase.client.keyvalue.maxsize`), 0 for no limit; 10 MiB, which is also what servers take.
    /// A server refuses one that is larger together with what travels with it.
    pub cell_bytes_max: usize,
    /// Bytes of one answer; 256 MiB. A server that announces more is not believed, nor is an answer that takes more than 512 MiB in
    /// memory beside its bytes.
    pub frame_bytes_max: usize,
    /// Regions that are learnt of with the one asked for (`hbase.client.locate.prefetch.limit`); 10.
    pub meta_prefetch: u32,
    /// Milliseconds during which a server that could not be reached is not tried again (`hbase.ipc.client.failed.servers.expiry`);
    /// 2,000.
    pub failed_server_ms: u64,
    /// How cells travel, both ways (`hbase.client.rpc.compressor`); as they are.
    pub compressor: Option<Compressor>,
    /// Who is told of calls that wait for their next try; nobody.
    pub retry_observer: Option<RetryObserver>,
    /// Where connections come from.
    pub(crate) door: Door,
}

impl Config {
    /// A cluster with the defaults of HBase.
    pub fn new(lookup: Lookup) -> Self {
        Self {
            lookup,
            user: user(),
            rpc_timeout_ms: 60_000,
            operation_timeout_ms: 1_200_000,
            scanner_timeout_ms: 60_000,
            connect_timeout_ms: 10_000,
            pause_ms: 100,
            pause_overloaded_ms: 100,
            retries_max: 15,
            scanner_caching: i32::MAX.cast_unsigned(),
            scanner_result_bytes_max: Scan::RESULT_BYTES_DEFAULT,
            scan_regions_ahead: 2,
            scan_ahead_bytes: 16 << 20,
            outstanding_calls_max: 1_000,
            multi_actions_max: 5_000,
            multi_bytes_max: 8 << 20,
            cell_bytes_max: 10 << 20,
            frame_bytes_max: 256 << 20,
            meta_prefetch: 10,
            failed_server_ms: 2_000,
            compressor: None,
            retry_observer: None,
            door: Door::Os,
        }
    }

    /// The cluster at `zk://host:port[,host:port...][/znode]` or `rpc://host:port[,host:port...]`, or the one that a file tells of:
    /// `site:/etc/hbase/conf/hbase-site.xml`. Ports that are left out are 2181 and 16000.
    ///
    /// # Errors
    /// `InvalidRequest` for any other text; for a file as [`Config::from_site`].
    pub fn from_uri(uri: &str) -> Result<Self> {
        match uri.strip_prefix("site:") {
            Some(path) => Self::from_site(path.strip_prefix("//").unwrap_or(path)),
            None => uri::parse(uri).map(Self::new),
        }
    }

    /// The cluster that a file of the form of `hbase-site.xml` tells of, with the deadlines and limits it sets.
    ///
    /// # Errors
    /// `Io` for a file that cannot be read; `InvalidRequest` for one that is not of this form, names no cluster or gives a
    /// number that is none; `Unsupported` for a cluster with Kerberos or TLS.
    pub fn from_site(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(format!("reading {}", path.display()), error))?;
        site::config(&text).map_err(|error| error.at(path.display()))
    }

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the setting and what is allowed.
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("rpc_timeout_ms", self.rpc_timeout_ms),
            ("operation_timeout_ms", self.operation_timeout_ms),
            ("scanner_timeout_ms", self.scanner_timeout_ms),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("scanner_caching", u64::from(self.scanner_caching)),
            ("outstanding_calls_max", self.outstanding_calls_max as u64),
            ("multi_actions_max", self.multi_actions_max as u64),
            ("frame_bytes_max", self.frame_bytes_max as u64),
            ("meta_prefetch", u64::from(self.meta_prefetch)),
        ];
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(Error::invalid(format!("{name} is 0; give a number from 1 on"))),
            None => self.addresses().map(drop),
        }
    }

    /// The places of the servers that are asked where the others are.
    pub(crate) fn addresses(&self) -> Result<Vec<Address>> {
        let (texts, port) = match &self.lookup {
            Lookup::ZooKeeper { quorum, .. } => (quorum, uri::ZOOKEEPER_PORT),
            Lookup::Rpc { servers } => (servers, uri::MASTER_PORT),
        };
        if texts.is_empty() {
            return Err(Error::invalid("no server is named that knows the cluster; give at least one host:port"));
        }
        texts.iter().map(|text| Address::parse(text, port)).collect()
    }

    pub(crate) fn format(&self) -> Format {
        Format { codec: Codec::KeyValue, compressor: self.compressor }
    }

    pub(crate) fn rpc_timeout(&self) -> Duration {
        Duration::from_millis(self.rpc_timeout_ms)
    }
}

/// What is refused because it is not there yet.
pub(crate) fn not_supported_yet(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, format!("not supported yet: {what}"))
}

fn user() -> String {
    let named = ["HADOOP_USER_NAME", "USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "halite".to_string())
}
