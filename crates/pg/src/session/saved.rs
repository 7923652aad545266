//! Settings to which a transaction goes back.

use halite_sql::Settings as SqlSettings;

use super::settings::Settings;

/// Settings of a session at one moment.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    /// Those of PostgreSQL.
    pub(super) own: Settings,
    /// Those of SQL.
    pub(super) sql: SqlSettings,
    /// `true` if statements that change something are refused.
    pub(super) is_read_only: bool,
}

impl Saved {
    /// Takes the value of one setting over from others.
    pub(super) fn take_over(&mut self, name: &str, from: &Self) {
        if !self.own.take_over(name, &from.own)
            && let Ok(value) = from.sql.get(name)
        {
            // A value that is shown is one that can be set.
            let _ = self.sql.set(name, &value);
        }
    }
}
