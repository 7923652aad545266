//! Options of `halite serve`: flag, configuration file key, help text and setting of each.

use std::path::{Path, PathBuf};

use halite::heat::HeatLevel;
use halite::{FlushPolicyClass, WalRecovery, WalSync};
use halite_server::Advertise;

use super::config::ServeConfig;
use crate::units::{format_bytes, format_ms, parse_bytes, parse_ms};

/// Server option. Its name is the flag after `--` and the key in the file.
pub(crate) struct ServeOption {
    pub(crate) name: &'static str,
    /// Metavar in the help; `None` for a flag without a value.
    pub(crate) value: Option<&'static str>,
    pub(crate) help: &'static str,
    accessor: SettingAccessor,
}

/// Setting that a value is stored in, and the format of the value.
enum SettingAccessor {
    Flag(fn(&mut ServeConfig) -> &mut bool),
    Bool(fn(&mut ServeConfig) -> &mut bool),
    Port(fn(&mut ServeConfig) -> &mut u16),
    PortOrOff(fn(&mut ServeConfig) -> &mut Option<u16>),
    Bytes(fn(&mut ServeConfig) -> &mut u64),
    Size(fn(&mut ServeConfig) -> &mut usize),
    Count(fn(&mut ServeConfig) -> &mut usize),
    LongCount(fn(&mut ServeConfig) -> &mut u64),
    Ms(fn(&mut ServeConfig) -> &mut u64),
    SignedMs(fn(&mut ServeConfig) -> &mut i64),
    Ratio(fn(&mut ServeConfig) -> &mut f64),
    Other(fn(&mut ServeConfig, &str) -> Result<(), String>, fn(&ServeConfig) -> String),
}

use SettingAccessor::{
    Bool, Bytes, Count, Flag, LongCount, Ms, Other, Port, PortOrOff, Ratio, SignedMs, Size,
};

const fn option(
    name: &'static str,
    value: &'static str,
    place: SettingAccessor,
    help: &'static str,
) -> ServeOption {
    ServeOption { name, value: Some(value), help, accessor: place }
}

const fn flag(name: &'static str, place: SettingAccessor, help: &'static str) -> ServeOption {
    ServeOption { name, value: None, help, accessor: place }
}

