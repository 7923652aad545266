//! Settings that clients of PostgreSQL set and show. Those of SQL are the session's of
//! `halite-sql`.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{INVALID_PARAMETER, NOT_PERMITTED, NOT_SUPPORTED, PgError, Result};
use crate::version::SERVER_VERSION;
use crate::wire::Backend;

/// Setting of PostgreSQL.
struct Known {
    name: &'static str,
    default: &'static str,
    values: Values,
    /// `true` to tell clients of its value, at the start and when it changes.
    is_reported: bool,
}

/// Values that a setting takes.
enum Values {
    /// Any text, which changes nothing here.
    Any,
    /// Only these; what they say holds.
    Only(&'static [&'static str]),
    /// Anything else is answered by a notice, and changes nothing.
    Fixed(&'static str),
    /// On or off.
    Switch,
    /// A time.
    Time,
    /// Schemas in which names without one are looked for, of which only `public` has tables.
    Schemas,
    /// It cannot be set.
    ReadOnly,
}

/// Setting: whether transactions only read.
pub(super) const READ_ONLY_DEFAULT: &str = "default_transaction_read_only";
/// Setting: whether the transaction that is open only reads. The session of SQL knows.
pub(super) const READ_ONLY: &str = "transaction_read_only";

/// Setting: how long a session may idle outside of a transaction.
pub(super) const IDLE_TIMEOUT: &str = "idle_session_timeout";
/// Setting: how long a session may idle in a transaction, and a cursor may wait after it.
pub(super) const IDLE_TRANSACTION_TIMEOUT: &str = "idle_in_transaction_session_timeout";

const fn known(
    name: &'static str,
    default: &'static str,
    values: Values,
    is_reported: bool,
) -> Known {
    Known { name, default, values, is_reported }
}

use Values::{Any, Fixed, Only, ReadOnly, Schemas, Switch, Time};

const KNOWN: &[Known] = &[
    known("application_name", "", Any, true),
    known("bytea_output", "hex", Only(&["hex"]), false),
    known("client_encoding", "UTF8", Only(&["utf8", "utf-8", "unicode"]), true),
    known("client_min_messages", "notice", Any, false),
    known("datestyle", "ISO, MDY", Fixed("dates are shown in ISO form"), true),
    known("default_transaction_isolation", "read committed", Only(&["read committed"]), false),
    known(READ_ONLY_DEFAULT, "off", Switch, true),
    known("default_table_access_method", "halite", ReadOnly, false),
    known("extra_float_digits", "1", Any, false),
    known(IDLE_TRANSACTION_TIMEOUT, "10min", Time, false),
    known(IDLE_TIMEOUT, "0", Time, false),
    known("in_hot_standby", "off", ReadOnly, true),
    known("integer_datetimes", "on", ReadOnly, true),
    known("intervalstyle", "postgres", Only(&["postgres"]), true),
    known("is_superuser", "off", ReadOnly, true),
    known("jit", "off", Any, false),
    known("lc_collate", "C", ReadOnly, false),
    known("lc_ctype", "C", ReadOnly, false),
    known("lock_timeout", "0", Any, false),
    known("max_identifier_length", "63", ReadOnly, false),
    known("max_index_keys", "32", ReadOnly, false),
    known("row_security", "on", Any, false),
    known("scram_iterations", "4096", ReadOnly, true),
    known("search_path", "public", Schemas, false),
    known("server_encoding", "UTF8", ReadOnly, true),
    known("server_version", SERVER_VERSION, ReadOnly, true),
    known("server_version_num", "160000", ReadOnly, false),
    known("session_authorization", "", ReadOnly, true),
    known("standard_conforming_strings", "on", Only(&["on", "true", "1"]), true),
    known("synchronous_commit", "on", Any, false),
    known("timezone", "UTC", Fixed("times are shown in UTC"), true),
    known("transaction_isolation", "read committed", Only(&["read committed"]), false),
    known(READ_ONLY, "off", Switch, false),
];

/// Returns the settings with the values that they have unless a session sets them, and whether it
/// can, for the catalog.
pub(crate) fn defaults() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    KNOWN.iter().map(|known| (known.name, known.default, !matches!(known.values, ReadOnly)))
}

/// Name under which a setting is reported, where that is not in lower case.
fn reported_name(name: &'static str) -> &'static str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    }
}

/// Values of the settings. A clone shares them up to the next change of either.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    values: Arc<Vec<String>>,
}

