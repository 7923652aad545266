//! Server configuration. Names end in their unit: sizes are in bytes, times in milliseconds.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use halite_engine::Options;
use halite_types::{Error, Result};
use halite_wire::rpc;

/// Host name advertised to clients in the registry, in `hbase:meta` and in znodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Advertise {
    /// Address that the client connected to. It is reachable for this client, through containers
    /// and any kind of name.
    #[default]
    Auto,
    /// This host name or address, independent of the address that the client connected to.
    Host(String),
}

/// Listening addresses of a server, with the bound ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Address of the master and the registry.
    pub master: SocketAddr,
    /// Address of the region server and the registry.
    pub regionserver: SocketAddr,
    /// Address of the HTTP endpoint, if enabled.
    pub http: Option<SocketAddr>,
    /// Address of the ZooKeeper endpoint, if enabled.
    pub zookeeper: Option<SocketAddr>,
}

/// Threads on which calls are executed. Only for measuring the cost of the choice:
/// `cargo xtask bench dispatch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DispatchMode {
    /// Calls that memory can answer on the connection's task, other calls on threads that may
    /// block.
    #[default]
    Tiered,
    /// Every client call on the connection's task, even if it blocks.
    Inline,
    /// Every client call on a thread that may block.
    Hop,
}

/// Listening addresses, advertised host and client limits of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Address to listen on. Default: 127.0.0.1.
    pub listen_addr: IpAddr,
    /// Port of the master services, 0 for any free port. Default: 16000.
    pub master_port: u16,
    /// Port of the region server services, 0 for any free port. Default: 16020.
    pub regionserver_port: u16,
    /// Port of the HTTP endpoint, 0 for any free port, `None` to disable it. Default: 16010.
    pub http_port: Option<u16>,
    /// Port of the ZooKeeper endpoint, 0 for any free port, `None` to disable it. Default: 2181.
    pub zookeeper_port: Option<u16>,
    /// Root znode of the cluster (`zookeeper.znode.parent`), an absolute path. Default: `/hbase`.
    pub znode_parent: String,
    /// Host name advertised to clients.
    pub advertise_host: Advertise,
    /// Limits for clients.
    pub limits: Limits,
    /// Calls that are recorded because they are slow or large.
    pub slow_calls: SlowCallLimits,
    /// Threads on which calls are executed.
    pub dispatch_mode: DispatchMode,
    /// Directories, by absolute paths, from which clients may bulk load files, in addition to the
    /// store's own `staging`. Default: none.
    pub bulkload_dirs: Vec<PathBuf>,
    /// Enables quotas, stored in `hbase:quota` (`hbase.quota.enabled`). Default: false.
    pub quota_enabled: bool,
    /// Interval at which expired snapshots are deleted (`hbase.master.cleaner.snapshot.interval`),
    /// in milliseconds. Default: 30 minutes.
    pub snapshot_cleaner_interval_ms: u64,
    /// Interval at which merged regions drop the references to their parents
    /// (`hbase.catalogjanitor.interval`), in milliseconds. Default: 5 minutes.
    pub catalog_janitor_interval_ms: u64,
    /// Interval at which regions of future time ranges are created for tables that declare
    /// `SPLIT ROLLING`, in milliseconds. Default: one minute.
    pub rolling_split_interval_ms: u64,
    /// Router of the HTTP endpoint for all paths that the server does not answer itself, and for
    /// the page at `/` if a client accepts HTML. Default: none.
    pub web: Option<axum::Router>,
}

/// Calls that are recorded because they are slow or large. The defaults are HBase's, except that
/// HBase records none unless told (`hbase.regionserver.slowlog.buffer.enabled`).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SlowCallLimits {
    /// Records calls. Default: true.
    pub is_enabled: bool,
    /// Calls that take longer are slow, without their wait for a thread
    /// (`hbase.ipc.warn.response.time`), in
    /// milliseconds. Default: 10 seconds.
    pub slow_call_ms: u64,
    /// Calls with a response of more bytes are large (`hbase.ipc.warn.response.size`). Default:
    /// 100 MiB.
    pub large_response_bytes: u64,
    /// Recorded calls, of which the newest are kept
    /// (`hbase.regionserver.slowlog.ringbuffer.size`). All take at most about 4 MiB. Default: 256.
    pub slow_log_calls: usize,
}

impl Default for SlowCallLimits {
    fn default() -> Self {
        Self {
            is_enabled: true,
            slow_call_ms: 10_000,
            large_response_bytes: 100 << 20,
            slow_log_calls: 256,
        }
    }
}

