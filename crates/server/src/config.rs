//! What a server is told at its start. Sizes are in bytes and times in milliseconds, and so say their names.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use halite_types::{Error, Result};
use halite_wire::rpc;

/// The host that clients are told to connect to, in the registry, in `hbase:meta` and in znodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Advertise {
    /// The address the client has connected to: what worked once works again, through containers and names of any kind.
    #[default]
    Auto,
    /// This name or address, whatever the client has connected to.
    Host(String),
}

/// Where calls are answered. Only for measuring what the choice costs: `cargo xtask bench dispatch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// What memory can answer on the connection's task, the rest on threads that may wait.
    #[default]
    Tiered,
    /// Every call of a client on the connection's task, whatever it waits for.
    Inline,
    /// Every call of a client on a thread that may wait.
    Hop,
}

/// Where a server listens, who it says it is, and what it lets clients have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The address to listen on; 127.0.0.1.
    pub listen: IpAddr,
    /// Port of the master's services, 0 for any that is free; 16000.
    pub master_port: u16,
    /// Port of the region server's services, 0 for any that is free; 16020.
    pub region_port: u16,
    /// Port of the figures over HTTP, 0 for any that is free, `None` for no such page; 16010.
    pub web_port: Option<u16>,
    /// Port of the ZooKeeper endpoint, 0 for any that is free, `None` for none; 2181.
    pub zookeeper_port: Option<u16>,
    /// The znode below which clients look the cluster up (`zookeeper.znode.parent`), a path from the root; `/hbase`.
    pub znode_parent: String,
    /// The host that clients are told.
    pub advertise: Advertise,
    /// What clients may have.
    pub limits: Limits,
    /// Where calls are answered.
    pub lanes: Lanes,
    /// Directories, by whole paths, from which clients may have files bulk-loaded, besides the store's own `staging`; none.
    pub bulkload_dirs: Vec<PathBuf>,
    /// Whether there are quotas, kept in `hbase:quota` and enforced (`hbase.quota.enabled`); false.
    pub quotas_enabled: bool,
    /// How often snapshots whose time to live is over are deleted (`hbase.master.cleaner.snapshot.interval`), in milliseconds;
    /// 30 minutes.
    pub snapshot_cleaner_ms: u64,
    /// How often merged regions let go of those they were merged from (`hbase.catalogjanitor.interval`), in milliseconds;
    /// 5 minutes.
    pub catalog_janitor_ms: u64,
    /// How often the regions of times to come are made, of tables that declare `SPLIT ROLLING`, in milliseconds; a minute.
    pub rolling_ms: u64,
}

/// What clients may have at most.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one request (`hbase.ipc.max.request.size`); 256 MiB.
    pub frame_bytes_max: usize,
    /// Connections open at once, on each port but the web page's, which has 64 and lets more wait; 10,000.
    pub connections_max: usize,
    /// Calls of one connection that are not answered yet; no more is read from it meanwhile. 1,000.
    pub connection_calls_max: usize,
    /// Bytes of those calls, and of answers the client has not read yet; 256 MiB, and one call more.
    pub connection_bytes_max: usize,
    /// Bytes of partially received requests and of unsent responses, over all connections; 1 GiB. An address may hold half of
    /// what the others leave free, a connection half of that; at least four times `frame_bytes_max`.
    pub max_network_buffer_bytes: usize,
    /// Bytes of them that the connections of one address may hold; 512 MiB.
    pub max_address_buffer_bytes: usize,
    /// Connections that one address may have open, over all ports; an IPv6 address counts as its /64 network. 5,000.
    pub max_connections_per_address: usize,
    /// Estimated bytes of the open scanners of all connections, and of what is kept for them; 1 GiB, shared as network buffers are.
    pub max_scanner_bytes: usize,
    /// Calls that wait for a reader thread (`hbase.ipc.server.max.callqueue.length`), and as many that wait for network buffers; 1,000.
    pub reader_queue_max: usize,
    /// Calls that wait for an administration thread; 200.
    pub admin_queue_max: usize,
    /// Bytes of all calls that wait (`hbase.ipc.server.max.callqueue.size`); 1 GiB.
    pub queue_bytes_max: usize,
    /// Threads that scan, read from the disk and change what they have read; the cores of the machine, at least 2.
    pub reader_threads: usize,
    /// Threads that create tables and the like; 4.
    pub admin_threads: usize,
    /// How long a scanner that nobody asks lives (`hbase.client.scanner.timeout.period`), in milliseconds; 60,000.
    pub scanner_lease_ms: u64,
    /// Scanners that one connection may have open; 10,000.
    pub connection_scanners_max: usize,
    /// Bytes of cells in one answer to a scan or a multi (`hbase.server.scanner.max.result.size`); 100 MiB.
    pub result_bytes_max: usize,
    /// How long a connection without a call in hand lives (`hbase.ipc.client.connection.maxidletime` times a few), in
    /// milliseconds; an hour.
    pub idle_ms_max: u64,
    /// How long a client may take to read 64 KiB of what waits for it, or a 64th if that is more, in milliseconds; 60,000.
    pub write_stall_ms_max: u64,
    /// How long a client may take to send 64 KiB of the rest of a request it has begun, or a 64th if that is more, in
    /// milliseconds; 60,000.
    pub read_stall_ms_max: u64,
    /// How long a client may take to say who it is, in milliseconds; 30,000.
    pub handshake_ms_max: u64,
    /// How long the outcome of an operation with a nonce is remembered
    /// (`hbase.server.hashNonce.gracePeriod`), in milliseconds; 30 minutes.
    pub nonce_ms: u64,
}