/// All options, in the order of the help and the documentation.
pub(crate) const OPTIONS: &[ServeOption] = &[
    option(
        "data",
        "DIR",
        Other(set_data, |s| s.data.display().to_string()),
        "Store directory, created if it does not exist",
    ),
    flag(
        "ephemeral",
        Flag(|s| &mut s.ephemeral),
        "Keep the store in a temporary directory, removed at the end",
    ),
    flag("demo", Flag(|s| &mut s.demo), "Load the tables of `halite demo` first unless they exist"),
    option(
        "demo-traffic",
        "RATE",
        Other(set_demo_traffic, |s| {
            s.demo_traffic.map_or_else(|| "off".to_owned(), |rate| rate.to_string())
        }),
        "Operations per second that the server itself makes on the tables of --demo, at most 10000; \
         off for none",
    ),
    option(
        "wal-sync",
        "MODE",
        Other(set_wal_sync, format_wal_sync),
        "Guarantee of an acknowledged write: survives power loss (fsync), or the death of the \
         process (flush), which is HBase's guarantee",
    ),
    option(
        "wal-recovery",
        "MODE",
        Other(set_wal_recovery, format_wal_recovery),
        "Action on WAL damage at open: refuse to open (strict), or skip the damaged bytes and keep \
         them in files next to the log (skip-damaged); acknowledged writes may then be missing",
    ),
    option(
        "on-log-failure",
        "ACTION",
        Other(set_on_log_failure, |s| {
            if s.exit_on_log_failure { "exit" } else { "refuse" }.to_owned()
        }),
        "Action on a failed WAL write or sync, except on a full disk: reject writes and keep \
         serving reads (refuse), or exit with code 3 so that a supervisor restarts the server \
         (exit)",
    ),
    option(
        "disk-reserve-size",
        "BYTES",
        Other(set_disk_reserve, |s| {
            s.engine.disk_reserve_bytes.map_or_else(|| "auto".to_owned(), format_bytes)
        }),
        "Disk space reserved for flushes and the WAL: with less free, writes fail with \
         RegionTooBusyException and compactions wait; auto is 5% of the disk, at most 1 GB, and \
         25% of disks below 4 GB, at most 192 MB",
    ),
    option(
        "listen-addr",
        "ADDR",
        Other(set_listen_addr, |s| s.server.listen_addr.to_string()),
        "Listen address; 0.0.0.0 or :: for every network. There is no authentication",
    ),
    option(
        "advertise-host",
        "HOST",
        Other(set_advertise_host, format_advertise_host),
        "Host name advertised to clients; auto is the local address of the client's connection, \
         which is wrong for clients of a published container port",
    ),
    option(
        "master-port",
        "PORT",
        Port(|s| &mut s.server.master_port),
        "Master port; 0 for any free port",
    ),
    option(
        "regionserver-port",
        "PORT",
        Port(|s| &mut s.server.regionserver_port),
        "Region server port; 0 for any free port",
    ),
    option(
        "http-port",
        "PORT",
        PortOrOff(|s| &mut s.server.http_port),
        "HTTP port of the web page, /metrics and /jmx; 0 for any free port, off to disable",
    ),
    option(
        "web-token-file",
        "PATH",
        Other(set_web_token_file, format_web_token_file),
        "File with the token that changes on the web page need, created if it does not exist; with \
         auto, a token is generated and printed at startup if only this machine can connect, and \
         else the page is read-only",
    ),
    option(
        "web-rows",
        "MODE",
        Other(set_web_rows, |s| if s.web.shows_rows { "on" } else { "off" }.to_owned()),
        "Whether the web page shows rows and values (on) or only regions and their boundaries (off)",
    ),
    option(
        "web-hosts",
        "NAMES",
        Other(set_web_hosts, |s| s.web.hosts.join(",")),
        "Host names, with commas between them, under which browsers may ask for the web page, \
         besides localhost, addresses, and the name of advertise-host or of this machine",
    ),
    option(
        "pg-port",
        "PORT",
        PortOrOff(|s| &mut s.pg.port),
        "Port of SQL for PostgreSQL's clients, in builds with the feature pg; 0 for any free port, \
         off to disable",
    ),
    option(
        "pg-users",
        "PATH",
        Other(|s, text| set_file(&mut s.pg.users, text), |s| format_file(s.pg.users.as_deref())),
        "File with the users of the SQL port, a line from `halite pg-user` for each; without one, \
         everyone on this machine may do everything, and other machines cannot connect",
    ),
    option(
        "pg-tls-cert",
        "PATH",
        Other(
            |s, text| set_file(&mut s.pg.certificate, text),
            |s| format_file(s.pg.certificate.as_deref()),
        ),
        "Certificates of the SQL port for TLS, a PEM file with the server's first; needed on an \
         address that other machines reach",
    ),
    option(
        "pg-tls-key",
        "PATH",
        Other(|s, text| set_file(&mut s.pg.key, text), |s| format_file(s.pg.key.as_deref())),
        "Private key of that certificate, a PEM file",
    ),
    option(
        "zookeeper-port",
        "PORT",
        PortOrOff(|s| &mut s.server.zookeeper_port),
        "ZooKeeper port; 0 for any free port, off to disable",
    ),
    option(
        "znode-parent",
        "PATH",
        Other(set_znode_parent, |s| s.server.znode_parent.clone()),
        "Parent znode of the cluster",
    ),
    option(
        "log-level",
        "LEVEL",
        Other(set_log_level, |s| s.log_level.to_string().to_lowercase()),
        "Minimum log level: error, warn, info, debug or trace",
    ),
    option(
        "heat-level",
        "LEVEL",
        Other(
            |s, text| {
                let level = HeatLevel::from_name(text);
                s.engine.heat_level = level.ok_or_else(|| "off, region, sub or full".to_owned())?;
                Ok(())
            },
            |s| s.engine.heat_level.name().to_owned(),
        ),
        "Recorded load of tables: off, region (exact load of each region), sub (also parts of \
         regions, frequent rows, a sample of keys and a log of sampled operations), or full (with \
         up to 10,000 operations per second in the log)",
    ),
    option(
        "operation-log-rate",
        "N",
        Other(
            |s, text| {
                let rate = text.parse().ok().filter(|rate| *rate > 0);
                s.engine.operation_log_rate = rate.ok_or_else(|| "a number above 0".to_owned())?;
                Ok(())
            },
            |s| s.engine.operation_log_rate.to_string(),
        ),
        "Operations of a region of which one is logged at heat-level sub",
    ),
    option(
        "operation-log-size",
        "BYTES",
        Bytes(|s| &mut s.engine.operation_log_bytes),
        "Maximum size of the log of operations on disk; 0 for no log",
    ),
    option(
        "memstore-flush-size",
        "BYTES",
        Bytes(|s| &mut s.engine.memstore_flush_bytes),
        "Size of the memstores of a region that triggers a flush",
    ),
    option(
        "flush-policy",
        "CLASS",
        Other(
            |s, text| {
                let class = FlushPolicyClass::from_name(text);
                s.engine.flush_policy = class.map_err(|error| error.message().to_owned())?;
                Ok(())
            },
            |s| s.engine.flush_policy.name().to_owned(),
        ),
        "Families that a flush writes in tables without FLUSH_POLICY: HBase's class \
         FlushAllLargeStoresPolicy, FlushAllStoresPolicy or FlushNonSloppyStoresFirstPolicy",
    ),
    option(
        "min-family-flush-size",
        "BYTES",
        Bytes(|s| &mut s.engine.min_family_flush_bytes),
        "Size of the memstores of a family up to which FlushAllLargeStoresPolicy leaves it in memory, \
         or more if its share of memstore-flush-size is more",
    ),
    option(
        "memstore-block-multiplier",
        "N",
        LongCount(|s| &mut s.engine.memstore_block_multiplier),
        "Multiple of the flush size at which writes to a region fail with RegionTooBusyException",
    ),
    option(
        "global-memstore-size",
        "BYTES",
        Bytes(|s| &mut s.engine.global_memstore_bytes),
        "Size of all memstores above which the largest is flushed; above 1.5 times this size \
         writes fail with RegionTooBusyException",
    ),
    option(
        "block-cache-size",
        "BYTES",
        Bytes(|s| &mut s.engine.block_cache_bytes),
        "Block cache size",
    ),
    option(
        "max-cell-size",
        "BYTES",
        Size(|s| &mut s.engine.max_cell_bytes),
        "Maximum size of a cell, at least 4096 [0 = unlimited]",
    ),
    option(
        "max-row-size",
        "BYTES",
        Bytes(|s| &mut s.engine.max_row_bytes),
        "Maximum bytes of one row per family returned by a non-partial read, at least 4096 \
         [0 = unlimited]",
    ),
    option(
        "wal-segment-size",
        "BYTES",
        Bytes(|s| &mut s.engine.wal_segment_bytes),
        "Size at which a WAL segment is closed; at most a quarter of disk-reserve-size",
    ),
    option(
        "max-wal-segments",
        "N",
        Count(|s| &mut s.engine.max_wal_segments),
        "Number of closed WAL segments that triggers region flushes",
    ),
    option(
        "max-region-file-size",
        "BYTES",
        Bytes(|s| &mut s.engine.max_region_file_bytes),
        "Size of the largest store of a region that triggers a split",
    ),
    option(
        "max-regions-per-table",
        "N",
        Count(|s| &mut s.engine.max_regions_per_table),
        "Maximum regions of a new table [0 = unlimited]",
    ),
    option(
        "min-compaction-files",
        "N",
        Count(|s| &mut s.engine.min_compaction_files),
        "Minimum files of a minor compaction",
    ),
    option(
        "max-compaction-files",
        "N",
        Count(|s| &mut s.engine.max_compaction_files),
        "Maximum files of a minor compaction",
    ),
    option(
        "compaction-ratio",
        "RATIO",
        Ratio(|s| &mut s.engine.compaction_ratio),
        "Maximum size of a file in a minor compaction, relative to the total size of the others",
    ),
    option(
        "idle-compaction-time",
        "DURATION",
        Ms(|s| &mut s.engine.idle_compaction_ms),
        "Time without writes after which the files of a region are compacted [0 = never]",
    ),
    option(
        "idle-compaction-ratio",
        "RATIO",
        Ratio(|s| &mut s.engine.idle_compaction_ratio),
        "As compaction-ratio, for regions without writes",
    ),
    option(
        "compaction-threads",
        "N",
        Count(|s| &mut s.engine.compaction_threads),
        "Compactions that run at the same time, of different regions, families or stripes",
    ),
    option(
        "compaction-rate",
        "BYTES",
        Bytes(|s| &mut s.engine.compaction_rate),
        "Bytes per second that automatic compactions read while few wait [0 = unlimited]",
    ),
    option(
        "max-compaction-rate",
        "BYTES",
        Bytes(|s| &mut s.engine.max_compaction_rate),
        "Bytes per second that automatic compactions read while many wait; at least compaction-rate \
         [0 = unlimited while any wait]",
    ),
    option(
        "major-compaction-interval",
        "DURATION",
        SignedMs(|s| &mut s.engine.major_compaction_interval_ms),
        "Interval between automatic major compactions [0 = never]",
    ),
    option(
        "delete-expired-files",
        "BOOL",
        Bool(|s| &mut s.engine.delete_expired_files),
        "Delete files whose cells have all expired without rewriting them",
    ),
    option(
        "in-memory-compaction-size",
        "BYTES",
        Size(|s| &mut s.engine.in_memory_compaction_bytes),
        "Memstore size that triggers in-memory compaction once half of its cells are overwritten \
         [0 = never]",
    ),
    option(
        "memstore-chunk-size",
        "BYTES",
        Size(|s| &mut s.engine.memstore_chunk_bytes),
        "Maximum size of one memory allocation of a memstore",
    ),
    option(
        "scanner-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.scanner_timeout_ms),
        "Scanner lease timeout",
    ),
    option(
        "max-result-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_result_bytes),
        "Maximum size of the cells in one scan or multi response",
    ),
    option(
        "max-request-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_request_bytes),
        "Maximum size of one request",
    ),
    option(
        "max-connections",
        "N",
        Count(|s| &mut s.server.limits.max_connections),
        "Maximum open connections per port; the HTTP port has its own limit of 64",
    ),
    option(
        "max-calls-per-connection",
        "N",
        Count(|s| &mut s.server.limits.max_calls_per_connection),
        "Maximum calls in progress per connection; reading from it pauses at the limit",
    ),
    option(
        "max-bytes-per-connection",
        "BYTES",
        Size(|s| &mut s.server.limits.max_bytes_per_connection),
        "Maximum bytes of calls in progress and unsent responses per connection",
    ),
    option(
        "max-network-buffer-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_network_buffer_bytes),
        "Maximum size of partially received requests and unsent responses of all connections; an \
         address holds at most half of what others leave free",
    ),
    option(
        "max-address-buffer-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_address_buffer_bytes),
        "Maximum size of partially received requests and unsent responses per client address",
    ),
    option(
        "max-connections-per-address",
        "N",
        Count(|s| &mut s.server.limits.max_connections_per_address),
        "Maximum open connections per IPv4 address or IPv6 /64 network over all ports, at \
         least 4; the HTTP port has its own limit of 32",
    ),
    option(
        "max-scanner-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_scanner_bytes),
        "Maximum estimated size of all open scanners and the memory they retain",
    ),
    option(
        "max-scanners-per-connection",
        "N",
        Count(|s| &mut s.server.limits.max_scanners_per_connection),
        "Maximum open scanners per connection",
    ),
    option(
        "io-threads",
        "N",
        Count(|s| &mut s.io_threads),
        "Threads that read calls from connections and execute those served from memory",
    ),
    option(
        "handler-threads",
        "N",
        Count(|s| &mut s.server.limits.handler_threads),
        "Threads that execute scans and calls that read from the disk",
    ),
    option(
        "max-call-queue-length",
        "N",
        Count(|s| &mut s.server.limits.max_call_queue_length),
        "Maximum calls waiting for a handler thread",
    ),
    option(
        "admin-threads",
        "N",
        Count(|s| &mut s.server.limits.admin_threads),
        "Threads that execute administrative calls",
    ),
    option(
        "max-admin-queue-length",
        "N",
        Count(|s| &mut s.server.limits.max_admin_queue_length),
        "Maximum calls waiting for an admin thread",
    ),
    option(
        "max-call-queue-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_call_queue_bytes),
        "Maximum size of all waiting calls, at least 64 KB",
    ),
    option(
        "connection-idle-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.connection_idle_timeout_ms),
        "Timeout of a connection without a call in progress",
    ),
    option(
        "send-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.send_timeout_ms),
        "Maximum time a client takes to receive 64 KB of its responses, or 1/64 of them if that is \
         more",
    ),
    option(
        "receive-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.receive_timeout_ms),
        "Maximum time a client takes to send 64 KB of a request, or 1/64 of it if that is more",
    ),
    option(
        "handshake-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.handshake_timeout_ms),
        "Maximum time of the connection handshake",
    ),
    option(
        "nonce-grace-period",
        "DURATION",
        Ms(|s| &mut s.server.limits.nonce_grace_period_ms),
        "Time that results of operations with a nonce are retained, across flushes, crashes and \
         restarts, so that a retried operation is applied once; at least the newest 900,000 are \
         retained, at most twice that",
    ),
    option(
        "snapshot-cleaner-interval",
        "DURATION",
        Ms(|s| &mut s.server.snapshot_cleaner_interval_ms),
        "Interval between deletions of expired snapshots",
    ),
    option(
        "catalog-janitor-interval",
        "DURATION",
        Ms(|s| &mut s.server.catalog_janitor_interval_ms),
        "Interval between cleanups of merged regions: references to parents without remaining \
         files are removed",
    ),
    option(
        "rolling-split-interval",
        "DURATION",
        Ms(|s| &mut s.server.rolling_split_interval_ms),
        "Interval between split checks of tables with SPLIT ROLLING",
    ),
    option(
        "bulkload-dirs",
        "DIRS",
        Other(set_bulkload_dirs, format_bulkload_dirs),
        "Comma-separated directories that clients may bulk-load from, in addition to the staging \
         directory of the store",
    ),
    option(
        "slow-log",
        "BOOL",
        Bool(|s| &mut s.server.slow_calls.is_enabled),
        "Record slow and large calls, for the web page and for get_slowlog_responses and \
         get_largelog_responses of HBase's shell",
    ),
    option(
        "slow-call-time",
        "DURATION",
        Ms(|s| &mut s.server.slow_calls.slow_call_ms),
        "Calls that take longer are slow, without their wait for a thread",
    ),
    option(
        "large-response-size",
        "BYTES",
        Bytes(|s| &mut s.server.slow_calls.large_response_bytes),
        "Calls with a response of more bytes are large",
    ),
    option(
        "slow-log-calls",
        "N",
        Count(|s| &mut s.server.slow_calls.slow_log_calls),
        "Recorded slow and large calls, of which the newest are kept, in at most 4 MB",
    ),
    option(
        "quota-enabled",
        "BOOL",
        Bool(|s| &mut s.server.quota_enabled),
        "Store the quotas of set_quota in hbase:quota and enforce them, including limits on tables \
         and regions of a namespace",
    ),
];

