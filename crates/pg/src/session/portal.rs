//! Running statement: its columns, and its rows as far as the client asks for them.

use std::sync::Arc;
use std::time::Instant;

use halite_sql::Answer;
use halite_sql::datafusion::arrow::array::RecordBatch;
use halite_sql::datafusion::arrow::datatypes::FieldRef;
use halite_sql::datafusion::common::ScalarValue;

use super::failure::Failure;
use super::labels::{fields_of, labelled};
use super::statement::Statement;
use crate::connection::io::Channel;
use crate::error::{NOT_IN_STATE, PROTOCOL_VIOLATION, PgError, Result};
use crate::values::encode::Column;
use crate::values::types;
use crate::wire::backend::{ColumnDescription, Severity};

/// Code of a notice.
pub(super) const NOTICE: &str = "00000";
/// Why a portal has no rows after an error.
pub(super) const FAILED: &str = "the statement of this portal or cursor has failed; run it again";
/// Bytes for which a statement counts that waits to be read, besides the rows that wait: its scans
/// read ahead, and its sorts and groups are kept.
pub(super) const WAITING_BYTES: usize = 1 << 20;

/// Formats of the columns of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Formats(Vec<i16>);

impl Formats {
    /// Reads those of a message: none for text, one for all, or one each.
    ///
    /// # Errors
    /// Formats that there are not.
    pub(super) fn new(formats: Vec<i16>) -> Result<Self> {
        if formats.iter().all(|format| matches!(format, 0 | 1)) {
            return Ok(Self(formats));
        }
        Err(PgError::new(PROTOCOL_VIOLATION, "a format is 0 for text, 1 for binary"))
    }

    /// Returns the format of a column or a value.
    pub(super) fn of(&self, at: usize) -> i16 {
        match self.0.as_slice() {
            [] => 0,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(0),
        }
    }

    /// Checks that there are none, one, or as many as there are columns or values.
    ///
    /// # Errors
    /// `08P01`.
    pub(super) fn check(&self, count: usize) -> Result<()> {
        match self.0.len() {
            0 | 1 => Ok(()),
            formats if formats == count => Ok(()),
            formats => {
                let text = format!("{formats} formats came for {count} columns or values");
                Err(PgError::new(PROTOCOL_VIOLATION, text))
            }
        }
    }
}

/// Where the rows come from.
pub(super) enum Source {
    /// A statement that has not begun, with the values of its parameters.
    Bound(Arc<Statement>, Vec<ScalarValue>),
    /// Rows of SQL.
    Answer(Box<Answer>),
    /// Rows of the session's own.
    Known(Option<RecordBatch>),
    /// Nothing more.
    Done,
    /// A statement that has failed, and why it has no rows: how many it has is not known.
    Failed(&'static str),
}

/// Statement with values, and its rows.
pub(super) struct Portal {
    pub(super) source: Source,
    pub(super) fields: Vec<FieldRef>,
    pub(super) formats: Formats,
    /// `true` to stay open after the transaction.
    pub(super) is_held: bool,
    /// First word of the tag of a statement with rows.
    pub(super) verb: &'static str,
    current: Option<Batch>,
    /// Rows since the last tag.
    sent: usize,
    /// `true` once the client decides when the next rows are sent.
    pub(super) is_suspended: bool,
    /// Bytes that the session counts for what waits.
    pub(super) counted: usize,
    /// When rows were read last.
    pub(super) used: Instant,
}

/// Rows that wait to be sent.
struct Batch {
    columns: Vec<Column>,
    rows: usize,
    at: usize,
    bytes: usize,
}

/// What a run of a portal came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ran {
    /// All rows were sent; the tag.
    Complete(String),
    /// The number of rows that was requested was sent.
    Suspended,
}

impl Portal {
    pub(super) fn new(source: Source, fields: Vec<FieldRef>, verb: &'static str) -> Self {
        Self {
            source,
            fields,
            formats: Formats::default(),
            is_held: false,
            verb,
            current: None,
            sent: 0,
            is_suspended: false,
            counted: 0,
            used: Instant::now(),
        }
    }

    /// Portal of an answer of SQL to a text.
    pub(super) fn of_answer(answer: Answer, verb: &'static str, text: &str) -> Self {
        let fields = labelled(fields_of(answer.schema()), text);
        Self::new(Source::Answer(Box::new(answer)), fields, verb)
    }

    /// Returns `true` for a statement with rows, even of no columns.
    pub(super) fn has_rows(&self) -> bool {
        match &self.source {
            Source::Answer(answer) => {
                answer.tag().is_none() || !answer.schema().fields().is_empty()
            }
            _ => true,
        }
    }

    /// Returns the description of the columns.
    pub(super) fn columns(&self) -> Vec<ColumnDescription> {
        let column =
            |(at, field): (usize, &FieldRef)| types::description(field, self.formats.of(at));
        self.fields.iter().enumerate().map(column).collect()
    }

