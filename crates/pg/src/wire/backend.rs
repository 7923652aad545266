//! Messages of this server.

use bytes::{BufMut as _, BytesMut};

/// Collects messages to send.
#[derive(Default)]
pub(crate) struct Backend {
    buffer: BytesMut,
}

/// Column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnDescription {
    pub(crate) name: String,
    pub(crate) type_oid: u32,
    /// Bytes of the type; -1 for those of any length.
    pub(crate) type_bytes: i16,
    /// Detail of the type, such as the length of `CHAR(n)`; -1 for none.
    pub(crate) type_detail: i32,
    /// 0 for text, 1 for binary.
    pub(crate) format: i16,
}

/// How bad a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The statement failed.
    Error,
    /// The connection ends.
    Fatal,
    /// Something to pay attention to.
    Warning,
    /// Something to know.
    Notice,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
        }
    }
}

/// State of the transaction after a series of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TransactionState {
    /// None.
    #[default]
    Idle,
    /// Open.
    Open,
    /// Open, and a statement has failed.
    Failed,
}

impl Backend {
    /// Returns the bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the bytes, which the caller sends and removes.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Writes a message: its type, the length and the body.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut)) {
        self.buffer.put_u8(kind);
        let start = self.buffer.len();
        self.buffer.put_u32(0);
        body(&mut self.buffer);
        let length = u32::try_from(self.buffer.len() - start).unwrap_or(u32::MAX);
        self.buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Refuses TLS or GSSAPI.
    pub(crate) fn refused(&mut self) {
        self.buffer.put_u8(b'N');
    }

    /// Accepts TLS.
    pub(crate) fn accepted(&mut self) {
        self.buffer.put_u8(b'S');
    }

    /// Part of the authentication: its code and what belongs to it.
    pub(crate) fn authentication(&mut self, code: u32, data: &[u8]) {
        self.message(b'R', |body| {
            body.put_u32(code);
            body.put_slice(data);
        });
    }