/// Returns the names of all options.
pub(crate) fn option_names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|option| option.name)
}

/// Returns the option with a name.
pub(crate) fn find(name: &str) -> Option<&'static ServeOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// Returns a message of the library with the names of options in place of the fields of its
/// settings: `compaction-threads` for `compaction_threads`. Those that `is_flag` holds for are shown
/// as flags.
pub(super) fn with_option_names(message: &str, is_flag: impl Fn(&str) -> bool) -> String {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match option_of_field(word) {
            Some(name) if is_flag(name) => text.extend(["--", name]),
            Some(name) => text.push_str(name),
            None => text.push_str(word),
        }
        let next = behind.find(is_in_name).unwrap_or(behind.len());
        text.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    text
}

/// Returns the option with the name of a field: units are not in the names of options, as its
/// values have them.
fn option_of_field(field: &str) -> Option<&'static str> {
    let name = field.contains('_').then(|| field.replace('_', "-"))?;
    let bytes = name.strip_suffix("-bytes").map(|name| format!("{name}-size"));
    let ms = name.strip_suffix("-ms");
    let times = ms.into_iter().flat_map(|name| [name.to_owned(), format!("{name}-time")]);
    let mut names = [name.clone()].into_iter().chain(bytes).chain(times);
    names.find_map(|name| find(&name)).map(|option| option.name)
}

