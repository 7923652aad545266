//! COPY: rows between a client and a table, in messages of the protocol.

use bytes::{BufMut as _, BytesMut};
use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{CopyFormat, CopyStatement, Header, Lines, Loader, SqlContext, SqlError};

use super::failure::Failure;
use super::portal::NOTICE;
use crate::connection::io::Channel;
use crate::error::{CANCELLED, LIMIT_EXCEEDED, OUT_OF_MEMORY, PROTOCOL_VIOLATION, PgError, Result};
use crate::values::decode;
use crate::values::encode::Column;
use crate::values::types;
use crate::wire::backend::Severity;
use crate::wire::{Cursor, Message};

/// Beginning of the binary form.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// Bytes of a row of the binary form.
const MAX_ROW_BYTES: usize = 16 << 20;

/// Copies rows, and returns the tag.
///
/// # Errors
/// What is wrong with the statement, a row, or what the client sends.
pub(super) async fn copy(
    sql: &SqlContext,
    statement: &CopyStatement,
    text: &str,
    channel: &mut Channel,
) -> Result<String, Failure> {
    let rows = if statement.is_from {
        copy_in(sql, statement, text, channel).await?
    } else {
        copy_out(sql, statement, channel).await?
    };
    Ok(format!("COPY {rows}"))
}

async fn copy_out(
    sql: &SqlContext,
    statement: &CopyStatement,
    channel: &mut Channel,
) -> Result<u64, Failure> {
    let options = &statement.options;
    let is_binary = options.format == CopyFormat::Binary;
    let mut answer = channel.interrupts.guard(sql.run(&statement.query())).await?;
    let schema = answer.schema().clone();
    channel.out.copy_response(b'H', is_binary, schema.fields().len());
    let mut line = BytesMut::new();
    if is_binary {
        // It goes with the first row, as clients expect.
        line.put_slice(SIGNATURE);
        line.put_u64(0);
    } else if options.header != Header::No {
        options
            .write_row(schema.fields().iter().map(|field| Some(field.name().as_str())), &mut line);
        channel.out.copy_data(&line.split());
    }
    let mut rows = 0;
    loop {
        let batch = channel.interrupts.guard(answer.next_batch()).await;
        for notice in answer.take_notices() {
            channel.out.report(Severity::Notice, NOTICE, &notice, None);
        }
        let Some(batch) = batch? else { break };
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| Column::new(field, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            if is_binary {
                line.put_i16(i16::try_from(columns.len()).unwrap_or(i16::MAX));
                columns.iter().try_for_each(|column| column.write(row, true, &mut line))?;
            } else {
                let texts = columns.iter().map(|column| {
                    if column.is_null(row) { Ok(None) } else { column.text(row).map(Some) }
                });
                let texts = texts.collect::<Result<Vec<_>>>()?;
                options.write_row(texts.iter().map(Option::as_deref), &mut line);
            }
            channel.out.copy_data(&line.split());
            channel.flush_rows().await?;
            rows += 1;
        }
    }
    if is_binary {
        line.put_i16(-1);
        channel.out.copy_data(&line.split());
    }
    channel.out.copy_done();
    Ok(rows)
}

async fn copy_in(
    sql: &SqlContext,
    statement: &CopyStatement,
    text: &str,
    channel: &mut Channel,
) -> Result<u64, Failure> {
    let mut loader = channel.interrupts.guard(sql.load(statement, text)).await?;
    let is_binary = statement.options.format == CopyFormat::Binary;
    channel.out.copy_response(b'G', is_binary, loader.fields().len());
    channel.flush().await?;
    let mut rows = Rows::new(statement);
    let timeout = sql.settings().statement_timeout;
    let ended = tokio::time::Instant::now() + timeout;
    loop {
        let next = channel.next_of_copy();
        let message = if timeout.is_zero() {
            next.await
        } else {
            tokio::time::timeout_at(ended, next).await.unwrap_or_else(|_| {
                Err(PgError::new(CANCELLED, "the statement took longer than statement_timeout"))
            })
        };
        let message = match message {
            Ok(message) => message,
            Err(error) => return Err(with_count(error, loader.abandon()).into()),
        };
        let is_end = match message {
            Some(Message::CopyData(bytes)) => {
                rows.push(&bytes);
                false
            }
            Some(Message::CopyDone) => true,
            // They are passed over during COPY, as PostgreSQL does.
            Some(Message::Flush | Message::Sync) => continue,
            Some(Message::CopyFail(reason)) => {
                let text = format!("COPY was given up by the client: {reason}");
                return Err(with_count(PgError::new(CANCELLED, text), loader.abandon()).into());
            }
            Some(Message::TooLarge { bytes, .. }) => {
                let text = format!("a message of COPY has {bytes} bytes; send the rows in parts");
                let error = PgError::new(LIMIT_EXCEEDED, text);
                return Err(with_count(error, loader.abandon()).into());
            }
            Some(Message::NoMemory { .. }) => {
                let text = "the messages of all sessions have no memory for the next rows";
                let error = PgError::new(OUT_OF_MEMORY, text);
                return Err(with_count(error, loader.abandon()).into());
            }
            Some(_) => {
                let text = "only rows may come during COPY";
                let error = PgError::fatal(PROTOCOL_VIOLATION, text);
                return Err(with_count(error, loader.abandon()).into());
            }
            None => return Err(Failure::Gone),
        };
        let added = rows.add_to(&mut loader, is_end);
        if let Err(error) = channel.interrupts.guard(added).await {
            return Err(match error.code {
                CANCELLED => with_count(error, loader.abandon()).into(),
                _ => error.into(),
            });
        }
        if is_end {
            return Ok(channel.interrupts.guard(loader.finish()).await?);
        }
    }
}

