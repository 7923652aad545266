//! Settings of a session: `SET name = value`, `SHOW name`, `RESET name`.

use std::time::Duration;

use halite_types::op::Durability;
use halite_types::suggest::closest_match;

use crate::error::{Result, SqlError, SqlState};

/// Rows whose keys are none of the table's schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnreadableKeys {
    /// Left out, counted, and told by a notice.
    #[default]
    Count,
    /// Shown with null fields; `_row` is set.
    Null,
    /// The statement fails.
    Fail,
}

/// Cells that are none of their column's type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadCells {
    /// The statement fails.
    #[default]
    Fail,
    /// Null, counted, and told by a notice.
    Null,
}

/// Scans of whole tables, and of many salts at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullScan {
    /// Permitted.
    Allow,
    /// Permitted, with a notice where many rows are expected.
    #[default]
    Warn,
    /// The statement fails before it reads.
    Refuse,
}

/// What INSERT does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InsertMode {
    /// It looks whether the row is there, and fails then.
    #[default]
    Strict,
    /// It writes without looking, as UPSERT.
    Upsert,
}

/// Writes between BEGIN and COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transactions {
    /// Refused: there are no transactions.
    #[default]
    Refuse,
    /// Permitted; every statement is final.
    Statement,
}

/// Whether statements that are simple enough bypass DataFusion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direct {
    /// They do.
    #[default]
    On,
    /// Everything is planned and run by DataFusion.
    Off,
}

/// How joins are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// By hashing, unless ANALYZE tells that a side has no room in a quarter of the memory.
    #[default]
    Auto,
    /// By hashing: the smaller side has to fit into memory.
    Hash,
    /// By sorting both sides, which spills.
    Merge,
}

/// Scans of one statement that are in flight unless the settings say otherwise.
const SCAN_CONCURRENCY: usize = 16;
/// Those that they may say.
const MAX_SCAN_CONCURRENCY: usize = 1024;
/// Names of the one time zone.
const UTC: [&str; 7] = ["utc", "gmt", "etc/utc", "etc/gmt", "zulu", "z", "default"];

/// Settings of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `statement_timeout`: time after which a statement ends; zero for none.
    pub statement_timeout: Duration,
    /// `halite.max_rows_examined`: rows after which a statement ends; 0 for no limit.
    pub max_rows_examined: u64,
    /// `halite.unreadable_keys`.
    pub unreadable_keys: UnreadableKeys,
    /// `halite.bad_cells`.
    pub bad_cells: BadCells,
    /// `halite.full_scan`.
    pub full_scan: FullScan,
    /// `halite.max_rows_written`: rows after which a statement ends; 0 for no limit.
    pub max_rows_written: u64,
    /// `halite.insert`.
    pub insert: InsertMode,
    /// `halite.transactions`.
    pub transactions: Transactions,
    /// `halite.direct`.
    pub direct: Direct,
    /// `halite.partitions`: parts in which aggregates and joins read a table at once; 0 for as many as there
    /// are processors.
    pub partitions: u64,
    /// `halite.scan_concurrency`: reads of one scan that are in flight at once, at least 1.
    pub scan_concurrency: usize,
    /// `halite.durability`: what has to be safe before a write is done.
    pub durability: Durability,
    /// `halite.join`.
    pub join: Join,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            statement_timeout: Duration::ZERO,
            max_rows_examined: 0,
            unreadable_keys: UnreadableKeys::default(),
            bad_cells: BadCells::default(),
            full_scan: FullScan::default(),
            max_rows_written: 0,
            insert: InsertMode::default(),
            transactions: Transactions::default(),
            direct: Direct::default(),
            partitions: 0,
            scan_concurrency: SCAN_CONCURRENCY,
            durability: Durability::default(),
            join: Join::default(),
        }
    }
}

/// Setting as the system table shows it.
pub(crate) struct Described {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) meaning: &'static str,
}

/// Names of the settings, and what they mean.
const SETTINGS: [(&str, &str); 14] = [
    ("statement_timeout", "milliseconds after which a statement ends; 0 for none"),
    ("halite.max_rows_examined", "rows examined after which a statement ends; 0 for no limit"),
    ("halite.unreadable_keys", "rows whose keys are not of the ROW KEY: count, null or fail"),
    ("halite.bad_cells", "cells that are not of their column's type: fail or null"),
    ("halite.full_scan", "scans of whole tables: allow, warn (over 100,000 rows) or refuse"),
    ("halite.max_rows_written", "rows written after which a statement ends; 0 for no limit"),
    ("halite.insert", "INSERT of a row that is there: strict (it fails) or upsert (it is written)"),
    (
        "halite.transactions",
        "writes between BEGIN and COMMIT: refuse, or statement (each is final)",
    ),
    ("halite.direct", "statements on keys and ranges in key order bypass DataFusion: on or off"),
    (
        "halite.partitions",
        "parts of a table that an aggregate or a join reads at once; 0 for one a processor",
    ),
    ("halite.scan_concurrency", "reads of one scan in flight at once, 1 to 1024"),
    (
        "halite.durability",
        "what is safe before a write is done: table (as the table says), skip, async, sync or fsync",
    ),
    ("halite.join", "joins: auto, hash (one side in memory) or merge (both sorted, which spills)"),
    ("TimeZone", "time zone of timestamps that are shown and written: UTC"),
];

