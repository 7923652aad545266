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
    if !(1..=MAX_IO_THREADS).contains(&layered.config.io_threads) {
        let text = format!("io_threads must be from 1 to {MAX_IO_THREADS}");
        bail!(options::with_option_names(&text, of_flag));
    }
    Ok(layered)
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