/// Says how many rows stay. Those of a batch whose answer had not come may be there, too.
fn with_count(mut error: PgError, written: u64) -> PgError {
    if error.message.contains("row(s) were written") {
        return error;
    }
    error.message = format!("{}; {written} row(s) were written before", error.message);
    error
}

/// Rows out of messages.
enum Rows {
    Lines(Lines),
    Binary(Binary),
}

impl Rows {
    fn new(statement: &CopyStatement) -> Self {
        match statement.options.format {
            CopyFormat::Binary => Self::Binary(Binary::default()),
            CopyFormat::Text | CopyFormat::Csv => {
                Self::Lines(Lines::new(statement.options.clone()))
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Lines(lines) => lines.push(bytes),
            Self::Binary(binary) => binary.bytes.extend_from_slice(bytes),
        }
    }

    /// Adds the rows that have come.
    async fn add_to(&mut self, loader: &mut Loader<'_>, is_end: bool) -> Result<()> {
        let binary = match self {
            Self::Lines(lines) => return Ok(loader.add_lines(lines, is_end).await?),
            Self::Binary(binary) => binary,
        };
        loop {
            match binary.next(is_end, loader) {
                Ok(Some((row, line))) => loader.add(row, line).await?,
                Ok(None) => return Ok(()),
                Err(error) => return Err(loader.stop(error).await.into()),
            }
        }
    }
}

/// Values of a row, and the number of its line.
type Row = (Vec<ScalarValue>, u64);

/// Rows in the binary form, in which they are counted as lines are.
#[derive(Default)]
struct Binary {
    bytes: BytesMut,
    has_begun: bool,
    is_over: bool,
    rows: u64,
}

impl Binary {
    fn next(&mut self, is_end: bool, loader: &Loader<'_>) -> Result<Option<Row>, SqlError> {
        let line = self.rows + 1;
        if self.is_over {
            return if self.bytes.is_empty() {
                Ok(None)
            } else {
                Err(SqlError::bad_copy(line, "bytes follow the end of the rows"))
            };
        }
        let length = if self.has_begun || self.begin()? { self.length() } else { None };
        let Some(length) = length else {
            return match self.bytes.len() {
                // Some drivers, pgx among them, leave the mark out, and PostgreSQL takes that.
                0 if is_end && self.has_begun => Ok(None),
                _ if is_end => Err(SqlError::bad_copy(line, "the rows end without their mark")),
                MAX_ROW_BYTES.. => Err(SqlError::bad_copy(line, "the row has more than 16 MiB")),
                _ => Ok(None),
            };
        };
        let mut cursor = Cursor::new(self.bytes.split_to(length).freeze());
        let row = read_row(&mut cursor, line, loader)?;
        self.is_over = row.is_none();
        self.rows += 1;
        Ok(row.map(|row| (row, line)))
    }

    /// Reads the head; returns `false` if it has not come.
    fn begin(&mut self) -> Result<bool, SqlError> {
        let came = self.bytes.len().min(SIGNATURE.len());
        if self.bytes[..came] != SIGNATURE[..came] {
            return Err(SqlError::bad_copy(1, "the binary form begins with PGCOPY"));
        }
        let head = SIGNATURE.len() + 8;
        let Some(extension) = self.bytes.get(head - 4..head) else { return Ok(false) };
        let extension = extension.try_into().map_or(0, u32::from_be_bytes);
        if self.bytes[SIGNATURE.len()..head - 4] != [0; 4] || extension > 0 {
            return Err(SqlError::bad_copy(1, "the head has flags that are not known here"));
        }
        let _ = self.bytes.split_to(head);
        self.has_begun = true;
        Ok(true)
    }

    /// Returns the bytes of the next row, if all of them have come.
    fn length(&self) -> Option<usize> {
        let number = |at: usize| {
            let bytes = self.bytes.get(at..at.checked_add(4)?)?;
            Some(i32::from_be_bytes(bytes.try_into().ok()?))
        };
        let count = i16::from_be_bytes(self.bytes.get(..2)?.try_into().ok()?);
        let mut at = 2usize;
        for _ in 0..count.max(0) {
            let length = usize::try_from(number(at)?).unwrap_or(0);
            at = at.checked_add(4)?.checked_add(length)?;
        }
        (at <= self.bytes.len()).then_some(at)
    }
}

/// Reads a row; `None` for the mark of the end.
fn read_row(
    cursor: &mut Cursor,
    line: u64,
    loader: &Loader<'_>,
) -> Result<Option<Vec<ScalarValue>>, SqlError> {
    let malformed = |error: crate::wire::Malformed| SqlError::bad_copy(line, error.0);
    let fields = loader.fields();
    let count = cursor.i16().map_err(malformed)?;
    if count == -1 {
        return Ok(None);
    }
    if usize::try_from(count) != Ok(fields.len()) {
        let text = format!("the row has {count} values, and {} columns", fields.len());
        return Err(SqlError::bad_copy(line, &text));
    }
    let values = fields.iter().map(|field| {
        let bytes = cursor.value().map_err(malformed)?;
        decode::value_of_column(bytes.as_ref(), true, types::oid_of(field), field)
            .map_err(|error| error.into_sql().at_field(line, field.name()))
    });
    values.collect::<Result<_, _>>().map(Some)
}