impl ServeOption {
    /// Sets the option from text.
    ///
    /// # Errors
    /// Returns a description of valid values, without the name and the value.
    pub(crate) fn set(&self, settings: &mut ServeConfig, text: &str) -> Result<(), String> {
        let text = text.trim();
        match &self.accessor {
            Flag(at) | Bool(at) => *at(settings) = text.parse().map_err(|_| "true or false")?,
            Port(at) => *at(settings) = parse_port(text)?,
            PortOrOff(at) => {
                *at(settings) = if text == "off" { None } else { Some(parse_port(text)?) }
            }
            Bytes(at) => *at(settings) = parse_bytes(text)?,
            Size(at) => {
                *at(settings) = usize::try_from(parse_bytes(text)?)
                    .map_err(|_| "a size this machine can have in memory")?;
            }
            Count(at) => *at(settings) = text.parse().map_err(|_| "a number from 0 up")?,
            LongCount(at) => *at(settings) = text.parse().map_err(|_| "a number from 0 up")?,
            Ms(at) => *at(settings) = parse_ms(text)?,
            SignedMs(at) => {
                *at(settings) =
                    i64::try_from(parse_ms(text)?).map_err(|_| "a time that is shorter")?;
            }
            Ratio(at) => {
                let number = text.trim_end_matches(['f', 'F']).parse();
                *at(settings) = number
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or("a number above 0, as in 1.2")?;
            }
            Other(set, _) => set(settings, text)?,
        }
        Ok(())
    }