/// Limits for clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one request (`hbase.ipc.max.request.size`). Default: 256 MiB.
    pub max_request_bytes: usize,
    /// Open connections on each port except the HTTP port, which serves 64 and lets more wait.
    /// Default: 10,000.
    pub max_connections: usize,
    /// Unanswered calls of one connection; at the limit the server stops reading from it. Default:
    /// 1,000.
    pub max_calls_per_connection: usize,
    /// Bytes of unanswered calls, and of responses that the client has not read yet, exceeded by at
    /// most one call. Default: 256 MiB.
    pub max_bytes_per_connection: usize,
    /// Bytes of partially received requests and of unsent responses, over all connections. An
    /// address may hold half of the memory that the others leave free, a connection half of that.
    /// At least four times `max_request_bytes`. Default: 1 GiB.
    pub max_network_buffer_bytes: usize,
    /// Bytes of network buffers that the connections of one address may hold. Default: 512 MiB.
    pub max_address_buffer_bytes: usize,
    /// Open connections of one address, over all ports; an IPv6 address counts as its /64 network.
    /// Default: 5,000.
    pub max_connections_per_address: usize,
    /// Estimated bytes of the open scanners of all connections, and of the replies retained for
    /// them, shared like network buffers. Default: 1 GiB.
    pub max_scanner_bytes: usize,
    /// Calls that wait for a handler thread (`hbase.ipc.server.max.callqueue.length`); as many more
    /// may wait for network buffers. Default: 1,000.
    pub max_call_queue_length: usize,
    /// Calls that wait for an administration thread. Default: 200.
    pub max_admin_queue_length: usize,
    /// Bytes of all waiting calls (`hbase.ipc.server.max.callqueue.size`). Default: 1 GiB.
    pub max_call_queue_bytes: usize,
    /// Threads that run scans, disk reads and read-modify-write operations. Default: the number of
    /// cores, at least 2.
    pub handler_threads: usize,
    /// Threads that create tables and run similar administration calls. Default: 4.
    pub admin_threads: usize,
    /// Time after which an idle scanner is closed (`hbase.client.scanner.timeout.period`), in
    /// milliseconds. Default: 60,000.
    pub scanner_timeout_ms: u64,
    /// Open scanners of one connection. Default: 10,000.
    pub max_scanners_per_connection: usize,
    /// Bytes of cells in one response to a scan or a multi
    /// (`hbase.server.scanner.max.result.size`). Default: 100 MiB.
    pub max_result_bytes: usize,
    /// Time after which a connection without unanswered calls is closed
    /// (`hbase.ipc.client.connection.maxidletime` times a few), in milliseconds. Default: one hour.
    pub connection_idle_timeout_ms: u64,
    /// Time that a client may take to read 64 KiB of its unsent responses, in milliseconds. If 1/64
    /// of them is more, that amount applies. Default: 60,000.
    pub send_timeout_ms: u64,
    /// Time that a client may take to send 64 KiB of the rest of a partial request, in
    /// milliseconds. If 1/64 of the rest is more, that amount applies. Default: 60,000.
    pub receive_timeout_ms: u64,
    /// Time that a client may take for the handshake, in milliseconds. Default: 30,000.
    pub handshake_timeout_ms: u64,
    /// Time that a call may wait for network buffers, after which the client receives a retryable
    /// error, in milliseconds. Default: 10,000.
    pub buffer_wait_timeout_ms: u64,
    /// Time for which the outcome of an operation with a nonce is retained
    /// (`hbase.server.hashNonce.gracePeriod`), in milliseconds. Default: 30 minutes.
    pub nonce_grace_period_ms: u64,
}

/// Returns the default number of threads of the server's runtime, half of the cores. They read
/// calls from connections and answer those that memory can answer.
///
/// The other half is for handlers, flushes and compactions. A second I/O thread would not answer a
/// call from memory sooner, because waking it takes as long as the answer.
pub fn default_io_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen_addr: IpAddr::V4(Ipv4Addr::LOCALHOST),
            master_port: 16_000,
            regionserver_port: 16_020,
            http_port: Some(16_010),
            zookeeper_port: Some(2181),
            znode_parent: "/hbase".to_string(),
            advertise_host: Advertise::Auto,
            limits: Limits::default(),
            slow_calls: SlowCallLimits::default(),
            dispatch_mode: DispatchMode::default(),
            bulkload_dirs: Vec::new(),
            quota_enabled: false,
            snapshot_cleaner_interval_ms: 30 * 60_000,
            catalog_janitor_interval_ms: 5 * 60_000,
            rolling_split_interval_ms: 60_000,
            web: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_bytes: 256 << 20,
            max_connections: 10_000,
            max_calls_per_connection: 1_000,
            max_bytes_per_connection: 256 << 20,
            max_network_buffer_bytes: 1 << 30,
            max_address_buffer_bytes: 512 << 20,
            max_connections_per_address: 5_000,
            max_scanner_bytes: 1 << 30,
            max_call_queue_length: 1_000,
            max_admin_queue_length: 200,
            max_call_queue_bytes: 1 << 30,
            handler_threads: std::thread::available_parallelism()
                .map_or(2, |cores| cores.get().max(2)),
            admin_threads: 4,
            scanner_timeout_ms: 60_000,
            max_scanners_per_connection: 10_000,
            max_result_bytes: 100 << 20,
            connection_idle_timeout_ms: 3_600_000,
            send_timeout_ms: 60_000,
            receive_timeout_ms: 60_000,
            handshake_timeout_ms: 30_000,
            buffer_wait_timeout_ms: 10_000,
            nonce_grace_period_ms: 30 * 60_000,
        }
    }
}