/// Threads for the runtime of a server, which read calls from connections and answer what memory has: half of the cores.
///
/// The other half is for readers, flushes and compactions. What one such thread answers from memory another would not
/// answer sooner, and waking it takes as long as the answer.
pub fn default_io_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            master_port: 16_000,
            region_port: 16_020,
            web_port: Some(16_010),
            zookeeper_port: Some(2181),
            znode_parent: "/hbase".to_string(),
            advertise: Advertise::Auto,
            limits: Limits::default(),
            lanes: Lanes::default(),
            bulkload_dirs: Vec::new(),
            quotas_enabled: false,
            snapshot_cleaner_ms: 30 * 60_000,
            catalog_janitor_ms: 5 * 60_000,
            rolling_ms: 60_000,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes_max: 256 << 20,
            connections_max: 10_000,
            connection_calls_max: 1_000,
            connection_bytes_max: 256 << 20,
            max_network_buffer_bytes: 1 << 30,
            max_address_buffer_bytes: 512 << 20,
            max_connections_per_address: 5_000,
            max_scanner_bytes: 1 << 30,
            reader_queue_max: 1_000,
            admin_queue_max: 200,
            queue_bytes_max: 1 << 30,
            reader_threads: std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2)),
            admin_threads: 4,
            scanner_lease_ms: 60_000,
            connection_scanners_max: 10_000,
            result_bytes_max: 100 << 20,
            idle_ms_max: 3_600_000,
            write_stall_ms_max: 60_000,
            read_stall_ms_max: 60_000,
            handshake_ms_max: 30_000,
            nonce_ms: 30 * 60_000,
        }
    }
}

impl Config {
    /// Checks the settings against each other.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the setting and what is allowed.
    pub fn check(&self) -> Result<()> {
        let ports = [Some(self.master_port), Some(self.region_port), self.web_port, self.zookeeper_port];
        let mut fixed: Vec<u16> = ports.into_iter().flatten().filter(|port| *port != 0).collect();
        fixed.sort_unstable();
        if let Some([twice, ..]) = fixed.array_windows().find(|[a, b]| a == b) {
            return Err(Error::invalid(format!("port {twice} is given twice; give each service a port of its own, or 0 for any that is free")));
        }
        if let Advertise::Host(host) = &self.advertise
            && (host.is_empty() || host.contains([',', ' ', '/']))
        {
            return Err(Error::invalid(format!("{host:?} is not a host to advertise; give a name or an address without a port")));
        }
        let is_path = self.znode_parent.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|name| !matches!(name, "" | "." | "..")));
        if !is_path || self.znode_parent.starts_with("/zookeeper") {
            return Err(Error::invalid(format!(
                "znode_parent {:?} is no place for a cluster; give a path from the root, as in /hbase",
                self.znode_parent
            )));
        }
        if let Some(directory) = self.bulkload_dirs.iter().find(|directory| !directory.is_absolute()) {
            return Err(Error::invalid(format!("bulkload_dirs: {} is no whole path; begin it with /", directory.display())));
        }
        check_time("snapshot_cleaner_ms", self.snapshot_cleaner_ms)?;
        check_time("catalog_janitor_ms", self.catalog_janitor_ms)?;
        check_time("rolling_ms", self.rolling_ms)?;
        self.limits.check()
    }
}

