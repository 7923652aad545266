//! HBase's own names of settings, for `--hbase-conf KEY=VALUE` and the section `[hbase]`.

use super::options;
use super::refused;
use super::settings::Settings;
use halite_types::nearest::{nearest, suggestion};

/// One of HBase's settings.
pub(crate) struct HBaseName {
    pub(crate) name: &'static str,
    pub(crate) meaning: Meaning,
}

/// What it comes to here.
pub(crate) enum Meaning {
    /// This option, with the same values.
    Same(&'static str),
    /// This option, with values that are written differently.
    As(&'static str, fn(&str) -> Result<String, String>),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

use Meaning::{As, Nothing, Same};

/// Those that are known, in the order of the documentation.
pub(crate) const HBASE_NAMES: &[HBaseName] = &[
    named("hbase.rootdir", As("data", local_path)),
    named("hbase.wal.hsync", As("wal-sync", |text| Ok(if truth(text)? { "fsync" } else { "flush" }.to_owned()))),
    named("hbase.master.port", Same("master-port")),
    named("hbase.regionserver.port", Same("regionserver-port")),
    named("hbase.master.info.port", As("http-port", |text| Ok(if text == "-1" { "off" } else { text }.to_owned()))),
    named("hbase.zookeeper.property.clientPort", Same("zookeeper-port")),
    named("zookeeper.znode.parent", Same("znode-parent")),
    named("hbase.master.ipc.address", Same("listen-addr")),
    named("hbase.regionserver.ipc.address", Same("listen-addr")),
    named("hbase.master.hostname", Same("advertise-host")),
    named("hbase.regionserver.hostname", Same("advertise-host")),
    named("hbase.unsafe.regionserver.hostname", Same("advertise-host")),
    named("hbase.client.scanner.timeout.period", Same("scanner-timeout")),
    named("hbase.server.scanner.max.result.size", Same("max-result-size")),
    named("hbase.server.keyvalue.maxsize", Same("max-cell-size")),
    named("hbase.table.max.rowsize", Same("max-row-size")),
    named("hbase.ipc.max.request.size", Same("max-request-size")),
    named("hbase.ipc.server.max.callqueue.length", Same("max-call-queue-length")),
    named("hbase.ipc.server.max.callqueue.size", Same("max-call-queue-size")),
    named("hbase.netty.worker.count", Same("io-threads")),
    named("hbase.regionserver.handler.count", Same("handler-threads")),
    named("hbase.server.hashNonce.gracePeriod", Same("nonce-grace-period")),
    named("hbase.master.cleaner.snapshot.interval", Same("snapshot-cleaner-interval")),
    named("hbase.catalogjanitor.interval", Same("catalog-janitor-interval")),
    named("hbase.quota.enabled", Same("quota-enabled")),
    named("hbase.hregion.memstore.flush.size", Same("memstore-flush-size")),
    named("hbase.hregion.memstore.block.multiplier", Same("memstore-block-multiplier")),
    named("hbase.hregion.memstore.mslab.chunksize", Same("memstore-chunk-size")),
    named("hfile.block.cache.memory.size", Same("block-cache-size")),
    named("hbase.hregion.max.filesize", Same("max-region-file-size")),
    named("hbase.hstore.compactionThreshold", Same("min-compaction-files")),
    named("hbase.hstore.compaction.min", Same("min-compaction-files")),
    named("hbase.hstore.compaction.max", Same("max-compaction-files")),
    named("hbase.hstore.compaction.ratio", Same("compaction-ratio")),
    named("hbase.hregion.majorcompaction", Same("major-compaction-interval")),
    named("hbase.store.delete.expired.storefile", Same("delete-expired-files")),
    named("hbase.regionserver.maxlogs", Same("max-wal-segments")),
    named("hbase.regionserver.global.memstore.size", Nothing("it is a share of Java's heap, and there is none here; give global-memstore-size")),
    named("hfile.block.cache.size", Nothing("it is a share of Java's heap, and there is none here; give block-cache-size")),
    named("hbase.regionserver.info.port", Nothing("there is one page for master and region server; give http-port")),
    named("hbase.cluster.distributed", Nothing("master, region server and ZooKeeper are this one process")),
    named("hbase.zookeeper.quorum", Nothing("the ZooKeeper endpoint is in this process; clients are told where it is")),
    named("hbase.wal.dir", Nothing("the log lies in the data directory")),
    named(
        "dfs.replication",
        Nothing("there is one copy, on the disk of the data directory; copy the directory or put it on a disk that has a mirror"),
    ),
    named("hbase.bulkload.staging.dir", Nothing("it is the folder staging in the data directory; list more in bulkload-dirs")),
    named("hbase.hstore.blockingStoreFiles", Nothing("writers do not wait for compactions here")),
];

const fn named(name: &'static str, meaning: Meaning) -> HBaseName {
    HBaseName { name, meaning }
}

/// What setting one of HBase's names has done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Set,
    /// Nothing, and this is what a person should know.
    Warning(String),
}

/// Sets what HBase calls `name`.
///
/// # Errors
/// A name that means something with a value that does not; one that asks for what somebody relies on and is not there.
pub(crate) fn set(settings: &mut Settings, name: &str, value: &str) -> Result<Outcome, String> {
    let value = value.trim();
    let Some(known) = HBASE_NAMES.iter().find(|known| known.name == name) else {
        return Ok(refused::check(name, value)?.unwrap_or_else(|| Outcome::Warning(stranger(name))));
    };
    let wrong = |wanted: String| format!("{name}={value}: give {wanted}");
    let (option, value) = match known.meaning {
        Nothing(why) => return Ok(Outcome::Warning(ignored(name, why))),
        Same(option) => (option, value.to_owned()),
        As(option, translate) => (option, translate(value).map_err(wrong)?),
    };
    let option = options::find(option).ok_or_else(|| format!("{name}: there is no option {option}"))?;
    option.set(settings, &value).map_err(wrong)?;
    Ok(Outcome::Set)
}

fn stranger(name: &str) -> String {
    let near = suggestion(nearest(name, HBASE_NAMES.iter().map(|known| known.name)));
    let is_of_clients = near.is_empty() && ["hbase.client.", "hbase.rpc.", "hbase.ipc.client."].iter().any(|prefix| name.starts_with(prefix));
    let why = if is_of_clients { "it is a setting of clients; it belongs in their hbase-site.xml" } else { "it has no meaning here" };
    ignored(name, &format!("{why}{near}"))
}

/// What is said of a setting that does nothing.
pub(super) fn ignored(name: &str, why: &str) -> String {
    format!("{name} is ignored: {why}")
}

fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "true or false".to_owned())
}