    /// Formats the value of the option in these settings, in the input format.
    pub(crate) fn format(&self, settings: &ServeConfig) -> String {
        // The accessors return mutable references, so they are called on a copy.
        let copy = &mut settings.clone();
        match &self.accessor {
            Flag(at) | Bool(at) => at(copy).to_string(),
            Port(at) => at(copy).to_string(),
            PortOrOff(at) => at(copy).map_or_else(|| "off".to_owned(), |port| port.to_string()),
            Bytes(at) => format_bytes(*at(copy)),
            Size(at) => format_bytes(*at(copy) as u64),
            Count(at) => at(copy).to_string(),
            LongCount(at) => at(copy).to_string(),
            Ms(at) => format_ms(*at(copy)),
            SignedMs(at) => format_ms(at(copy).unsigned_abs()),
            Ratio(at) => at(copy).to_string(),
            Other(_, show) => show(copy),
        }
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "a port from 0 to 65535".to_owned())
}

fn set_data(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a directory".into());
    }
    settings.data = text.into();
    Ok(())
}

fn set_demo_traffic(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    const MAX_RATE: u64 = 10_000;
    settings.demo_traffic = match (text, text.parse()) {
        ("off", _) => None,
        (_, Ok(rate @ 1..=MAX_RATE)) => Some(rate),
        _ => return Err("a number of operations per second from 1 to 10000, or off".into()),
    };
    Ok(())
}