/// Of each kind of threads: more than these are a mistake, and the system may have no room for them.
const THREADS_MAX: usize = 4096;
/// What a message may unfold to, however small the frames are that are allowed: tens of thousands of actions.
const UNFOLDED_BYTES_MIN: usize = 64 << 20;

impl Limits {
    /// What calls may bring: a cell block as much as a frame when it is decompressed, a message twice that when it is decoded.
    pub(crate) fn of_calls(&self) -> rpc::Limits {
        let frame_bytes_max = self.frame_bytes_max;
        let unfolded_bytes_max = frame_bytes_max.saturating_mul(2).max(UNFOLDED_BYTES_MIN);
        rpc::Limits { frame_bytes_max, cell_block_bytes_max: frame_bytes_max, unfolded_bytes_max, ..rpc::Limits::default() }
    }

    fn check(&self) -> Result<()> {
        let counts = [
            ("connections_max", self.connections_max),
            ("connection_calls_max", self.connection_calls_max),
            ("connection_bytes_max", self.connection_bytes_max),
            ("max_network_buffer_bytes", self.max_network_buffer_bytes),
            ("max_address_buffer_bytes", self.max_address_buffer_bytes),
            ("max_connections_per_address", self.max_connections_per_address),
            ("max_scanner_bytes", self.max_scanner_bytes),
            ("reader_queue_max", self.reader_queue_max),
            ("admin_queue_max", self.admin_queue_max),
            ("queue_bytes_max", self.queue_bytes_max),
            ("reader_threads", self.reader_threads),
            ("admin_threads", self.admin_threads),
            ("connection_scanners_max", self.connection_scanners_max),
            ("result_bytes_max", self.result_bytes_max),
        ];
        if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
            return Err(Error::invalid(format!("{name} is 0; give at least 1")));
        }
        let threads = [("reader_threads", self.reader_threads), ("admin_threads", self.admin_threads)];
        if let Some((name, _)) = threads.into_iter().find(|(_, count)| *count > THREADS_MAX) {
            return Err(Error::invalid(format!("{name} is over {THREADS_MAX}; a few for each core are plenty")));
        }
        if !(1024..=i32::MAX as usize).contains(&self.frame_bytes_max) {
            return Err(Error::invalid("frame_bytes_max must be from 1024 to 2147483647, the largest length a frame can have"));
        }
        // A request that no share can hold would be received in part and never served.
        let (shared, frame) = (self.max_network_buffer_bytes, self.frame_bytes_max);
        if shared / 4 < frame || self.max_address_buffer_bytes / 2 < frame {
            return Err(Error::invalid(format!(
                "max_network_buffer_bytes must be at least four times and max_address_buffer_bytes at least twice frame_bytes_max, which is {frame}"
            )));
        }
        let times = [
            ("scanner_lease_ms", self.scanner_lease_ms),
            ("idle_ms_max", self.idle_ms_max),
            ("write_stall_ms_max", self.write_stall_ms_max),
            ("read_stall_ms_max", self.read_stall_ms_max),
            ("handshake_ms_max", self.handshake_ms_max),
            ("nonce_ms", self.nonce_ms),
        ];
        times.into_iter().try_for_each(|(name, time)| check_time(name, time))
    }
}

fn check_time(name: &str, ms: u64) -> Result<()> {
    let may_be = (1..=u64::from(u32::MAX)).contains(&ms);
    if may_be { Ok(()) } else { Err(Error::invalid(format!("{name} must be from 1 to {} milliseconds", u32::MAX))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound() {
        Config::default().check().unwrap();
    }

    #[test]
    fn a_port_given_twice_and_an_endless_lease_are_refused() {
        let config = Config { web_port: Some(16_000), ..Config::default() };
        assert!(config.check().unwrap_err().message().contains("port 16000 is given twice"));
        let any = Config { master_port: 0, region_port: 0, web_port: Some(0), zookeeper_port: None, ..Config::default() };
        any.check().unwrap();
        let limits = Limits { scanner_lease_ms: u64::MAX, ..Limits::default() };
        assert!(Config { limits, ..Config::default() }.check().unwrap_err().message().starts_with("scanner_lease_ms"));
        let limits = Limits { reader_threads: 99_999_999, ..Limits::default() };
        assert!(Config { limits, ..Config::default() }.check().unwrap_err().message().starts_with("reader_threads is over"));
    }
}