/// The path of a `file:` address.
fn local_path(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("file://").or_else(|| text.strip_prefix("file:")).unwrap_or(text);
    if path.contains("://") { Err("a directory of this machine, as in file:///var/lib/halite".into()) } else { Ok(path.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(settings: &Settings, option: &str) -> String {
        options::find(option).unwrap().show(settings)
    }

    #[test]
    fn every_name_that_means_something_leads_to_an_option_there_is() {
        for known in HBASE_NAMES {
            if let Same(option) | As(option, _) = known.meaning {
                assert!(options::find(option).is_some(), "{} leads to {option}", known.name);
            }
        }
    }

    #[test]
    fn a_setting_under_hbase_s_name_is_set() {
        let mut settings = Settings::default();
        for (name, value, option, shown) in [
            ("hbase.client.scanner.timeout.period", "5000", "scanner-timeout", "5s"),
            ("hbase.hregion.memstore.flush.size", "1048576", "memstore-flush-size", "1m"),
            ("hbase.hstore.compaction.ratio", "1.4F", "compaction-ratio", "1.4"),
            ("hbase.wal.hsync", "false", "wal-sync", "flush"),
            ("hbase.master.info.port", "-1", "http-port", "off"),
            ("hbase.rootdir", "file:///var/lib/halite", "data", "/var/lib/halite"),
        ] {
            assert_eq!(set(&mut settings, name, value), Ok(Outcome::Set), "{name}");
            assert_eq!(show(&settings, option), shown, "{name}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_an_error_and_a_name_without_meaning_a_warning() {
        let settings = &mut Settings::default();
        assert_eq!(set(settings, "hbase.wal.hsync", "maybe"), Err("hbase.wal.hsync=maybe: give true or false".into()));
        assert!(set(settings, "hbase.rootdir", "hdfs://nn/hbase").unwrap_err().contains("a directory of this machine"));
        let warning = |name: &str| match set(&mut Settings::default(), name, "1") {
            Ok(Outcome::Warning(text)) => text,
            other => panic!("{name}: {other:?}"),
        };
        assert!(warning("hfile.block.cache.size").contains("block-cache-size"));
        assert!(warning("hbase.client.pause").contains("a setting of clients"));
        assert!(warning("hbase.hregion.max.filesise").contains("did you mean hbase.hregion.max.filesize?"));
        assert_eq!(warning("my.own.name"), "my.own.name is ignored: it has no meaning here");
    }
}
