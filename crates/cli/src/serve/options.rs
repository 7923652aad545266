//! Options of `halite serve`: flag, configuration file key, help text and setting of each.

use std::path::PathBuf;

use halite::{WalRecovery, WalSync};
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
        "Directory of the store; it is created if it does not exist",
    ),
    flag(
        "ephemeral",
        Flag(|s| &mut s.ephemeral),
        "Keep the store in a temporary directory, which is removed at the end",
    ),
    flag(
        "demo",
        Flag(|s| &mut s.demo),
        "Load the tables of `halite demo` first, unless they are there",
    ),
    option(
        "wal-sync",
        "MODE",
        Other(set_wal_sync, format_wal_sync),
        "What an acknowledged write has survived: power loss (fsync), or the death of the process (flush), which is HBase's promise",
    ),
    option(
        "wal-recovery",
        "MODE",
        Other(set_wal_recovery, format_wal_recovery),
        "What opening does with damage in the log: refuse to open (strict), or leave the damaged bytes out and keep them in files next to it (skip-damaged), after which acknowledged writes may be missing",
    ),
    option(
        "on-log-failure",
        "ACTION",
        Other(set_on_log_failure, |s| {
            if s.exit_on_log_failure { "exit" } else { "refuse" }.to_owned()
        }),
        "What to do when a sync or a write of the log fails, other than for want of room: refuse writes and go on reading (refuse), or end with exit code 3, for a supervisor to start the server again (exit)",
    ),
    option(
        "disk-reserve-size",
        "BYTES",
        Other(set_disk_reserve, |s| {
            s.engine.disk_reserve_bytes.map_or_else(|| "auto".to_owned(), format_bytes)
        }),
        "Bytes of the disk kept free for flushes and the log: with less, writes are answered with RegionTooBusyException and compactions wait until there is room; auto is a twentieth of the disk, at most 1 GB, or of disks below 4 GB a quarter, at most 192 MB",
    ),
    option(
        "listen-addr",
        "ADDR",
        Other(set_listen_addr, |s| s.server.listen_addr.to_string()),
        "Address to listen on; 0.0.0.0 or :: for every network. There is no authentication",
    ),
    option(
        "advertise-host",
        "HOST",
        Other(set_advertise_host, format_advertise_host),
        "Host that clients are told to connect to; auto is the address they have connected to as the server sees it, which is not theirs behind a published port",
    ),
    option(
        "master-port",
        "PORT",
        Port(|s| &mut s.server.master_port),
        "Port of the master; 0 for any that is free",
    ),
    option(
        "regionserver-port",
        "PORT",
        Port(|s| &mut s.server.regionserver_port),
        "Port of the region server; 0 for any that is free",
    ),
    option(
        "http-port",
        "PORT",
        PortOrOff(|s| &mut s.server.http_port),
        "Port of /metrics and /jmx; 0 for any that is free, off for none",
    ),
    option(
        "zookeeper-port",
        "PORT",
        PortOrOff(|s| &mut s.server.zookeeper_port),
        "Port of the ZooKeeper endpoint; 0 for any that is free, off for none",
    ),
    option(
        "znode-parent",
        "PATH",
        Other(set_znode_parent, |s| s.server.znode_parent.clone()),
        "The znode below which clients look the cluster up",
    ),
    option(
        "log-level",
        "LEVEL",
        Other(set_log_level, |s| s.log_level.to_string().to_lowercase()),
        "What is logged at least: error, warn, info, debug or trace",
    ),
    option(
        "memstore-flush-size",
        "BYTES",
        Bytes(|s| &mut s.engine.memstore_flush_bytes),
        "Size of a region's memstores that asks for a flush",
    ),
    option(
        "memstore-block-multiplier",
        "N",
        LongCount(|s| &mut s.engine.memstore_block_multiplier),
        "Writes are answered with RegionTooBusyException when a region's memstores are this many times that size",
    ),
    option(
        "global-memstore-size",
        "BYTES",
        Bytes(|s| &mut s.engine.global_memstore_bytes),
        "Size of all memstores above which the largest is flushed; at one and a half times writes are answered with RegionTooBusyException",
    ),
    option(
        "block-cache-size",
        "BYTES",
        Bytes(|s| &mut s.engine.block_cache_bytes),
        "Size of the blocks kept in memory",
    ),
    option(
        "max-cell-size",
        "BYTES",
        Size(|s| &mut s.engine.max_cell_bytes),
        "Largest cell that is taken; 0 for no limit",
    ),
    option(
        "max-row-size",
        "BYTES",
        Bytes(|s| &mut s.engine.max_row_bytes),
        "Size of a row's cells in one family that a read which may not cut rows puts together; 0 for no limit",
    ),
    option(
        "wal-segment-size",
        "BYTES",
        Bytes(|s| &mut s.engine.wal_segment_bytes),
        "Size at which a file of the log is closed; a quarter of disk-reserve-size at most",
    ),
    option(
        "max-wal-segments",
        "N",
        Count(|s| &mut s.engine.max_wal_segments),
        "More closed files of the log than this make regions flush",
    ),
    option(
        "max-region-file-size",
        "BYTES",
        Bytes(|s| &mut s.engine.max_region_file_bytes),
        "Size of a region's largest store at which it splits",
    ),
    option(
        "max-regions-per-table",
        "N",
        Count(|s| &mut s.engine.max_regions_per_table),
        "Regions a table may be created with; 0 for no limit",
    ),
    option(
        "min-compaction-files",
        "N",
        Count(|s| &mut s.engine.min_compaction_files),
        "Fewest files a minor compaction merges",
    ),
    option(
        "max-compaction-files",
        "N",
        Count(|s| &mut s.engine.max_compaction_files),
        "Most files a minor compaction merges",
    ),
    option(
        "compaction-ratio",
        "RATIO",
        Ratio(|s| &mut s.engine.compaction_ratio),
        "A file joins a compaction if it is at most this many times as large as the others together",
    ),
    option(
        "major-compaction-interval",
        "DURATION",
        SignedMs(|s| &mut s.engine.major_compaction_interval_ms),
        "Age at which everything is rewritten; 0 for never",
    ),
    option(
        "delete-expired-files",
        "BOOL",
        Bool(|s| &mut s.engine.delete_expired_files),
        "Whether files whose cells have all expired go without being rewritten",
    ),
    option(
        "in-memory-compaction-size",
        "BYTES",
        Size(|s| &mut s.engine.in_memory_compaction_bytes),
        "Size of a memstore that is written anew, in memory, when half of its cells are hidden; 0 for never",
    ),
    option(
        "memstore-chunk-size",
        "BYTES",
        Size(|s| &mut s.engine.memstore_chunk_bytes),
        "Largest piece of memory a memstore takes at once",
    ),
    option(
        "scanner-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.scanner_timeout_ms),
        "How long a scanner that nobody asks lives",
    ),
    option(
        "max-result-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_result_bytes),
        "Size of the cells in one answer to a scan or a multi",
    ),
    option(
        "max-request-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_request_bytes),
        "Size of one request",
    ),
    option(
        "max-connections",
        "N",
        Count(|s| &mut s.server.limits.max_connections),
        "Connections open at once, on each port but the web page's, which has 64 and lets more wait",
    ),
    option(
        "max-calls-per-connection",
        "N",
        Count(|s| &mut s.server.limits.max_calls_per_connection),
        "Unanswered calls of one connection; no more is read from it meanwhile",
    ),
    option(
        "max-bytes-per-connection",
        "BYTES",
        Size(|s| &mut s.server.limits.max_bytes_per_connection),
        "Size of those calls and of answers the client has not read",
    ),
    option(
        "max-network-buffer-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_network_buffer_bytes),
        "Maximum size of partially received requests and unsent responses of all connections; an address holds at most half of what others leave free",
    ),
    option(
        "max-address-buffer-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_address_buffer_bytes),
        "Maximum size of the same for the connections of one address",
    ),
    option(
        "max-connections-per-address",
        "N",
        Count(|s| &mut s.server.limits.max_connections_per_address),
        "Maximum open connections of one IPv4 address or IPv6 /64 network, over all ports; the web page's has a limit of its own, 32",
    ),
    option(
        "max-scanner-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_scanner_bytes),
        "Maximum estimated size of the open scanners of all connections, with what is kept in memory for them",
    ),
    option(
        "max-scanners-per-connection",
        "N",
        Count(|s| &mut s.server.limits.max_scanners_per_connection),
        "Scanners that one connection may have open",
    ),
    option(
        "io-threads",
        "N",
        Count(|s| &mut s.io_threads),
        "Threads that read calls from connections and answer what memory has",
    ),
    option(
        "handler-threads",
        "N",
        Count(|s| &mut s.server.limits.handler_threads),
        "Threads that scan and read from the disk",
    ),
    option(
        "max-call-queue-length",
        "N",
        Count(|s| &mut s.server.limits.max_call_queue_length),
        "Calls that wait for one of those threads",
    ),
    option(
        "admin-threads",
        "N",
        Count(|s| &mut s.server.limits.admin_threads),
        "Threads that create tables and the like",
    ),
    option(
        "max-admin-queue-length",
        "N",
        Count(|s| &mut s.server.limits.max_admin_queue_length),
        "Calls that wait for one of those threads",
    ),
    option(
        "max-call-queue-size",
        "BYTES",
        Size(|s| &mut s.server.limits.max_call_queue_bytes),
        "Size of all calls that wait",
    ),
    option(
        "connection-idle-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.connection_idle_timeout_ms),
        "How long a connection without a call in hand lives",
    ),
    option(
        "send-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.send_timeout_ms),
        "How long a client may take to read 64 KB of its answers, or a 64th of them if that is more",
    ),
    option(
        "receive-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.receive_timeout_ms),
        "How long a client may take to send 64 KB of a request it has begun, or a 64th of it if that is more",
    ),
    option(
        "handshake-timeout",
        "DURATION",
        Ms(|s| &mut s.server.limits.handshake_timeout_ms),
        "How long a client may take to say who it is",
    ),
    option(
        "nonce-grace-period",
        "DURATION",
        Ms(|s| &mut s.server.limits.nonce_grace_period_ms),
        "How long the outcome of an operation with a nonce is remembered, so that a repeated one counts once, over crashes, flushes and restarts as well; at least the newest 900,000 are kept, and no more than twice that",
    ),
    option(
        "snapshot-cleaner-interval",
        "DURATION",
        Ms(|s| &mut s.server.snapshot_cleaner_interval_ms),
        "How often snapshots whose time to live is over are deleted",
    ),
    option(
        "catalog-janitor-interval",
        "DURATION",
        Ms(|s| &mut s.server.catalog_janitor_interval_ms),
        "How often merged regions that read their own files only let go of the names of those they were merged from",
    ),
    option(
        "rolling-split-interval",
        "DURATION",
        Ms(|s| &mut s.server.rolling_split_interval_ms),
        "How often the next regions of tables with SPLIT ROLLING are made",
    ),
    option(
        "bulkload-dirs",
        "DIRS",
        Other(set_bulkload_dirs, format_bulkload_dirs),
        "Directories, with commas between them, from which clients may have files bulk-loaded, besides the folder staging of the store",
    ),
    option(
        "quota-enabled",
        "BOOL",
        Bool(|s| &mut s.server.quota_enabled),
        "Whether there are quotas: what set_quota says is then kept in hbase:quota and enforced, and so are the tables and regions a namespace may have",
    ),
];

/// Returns the option with a name.
pub(crate) fn find(name: &str) -> Option<&'static ServeOption> {
    OPTIONS.iter().find(|option| option.name == name)
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
                *at(settings) =
                    text.trim_end_matches(['f', 'F']).parse().map_err(|_| "a number, as in 1.2")?;
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
    fn every_option_takes_back_what_it_shows() {
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
    fn a_value_that_is_set_is_the_one_that_is_shown_and_no_other_changes() {
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

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        for (name, value, wanted) in [
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
        ] {
            let error = find(name).unwrap().set(&mut ServeConfig::default(), value).unwrap_err();
            assert!(error.contains(wanted), "{name}={value}: {error}");
        }
    }
}
