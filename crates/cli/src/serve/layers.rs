//! Configuration layers: defaults, configuration file, command line. Later layers override earlier
//! ones.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use halite::Error;

use super::config::ServeConfig;
use super::config_file;
use super::flags::ServeFlags;
use super::hbase_settings::{self, SetResult};
use super::options;

/// Maximum number of I/O threads. More are a mistake and may exceed the system's limits.
const MAX_IO_THREADS: usize = 4096;

/// Minimum of `max-connections-per-address`: a client keeps one to each of the master, the region
/// server and `ZooKeeper`, and an operator needs another.
const MIN_CONNECTIONS_PER_ADDRESS: usize = 4;

/// Minimum of `max-call-queue-size`. A call that is larger is never served.
const MIN_CALL_QUEUE_BYTES: usize = 64 << 10;

/// Effective configuration and warnings for the operator.
#[derive(Debug)]
pub(crate) struct LayeredConfig {
    pub(crate) config: ServeConfig,
    pub(crate) warnings: Vec<String>,
}

/// Merges the layers; reads the configuration file if one is specified.
///
/// # Errors
/// Returns an error if the file cannot be read or contains an unknown key, or if a value is
/// invalid. The text includes the source of the value.
pub(crate) fn resolve(flags: &ServeFlags) -> anyhow::Result<LayeredConfig> {
    let mut layered = LayeredConfig { config: ServeConfig::default(), warnings: Vec::new() };
    if let Some(path) = &flags.config {
        let read = || -> anyhow::Result<config_file::ConfigFile> {
            config_file::parse(&std::fs::read_to_string(Path::new(path))?)
        };
        let file = read().with_context(|| format!("configuration file {path}"))?;
        layered
            .add("", &file.options, &file.hbase_settings)
            .with_context(|| format!("configuration file {path}"))?;
    }
    layered.add("--", &flags.options, &flags.hbase_settings)?;
    // The engine stores on disk what the server holds in memory.
    layered.config.engine.nonce_grace_period_ms =
        layered.config.server.limits.nonce_grace_period_ms;
    let of_flag = |name: &str| flags.options.iter().any(|(given, _)| *given == name);
    let named = |error: Error| anyhow!(options::with_option_names(error.message(), of_flag));
    layered.config.engine.check().map_err(named)?;
    layered.config.server.check().map_err(named)?;
    halite_server::check_engine_options(&layered.config.engine).map_err(named)?;
    if let Some(text) = unusable(&layered.config) {
        bail!(options::with_option_names(&text, of_flag));
    }
    Ok(layered)
}

/// Returns what is wrong with a limit that the library accepts and with which no client could work.
fn unusable(config: &ServeConfig) -> Option<String> {
    let limits = &config.server.limits;
    if !(1..=MAX_IO_THREADS).contains(&config.io_threads) {
        return Some(format!("io_threads must be from 1 to {MAX_IO_THREADS}"));
    }
    if limits.max_connections_per_address < MIN_CONNECTIONS_PER_ADDRESS {
        return Some(format!(
            "max_connections_per_address is {}, and a client needs one for each port; give at \
             least {MIN_CONNECTIONS_PER_ADDRESS}",
            limits.max_connections_per_address
        ));
    }
    (limits.max_call_queue_bytes < MIN_CALL_QUEUE_BYTES).then(|| {
        format!(
            "max_call_queue_bytes is {}, and a larger call is never served; give at least \
             {MIN_CALL_QUEUE_BYTES}",
            limits.max_call_queue_bytes
        )
    })
}

