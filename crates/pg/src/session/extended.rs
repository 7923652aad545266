//! Parse, Bind, Describe, Execute and Close.

use std::sync::Arc;

use bytes::Bytes;
use halite_sql::datafusion::common::ScalarValue;

use super::Session;
use super::commands::Outcome;
use super::failure::Failure;
use super::portal::{FAILED, Formats, Portal, Ran, Source, WAITING_BYTES};
use super::statement::{Statement, Work, verb};
use crate::connection::io::Channel;
use crate::error::{
    CURSOR_EXISTS, LIMIT_EXCEEDED, NO_SUCH_CURSOR, NO_SUCH_STATEMENT, PROTOCOL_VIOLATION, PgError,
    Result, STATEMENT_EXISTS,
};
use crate::values::decode;
use crate::wire::{Message, Target};

/// Part of a Bind.
struct Bind {
    portal: String,
    statement: String,
    formats: Vec<i16>,
    values: Vec<Option<Bytes>>,
    results: Vec<i16>,
}

impl Session {
    /// Works off a message. An error has been told when it is returned.
    pub(super) async fn extended(
        &mut self,
        message: Message,
        channel: &mut Channel,
    ) -> Result<(), Failure> {
        let mut text = String::new();
        let done = match message {
            Message::Parse { name, text: statement, types } => {
                text.clone_from(&statement);
                self.parse(name, statement, &types, channel).await
            }
            Message::Bind { portal, statement, formats, values, results } => {
                let bind = Bind { portal, statement, formats, values, results };
                self.bind(bind, channel).map_err(Into::into)
            }
            Message::Describe(target) => self.describe(&target, channel).map_err(Into::into),
            Message::Execute { portal, rows } => {
                if let Some(Portal { source: Source::Bound(statement, _), .. }) =
                    self.portals.get(&portal)
                {
                    text.clone_from(&statement.text);
                }
                self.execute(&portal, rows, channel).await
            }
            Message::Close(target) => {
                match target {
                    Target::Statement(name) => drop(self.statements.remove(&name)),
                    Target::Portal(name) => drop(self.portals.remove(&name)),
                }
                channel.out.close_complete();
                Ok(())
            }
            _ => Err(PgError::fatal(PROTOCOL_VIOLATION, "this message is out of turn").into()),
        };
        if let Err(Failure::Error(error)) = &done {
            if error.severity == crate::wire::backend::Severity::Error {
                error.write(&mut channel.out, &text, "");
            }
            self.transaction.fail();
        }
        done
    }

