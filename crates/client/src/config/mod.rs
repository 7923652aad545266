//! Configuration of a client: cluster address, timeouts, limits and retries.

mod site;
mod uri;

use std::path::Path;
use std::time::Duration;

use halite_types::{Error, ErrorKind, Result, Scan};
use halite_wire::cellblock::{CellBlockFormat, Codec, Compressor};

use crate::net::Connector;
use crate::retry::RetryObserver;
pub(crate) use uri::Address;

/// Registry that locates the servers of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryKind {
    /// ZooKeeper servers, `host:port`, and the znode of the cluster (`hbase.zookeeper.quorum`,
    /// `zookeeper.znode.parent`).
    ZooKeeper {
        /// `host:port` of each server.
        quorum: Vec<String>,
        /// Default: `/hbase`.
        znode_parent: String,
    },
    /// Masters or region servers, `host:port` (`hbase.masters`, `hbase.client.bootstrap.servers`).
    Rpc {
        /// `host:port` of each server.
        servers: Vec<String>,
    },
}

/// Configuration of a client. The defaults are HBase's own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Registry that locates the servers.
    pub registry: RegistryKind,
    /// User in whose name calls are made. Default: `HADOOP_USER_NAME`, else `USER`, else `halite`.
    pub user: String,
    /// Timeout of a call in milliseconds (`hbase.rpc.timeout`), and maximum time in which a server
    /// receives none of the data sent to it. Default: 60,000.
    pub rpc_timeout_ms: u64,
    /// Timeout of an operation with all its calls, in milliseconds
    /// (`hbase.client.operation.timeout`). Default: 1,200,000.
    pub operation_timeout_ms: u64,
    /// Timeout for the next rows of a scan, in milliseconds
    /// (`hbase.client.scanner.timeout.period`). Default: 60,000.
    pub scanner_timeout_ms: u64,
    /// Connect timeout in milliseconds (`hbase.ipc.client.socket.timeout.connect`). Default:
    /// 10,000.
    pub connect_timeout_ms: u64,
    /// Pause before the second attempt, in milliseconds; later pauses are up to 200 times as long
    /// (`hbase.client.pause`). Default: 100.
    pub pause_ms: u64,
    /// Pause if a server reports overload, in milliseconds
    /// (`hbase.client.pause.server.overloaded`). Default: 100.
    pub pause_overloaded_ms: u64,
    /// Maximum number of retries of a call (`hbase.client.retries.number`). Default: 15.
    pub max_retries: u32,
    /// Maximum rows per scan response (`hbase.client.scanner.caching`). Default: limited by size
    /// only.
    pub scanner_caching: u32,
    /// Maximum bytes per scan response, for scans that do not set it
    /// (`hbase.client.scanner.max.result.size`). Default: 2 MiB.
    pub max_scanner_result_bytes: usize,
    /// Regions that a scan without a limit prefetches while its consumer processes the rows of one;
    /// 0 for none. Default: 2.
    pub scan_prefetch_regions: usize,
    /// Maximum bytes of responses waiting for the consumer of such a scan, over all these regions,
    /// plus one response per region. Default: 16 MiB.
    pub scan_prefetch_bytes: usize,
    /// Maximum calls without a response per connection; further calls wait. Default: 1,000.
    pub max_calls_in_flight: usize,
    /// Maximum actions per call to a server. Default: 5,000, at which HBase begins to warn.
    pub max_multi_actions: usize,
    /// Maximum bytes of cells per call to a server, plus one action. Default: 8 MiB. Twice this
    /// size may wait to be written to one connection; further calls wait.
    pub max_multi_bytes: usize,
    /// Maximum bytes of a cell that is sent (`hbase.client.keyvalue.maxsize`); 0 for no limit.
    /// Default: 10 MiB, which is also the limit of servers. A server rejects a larger cell together
    /// with the rest of its call.
    pub max_cell_bytes: usize,
    /// Maximum bytes of a response. Default: 256 MiB. A larger announced size is an error, and so
    /// is a response that takes more than 512 MiB of memory in addition to its bytes.
    pub max_frame_bytes: usize,
    /// Regions whose locations are fetched with the requested one
    /// (`hbase.client.locate.prefetch.limit`). Default: 10.
    pub meta_prefetch: u32,
    /// Time in milliseconds in which no connection is attempted to an unreachable server
    /// (`hbase.ipc.client.failed.servers.expiry`). Default: 2,000.
    pub failed_server_expiry_ms: u64,
    /// Compressor of cells, in both directions (`hbase.client.rpc.compressor`). Default: none.
    pub compressor: Option<Compressor>,
    /// Observer of calls that wait for a retry. Default: none.
    pub retry_observer: Option<RetryObserver>,
    /// Source of connections.
    pub(crate) connector: Connector,
}