impl Settings {
    /// Returns the value of a setting as text.
    ///
    /// # Errors
    /// `UndefinedObject` for an unknown name.
    pub fn get(&self, name: &str) -> Result<String> {
        Ok(match known(name)? {
            "statement_timeout" => self.statement_timeout.as_millis().to_string(),
            "halite.max_rows_examined" => self.max_rows_examined.to_string(),
            "halite.unreadable_keys" => match self.unreadable_keys {
                UnreadableKeys::Count => "count",
                UnreadableKeys::Null => "null",
                UnreadableKeys::Fail => "fail",
            }
            .to_owned(),
            "halite.bad_cells" => match self.bad_cells {
                BadCells::Fail => "fail",
                BadCells::Null => "null",
            }
            .to_owned(),
            "halite.max_rows_written" => self.max_rows_written.to_string(),
            "halite.partitions" => self.partitions.to_string(),
            "halite.scan_concurrency" => self.scan_concurrency.to_string(),
            "halite.durability" => match self.durability {
                Durability::UseDefault => "table",
                Durability::SkipWal => "skip",
                Durability::AsyncWal => "async",
                Durability::SyncWal => "sync",
                Durability::FsyncWal => "fsync",
            }
            .to_owned(),
            "halite.join" => match self.join {
                Join::Auto => "auto",
                Join::Hash => "hash",
                Join::Merge => "merge",
            }
            .to_owned(),
            "TimeZone" => "UTC".to_owned(),
            "halite.insert" => match self.insert {
                InsertMode::Strict => "strict",
                InsertMode::Upsert => "upsert",
            }
            .to_owned(),
            "halite.direct" => match self.direct {
                Direct::On => "on",
                Direct::Off => "off",
            }
            .to_owned(),
            "halite.transactions" => match self.transactions {
                Transactions::Refuse => "refuse",
                Transactions::Statement => "statement",
            }
            .to_owned(),
            _ => match self.full_scan {
                FullScan::Allow => "allow",
                FullScan::Warn => "warn",
                FullScan::Refuse => "refuse",
            }
            .to_owned(),
        })
    }