/// Result of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Set {
    Done,
    /// Done, and something to know.
    Told(&'static str),
    /// It is none of these settings.
    Unknown,
}

impl Settings {
    pub(super) fn new(user: &str) -> Self {
        let value = |known: &Known| match known.name {
            "session_authorization" => user.to_owned(),
            _ => known.default.to_owned(),
        };
        Self { values: Arc::new(KNOWN.iter().map(value).collect()) }
    }

    /// Returns the value of a setting by its name in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let at = KNOWN.iter().position(|known| known.name == name)?;
        self.values.get(at).map(String::as_str)
    }

    /// Sets all to their defaults, as far as they can be set.
    pub(super) fn reset_all(&mut self, out: &mut Backend) {
        for known in KNOWN.iter().filter(|known| !matches!(known.values, ReadOnly)) {
            // A default always holds.
            let _ = self.set(known.name, None, out);
        }
    }

    /// Sets a setting by its name in lower case, `None` to its default, and tells the client of the
    /// value if clients want to know it.
    ///
    /// # Errors
    /// A value that does not hold here, with the one that does.
    pub(super) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        out: &mut Backend,
    ) -> Result<Set> {
        if name.starts_with("datafusion.") {
            let text = format!("{name} is a setting of the server; SHOW ALL lists the session's");
            return Err(PgError::new(NOT_PERMITTED, text));
        }
        let Some(at) = KNOWN.iter().position(|known| known.name == name) else {
            return Ok(Set::Unknown);
        };
        let known = &KNOWN[at];
        let value = value.unwrap_or(known.default).trim();
        let is_default = value.eq_ignore_ascii_case(known.default);
        let mut told = None;
        let new = &mut Arc::make_mut(&mut self.values)[at];
        match known.values {
            Any => value.clone_into(new),
            Switch => {
                let is_on = read_switch(value).ok_or_else(|| {
                    PgError::new(INVALID_PARAMETER, format!("{name} is on or off, not {value:?}"))
                })?;
                if is_on { "on" } else { "off" }.clone_into(new);
            }
            Time if !is_default => {
                let ms = read_ms(value).ok_or_else(|| {
                    let text = format!("{value:?} is no time such as 500ms, 5s or 5min");
                    PgError::new(INVALID_PARAMETER, text)
                })?;
                *new = show_ms(Duration::from_millis(ms));
            }
            Schemas => *new = read_schemas(value)?,
            _ if is_default => known.default.clone_into(new),
            Only(values) if values.iter().any(|one| one.eq_ignore_ascii_case(value)) => {
                known.default.clone_into(new);
            }
            Fixed(what) => told = Some(what),
            Only(values) => {
                let text = format!("{name} is always {} here, and not {value:?}", values[0]);
                return Err(PgError::new(NOT_SUPPORTED, text));
            }
            ReadOnly | Time => {
                let text = format!("{name} cannot be set");
                return Err(PgError::new(INVALID_PARAMETER, text));
            }
        }
        if known.is_reported {
            out.parameter_status(reported_name(known.name), &self.values[at]);
        }
        Ok(told.map_or(Set::Done, Set::Told))
    }

    /// Takes the value of one setting over from others; returns `false` if it is none of these.
    pub(super) fn take_over(&mut self, name: &str, from: &Self) -> bool {
        let Some(at) = KNOWN.iter().position(|known| known.name == name) else { return false };
        if self.values[at] != from.values[at] {
            Arc::make_mut(&mut self.values)[at].clone_from(&from.values[at]);
        }
        true
    }

    /// Goes back to earlier values, and tells the client of those that it wants to know.
    pub(super) fn restore(&mut self, earlier: Self, out: &mut Backend) {
        if Arc::ptr_eq(&self.values, &earlier.values) {
            return;
        }
        let left = std::mem::replace(self, earlier);
        for (known, (old, value)) in KNOWN.iter().zip(left.values.iter().zip(self.values.iter())) {
            if known.is_reported && old != value {
                out.parameter_status(reported_name(known.name), value);
            }
        }
    }

    /// Tells the client of the values that clients want to know.
    pub(super) fn report_all(&self, out: &mut Backend) {
        for (known, value) in KNOWN.iter().zip(self.values.iter()) {
            if known.is_reported {
                out.parameter_status(reported_name(known.name), value);
            }
        }
    }
}