fn set_on_log_failure(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.exit_on_log_failure = match text {
        "refuse" => false,
        "exit" => true,
        _ => return Err("refuse or exit".into()),
    };
    Ok(())
}

fn set_disk_reserve(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.engine.disk_reserve_bytes =
        if text == "auto" { None } else { Some(parse_bytes(text)?) };
    Ok(())
}

fn set_wal_sync(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.engine.wal_sync = match text {
        "fsync" => WalSync::Fsync,
        "flush" => WalSync::Flush,
        _ => return Err("fsync or flush".into()),
    };
    Ok(())
}

fn format_wal_sync(settings: &ServeConfig) -> String {
    match settings.engine.wal_sync {
        WalSync::Fsync => "fsync",
        WalSync::Flush => "flush",
    }
    .to_owned()
}

fn set_wal_recovery(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.engine.wal_recovery = match text {
        "strict" => WalRecovery::Strict,
        "skip-damaged" => WalRecovery::SkipDamaged,
        _ => return Err("strict or skip-damaged".into()),
    };
    Ok(())
}

fn format_wal_recovery(settings: &ServeConfig) -> String {
    match settings.engine.wal_recovery {
        WalRecovery::Strict => "strict",
        WalRecovery::SkipDamaged => "skip-damaged",
    }
    .to_owned()
}