    /// The protocol is spoken up to minor version 0, without these options.
    pub(crate) fn negotiate(&mut self, unknown: &[&str]) {
        self.message(b'v', |body| {
            body.put_u32(0);
            body.put_u32(u32::try_from(unknown.len()).unwrap_or(u32::MAX));
            unknown.iter().for_each(|name| text(body, name));
        });
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    pub(crate) fn key_data(&mut self, connection: u32, secret: u32) {
        self.message(b'K', |body| {
            body.put_u32(connection);
            body.put_u32(secret);
        });
    }

    pub(crate) fn ready(&mut self, state: TransactionState) {
        self.message(b'Z', |body| {
            body.put_u8(match state {
                TransactionState::Idle => b'I',
                TransactionState::Open => b'T',
                TransactionState::Failed => b'E',
            });
        });
    }

    pub(crate) fn parse_complete(&mut self) {
        self.message(b'1', |_| {});
    }

    pub(crate) fn bind_complete(&mut self) {
        self.message(b'2', |_| {});
    }

    pub(crate) fn close_complete(&mut self) {
        self.message(b'3', |_| {});
    }

    pub(crate) fn no_data(&mut self) {
        self.message(b'n', |_| {});
    }

    pub(crate) fn suspended(&mut self) {
        self.message(b's', |_| {});
    }

    pub(crate) fn empty_query(&mut self) {
        self.message(b'I', |_| {});
    }

    pub(crate) fn complete(&mut self, tag: &str) {
        // psql reads a number behind MOVE, and no other word.
        let tag = tag.strip_prefix("MOVE ROW").map_or(tag.into(), |rows| format!("MOVE{rows}"));
        self.message(b'C', |body| text(body, &tag));
    }

    /// Rows of COPY follow: `H` to the client, `G` from it.
    pub(crate) fn copy_response(&mut self, kind: u8, is_binary: bool, columns: usize) {
        self.message(kind, |body| {
            body.put_u8(u8::from(is_binary));
            let columns = i16::try_from(columns).unwrap_or(i16::MAX);
            body.put_i16(columns);
            (0..columns).for_each(|_| body.put_i16(i16::from(is_binary)));
        });
    }

    /// Row of COPY.
    pub(crate) fn copy_data(&mut self, row: &[u8]) {
        self.message(b'd', |body| body.put_slice(row));
    }

    pub(crate) fn copy_done(&mut self) {
        self.message(b'c', |_| {});
    }

    pub(crate) fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |body| {
            body.put_u16(u16::try_from(types.len()).unwrap_or(u16::MAX));
            types.iter().for_each(|oid| body.put_u32(*oid));
        });
    }

    pub(crate) fn row_description(&mut self, columns: &[ColumnDescription]) {
        self.message(b'T', |body| {
            body.put_u16(u16::try_from(columns.len()).unwrap_or(u16::MAX));
            for column in columns {
                text(body, &column.name);
                // Neither a table nor the number of a column in it.
                body.put_u32(0);
                body.put_i16(0);
                body.put_u32(column.type_oid);
                body.put_i16(column.type_bytes);
                body.put_i32(column.type_detail);
                body.put_i16(column.format);
            }
        });
    }

    /// Row of `columns` values, which `value` writes one after the other, each with its length.
    ///
    /// # Errors
    /// The error of a value; nothing of the row is left then.
    pub(crate) fn row<E>(
        &mut self,
        columns: usize,
        mut value: impl FnMut(usize, &mut BytesMut) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.buffer.len();
        let mut failed = None;
        self.message(b'D', |body| {
            body.put_u16(u16::try_from(columns).unwrap_or(u16::MAX));
            for column in 0..columns {
                if let Err(error) = value(column, body) {
                    failed = Some(error);
                    return;
                }
            }
        });
        match failed {
            None => Ok(()),
            Some(error) => {
                self.buffer.truncate(start);
                Err(error)
            }
        }
    }

    /// Error or notice. `position` is the number of the letter in the text of the client, from 1
    /// on.
    pub(crate) fn report(
        &mut self,
        severity: Severity,
        code: &str,
        what: &str,
        position: Option<usize>,
    ) {
        let kind = match severity {
            Severity::Error | Severity::Fatal => b'E',
            Severity::Warning | Severity::Notice => b'N',
        };
        self.message(kind, |body| {
            let mut field = |kind: u8, value: &str| {
                body.put_u8(kind);
                text(body, value);
            };
            field(b'S', severity.name());
            field(b'V', severity.name());
            field(b'C', code);
            field(b'M', what);
            if let Some(position) = position {
                field(b'P', &position.to_string());
            }
            body.put_u8(0);
        });
    }
}

/// Writes text with its end. A zero byte would end it before.
fn text(body: &mut BytesMut, value: &str) {
    for part in value.split('\0') {
        body.put_slice(part.as_bytes());
    }
    body.put_u8(0);
}

/// Returns the number of the letter at a line and a column of a statement, all from 1 on.
pub(crate) fn letter_at(statement: &str, (line, column): (u64, u64)) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let before: usize =
        statement.split('\n').take(line.checked_sub(1)?).map(|line| line.chars().count() + 1).sum();
    Some(before + column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_its_length() {
        let mut out = Backend::default();
        out.complete("SELECT 1");
        assert_eq!(out.buffer().as_ref(), b"C\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn failed_row_leaves_nothing() {
        let mut out = Backend::default();
        let failed = out.row(2, |column, body| {
            body.put_i32(-1);
            if column == 1 { Err("bad") } else { Ok(()) }
        });
        assert_eq!((failed, out.len()), (Err("bad"), 0));
    }

    #[test]
    fn places_are_counted_in_characters() {
        assert_eq!(letter_at("SELECT x", (1, 8)), Some(8));
        assert_eq!(letter_at("\u{e9}\nSELECT", (2, 3)), Some(5));
        assert_eq!(letter_at("", (0, 0)), None);
    }

    #[test]
    fn zero_bytes_do_not_end_a_text() {
        let mut out = Backend::default();
        out.complete("a\0b");
        assert_eq!(out.buffer().as_ref(), b"C\0\0\0\x07ab\0");
    }
}