impl Config {
    /// Checks the settings against each other.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the setting and its allowed values.
    pub fn check(&self) -> Result<()> {
        let ports = [
            Some(self.master_port),
            Some(self.regionserver_port),
            self.http_port,
            self.zookeeper_port,
        ];
        let mut fixed: Vec<u16> = ports.into_iter().flatten().filter(|port| *port != 0).collect();
        fixed.sort_unstable();
        if let Some([twice, ..]) = fixed.array_windows().find(|[a, b]| a == b) {
            return Err(Error::invalid(format!(
                "port {twice} is given twice; give each service a port of its own, or 0 for any \
                 that is free"
            )));
        }
        if let Advertise::Host(host) = &self.advertise_host
            && (host.is_empty() || host.contains([',', ' ', '/']))
        {
            return Err(Error::invalid(format!(
                "{host:?} is not a host to advertise; give a name or an address without a port"
            )));
        }
        let is_path = self
            .znode_parent
            .strip_prefix('/')
            .is_some_and(|rest| rest.split('/').all(|name| !matches!(name, "" | "." | "..")));
        if !is_path || self.znode_parent.starts_with("/zookeeper") {
            return Err(Error::invalid(format!(
                "znode_parent {:?} is no place for a cluster; give a path from the root, as in \
                 /hbase",
                self.znode_parent
            )));
        }
        if let Some(directory) =
            self.bulkload_dirs.iter().find(|directory| !directory.is_absolute())
        {
            return Err(Error::invalid(format!(
                "bulkload_dirs: {} is no whole path; begin it with /",
                directory.display()
            )));
        }
        check_time("snapshot_cleaner_interval_ms", self.snapshot_cleaner_interval_ms)?;
        check_time("catalog_janitor_interval_ms", self.catalog_janitor_interval_ms)?;
        check_time("rolling_split_interval_ms", self.rolling_split_interval_ms)?;
        self.limits.check()
    }
}

/// Minimum of the engine's limits on cells and rows: those of the server's own tables, such as
/// `hbase:namespace`, are smaller.
const MIN_OWN_ROW_BYTES: u64 = 4096;

/// Checks that the server's own tables can be written and read with these options of an engine.
///
/// # Errors
/// `InvalidRequest` with the option and its valid values.
pub fn check_engine_options(options: &Options) -> Result<()> {
    let sizes = [
        ("max_cell_bytes", options.max_cell_bytes as u64),
        ("max_row_bytes", options.max_row_bytes),
    ];
    match sizes.into_iter().find(|(_, bytes)| (1..MIN_OWN_ROW_BYTES).contains(bytes)) {
        None => Ok(()),
        Some((name, bytes)) => Err(Error::invalid(format!(
            "{name} is {bytes}, and rows of the server's own tables, such as hbase:namespace, may \
             be larger; give at least {MIN_OWN_ROW_BYTES}, or 0 for no limit"
        ))),
    }
}

/// Maximum threads per pool. A higher number is a mistake, and the system may not have the
/// resources for it.
const MAX_THREADS: usize = 4096;
/// Minimum limit on the decoded size of a message, independent of the frame limit: tens of
/// thousands of actions.
const MIN_DECODED_BYTES: usize = 64 << 20;

impl Limits {
    /// Returns the limits of calls: a decompressed cell block may be as large as a frame, a decoded
    /// message twice as large.
    pub(crate) fn rpc_limits(&self) -> rpc::RpcLimits {
        let max_frame_bytes = self.max_request_bytes;
        let max_decoded_bytes = max_frame_bytes.saturating_mul(2).max(MIN_DECODED_BYTES);
        rpc::RpcLimits {
            max_frame_bytes,
            max_cell_block_bytes: max_frame_bytes,
            max_decoded_bytes,
            ..rpc::RpcLimits::default()
        }
    }

