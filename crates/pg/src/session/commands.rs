//! What the session's own statements do.

use std::sync::Arc;

use halite_sql::TransactionStatement;
use halite_sql::datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use halite_sql::datafusion::arrow::datatypes::{DataType, Field, FieldRef};

use super::Session;
use super::command::Command;
use super::failure::Failure;
use super::portal::{NOTICE, Portal, Ran, Source};
use super::saved::Saved;
use super::settings::{READ_ONLY, READ_ONLY_DEFAULT, Set, read_ms, show_ms};
use crate::connection::io::Channel;
use crate::error::{
    INVALID_PARAMETER, NO_SUCH_CURSOR, NO_SUCH_STATEMENT, NO_TRANSACTION, PgError, Result,
};
use crate::wire::Backend;
use crate::wire::backend::{Severity, TransactionState};

/// Code of a warning about a transaction that is open already.
const OPEN_TRANSACTION: &str = "25001";
const WARNING: &str = "01000";

impl Session {
    /// Runs a statement of the session's own, and returns its tag, or what has its rows.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) async fn command(
        &mut self,
        command: &Command,
        channel: &mut Channel,
    ) -> Result<Outcome, Failure> {
        let tag = match command {
            Command::Set { name, value, is_local } => {
                self.set_for(*is_local, name, value.as_deref(), &mut channel.out)?;
                if value.is_some() { "SET" } else { "RESET" }.to_owned()
            }
            Command::Show(name) => return Ok(Outcome::Rows(Box::new(self.show(name)?))),
            Command::ResetAll { tag, is_discard } => {
                self.reset_all(*is_discard, &mut channel.out)?;
                (*tag).to_owned()
            }
            Command::Transaction(change @ TransactionStatement::Begin { read_only }) => {
                if self.transaction.is_open() {
                    let text = "a transaction is open already";
                    channel.out.report(Severity::Warning, OPEN_TRANSACTION, text, None);
                } else {
                    self.transaction.begin(self.saved());
                    self.sql.change_block(*change);
                    self.set_read_only(*read_only);
                }
                "BEGIN".to_owned()
            }
            Command::Transaction(change) => self.end(*change, &mut channel.out).to_owned(),
            Command::Modes { read_only } => {
                if self.transaction.is_open() {
                    self.set_read_only(Some(read_only.unwrap_or(self.sql.is_read_only())));
                } else {
                    let text = "SET TRANSACTION is about the transaction after BEGIN";
                    channel.out.report(Severity::Warning, NO_TRANSACTION, text, None);
                }
                "SET".to_owned()
            }
            Command::Save(name) => {
                self.transaction.save(name, self.sql.changes(), self.saved())?;
                "SAVEPOINT".to_owned()
            }
            Command::Release(name) => {
                self.transaction.release(name)?;
                "RELEASE".to_owned()
            }
            Command::GoBack(name) => {
                let (before, settings) = self.transaction.go_back(name)?;
                self.restore(settings, &mut channel.out);
                warn_of_changes(self.sql.changes().saturating_sub(before), &mut channel.out);
                "ROLLBACK".to_owned()
            }
            Command::Deallocate(None) => {
                self.statements.clear();
                "DEALLOCATE ALL".to_owned()
            }
            Command::Deallocate(Some(name)) => {
                self.statements.remove(name).ok_or_else(|| {
                    let text = format!("there is no prepared statement {name}");
                    PgError::new(NO_SUCH_STATEMENT, text)
                })?;
                "DEALLOCATE".to_owned()
            }
            // It is prepared as a statement of SQL.
            Command::Declare { .. } => "DECLARE CURSOR".to_owned(),
            Command::Fetch { name, rows } => {
                return Ok(Outcome::Cursor { name: name.clone(), rows: *rows });
            }
            Command::Move { name, rows } => {
                let most = rows.unwrap_or(usize::MAX);
                let moved = self.cursor(name)?.skip(most, channel).await;
                self.count_waiting(name);
                format!("MOVE {}", moved?)
            }
            Command::Close(None) => {
                self.portals.retain(|name, _| name.is_empty());
                "CLOSE CURSOR ALL".to_owned()
            }
            Command::Close(Some(name)) => {
                self.cursor(name)?;
                self.portals.remove(name);
                "CLOSE CURSOR".to_owned()
            }
            Command::Copy(copy, text) => super::copy::copy(&self.sql, copy, text, channel).await?,
            Command::Nothing(tag) => (*tag).to_owned(),
        };
        Ok(Outcome::Tag(tag))
    }

    /// Returns the columns of a statement of the session's own, if it has rows.
    ///
    /// # Errors
    /// A setting or a cursor that there is not.
    pub(super) fn command_fields(&mut self, command: &Command) -> Result<Vec<FieldRef>> {
        match command {
            Command::Show(name) => Ok(self.show(name)?.fields),
            Command::Fetch { name, .. } => Ok(self.cursor(name)?.fields.clone()),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns an open cursor.
    ///
    /// # Errors
    /// `34000`.
    pub(super) fn cursor(&mut self, name: &str) -> Result<&mut Portal> {
        self.portals
            .get_mut(name)
            .ok_or_else(|| PgError::new(NO_SUCH_CURSOR, format!("there is no cursor {name}")))
    }

    /// Sends rows of a cursor, and returns the tag.
    pub(super) async fn fetch(
        &mut self,
        name: &str,
        rows: Option<usize>,
        channel: &mut Channel,
    ) -> Result<String, Failure> {
        if rows == Some(0) {
            return Ok("FETCH 0".to_owned());
        }
        let sent = self.cursor(name)?.send(rows.unwrap_or(0), channel).await;
        self.count_waiting(name);
        match sent? {
            Ran::Suspended => Ok(format!("FETCH {}", self.cursor(name)?.take_sent())),
            // The tag of the statement tells how many rows there were.
            Ran::Complete(tag) => {
                let sent = tag.rsplit(' ').next().unwrap_or("0");
                Ok(format!("FETCH {sent}"))
            }
        }
    }

    /// Ends the transaction.
    fn end(&mut self, change: TransactionStatement, out: &mut Backend) -> &'static str {
        if !self.transaction.is_open() {
            out.report(Severity::Warning, NO_TRANSACTION, "no transaction is open", None);
        }
        let has_failed = self.transaction.state() == TransactionState::Failed;
        let is_commit = change == TransactionStatement::Commit && !has_failed;
        if let Some(settings) = self.transaction.end(is_commit) {
            self.restore(settings, out);
        }
        let changes = self.sql.change_block(change);
        self.set_read_only(None);
        self.portals.retain(|_, portal| portal.is_held);
        let tag = if has_failed { "ROLLBACK" } else { change.tag() };
        if tag == "ROLLBACK" {
            warn_of_changes(changes, out);
        }
        tag
    }

    /// Refuses or permits changes from now on; `None` for the default of the session.
    fn set_read_only(&self, read_only: Option<bool>) {
        let default = || self.settings().get(READ_ONLY_DEFAULT) == Some("on");
        let is_read_only = read_only.unwrap_or_else(default);
        self.sql.set_read_only(is_read_only);
    }

    /// Sets the settings that the startup message names.
    ///
    /// # Errors
    /// A value that does not hold here. Names that there are not are passed over, since drivers
    /// send settings of their own.
    pub(super) fn set_at_start(&mut self, parameters: &[(String, String)]) -> Result<()> {
        // What the client receives at the start is sent with all the others.
        let mut out = Backend::default();
        for (name, value) in parameters {
            match name.as_str() {
                "user" | "database" => {}
                "replication" if matches!(value.as_str(), "false" | "off" | "no" | "0") => {}
                "replication" => {
                    let text = "there is no replication by this protocol";
                    return Err(PgError::new(crate::error::NOT_SUPPORTED, text));
                }
                "options" => {
                    for (name, value) in options(value) {
                        self.set(&name, Some(&value), &mut out)?;
                    }
                }
                name => match self.set(&name.to_ascii_lowercase(), Some(value), &mut out) {
                    Err(error) if error.code == crate::error::UNKNOWN_SETTING => {}
                    other => other?,
                },
            }
        }
        Ok(())
    }

    /// Sets a setting for the session, or for the rest of its transaction.
    fn set_for(
        &mut self,
        is_local: bool,
        name: &str,
        value: Option<&str>,
        out: &mut Backend,
    ) -> Result<()> {
        if is_local && !self.transaction.is_open() {
            // The value is checked all the same.
            let (before, mut unseen) = (self.saved(), Backend::default());
            let checked = self.set(name, value, &mut unseen);
            self.restore(before, &mut unseen);
            checked?;
            let text = "SET LOCAL is about the transaction after BEGIN";
            out.report(Severity::Warning, NO_TRANSACTION, text, None);
            return Ok(());
        }
        self.set(name, value, out)?;
        if !is_local {
            self.transaction.keep(name, &self.saved());
        }
        Ok(())
    }

    /// Returns the settings as they are.
    fn saved(&self) -> Saved {
        let (own, sql) = (self.settings().clone(), self.sql.settings());
        Saved { own, sql, is_read_only: self.sql.is_read_only() }
    }

    /// Goes back to settings, and tells the client of those that it wants to know.
    fn restore(&self, saved: Saved, out: &mut Backend) {
        self.settings().restore(saved.own, out);
        // A change that has no error.
        let _ = self.sql.change(|settings| {
            *settings = saved.sql;
            Ok(())
        });
        self.sql.set_read_only(saved.is_read_only);
    }

    /// Sets a setting; `None` for its default.
    fn set(&mut self, name: &str, value: Option<&str>, out: &mut Backend) -> Result<()> {
        if name == READ_ONLY {
            let value = value.unwrap_or("off");
            let is_on = super::settings::read_switch(value).ok_or_else(|| {
                PgError::new(INVALID_PARAMETER, format!("{name} is on or off, not {value:?}"))
            })?;
            self.sql.set_read_only(is_on);
            return Ok(());
        }
        let set = self.settings().set(name, value, out)?;
        match set {
            Set::Done => {
                // Outside of a transaction, the next one begins with each statement.
                if name == READ_ONLY_DEFAULT && !self.transaction.is_open() {
                    self.set_read_only(None);
                }
                return Ok(());
            }
            Set::Told(text) => {
                out.report(Severity::Notice, NOTICE, text, None);
                return Ok(());
            }
            Set::Unknown => {}
        }
        let value = match (name, value) {
            (_, None) => self.defaults.get(name)?,
            ("statement_timeout", Some(value)) => {
                let ms = read_ms(value).ok_or_else(|| {
                    let text = format!("{value:?} is no time such as 500ms, 5s or 5min");
                    PgError::new(INVALID_PARAMETER, text)
                })?;
                ms.to_string()
            }
            (_, Some(value)) => value.to_owned(),
        };
        Ok(self.sql.change(|settings| settings.set(name, &value))?)
    }

    fn reset_all(&mut self, is_discard: bool, out: &mut Backend) -> Result<()> {
        self.settings().reset_all(out);
        let defaults = self.defaults.clone();
        self.sql.change(|settings| {
            *settings = defaults;
            Ok(())
        })?;
        if self.transaction.is_open() {
            self.transaction.keep_all(self.saved());
        } else {
            self.set_read_only(None);
        }
        if is_discard {
            self.statements.clear();
            self.portals.clear();
            self.sql.discard_tables(true);
        }
        Ok(())
    }

    /// Answers SHOW of a setting.
    fn show(&self, name: &str) -> Result<Portal> {
        let own = self.settings().get(name).map(ToOwned::to_owned);
        let value = match (own, name) {
            (_, READ_ONLY) => if self.sql.is_read_only() { "on" } else { "off" }.to_owned(),
            (Some(value), _) => value,
            (None, "statement_timeout") => show_ms(self.sql.settings().statement_timeout),
            (None, name) => self.sql.settings().get(name)?,
        };
        let field = Arc::new(Field::new(name, DataType::Utf8View, false));
        let column: ArrayRef = Arc::new(StringViewArray::from_iter_values([value]));
        let batch = RecordBatch::try_from_iter([(name, column)])?;
        Ok(Portal::new(Source::Known(Some(batch)), vec![field], "SHOW"))
    }
}

