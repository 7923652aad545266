//! HBase setting names, for `--hbase-conf KEY=VALUE` and the section `[hbase]`.
//!
//! A list from an `hbase-site.xml` contains settings without meaning in Halite, and settings of
//! plug-ins and other programs, which no list names. These are ignored with a warning. An unknown
//! name that is almost one of HBase's is a mistake, and is refused.

use super::config::ServeConfig;
use super::options;
use super::refused;
use halite_types::hbase_names;
use halite_types::suggest::{closest_match, did_you_mean, misspelled};

/// HBase setting.
pub(crate) struct HBaseSetting {
    pub(crate) name: &'static str,
    pub(crate) meaning: Meaning,
}

/// Meaning of an HBase setting in Halite.
pub(crate) enum Meaning {
    /// Alias of this option, with the same values.
    Alias(&'static str),
    /// Alias of this option, with values in another format.
    Converted(&'static str, fn(&str) -> Result<String, String>),
    /// No effect, for this reason.
    Ignored(&'static str),
}

use Meaning::{Alias, Converted, Ignored};

/// Known settings, in the order of the documentation.
pub(crate) const HBASE_SETTINGS: &[HBaseSetting] = &[
    setting("hbase.rootdir", Converted("data", local_path)),
    setting(
        "hbase.wal.hsync",
        Converted("wal-sync", |text| {
            Ok(if parse_bool(text)? { "fsync" } else { "flush" }.to_owned())
        }),
    ),
    setting("hbase.master.port", Alias("master-port")),
    setting("hbase.regionserver.port", Alias("regionserver-port")),
    setting(
        "hbase.master.info.port",
        Converted("http-port", |text| Ok(if text == "-1" { "off" } else { text }.to_owned())),
    ),
    setting("hbase.zookeeper.property.clientPort", Alias("zookeeper-port")),
    setting("zookeeper.znode.parent", Alias("znode-parent")),
    setting("hbase.master.ipc.address", Alias("listen-addr")),
    setting("hbase.regionserver.ipc.address", Alias("listen-addr")),
    setting("hbase.master.hostname", Alias("advertise-host")),
    setting("hbase.regionserver.hostname", Alias("advertise-host")),
    setting("hbase.unsafe.regionserver.hostname", Alias("advertise-host")),
    setting("hbase.client.scanner.timeout.period", Alias("scanner-timeout")),
    setting("hbase.server.scanner.max.result.size", Alias("max-result-size")),
    setting("hbase.server.keyvalue.maxsize", Alias("max-cell-size")),
    setting("hbase.table.max.rowsize", Alias("max-row-size")),
    setting("hbase.ipc.max.request.size", Alias("max-request-size")),
    setting("hbase.ipc.server.max.callqueue.length", Alias("max-call-queue-length")),
    setting("hbase.ipc.server.max.callqueue.size", Alias("max-call-queue-size")),
    setting("hbase.netty.worker.count", Alias("io-threads")),
    setting("hbase.regionserver.handler.count", Alias("handler-threads")),
    setting("hbase.server.hashNonce.gracePeriod", Alias("nonce-grace-period")),
    setting("hbase.master.cleaner.snapshot.interval", Alias("snapshot-cleaner-interval")),
    setting("hbase.catalogjanitor.interval", Alias("catalog-janitor-interval")),
    setting("hbase.regionserver.slowlog.buffer.enabled", Alias("slow-log")),
    setting("hbase.regionserver.slowlog.ringbuffer.size", Alias("slow-log-calls")),
    setting(
        "hbase.ipc.warn.response.time",
        Converted("slow-call-time", |text| Ok(without_limit(text, i64::MAX.unsigned_abs()))),
    ),
    setting(
        "hbase.ipc.warn.response.size",
        Converted("large-response-size", |text| Ok(without_limit(text, u64::MAX))),
    ),
    setting("hbase.quota.enabled", Alias("quota-enabled")),
    setting("hbase.hregion.memstore.flush.size", Alias("memstore-flush-size")),
    setting("hbase.regionserver.flush.policy", Alias("flush-policy")),
    setting(
        "hbase.hregion.percolumnfamilyflush.size.lower.bound.min",
        Alias("min-family-flush-size"),
    ),
    setting(
        "hbase.hregion.percolumnfamilyflush.size.lower.bound",
        Ignored("only tables have it; set it there, or give min-family-flush-size"),
    ),
    setting("hbase.hregion.memstore.block.multiplier", Alias("memstore-block-multiplier")),
    setting("hbase.hregion.memstore.mslab.chunksize", Alias("memstore-chunk-size")),
    setting("hfile.block.cache.memory.size", Alias("block-cache-size")),
    setting("hbase.hregion.max.filesize", Alias("max-region-file-size")),
    setting("hbase.hstore.compactionThreshold", Alias("min-compaction-files")),
    setting("hbase.hstore.compaction.min", Alias("min-compaction-files")),
    setting("hbase.hstore.compaction.max", Alias("max-compaction-files")),
    setting("hbase.hstore.compaction.ratio", Alias("compaction-ratio")),
    setting("hbase.hstore.compaction.ratio.offpeak", Alias("idle-compaction-ratio")),
    setting("hbase.hstore.compaction.throughput.lower.bound", Alias("compaction-rate")),
    setting("hbase.hstore.compaction.throughput.higher.bound", Alias("max-compaction-rate")),
    setting(
        "hbase.offpeak.start.hour",
        Ignored("a region without writes is off peak at any hour; give idle-compaction-time"),
    ),
    setting(
        "hbase.offpeak.end.hour",
        Ignored("a region without writes is off peak at any hour; give idle-compaction-time"),
    ),
    setting("hbase.hregion.majorcompaction", Alias("major-compaction-interval")),
    setting("hbase.store.delete.expired.storefile", Alias("delete-expired-files")),
    setting("hbase.regionserver.maxlogs", Alias("max-wal-segments")),
    setting(
        "hbase.regionserver.global.memstore.size",
        Ignored("it is a share of Java's heap, and there is none here; give global-memstore-size"),
    ),
    setting(
        "hfile.block.cache.size",
        Ignored("it is a share of Java's heap, and there is none here; give block-cache-size"),
    ),
    setting(
        "hbase.regionserver.info.port",
        Ignored("there is one page for master and region server; give http-port"),
    ),
    setting(
        "hbase.cluster.distributed",
        Ignored("master, region server and ZooKeeper are this one process"),
    ),
    setting("hbase.zookeeper.quorum", Ignored("the ZooKeeper endpoint is in this process")),
    setting("hbase.wal.dir", Ignored("the log lies in the data directory")),
    setting(
        "dfs.replication",
        Ignored(
            "there is one copy, on the disk of the data directory; copy the directory or put it on \
             a disk that has a mirror",
        ),
    ),
    setting(
        "hbase.bulkload.staging.dir",
        Ignored("it is the folder staging in the data directory; list more in bulkload-dirs"),
    ),
    setting("hbase.hstore.blockingStoreFiles", Ignored("writers do not wait for compactions here")),
];

const fn setting(name: &'static str, meaning: Meaning) -> HBaseSetting {
    HBaseSetting { name, meaning }
}

/// Result of applying an HBase setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SetResult {
    Set,
    /// No effect; the operator should receive this warning.
    Warning(String),
}

/// Applies the HBase setting `name`.
///
/// # Errors
/// Returns an error for an invalid value of a supported setting, for a value that requests a
/// missing feature which users depend on, and for a misspelled name.
pub(crate) fn set(
    settings: &mut ServeConfig,
    name: &str,
    value: &str,
) -> Result<SetResult, String> {
    let value = value.trim();
    let Some(known) = HBASE_SETTINGS.iter().find(|known| known.name == name) else {
        return match refused::check(name, value)? {
            Some(result) => Ok(result),
            None => check_spelling(name).map(|()| SetResult::Warning(without_meaning(name))),
        };
    };
    let wrong = |expected: String| format!("{name}={value}: give {expected}");
    let (option, value) = match known.meaning {
        Ignored(why) => return Ok(SetResult::Warning(ignored(name, why))),
        Alias(option) => (option, value.to_owned()),
        Converted(option, translate) => (option, translate(value).map_err(wrong)?),
    };
    let option =
        options::find(option).ok_or_else(|| format!("{name}: there is no option {option}"))?;
    option.set(settings, &value).map_err(wrong)?;
    Ok(SetResult::Set)
}

/// Rejects a name that HBase does not have, but another one of at most two letters difference.
fn check_spelling(name: &str) -> Result<(), String> {
    let known = || hbase_names::all().chain(HBASE_SETTINGS.iter().map(|known| known.name));
    if known().any(|known| known == name) {
        return Ok(());
    }
    match misspelled(name, known()) {
        Some(near) => Err(format!("{name}: HBase has no such setting{}", did_you_mean(Some(near)))),
        None => Ok(()),
    }
}

/// Returns the warning about a setting that has no meaning in Halite.
fn without_meaning(name: &str) -> String {
    let near = did_you_mean(closest_match(name, HBASE_SETTINGS.iter().map(|known| known.name)));
    let is_of_clients = near.is_empty()
        && ["hbase.client.", "hbase.rpc.", "hbase.ipc.client."]
            .iter()
            .any(|prefix| name.starts_with(prefix));
    let why = if is_of_clients {
        "it is a setting of clients; it belongs in their hbase-site.xml"
    } else {
        "it has no meaning here"
    };
    ignored(name, &format!("{why}{near}"))
}

/// Returns the warning about a setting without effect.
pub(super) fn ignored(name: &str, why: &str) -> String {
    format!("{name} is ignored: {why}")
}

fn parse_bool(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "true or false".to_owned())
}

/// Returns a limit, of which HBase's -1 is none.
fn without_limit(text: &str, most: u64) -> String {
    if text == "-1" { most.to_string() } else { text.to_owned() }
}

/// Returns the path of a `file:` URI.
fn local_path(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("file://").or_else(|| text.strip_prefix("file:")).unwrap_or(text);
    if path.contains("://") {
        Err("a directory of this machine, as in file:///var/lib/halite".into())
    } else {
        Ok(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_option(settings: &ServeConfig, option: &str) -> String {
        options::find(option).unwrap().format(settings)
    }

    #[test]
    fn every_hbase_alias_names_existing_option() {
        for known in HBASE_SETTINGS {
            if let Alias(option) | Converted(option, _) = known.meaning {
                assert!(options::find(option).is_some(), "{} leads to {option}", known.name);
            }
        }
    }

    #[test]
    fn hbase_setting_sets_halite_option() {
        let mut settings = ServeConfig::default();
        for (name, value, option, shown) in [
            ("hbase.client.scanner.timeout.period", "5000", "scanner-timeout", "5s"),
            ("hbase.hregion.memstore.flush.size", "1048576", "memstore-flush-size", "1m"),
            ("hbase.hstore.compaction.ratio", "1.4F", "compaction-ratio", "1.4"),
            ("hbase.wal.hsync", "false", "wal-sync", "flush"),
            ("hbase.master.info.port", "-1", "http-port", "off"),
            ("hbase.rootdir", "file:///var/lib/halite", "data", "/var/lib/halite"),
            ("hbase.ipc.warn.response.time", "200", "slow-call-time", "200ms"),
            ("hbase.ipc.warn.response.size", "-1", "large-response-size", "18446744073709551615"),
            ("hbase.regionserver.slowlog.buffer.enabled", "false", "slow-log", "false"),
        ] {
            assert_eq!(set(&mut settings, name, value), Ok(SetResult::Set), "{name}");
            assert_eq!(format_option(&settings, option), shown, "{name}");
        }
    }

    #[test]
    fn misspelled_hbase_name_is_refused_with_nearest_name() {
        let refusal = |name: &str| set(&mut ServeConfig::default(), name, "1").unwrap_err();
        assert_eq!(
            refusal("hbase.hregion.max.filesise"),
            "hbase.hregion.max.filesise: HBase has no such setting (did you mean \
             hbase.hregion.max.filesize?)"
        );
        // HBase knows this one, and Halite does not act on it.
        assert!(
            refusal("hbase.hstore.compaction.max.siez")
                .contains("did you mean hbase.hstore.compaction.max.size?")
        );
    }

    #[test]
    fn invalid_hbase_value_fails_and_unknown_name_warns() {
        let settings = &mut ServeConfig::default();
        assert_eq!(
            set(settings, "hbase.wal.hsync", "maybe"),
            Err("hbase.wal.hsync=maybe: give true or false".into())
        );
        assert!(
            set(settings, "hbase.rootdir", "hdfs://nn/hbase")
                .unwrap_err()
                .contains("a directory of this machine")
        );
        let warning = |name: &str| match set(&mut ServeConfig::default(), name, "1") {
            Ok(SetResult::Warning(text)) => text,
            other => panic!("{name}: {other:?}"),
        };
        assert!(warning("hfile.block.cache.size").contains("block-cache-size"));
        assert!(warning("hbase.client.pause").contains("a setting of clients"));
        assert!(warning("hbase.hstore.compaction.max.size").contains("it has no meaning here"));
        assert!(
            warning("hbase.hregion.max-file-bytes")
                .contains("did you mean hbase.hregion.max.filesize?")
        );
        assert_eq!(warning("my.own.name"), "my.own.name is ignored: it has no meaning here");
    }
}