    /// Sends up to `most` rows, 0 for all. The statement must have begun.
    ///
    /// # Errors
    /// That of the statement, after which it has no rows; `55000` from then on.
    pub(super) async fn send(
        &mut self,
        most: usize,
        channel: &mut Channel,
    ) -> Result<Ran, Failure> {
        let sent = self.send_rows(most, channel).await;
        if sent.is_err() {
            self.fail(FAILED);
        }
        sent
    }

    /// Ends the statement, of which no more rows can be read, and remembers why.
    pub(super) fn fail(&mut self, why: &'static str) {
        self.source = Source::Failed(why);
        self.current = None;
    }

    /// Returns `true` if the statement runs, or waits for its rows to be read.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.source, Source::Answer(_))
    }

    /// Returns the bytes for which it counts while it waits.
    pub(super) fn waiting_bytes(&self) -> usize {
        let rows = self.current.as_ref().map_or(0, |batch| batch.bytes);
        if self.is_running() { WAITING_BYTES.saturating_add(rows) } else { rows }
    }

    async fn send_rows(&mut self, most: usize, channel: &mut Channel) -> Result<Ran, Failure> {
        let mut left = if most == 0 { usize::MAX } else { most };
        self.continue_statement();
        loop {
            if let Some(batch) = &mut self.current {
                while batch.at < batch.rows && left > 0 {
                    let (row, columns, formats) = (batch.at, &batch.columns, &self.formats);
                    channel.out.row(columns.len(), |at, out| {
                        columns[at].write(row, formats.of(at) == 1, out)
                    })?;
                    batch.at += 1;
                    left -= 1;
                    self.sent += 1;
                    channel.flush_rows().await?;
                }
                if batch.at < batch.rows {
                    self.is_suspended = true;
                    return Ok(Ran::Suspended);
                }
            }
            // A client that has the rows it wanted does not wait to learn whether more follow.
            if left == 0 {
                self.is_suspended = true;
                return Ok(Ran::Suspended);
            }
            if !self.next_batch(channel).await? {
                return Ok(Ran::Complete(self.tag()));
            }
        }
    }

    /// Lets the statement run as long again, if its client had the rows it wanted.
    fn continue_statement(&mut self) {
        if let Source::Answer(answer) = &mut self.source
            && std::mem::take(&mut self.is_suspended)
        {
            answer.restart_timeout();
        }
    }

    /// Passes over up to `most` rows, and returns how many there were.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) async fn skip(
        &mut self,
        most: usize,
        channel: &mut Channel,
    ) -> Result<usize, Failure> {
        let skipped = self.skip_rows(most, channel).await;
        if skipped.is_err() {
            self.fail(FAILED);
        }
        skipped
    }

    async fn skip_rows(&mut self, most: usize, channel: &mut Channel) -> Result<usize, Failure> {
        let mut skipped = 0;
        self.continue_statement();
        while skipped < most {
            match &mut self.current {
                Some(batch) if batch.at < batch.rows => {
                    let step = (batch.rows - batch.at).min(most - skipped);
                    batch.at += step;
                    skipped += step;
                }
                _ => {
                    if !self.next_batch(channel).await? {
                        break;
                    }
                }
            }
        }
        Ok(skipped)
    }

    /// Returns the rows since the last call.
    pub(super) fn take_sent(&mut self) -> usize {
        std::mem::take(&mut self.sent)
    }

    /// Fetches rows; `false` at the end.
    async fn next_batch(&mut self, channel: &mut Channel) -> Result<bool, Failure> {
        self.current = None;
        let batch = match &mut self.source {
            Source::Answer(answer) => {
                let batch = channel.interrupts.guard(answer.next_batch()).await;
                for notice in answer.take_notices() {
                    channel.out.report(Severity::Notice, NOTICE, &notice, None);
                }
                batch?
            }
            Source::Known(batch) => batch.take().filter(|batch| batch.num_rows() > 0),
            Source::Bound(..) | Source::Done => None,
            Source::Failed(why) => return Err(PgError::new(NOT_IN_STATE, *why).into()),
        };
        let Some(batch) = batch else { return Ok(false) };
        let columns = self.fields.iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| Column::new(field, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let (rows, bytes) = (batch.num_rows(), batch.get_array_memory_size());
        self.current = Some(Batch { columns, rows, at: 0, bytes });
        Ok(true)
    }

    /// Returns the tag of a statement that has ended, and lets go of it.
    fn tag(&mut self) -> String {
        let sent = self.take_sent();
        let source = std::mem::replace(&mut self.source, Source::Done);
        match source {
            Source::Answer(answer) => match answer.tag() {
                Some(tag) => tag.to_owned(),
                None => tag_of(self.verb, sent),
            },
            _ => tag_of(self.verb, sent),
        }
    }
}

/// Returns the tag of a statement with rows.
fn tag_of(verb: &str, rows: usize) -> String {
    match verb {
        "EXPLAIN" | "SHOW" => verb.to_owned(),
        _ => format!("{verb} {rows}"),
    }
}