    fn check(&self) -> Result<()> {
        let counts = [
            ("max_connections", self.max_connections),
            ("max_calls_per_connection", self.max_calls_per_connection),
            ("max_bytes_per_connection", self.max_bytes_per_connection),
            ("max_network_buffer_bytes", self.max_network_buffer_bytes),
            ("max_address_buffer_bytes", self.max_address_buffer_bytes),
            ("max_connections_per_address", self.max_connections_per_address),
            ("max_scanner_bytes", self.max_scanner_bytes),
            ("max_call_queue_length", self.max_call_queue_length),
            ("max_admin_queue_length", self.max_admin_queue_length),
            ("max_call_queue_bytes", self.max_call_queue_bytes),
            ("handler_threads", self.handler_threads),
            ("admin_threads", self.admin_threads),
            ("max_scanners_per_connection", self.max_scanners_per_connection),
            ("max_result_bytes", self.max_result_bytes),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Error::invalid(format!("{name} is 0; give at least 1")));
        }
        let threads =
            [("handler_threads", self.handler_threads), ("admin_threads", self.admin_threads)];
        if let Some((name, _)) = threads.into_iter().find(|(_, count)| *count > MAX_THREADS) {
            return Err(Error::invalid(format!(
                "{name} is over {MAX_THREADS}; a few for each core are plenty"
            )));
        }
        if !(1024..=i32::MAX as usize).contains(&self.max_request_bytes) {
            return Err(Error::invalid(
                "max_request_bytes must be from 1024 to 2147483647, the largest length a frame can \
                 have",
            ));
        }
        // A request that exceeds every share would be received in part and never served.
        let (shared, frame) = (self.max_network_buffer_bytes, self.max_request_bytes);
        if shared / 4 < frame || self.max_address_buffer_bytes / 2 < frame {
            return Err(Error::invalid(format!(
                "max_network_buffer_bytes must be at least four times and max_address_buffer_bytes \
                 at least twice max_request_bytes, which is {frame}"
            )));
        }
        let times = [
            ("scanner_timeout_ms", self.scanner_timeout_ms),
            ("connection_idle_timeout_ms", self.connection_idle_timeout_ms),
            ("send_timeout_ms", self.send_timeout_ms),
            ("receive_timeout_ms", self.receive_timeout_ms),
            ("handshake_timeout_ms", self.handshake_timeout_ms),
            ("buffer_wait_timeout_ms", self.buffer_wait_timeout_ms),
            ("nonce_grace_period_ms", self.nonce_grace_period_ms),
        ];
        times.into_iter().try_for_each(|(name, time)| check_time(name, time))
    }
}

fn check_time(name: &str, ms: u64) -> Result<()> {
    let may_be = (1..=u64::from(u32::MAX)).contains(&ms);
    if may_be {
        Ok(())
    } else {
        Err(Error::invalid(format!("{name} must be from 1 to {} milliseconds", u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_config_is_valid() {
        Config::default().check().unwrap();
    }

    #[test]
    fn limits_below_the_servers_own_rows_are_rejected() {
        let checked = |max_cell_bytes, max_row_bytes| {
            let mut options = Options::default();
            (options.max_cell_bytes, options.max_row_bytes) = (max_cell_bytes, max_row_bytes);
            check_engine_options(&options).map_err(|error| error.message().to_owned())
        };
        assert_eq!(checked(0, 0), Ok(()));
        assert_eq!(checked(4096, 4096), Ok(()));
        assert!(checked(1, 0).unwrap_err().starts_with("max_cell_bytes is 1, "));
        assert!(checked(0, 4095).unwrap_err().contains("give at least 4096, or 0 for no limit"));
    }

    #[test]
    fn duplicate_port_and_excessive_scanner_timeout_are_rejected() {
        let config = Config { http_port: Some(16_000), ..Config::default() };
        assert!(config.check().unwrap_err().message().contains("port 16000 is given twice"));
        let any = Config {
            master_port: 0,
            regionserver_port: 0,
            http_port: Some(0),
            zookeeper_port: None,
            ..Config::default()
        };
        any.check().unwrap();
        let limits = Limits { scanner_timeout_ms: u64::MAX, ..Limits::default() };
        assert!(
            Config { limits, ..Config::default() }
                .check()
                .unwrap_err()
                .message()
                .starts_with("scanner_timeout_ms")
        );
        let limits = Limits { handler_threads: 99_999_999, ..Limits::default() };
        assert!(
            Config { limits, ..Config::default() }
                .check()
                .unwrap_err()
                .message()
                .starts_with("handler_threads is over")
        );
    }
}
