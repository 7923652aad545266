//! Query: statements as text, run one after the other up to the first that fails.

use std::time::Instant;

use halite_sql::{TransactionStatement, split_statements};

use super::Session;
use super::command::{self, Command};
use super::commands::Outcome;
use super::failure::Failure;
use super::portal::{Portal, Ran};
use super::statement::verb;
use crate::connection::io::Channel;
use crate::error::{CURSOR_EXISTS, LIMIT_EXCEEDED, NO_TRANSACTION, PgError, Result};
use crate::wire::backend::Severity;

impl Session {
    /// Runs the statements of a text. Errors are sent.
    ///
    /// # Errors
    /// Only what ends the session.
    pub(super) async fn query(&mut self, text: &str, channel: &mut Channel) -> Result<(), Failure> {
        let statements = split_statements(text);
        if statements.is_empty() {
            channel.out.empty_query();
        }
        for statement in statements {
            match self.run_text(statement.text, channel).await {
                Ok(()) => {}
                Err(Failure::Error(error)) if error.severity != Severity::Fatal => {
                    error.write(&mut channel.out, statement.text, &text[..statement.start]);
                    self.transaction.fail();
                    break;
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    async fn run_text(&mut self, text: &str, channel: &mut Channel) -> Result<(), Failure> {
        channel.interrupts.begin();
        let command = command::read(text)?;
        self.check_transaction(command.as_ref())?;
        match command {
            Some(Command::Declare { name, is_held, query }) => {
                let answer = channel.interrupts.guard(self.sql.run(&query)).await?;
                self.open_cursor(name, is_held, Portal::of_answer(answer, "FETCH", &query))?;
                channel.out.complete("DECLARE CURSOR");
                Ok(())
            }
            Some(command) => match self.command(&command, channel).await? {
                Outcome::Tag(tag) => {
                    channel.out.complete(&tag);
                    Ok(())
                }
                Outcome::Rows(portal) => send_all(*portal, channel).await,
                Outcome::Cursor { name, rows } => {
                    channel.out.row_description(&self.cursor(&name)?.columns());
                    let tag = self.fetch(&name, rows, channel).await?;
                    channel.out.complete(&tag);
                    Ok(())
                }
            },
            None => {
                let answer = channel.interrupts.guard(self.sql.run(text)).await;
                let answer = answer.map_err(|error| self.with_rows_left(error))?;
                send_all(Portal::of_answer(answer, verb(text), text), channel).await
            }
        }
    }

    /// Says how many rows a statement wrote that was interrupted.
    pub(super) fn with_rows_left(&self, mut error: PgError) -> PgError {
        error.message.push_str(&self.sql.take_rows_left());
        error
    }

    /// Checks that the transaction permits a statement.
    pub(super) fn check_transaction(&self, command: Option<&Command>) -> Result<()> {
        match command {
            Some(
                Command::Transaction(TransactionStatement::Commit | TransactionStatement::Rollback)
                | Command::GoBack(_),
            ) => Ok(()),
            _ => self.transaction.check(),
        }
    }

    /// Keeps a cursor.
    ///
    /// # Errors
    /// A name that is taken, too many of them, a cursor that would end with its statement.
    pub(super) fn open_cursor(
        &mut self,
        name: String,
        is_held: bool,
        mut cursor: Portal,
    ) -> Result<()> {
        if !is_held && !self.transaction.is_open() {
            return Err(PgError::new(
                NO_TRANSACTION,
                "a cursor ends with its transaction: BEGIN first, or DECLARE .. WITH HOLD",
            ));
        }
        if self.portals.contains_key(&name) {
            return Err(PgError::new(CURSOR_EXISTS, format!("cursor {name} is open already")));
        }
        self.check_portals()?;
        let bytes = cursor.waiting_bytes();
        self.check_kept(bytes, 0)?;
        cursor.is_held = is_held;
        cursor.is_suspended = true;
        cursor.counted = bytes;
        self.portals.insert(name, cursor, bytes);
        Ok(())
    }

    /// Counts what a portal or a cursor has now that rows were read of it.
    pub(super) fn count_waiting(&mut self, name: &str) {
        let Some(portal) = self.portals.get_mut(name) else { return };
        portal.used = Instant::now();
        let more = portal.waiting_bytes();
        let less = std::mem::replace(&mut portal.counted, more);
        if less != more {
            self.portals.recount(name, less, more);
        }
    }

    /// Checks that another portal may be opened.
    pub(super) fn check_portals(&self) -> Result<()> {
        let limit = self.limits.max_portals;
        if self.portals.len() < limit {
            return Ok(());
        }
        Err(PgError::new(LIMIT_EXCEEDED, format!("{limit} portals are open; close one first")))
    }
}

/// Sends columns and rows, and the tag.
async fn send_all(mut portal: Portal, channel: &mut Channel) -> Result<(), Failure> {
    if !portal.fields.is_empty() || portal.has_rows() {
        channel.out.row_description(&portal.columns());
    }
    if let Ran::Complete(tag) = portal.send(0, channel).await? {
        match tag.as_str() {
            "" => channel.out.empty_query(),
            tag => channel.out.complete(tag),
        }
    }
    Ok(())
}