impl Config {
    /// Creates a configuration with HBase's defaults.
    pub fn new(registry: RegistryKind) -> Self {
        Self {
            registry,
            user: user(),
            rpc_timeout_ms: 60_000,
            operation_timeout_ms: 1_200_000,
            scanner_timeout_ms: 60_000,
            connect_timeout_ms: 10_000,
            pause_ms: 100,
            pause_overloaded_ms: 100,
            max_retries: 15,
            scanner_caching: i32::MAX.cast_unsigned(),
            max_scanner_result_bytes: Scan::DEFAULT_MAX_RESULT_BYTES,
            scan_prefetch_regions: 2,
            scan_prefetch_bytes: 16 << 20,
            max_calls_in_flight: 1_000,
            max_multi_actions: 5_000,
            max_multi_bytes: 8 << 20,
            max_cell_bytes: 10 << 20,
            max_frame_bytes: 256 << 20,
            meta_prefetch: 10,
            failed_server_expiry_ms: 2_000,
            compressor: None,
            retry_observer: None,
            connector: Connector::Os,
        }
    }

    /// Creates the configuration of the cluster at `zk://host:port[,host:port...][/znode]` or
    /// `rpc://host:port[,host:port...]`, or of the one in a file, as in
    /// `site:/etc/hbase/conf/hbase-site.xml`. Default ports: 2181 and 16000.
    ///
    /// # Errors
    /// `InvalidRequest` for any other text; for a file as [`Config::from_site`].
    pub fn from_uri(uri: &str) -> Result<Self> {
        match uri.strip_prefix("site:") {
            Some(path) => Self::from_site(path.strip_prefix("//").unwrap_or(path)),
            None => uri::parse(uri).map(Self::new),
        }
    }

    /// Creates the configuration of the cluster in a file of the format of `hbase-site.xml`, with
    /// its timeouts and limits.
    ///
    /// # Errors
    /// `Io` for an unreadable file; `InvalidRequest` for one that has another format, specifies no
    /// cluster or contains an invalid number; `Unsupported` for a cluster with Kerberos or TLS.
    pub fn from_site(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::io(format!("reading {}", path.display()), error))?;
        site::config(&text).map_err(|error| error.at(path.display()))
    }

    /// Checks that the numbers are valid.
    ///
    /// # Errors
    /// `InvalidRequest`, with the setting and its allowed values.
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("rpc_timeout_ms", self.rpc_timeout_ms),
            ("operation_timeout_ms", self.operation_timeout_ms),
            ("scanner_timeout_ms", self.scanner_timeout_ms),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("scanner_caching", u64::from(self.scanner_caching)),
            ("max_calls_in_flight", self.max_calls_in_flight as u64),
            ("max_multi_actions", self.max_multi_actions as u64),
            ("max_frame_bytes", self.max_frame_bytes as u64),
            ("meta_prefetch", u64::from(self.meta_prefetch)),
        ];
        match positive.into_iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(Error::invalid(format!("{name} is 0; give a number from 1 on"))),
            None => self.addresses().map(drop),
        }
    }

    /// Returns the addresses of the registry's servers.
    pub(crate) fn addresses(&self) -> Result<Vec<Address>> {
        let (texts, port) = match &self.registry {
            RegistryKind::ZooKeeper { quorum, .. } => (quorum, uri::ZOOKEEPER_PORT),
            RegistryKind::Rpc { servers } => (servers, uri::MASTER_PORT),
        };
        if texts.is_empty() {
            return Err(Error::invalid(
                "no server is named that knows the cluster; give at least one host:port",
            ));
        }
        texts.iter().map(|text| Address::parse(text, port)).collect()
    }

    pub(crate) fn format(&self) -> CellBlockFormat {
        CellBlockFormat { codec: Codec::KeyValue, compressor: self.compressor }
    }

    pub(crate) fn rpc_timeout(&self) -> Duration {
        Duration::from_millis(self.rpc_timeout_ms)
    }
}

/// Returns the error for a feature that is not implemented yet.
pub(crate) fn not_supported_yet(feature: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unsupported, format!("not supported yet: {feature}"))
}

fn user() -> String {
    let named =
        ["HADOOP_USER_NAME", "USER"].into_iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "halite".to_string())
}