fn set_log_level(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.log_level = text.parse().map_err(|_| "error, warn, info, debug or trace")?;
    Ok(())
}

fn set_listen_addr(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    let text = if text == "localhost" { "127.0.0.1" } else { text };
    settings.server.listen_addr = text
        .parse()
        .map_err(|_| "an address of this machine, as in 127.0.0.1, or 0.0.0.0 for all")?;
    Ok(())
}

fn set_advertise_host(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.server.advertise_host = match text {
        "auto" => Advertise::Auto,
        host if !host.is_empty()
            && !host.contains([':', ',', '/'])
            && !host.contains(char::is_whitespace) =>
        {
            Advertise::Host(host.to_owned())
        }
        _ => return Err("auto, or a name or IPv4 address without a port".into()),
    };
    Ok(())
}

fn format_advertise_host(settings: &ServeConfig) -> String {
    match &settings.server.advertise_host {
        Advertise::Auto => "auto".to_owned(),
        Advertise::Host(host) => host.clone(),
    }
}

fn set_bulkload_dirs(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    let directories: Vec<PathBuf> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    if directories.iter().any(|directory| !directory.is_absolute()) {
        return Err("whole paths with commas between them, as in /data/load,/data/import".into());
    }
    settings.server.bulkload_dirs = directories;
    Ok(())
}

fn format_bulkload_dirs(settings: &ServeConfig) -> String {
    settings
        .server
        .bulkload_dirs
        .iter()
        .map(|directory| directory.display().to_string())
        .collect::<Vec<_>>()
        .join(",")
}

fn set_web_token_file(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.web.token_file = match text {
        "" => return Err("the path of a file, or auto".into()),
        "auto" => None,
        path => Some(path.into()),
    };
    Ok(())
}

fn set_file(place: &mut Option<PathBuf>, text: &str) -> Result<(), String> {
    *place = match text {
        "" => return Err("the path of a file, or none".into()),
        "none" => None,
        path => Some(path.into()),
    };
    Ok(())
}

fn format_file(path: Option<&Path>) -> String {
    path.map_or_else(|| "none".to_owned(), |path| path.display().to_string())
}

fn format_web_token_file(settings: &ServeConfig) -> String {
    let path = settings.web.token_file.as_ref();
    path.map_or_else(|| "auto".to_owned(), |path| path.display().to_string())
}

fn set_web_rows(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    settings.web.shows_rows = match text {
        "on" => true,
        "off" => false,
        _ => return Err("on or off".into()),
    };
    Ok(())
}

fn set_web_hosts(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.iter().any(|name| name.contains([':', '/']) || name.contains(char::is_whitespace)) {
        return Err("names without ports, with commas between them".into());
    }
    settings.web.hosts = names;
    Ok(())
}