impl LayeredConfig {
    /// Adds one layer. Within a layer, a Halite option overrides an HBase setting.
    fn add(
        &mut self,
        dashes: &str,
        options: &[(&'static str, String)],
        set: &[(String, String)],
    ) -> anyhow::Result<()> {
        let place = if dashes.is_empty() { "[hbase]" } else { "--hbase-conf" };
        for (name, value) in set {
            match hbase_settings::set(&mut self.config, name, value)
                .map_err(|error| anyhow!("{place}: {error}"))?
            {
                SetResult::Set => {}
                SetResult::Warning(text) => self.warnings.push(text),
            }
        }
        for (name, value) in options {
            let option =
                options::find(name).with_context(|| format!("there is no option {name}"))?;
            option.set(&mut self.config, value).map_err(|expected| {
                anyhow!("{dashes}{name}: {value:?} does not do; give {expected}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(
        options: &[(&'static str, &str)],
        set: &[(&str, &str)],
        config: Option<&Path>,
    ) -> ServeFlags {
        ServeFlags {
            options: options.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            hbase_settings: set
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            config: config.map(|path| path.display().to_string()),
        }
    }

    fn format_option(settings: &ServeConfig, option: &str) -> String {
        options::find(option).unwrap().format(settings)
    }

    #[test]
    fn command_line_overrides_file_and_file_overrides_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("halite.toml");
        std::fs::write(
            &path,
            "zookeeper-port = 1\nmaster-port = 2\n[hbase]\nhbase.master.port = 3\n\
             hbase.regionserver.port = 4\nhbase.wal.hsync = false\n",
        )
        .unwrap();
        let flags = flags(
            &[("zookeeper-port", "5")],
            &[("hbase.regionserver.port", "6"), ("hbase.zookeeper.property.clientPort", "7")],
            Some(&path),
        );
        let settings = resolve(&flags).unwrap().config;
        let shown = ["zookeeper-port", "master-port", "regionserver-port", "http-port", "wal-sync"]
            .map(|option| format_option(&settings, option));
        assert_eq!(shown, ["5", "2", "6", "16010", "flush"]);
    }

    #[test]
    fn nonce_grace_period_applies_to_engine_and_server() {
        let settings = resolve(&flags(&[("nonce-grace-period", "7s")], &[], None)).unwrap().config;
        assert_eq!(
            (settings.engine.nonce_grace_period_ms, settings.server.limits.nonce_grace_period_ms),
            (7000, 7000)
        );
    }

    #[test]
    fn limit_that_serves_nobody_is_refused_by_its_flag() {
        for (option, value, refusal) in [
            ("max-cell-size", "1", "--max-cell-size is 1, and rows of the server's own tables"),
            ("max-row-size", "4095", "--max-row-size is 4095, and rows of the server's own tables"),
            (
                "max-connections-per-address",
                "1",
                "--max-connections-per-address is 1, and a client",
            ),
            ("max-call-queue-size", "1k", "--max-call-queue-size is 1024, and a larger call"),
            ("io-threads", "0", "--io-threads must be from 1 to 4096"),
            ("compaction-threads", "0", "--compaction-threads must be from 1 to 64"),
            ("max-compaction-rate", "1", "--max-compaction-rate is 1 bytes per second"),
        ] {
            let error = resolve(&flags(&[(option, value)], &[], None)).unwrap_err();
            assert!(error.to_string().starts_with(refusal), "{option}: {error}");
        }
        for (option, value) in [
            ("max-cell-size", "0"),
            ("max-row-size", "4096"),
            ("max-connections-per-address", "4"),
            ("max-call-queue-size", "64k"),
            ("max-compaction-rate", "0"),
        ] {
            resolve(&flags(&[(option, value)], &[], None)).unwrap();
        }
    }

    #[test]
    fn invalid_setting_is_reported_with_its_source() {
        let said = |flags: &ServeFlags| format!("{:#}", resolve(flags).unwrap_err());
        assert_eq!(
            said(&flags(&[("zookeeper-port", "x")], &[], None)),
            "--zookeeper-port: \"x\" does not do; give a port from 0 to 65535"
        );
        assert_eq!(
            said(&flags(&[], &[("hbase.wal.hsync", "x")], None)),
            "--hbase-conf: hbase.wal.hsync=x: give true or false"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("halite.toml");
        assert!(
            said(&flags(&[], &[], Some(&path)))
                .starts_with(&format!("configuration file {}: ", path.display()))
        );
        std::fs::write(&path, "zookeeper-prot = 1").unwrap();
        assert!(said(&flags(&[], &[], Some(&path))).contains(
            "halite.toml: zookeeper-prot: there is no such key (did you mean zookeeper-port?)"
        ));
        assert!(
            said(&flags(&[("global-memstore-size", "1")], &[], None))
                .starts_with("--global-memstore-size is below 65536")
        );
        assert!(
            said(&flags(&[("master-port", "9"), ("regionserver-port", "9")], &[], None))
                .contains("port 9 is given twice")
        );
    }

    #[test]
    fn unsupported_required_setting_prevents_start() {
        let said = |flags: &ServeFlags| format!("{:#}", resolve(flags).unwrap_err());
        let expected = "hbase.security.authentication=kerberos: authentication is not supported";
        assert!(
            said(&flags(&[], &[("hbase.security.authentication", "kerberos")], None))
                .starts_with(&format!("--hbase-conf: {expected}"))
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("halite.toml");
        std::fs::write(&path, "[hbase]\nhbase.security.authentication = 'kerberos'\n").unwrap();
        assert!(said(&flags(&[], &[], Some(&path))).contains(expected));
        assert_eq!(
            resolve(&flags(&[], &[("hbase.security.authentication", "simple")], None))
                .unwrap()
                .warnings
                .len(),
            1
        );
    }

    #[test]
    fn unknown_hbase_name_only_warns() {
        let layered = resolve(&flags(&[], &[("hbase.no.such", "1")], None)).unwrap();
        assert_eq!(layered.warnings, ["hbase.no.such is ignored: it has no meaning here"]);
    }
}
