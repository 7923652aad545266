//! Settings of a session: `SET name = value`, `SHOW name`, `RESET name`.

use std::time::Duration;

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

/// Settings of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
}

/// Setting as the system table shows it.
pub(crate) struct Described {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) meaning: &'static str,
}

/// Names of the settings, and what they mean.
const SETTINGS: [(&str, &str); 10] = [
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
        let read = |one: &Self| (one.unreadable_keys, one.bad_cells, one.full_scan, one.partitions);
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
        ] {
            settings.set(name, value).unwrap();
            assert_eq!(settings.get(name).unwrap(), value);
            settings.reset(name).unwrap();
        }
        assert_eq!(settings, Settings::default());
        assert!(settings.set("halite.bad_cells", "maybe").is_err());
        let error = settings.get("halite.bad_cell").unwrap_err();
        assert!(error.message.contains("did you mean halite.bad_cells?"), "{error}");
    }
}