/// What a statement of the session's own came to.
pub(super) enum Outcome {
    Tag(String),
    Rows(Box<Portal>),
    /// Rows of a cursor are to be sent.
    Cursor {
        name: String,
        rows: Option<usize>,
    },
}

/// Tells of what was not rolled back.
fn warn_of_changes(changes: u64, out: &mut Backend) {
    if changes > 0 {
        let text = format!("{changes} row(s) were written for good, and stay");
        out.report(Severity::Warning, WARNING, &text, None);
    }
}

/// Reads `-c name=value` and `--name=value` of the startup parameter `options`.
fn options(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut words = option_words(text).into_iter();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            Some("") => words.next(),
            other => other.map(ToOwned::to_owned),
        };
        if let Some((name, value)) = setting.as_deref().and_then(|one| one.split_once('=')) {
            found.push((name.replace('-', "_").to_ascii_lowercase(), value.to_owned()));
        }
    }
    found
}

/// Returns the words of options. A backslash precedes a space that is part of one.
fn option_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let letter = if letter == '\\' { letters.next() } else { Some(letter) };
        word.get_or_insert_default().extend(letter);
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_startup_are_read() {
        let read =
            options("-c statement_timeout=5s --search-path=x,\\ \\\\y -cjit=off nonsense \\");
        let expected = [("statement_timeout", "5s"), ("search_path", "x, \\y"), ("jit", "off")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read, expected);
    }
}