fn set_znode_parent(settings: &mut ServeConfig, text: &str) -> Result<(), String> {
    let is_path = text.strip_prefix('/').is_some_and(|rest| {
        rest.split('/').all(|name| !name.is_empty() && name != "." && name != "..")
    });
    if !is_path {
        return Err("a path from the root, as in /hbase".into());
    }
    text.clone_into(&mut settings.server.znode_parent);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_parses_its_own_format() {
        for option in OPTIONS {
            let mut settings = ServeConfig::default();
            let shown = option.format(&settings);
            option
                .set(&mut settings, &shown)
                .unwrap_or_else(|error| panic!("{}={shown}: {error}", option.name));
            assert_eq!(option.format(&settings), shown, "{}", option.name);
        }
    }

    /// Non-default values, and one value of each format.
    #[test]
    fn setting_option_changes_only_that_option() {
        let values = [
            ("zookeeper-port", "off"),
            ("http-port", "0"),
            ("wal-sync", "flush"),
            ("listen-addr", "::1"),
            ("advertise-host", "db.example"),
            ("ephemeral", "true"),
        ];
        let sizes = [
            ("block-cache-size", "1g"),
            ("max-request-size", "3m"),
            ("bulkload-dirs", "/a,/b c"),
            ("compaction-ratio", "1.5"),
            ("major-compaction-interval", "0ms"),
            ("nonce-grace-period", "5s"),
        ];
        for (name, value) in values.into_iter().chain(sizes) {
            let mut settings = ServeConfig::default();
            find(name).unwrap().set(&mut settings, value).unwrap();
            let changed: Vec<&str> = OPTIONS
                .iter()
                .filter(|o| o.format(&settings) != o.format(&ServeConfig::default()))
                .map(|o| o.name)
                .collect();
            assert_eq!(
                (changed, find(name).unwrap().format(&settings)),
                (vec![name], value.to_owned())
            );
        }
    }

    /// Every option whose setting has a field of its own, by the source of this file.
    #[test]
    fn messages_name_options_in_place_of_fields() {
        let mut fields = 0;
        for entry in include_str!("options.rs").split("    option(\n").skip(1) {
            let name = entry.split('"').nth(1).unwrap();
            let Some((_, behind)) = entry.split_once("&mut s.") else { continue };
            let field = behind.split(')').next().unwrap().rsplit('.').next().unwrap();
            // `is_enabled` is a field of more than one part of the settings, and of no message.
            if find(name).is_some() && field.contains('_') && field != "is_enabled" {
                fields += 1;
                let text = with_option_names(&format!("x, {field}: y"), |_| false);
                assert_eq!(text, format!("x, {name}: y"));
            }
        }
        assert!(fields > 40, "{fields}");
        assert_eq!(with_option_names("max_cell_bytes is 0", |_| true), "--max-cell-size is 0");
        assert_eq!(with_option_names("no_such_field", |_| true), "no_such_field");
    }

    #[test]
    fn invalid_value_is_rejected_with_accepted_values() {
        for (name, value, expected) in [
            ("zookeeper-port", "65536", "a port from 0 to 65535"),
            ("wal-sync", "fast", "fsync or flush"),
            ("listen-addr", "everywhere", "an address"),
            ("advertise-host", "host:16020", "without a port"),
            ("znode-parent", "hbase", "/hbase"),
            ("znode-parent", "/", "/hbase"),
            ("znode-parent", "/a//b", "/hbase"),
            ("ephemeral", "yes", "true or false"),
            ("bulkload-dirs", "/a,b", "whole paths"),
            ("scanner-timeout", "-1", "a time"),
            ("idle-compaction-ratio", "1e400", "a number above 0"),
            ("compaction-ratio", "nan", "a number above 0"),
        ] {
            let error = find(name).unwrap().set(&mut ServeConfig::default(), value).unwrap_err();
            assert!(error.contains(expected), "{name}={value}: {error}");
        }
    }
}