    async fn parse(
        &mut self,
        name: String,
        text: String,
        types: &[u32],
        channel: &mut Channel,
    ) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            let text = format!("prepared statement {name} is there already");
            return Err(PgError::new(STATEMENT_EXISTS, text).into());
        }
        let limit = self.limits.max_statements;
        if self.statements.len() >= limit && !self.statements.contains_key(&name) {
            let text = format!("{limit} statements are prepared; close one first");
            return Err(PgError::new(LIMIT_EXCEEDED, text).into());
        }
        // After an error, only the end of the transaction is prepared.
        let command = super::command::read(&text)?;
        if self.transaction.state() == crate::wire::backend::TransactionState::Failed {
            self.check_transaction(command.as_ref())?;
        }
        channel.interrupts.begin();
        let statement = Statement::new(&self.sql, text, types);
        let statement = channel.interrupts.guard(statement).await?;
        let bytes = statement.bytes();
        self.check_kept(bytes, self.statements.bytes_of(&name))?;
        self.statements.insert(name, Arc::new(statement), bytes);
        channel.out.parse_complete();
        Ok(())
    }

    fn statement(&self, name: &str) -> Result<&Arc<Statement>> {
        self.statements.get(name).ok_or_else(|| {
            PgError::new(NO_SUCH_STATEMENT, format!("there is no prepared statement {name:?}"))
        })
    }

    fn bind(&mut self, bind: Bind, channel: &mut Channel) -> Result<()> {
        let statement = Arc::clone(self.statement(&bind.statement)?);
        let values = parameters(&statement, &bind)?;
        if !bind.portal.is_empty() && self.portals.contains_key(&bind.portal) {
            let text = format!("portal {} is open already", bind.portal);
            return Err(PgError::new(CURSOR_EXISTS, text));
        }
        if !self.portals.contains_key(&bind.portal) {
            self.check_portals()?;
        }
        // The portal holds its statement, even one that has been closed.
        let bytes = values.iter().map(ScalarValue::size).sum::<usize>();
        let bytes = bytes.saturating_add(statement.bytes());
        self.check_kept(bytes, self.portals.bytes_of(&bind.portal))?;
        let fields = match &statement.work {
            Work::Command(command) => self.command_fields(command)?,
            _ => statement.fields(),
        };
        let formats = Formats::new(bind.results)?;
        formats.check(fields.len())?;
        let verb = verb(&statement.text);
        let mut portal = Portal::new(Source::Bound(statement, values), fields, verb);
        portal.formats = formats;
        self.portals.insert(bind.portal, portal, bytes);
        channel.out.bind_complete();
        Ok(())
    }

    fn describe(&mut self, target: &Target, channel: &mut Channel) -> Result<()> {
        let columns = match target {
            Target::Statement(name) => {
                let statement = Arc::clone(self.statement(name)?);
                channel.out.parameter_description(&statement.parameters);
                let fields = match &statement.work {
                    Work::Command(command) => self.command_fields(command)?,
                    _ => statement.fields(),
                };
                Portal::new(Source::Done, fields, "").columns()
            }
            Target::Portal(name) => self.portal(name)?.columns(),
        };
        if columns.is_empty() {
            channel.out.no_data();
        } else {
            channel.out.row_description(&columns);
        }
        Ok(())
    }

    fn portal(&mut self, name: &str) -> Result<&mut Portal> {
        self.portals
            .get_mut(name)
            .ok_or_else(|| PgError::new(NO_SUCH_CURSOR, format!("there is no portal {name:?}")))
    }

    async fn execute(
        &mut self,
        name: &str,
        rows: usize,
        channel: &mut Channel,
    ) -> Result<(), Failure> {
        channel.interrupts.begin();
        let portal = self.portal(name)?;
        if matches!(portal.source, Source::Bound(..)) {
            // It stays so unless it begins.
            let has_rows = !portal.fields.is_empty();
            let source = std::mem::replace(&mut portal.source, Source::Failed(FAILED));
            let Source::Bound(statement, values) = source else { return Ok(()) };
            // What is not read to its end waits.
            if rows > 0 && has_rows && matches!(statement.work, Work::Sql(_)) {
                self.check_kept(WAITING_BYTES, 0)?;
            }
            if self.begin(name, &statement, &values, channel).await? {
                // COMMIT and CLOSE end portals, also that in which they run.
                if let Some(portal) = self.portals.get_mut(name) {
                    portal.source = Source::Done;
                }
                return Ok(());
            }
        } else {
            // It has begun before the transaction failed.
            self.check_transaction(None)?;
        }
        let sent = self.portal(name)?.send(rows, channel).await;
        self.count_waiting(name);
        match sent? {
            Ran::Suspended => channel.out.suspended(),
            Ran::Complete(tag) => channel.out.complete(&tag),
        }
        Ok(())
    }

    /// Begins a statement whose rows the portal then has. Returns `true` if it is complete.
    async fn begin(
        &mut self,
        name: &str,
        statement: &Statement,
        values: &[ScalarValue],
        channel: &mut Channel,
    ) -> Result<bool, Failure> {
        let command = match &statement.work {
            Work::Command(command) => Some(command),
            _ => None,
        };
        self.check_transaction(command)?;
        match &statement.work {
            Work::Empty => {
                channel.out.empty_query();
                Ok(true)
            }
            Work::Sql(prepared) => {
                let run = self.sql.run_prepared(prepared, values);
                let answer = channel.interrupts.guard(run).await;
                let answer = answer.map_err(|error| self.with_rows_left(error))?;
                self.portal(name)?.source = Source::Answer(Box::new(answer));
                Ok(false)
            }
            Work::Cursor { name: cursor, is_held, prepared } => {
                let run = self.sql.run_prepared(prepared, values);
                let answer = channel.interrupts.guard(run).await?;
                let portal = Portal::of_answer(answer, "FETCH", prepared.text());
                self.open_cursor(cursor.clone(), *is_held, portal)?;
                channel.out.complete("DECLARE CURSOR");
                Ok(true)
            }
            Work::Command(command) => match self.command(command, channel).await? {
                Outcome::Tag(tag) => {
                    channel.out.complete(&tag);
                    Ok(true)
                }
                Outcome::Rows(rows) => {
                    self.portal(name)?.source = rows.source;
                    Ok(false)
                }
                Outcome::Cursor { name: cursor, rows } => {
                    // The rows come in the formats that were bound for them.
                    let formats = self.portal(name)?.formats.clone();
                    self.cursor(&cursor)?.formats = formats;
                    let tag = self.fetch(&cursor, rows, channel).await?;
                    channel.out.complete(&tag);
                    Ok(true)
                }
            },
        }
    }
}

/// Reads the values of the parameters.
fn parameters(statement: &Statement, bind: &Bind) -> Result<Vec<ScalarValue>> {
    let fields = statement.prepared().map_or(&[][..], |prepared| prepared.parameters());
    if bind.values.len() != fields.len() {
        let (came, wanted) = (bind.values.len(), fields.len());
        let text = format!("{came} values came, and the statement has {wanted} parameters");
        return Err(PgError::new(PROTOCOL_VIOLATION, text));
    }
    let formats = Formats::new(bind.formats.clone())?;
    formats.check(fields.len())?;
    let oids = statement.parameters.iter();
    let values = bind.values.iter().zip(fields).zip(oids).enumerate();
    values
        .map(|(at, ((value, field), oid))| {
            decode::value(value.as_ref(), formats.of(at) == 1, *oid, field)
        })
        .collect()
}