/// Reads `on`, `off` and the other words for them.
pub(super) fn read_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Reads the schemas of `search_path`, and returns them as they are shown.
///
/// # Errors
/// `0A000` for other schemas than those in which names are looked for: a statement that relies on
/// them would read and write tables of another.
fn read_schemas(text: &str) -> Result<String> {
    let mut shown = Vec::new();
    let mut has_public = false;
    for schema in text.split(',') {
        let schema = schema.trim().trim_matches('"');
        let is = |name: &str| schema.eq_ignore_ascii_case(name);
        let is_public = is("public") || is("default");
        has_public |= is_public;
        // That of the user is passed over by PostgreSQL where it is missing.
        shown.push(match schema {
            "$user" => "\"$user\"",
            _ if is_public || is("pg_catalog") => schema,
            _ => return Err(other_schemas(text)),
        });
    }
    if has_public { Ok(shown.join(", ")) } else { Err(other_schemas(text)) }
}

fn other_schemas(text: &str) -> PgError {
    let text = format!(
        "search_path is public here, and not {text:?}; write the schema in front of the table, as \
         in schema.t"
    );
    PgError::new(NOT_SUPPORTED, text)
}

/// Reads a time such as `5min` or `1500`, which are milliseconds.
pub(super) fn read_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim() {
        "" | "ms" => 1,
        "us" => return Some(number / 1000),
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Writes a time in the largest unit that holds it, as PostgreSQL does.
pub(super) fn show_ms(time: Duration) -> String {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if ms == 0 {
        return "0".to_owned();
    }
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")];
    let unit = units.into_iter().find(|(unit, _)| ms.is_multiple_of(*unit));
    unit.map_or_else(|| ms.to_string(), |(unit, name)| format!("{}{name}", ms / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<Set> {
        settings.set(name, Some(value), &mut Backend::default())
    }

    #[test]
    fn values_that_do_not_hold_are_refused_or_told() {
        let mut settings = Settings::new("ann");
        assert_eq!(set(&mut settings, "client_encoding", "utf-8"), Ok(Set::Done));
        assert_eq!(settings.get("client_encoding"), Some("UTF8"));
        assert_eq!(
            set(&mut settings, "client_encoding", "LATIN1").unwrap_err().code,
            NOT_SUPPORTED
        );
        assert!(matches!(set(&mut settings, "timezone", "Europe/Berlin"), Ok(Set::Told(_))));
        assert_eq!(settings.get("timezone"), Some("UTC"));
        assert_eq!(set(&mut settings, "application_name", "psql"), Ok(Set::Done));
        assert_eq!(settings.get("application_name"), Some("psql"));
        assert_eq!(settings.get("session_authorization"), Some("ann"));
        assert!(set(&mut settings, "server_version", "17").is_err());
        assert_eq!(set(&mut settings, "halite.full_scan", "x"), Ok(Set::Unknown));
        let error = set(&mut settings, "datafusion.execution.batch_size", "1").unwrap_err();
        assert_eq!(error.code, NOT_PERMITTED);
    }

    #[test]
    fn search_path_is_the_schema_in_which_names_are_looked_for() {
        let mut settings = Settings::new("ann");
        for (value, shown) in [
            ("public", "public"),
            ("public,$user", "public, \"$user\""),
            ("\"$user\", public", "\"$user\", public"),
            ("pg_catalog, Public", "pg_catalog, Public"),
            ("default", "default"),
        ] {
            assert_eq!(set(&mut settings, "search_path", value), Ok(Set::Done), "{value}");
            assert_eq!(settings.get("search_path"), Some(shown), "{value}");
        }
        for value in ["staging", "public, staging", "staging, public", "", "pg_catalog", "$user"] {
            let error = set(&mut settings, "search_path", value).unwrap_err();
            assert_eq!(error.code, NOT_SUPPORTED, "{value}");
        }
        assert_eq!(settings.get("search_path"), Some("default"));
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in
            [("0", 0), ("1500", 1500), ("2s", 2000), ("5 min", 300_000), ("1h", 3_600_000)]
        {
            assert_eq!(read_ms(text), Some(ms), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "99999999999999999999", "1y"] {
            assert_eq!(read_ms(text), None, "{text}");
        }
        let shown = |ms| show_ms(Duration::from_millis(ms));
        assert_eq!([shown(0), shown(300_000), shown(1500)], ["0", "5min", "1500ms"]);
    }
}