    /// Sets a setting from text.
    ///
    /// # Errors
    /// `UndefinedObject` for an unknown name, `InvalidParameter` for an unknown value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let name = known(name)?;
        let wrong = || {
            let meaning = SETTINGS.iter().find(|(known, _)| *known == name);
            let meaning = meaning.map_or("", |(_, meaning)| meaning);
            let text = format!("{value:?} is no value of {name}: {meaning}");
            SqlError::new(SqlState::InvalidParameter, text)
        };
        let value = value.trim();
        let number = || value.parse::<u64>().map_err(|_| wrong());
        let word = value.to_ascii_lowercase();
        match (name, word.as_str()) {
            ("statement_timeout", _) => self.statement_timeout = Duration::from_millis(number()?),
            ("halite.max_rows_examined", _) => self.max_rows_examined = number()?,
            ("halite.unreadable_keys", "count") => self.unreadable_keys = UnreadableKeys::Count,
            ("halite.unreadable_keys", "null") => self.unreadable_keys = UnreadableKeys::Null,
            ("halite.unreadable_keys", "fail") => self.unreadable_keys = UnreadableKeys::Fail,
            ("halite.bad_cells", "fail") => self.bad_cells = BadCells::Fail,
            ("halite.bad_cells", "null") => self.bad_cells = BadCells::Null,
            ("halite.full_scan", "allow") => self.full_scan = FullScan::Allow,
            ("halite.full_scan", "warn") => self.full_scan = FullScan::Warn,
            ("halite.full_scan", "refuse") => self.full_scan = FullScan::Refuse,
            ("halite.max_rows_written", _) => self.max_rows_written = number()?,
            ("halite.partitions", _) => self.partitions = number()?,
            ("halite.scan_concurrency", _) => {
                let reads = value.parse().ok();
                let reads = reads.filter(|reads| (1..=MAX_SCAN_CONCURRENCY).contains(reads));
                self.scan_concurrency = reads.ok_or_else(wrong)?;
            }
            ("halite.durability", "table") => self.durability = Durability::UseDefault,
            ("halite.durability", "skip") => self.durability = Durability::SkipWal,
            ("halite.durability", "async") => self.durability = Durability::AsyncWal,
            ("halite.durability", "sync") => self.durability = Durability::SyncWal,
            ("halite.durability", "fsync") => self.durability = Durability::FsyncWal,
            ("halite.join", "auto") => self.join = Join::Auto,
            ("halite.join", "hash") => self.join = Join::Hash,
            ("halite.join", "merge") => self.join = Join::Merge,
            ("TimeZone", zone) if is_utc(zone) => {}
            ("TimeZone", _) => return Err(other_zone(value)),
            ("halite.insert", "strict") => self.insert = InsertMode::Strict,
            ("halite.insert", "upsert") => self.insert = InsertMode::Upsert,
            ("halite.transactions", "refuse") => self.transactions = Transactions::Refuse,
            ("halite.transactions", "statement") => self.transactions = Transactions::Statement,
            ("halite.direct", "on" | "true" | "1") => self.direct = Direct::On,
            ("halite.direct", "off" | "false" | "0") => self.direct = Direct::Off,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// Sets a setting to its default.
    ///
    /// # Errors
    /// `UndefinedObject` for an unknown name.
    pub fn reset(&mut self, name: &str) -> Result<()> {
        let value = Self::default().get(name)?;
        self.set(name, &value)
    }

    /// Returns `true` if both read the same of a table.
    pub(crate) fn reads_as(&self, other: &Self) -> bool {
        let read = |one: &Self| {
            (one.unreadable_keys, one.bad_cells, one.full_scan, one.partitions, one.join)
        };
        read(self) == read(other)
    }

    /// Returns the names of all settings.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|(name, _)| *name)
    }

    pub(crate) fn described(&self) -> Vec<Described> {
        let described = SETTINGS.iter().map(|&(name, meaning)| Described {
            name,
            value: self.get(name).unwrap_or_default(),
            meaning,
        });
        described.collect()
    }
}

/// Returns `true` for a name of UTC, or an offset of zero.
fn is_utc(zone: &str) -> bool {
    let digits = zone.strip_prefix(['+', '-']).unwrap_or(zone);
    UTC.contains(&zone) || matches!(digits, "0" | "00" | "00:00" | "0000")
}

fn other_zone(zone: &str) -> SqlError {
    SqlError::unsupported(format!(
        "TimeZone is UTC, and not {zone:?}: timestamps are shown and read in UTC; ts AT TIME ZONE \
         'Europe/Berlin' is the time of a clock there, and '2024-03-15 10:00+01' names an instant"
    ))
}

fn known(name: &str) -> Result<&'static str> {
    if let Some(known) = Settings::names().find(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(known);
    }
    let near = closest_match(name, Settings::names()).map_or_else(
        || "SELECT * FROM halite.settings lists them".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    Err(SqlError::new(SqlState::UndefinedObject, format!("there is no setting {name}: {near}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_back_as_they_were_set() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("statement_timeout", "1500"),
            ("halite.max_rows_examined", "10"),
            ("halite.unreadable_keys", "null"),
            ("halite.bad_cells", "null"),
            ("halite.full_scan", "refuse"),
            ("halite.max_rows_written", "7"),
            ("halite.insert", "upsert"),
            ("halite.transactions", "statement"),
            ("halite.direct", "off"),
            ("halite.partitions", "3"),
            ("halite.scan_concurrency", "4"),
            ("halite.durability", "async"),
            ("halite.join", "merge"),
        ] {
            settings.set(name, value).unwrap();
            assert_eq!(settings.get(name).unwrap(), value);
            settings.reset(name).unwrap();
        }
        assert_eq!(settings, Settings::default());
        assert!(settings.set("halite.bad_cells", "maybe").is_err());
        for reads in ["0", "1025", "-1", "x"] {
            assert!(settings.set("halite.scan_concurrency", reads).is_err(), "{reads}");
        }
        for zone in ["UTC", "Etc/UTC", "+00:00", "GMT"] {
            settings.set("timezone", zone).unwrap();
        }
        assert_eq!(settings.get("TimeZone").unwrap(), "UTC");
        let error = settings.set("TimeZone", "Europe/Berlin").unwrap_err();
        assert_eq!(error.state, SqlState::NotSupported);
        let error = settings.get("halite.bad_cell").unwrap_err();
        assert!(error.message.contains("did you mean halite.bad_cells?"), "{error}");
    }
}
