//! The configuration file: TOML whose keys are the names of the options.
//!
//! A dot counts as a hyphen, so `wal.sync = "flush"`, `wal-sync = "flush"` and a section `[wal]`
//! with `sync = "flush"` are the same. The section `[hbase]` holds settings under HBase's own
//! names.

use std::collections::HashMap;

use anyhow::{Context as _, bail};
use toml::{Table, Value};

use super::options;
use halite_types::suggest::{closest_match, did_you_mean};

/// Contents of a configuration file, in file order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// Option names and values.
    pub(crate) options: Vec<(&'static str, String)>,
    /// HBase setting names and values.
    pub(crate) hbase_settings: Vec<(String, String)>,
}

/// Parses the text of a configuration file.
///
/// # Errors
/// Returns an error for invalid TOML, an unknown key (with the closest known key), or a value that
/// is a list or a date.
pub(crate) fn parse(text: &str) -> anyhow::Result<ConfigFile> {
    let table: Table = text.parse().context("this is not TOML")?;
    let mut file = ConfigFile::default();
    // Spelling of each key in the file, by option name.
    let mut written = HashMap::new();
    for (key, value) in table {
        match value {
            Value::Table(set) if key == "hbase" => flatten(None, set, &mut |name, value| {
                if file.hbase_settings.iter().any(|(other, _)| other == name) {
                    bail!(
                        "set: {name} is given twice, with quotes around the dots and without; \
                         leave one out"
                    );
                }
                file.hbase_settings.push((name.to_owned(), value));
                Ok(())
            })?,
            value => flatten(None, Table::from_iter([(key, value)]), &mut |name, value| {
                let option = option_name(name)?;
                if let Some(other) = written.insert(option, name.to_owned()) {
                    bail!(
                        "{other} and {name} are both there and are the same key, {option}; leave \
                         one out"
                    );
                }
                file.options.push((option, value));
                Ok(())
            })?,
        }
    }
    Ok(file)
}

/// Flattens sections to plain values, whose names are joined from those of the sections with dots.
fn flatten(
    above: Option<&str>,
    table: Table,
    found: &mut dyn FnMut(&str, String) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (key, value) in table {
        let name = above.map_or_else(|| key.clone(), |above| format!("{above}.{key}"));
        match value {
            Value::Table(section) => flatten(Some(&name), section, found)?,
            Value::String(text) => found(&name, text)?,
            Value::Integer(number) => found(&name, number.to_string())?,
            Value::Float(number) => found(&name, number.to_string())?,
            Value::Boolean(yes) => found(&name, yes.to_string())?,
            Value::Array(_) | Value::Datetime(_) => {
                bail!("{name}: give a string, a number, true or false")
            }
        }
    }
    Ok(())
}

fn option_name(name: &str) -> anyhow::Result<&'static str> {
    let hyphens = name.replace('.', "-");
    if let Some(option) = options::find(&hyphens) {
        return Ok(option.name);
    }
    match name {
        "hbase" | "hbase-conf" => bail!("{name}: in the file this is a section: [hbase]"),
        "config" => {
            bail!("{name}: in the file this is not possible; it is an option of the command only")
        }
        _ => {}
    }
    let near = closest_match(&hyphens, options::option_names());
    let section = name.split_once('.').map_or("", |(section, _)| section);
    if near.is_none() && closest_match(section, ["hbase"].into_iter()).is_some() {
        bail!("{name}: there is no section [{section}] (did you mean [hbase]?)");
    }
    bail!("{name}: there is no such key{}; docs/serve.md lists them all", did_you_mean(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", parse(text).unwrap_err())
    }

    #[test]
    fn hyphens_dots_and_sections_name_same_key() {
        for text in ["wal-sync = 'flush'", "wal.sync = 'flush'", "[wal]\nsync = 'flush'"] {
            assert_eq!(parse(text).unwrap().options, [("wal-sync", "flush".to_owned())], "{text}");
        }
    }

    #[test]
    fn key_given_in_two_forms_is_rejected() {
        for text in
            ["wal-sync = 'flush'\nwal.sync = 'fsync'", "wal-sync = 'flush'\n[wal]\nsync = 'fsync'"]
        {
            let said = error(text);
            assert!(
                said.contains("wal-sync")
                    && said.contains("wal.sync")
                    && said.contains("the same key"),
                "{said}"
            );
        }
        assert!(
            error("'wal.sync' = 'flush'\n[wal]\nsync = 'flush'").contains("wal.sync and wal.sync")
        );
        assert!(error("[hbase]\na.b = 1\n'a.b' = 2").contains("a.b is given twice"));
    }

    #[test]
    fn numbers_and_booleans_need_no_quotes() {
        let file = parse("zookeeper-port = 0\nephemeral = true\ncompaction-ratio = 1.4").unwrap();
        let mut options = file.options;
        options.sort_unstable();
        assert_eq!(
            options,
            [
                ("compaction-ratio", "1.4".to_owned()),
                ("ephemeral", "true".to_owned()),
                ("zookeeper-port", "0".to_owned())
            ]
        );
    }

    #[test]
    fn hbase_section_accepts_quoted_and_unquoted_names() {
        let file = parse(
            "[hbase]\nhbase.client.scanner.timeout.period = 5000\n\"hbase.wal.hsync\" = true",
        )
        .unwrap();
        let mut set = file.hbase_settings;
        set.sort_unstable();
        assert_eq!(
            set,
            [("hbase.client.scanner.timeout.period", "5000"), ("hbase.wal.hsync", "true")]
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
    }

    #[test]
    fn unknown_key_is_rejected_with_suggestion() {
        assert!(
            error("wal-snyc = 'flush'")
                .contains("wal-snyc: there is no such key (did you mean wal-sync?)"),
            "{}",
            error("wal-snyc = 'flush'")
        );
        assert!(error("colour = 'red'").starts_with("colour: there is no such key;"));
        assert!(error("hbase = 5").contains("a section: [hbase]"));
        assert!(error("hbase-conf = 'a=b'").contains("a section: [hbase]"));
        assert!(error("[hbas]\n'hbase.wal.hsync' = true").contains("did you mean [hbase]?"));
        assert!(error("config = 'other.toml'").contains("an option of the command only"));
    }

    #[test]
    fn invalid_toml_or_value_is_rejected_with_location() {
        assert!(error("data = ").contains("not TOML"));
        assert!(error("data = ").contains("line 1"), "{}", error("data = "));
        assert!(error("data = ['a', 'b']").starts_with("data: give a string"));
    }
}
