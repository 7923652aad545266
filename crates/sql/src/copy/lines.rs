//! Text and CSV to fields, as the bytes come.
//!
//! The end of a row is looked for once in each byte, so that a row that comes in many pieces costs
//! no more than its bytes; then its fields are read.

use super::statement::{CopyFormat, CopyOptions, Header};
use crate::error::{Result, SqlError, SqlState};

/// Bytes of a row.
const MAX_ROW_BYTES: usize = 16 << 20;
/// Fields of a row.
const MAX_FIELDS: usize = 10_000;

/// Row of fields, `None` for NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Line on which the row begins, from 1 on.
    pub line: u64,
    /// The fields.
    pub fields: Vec<Option<String>>,
}

/// Splits bytes into rows.
#[derive(Debug)]
pub struct Lines {
    options: CopyOptions,
    buffer: Vec<u8>,
    /// Bytes of rows that were returned.
    taken: usize,
    /// Bytes in which no end of a row is.
    scanned: usize,
    is_quoted: bool,
    /// Line of the next row.
    line: u64,
    /// `true` after the mark of the end.
    is_over: bool,
    /// What the first line has besides rows.
    header: Header,
}

impl Lines {
    /// Creates a reader for a form other than binary.
    pub fn new(options: CopyOptions) -> Self {
        Self {
            buffer: Vec::new(),
            taken: 0,
            scanned: 0,
            is_quoted: false,
            line: 1,
            is_over: false,
            header: options.header,
            options,
        }
    }

    /// Adds bytes. Rows are to be taken in between, so that they do not gather.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        self.buffer.drain(..self.taken);
        self.scanned -= self.taken;
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns `true` after the mark of the end, `\.`: what follows is not read.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the next row behind the header; `None` if it has not come to its end. With `is_end`,
    /// no more bytes follow. `columns` are those that the header should name.
    ///
    /// # Errors
    /// As [`Self::next_row`]; `BadCopyData` for other names, if the statement says MATCH.
    pub fn next_of_rows<'c>(
        &mut self,
        is_end: bool,
        mut columns: impl Iterator<Item = &'c str>,
    ) -> Result<Option<Fields>> {
        let row = self.next_row(is_end)?;
        if self.header == Header::No {
            return Ok(row);
        }
        let Some(names) = row else { return Ok(None) };
        let header = std::mem::replace(&mut self.header, Header::No);
        let mut given = names.fields.iter();
        let is_next =
            |column: &str| given.next().is_some_and(|name| name.as_deref() == Some(column));
        let are_named = columns.all(is_next) && given.next().is_none();
        if header == Header::Match && !are_named {
            let text = "the names of the header are not those of the columns";
            return Err(SqlError::bad_copy(names.line, text));
        }
        self.next_row(is_end)
    }

    /// Returns the next row, or the header; `None` if it has not come to its end.
    ///
    /// # Errors
    /// `BadCopyData` and `NotInEncoding` with the line; `LimitExceeded` for a row over 16 MiB.
    fn next_row(&mut self, is_end: bool) -> Result<Option<Fields>> {
        if self.is_over {
            return Ok(None);
        }
        let (end, next) = match self.end_of_row() {
            Some(at) => (at, at + 1),
            None if self.buffer.len() - self.taken > MAX_ROW_BYTES => {
                let text = format!("line {}: the row has more than 16 MiB", self.line);
                return Err(SqlError::new(SqlState::LimitExceeded, text));
            }
            None if !is_end || self.taken == self.buffer.len() => return Ok(None),
            None if self.is_quoted => {
                return Err(SqlError::bad_copy(self.line, "a quote of the row is not closed"));
            }
            None => (self.buffer.len(), self.buffer.len()),
        };
        let row = &self.buffer[self.taken..end];
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        let line = self.line;
        if row == b"\\." {
            self.is_over = true;
            self.buffer.clear();
            (self.taken, self.scanned) = (0, 0);
            return Ok(None);
        }
        let fields = match self.options.format {
            CopyFormat::Csv => csv_fields(row, &self.options),
            CopyFormat::Text | CopyFormat::Binary => text_fields(row, &self.options),
        };
        let fields = fields.map_err(|wrong| wrong.at_line(line))?;
        let ends = row.split(|byte| *byte == b'\n').count();
        self.line += u64::try_from(ends).unwrap_or(1);
        (self.taken, self.scanned) = (next, next);
        Ok(Some(Fields { line, fields }))
    }

    /// Returns the place of the end of the row, and remembers how far it was looked for.
    fn end_of_row(&mut self) -> Option<usize> {
        let CopyOptions { quote, escape, .. } = self.options;
        let is_csv = self.options.format == CopyFormat::Csv;
        while let Some(byte) = self.buffer.get(self.scanned).copied() {
            match byte {
                b'\n' if !self.is_quoted => return Some(self.scanned),
                // It belongs to the letter after it.
                b'\\' if !is_csv => {
                    if self.scanned + 1 == self.buffer.len() {
                        return None;
                    }
                    self.scanned += 1;
                }
                byte if is_csv && self.is_quoted && byte == escape && escape != quote => {
                    if self.scanned + 1 == self.buffer.len() {
                        return None;
                    }
                    self.scanned += 1;
                }
                byte if is_csv && byte == quote => self.is_quoted = !self.is_quoted,
                _ => {}
            }
            self.scanned += 1;
        }
        None
    }
}

/// What is wrong with a row.
#[derive(Debug)]
enum Wrong {
    Form(&'static str),
    Encoding,
}

impl Wrong {
    fn at_line(&self, line: u64) -> SqlError {
        match self {
            Self::Form(what) => SqlError::bad_copy(line, what),
            Self::Encoding => {
                let text = format!("line {line}: the text is not UTF-8, or has the letter U+0000");
                SqlError::new(SqlState::NotInEncoding, text)
            }
        }
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, Wrong> {
    if bytes.contains(&0) {
        return Err(Wrong::Encoding);
    }
    String::from_utf8(bytes).map_err(|_| Wrong::Encoding)
}

/// A row of separators alone would have millions of fields.
fn check_number(fields: &[Option<String>]) -> Result<(), Wrong> {
    if fields.len() < MAX_FIELDS {
        Ok(())
    } else {
        Err(Wrong::Form("the row has over 10,000 fields"))
    }
}

fn text_fields(row: &[u8], options: &CopyOptions) -> Result<Vec<Option<String>>, Wrong> {
    let mut fields = Vec::new();
    let mut start = 0;
    loop {
        check_number(&fields)?;
        let mut end = start;
        while let Some(byte) = row.get(end).copied().filter(|byte| *byte != options.delimiter) {
            end += if byte == b'\\' { 2 } else { 1 };
        }
        let end = end.min(row.len());
        let field = &row[start..end];
        fields.push(if field == options.null.as_bytes() {
            None
        } else {
            Some(text_of(unescaped(field)?)?)
        });
        if end == row.len() {
            return Ok(fields);
        }
        start = end + 1;
    }
}

/// Reads the escapes of the text form.
fn unescaped(field: &[u8]) -> Result<Vec<u8>, Wrong> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let letter = rest.next().ok_or(Wrong::Form("the row ends in a backslash"))?;
        bytes.push(match letter {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                let mut value = u32::from(letter - b'0');
                for _ in 0..2 {
                    let digit = rest.next_if(|byte| (b'0'..=b'7').contains(byte));
                    value = digit.map_or(value, |digit| value * 8 + u32::from(digit - b'0'));
                }
                u8::try_from(value & 0xff).unwrap_or(0)
            }
            b'x' => hex(&mut rest).unwrap_or(b'x'),
            other => other,
        });
    }
    Ok(bytes)
}

/// Reads one or two hexadecimal digits.
fn hex(rest: &mut std::iter::Peekable<impl Iterator<Item = u8>>) -> Option<u8> {
    let mut digit = || {
        let byte = rest.next_if(u8::is_ascii_hexdigit)?;
        char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
    };
    let first = digit()?;
    Some(digit().map_or(first, |second| first * 16 + second))
}

fn csv_fields(row: &[u8], options: &CopyOptions) -> Result<Vec<Option<String>>, Wrong> {
    let mut fields = Vec::new();
    let (mut bytes, mut was_quoted, mut is_quoted, mut at) = (Vec::new(), false, false, 0);
    while let Some(byte) = row.get(at).copied() {
        at += 1;
        if is_quoted {
            let follows = row.get(at).copied();
            if byte == options.escape
                && follows.is_some_and(|next| next == options.quote || next == options.escape)
            {
                bytes.extend(follows);
                at += 1;
            } else if byte == options.quote {
                is_quoted = false;
            } else {
                bytes.push(byte);
            }
        } else if byte == options.quote {
            (is_quoted, was_quoted) = (true, true);
        } else if byte == options.delimiter {
            check_number(&fields)?;
            fields.push(csv_field(std::mem::take(&mut bytes), was_quoted, options)?);
            was_quoted = false;
        } else {
            bytes.push(byte);
        }
    }
    if is_quoted {
        return Err(Wrong::Form("a quote of the row is not closed"));
    }
    fields.push(csv_field(bytes, was_quoted, options)?);
    Ok(fields)
}

fn csv_field(
    bytes: Vec<u8>,
    was_quoted: bool,
    options: &CopyOptions,
) -> Result<Option<String>, Wrong> {
    if !was_quoted && bytes == options.null.as_bytes() {
        return Ok(None);
    }
    text_of(bytes).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::statement::CopyStatement;
    use super::*;

    fn options(text: &str) -> CopyOptions {
        CopyStatement::read(&format!("COPY t FROM STDIN {text}")).unwrap().options
    }

    /// Reads bytes in pieces of a length.
    fn rows(options: &CopyOptions, bytes: &[u8], piece: usize) -> Result<Vec<(u64, String)>> {
        let mut lines = Lines::new(options.clone());
        let mut found = Vec::new();
        let mut take = |lines: &mut Lines, is_end| -> Result<()> {
            while let Some(row) = lines.next_row(is_end)? {
                let shown = row.fields.iter().map(|field| field.as_deref().unwrap_or("NULL"));
                found.push((row.line, shown.collect::<Vec<_>>().join("|")));
            }
            Ok(())
        };
        for piece in bytes.chunks(piece) {
            lines.push(piece);
            take(&mut lines, false)?;
        }
        take(&mut lines, true)?;
        Ok(found)
    }

    fn check(option: &str, bytes: &[u8], expected: &[(u64, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(at, row)| (*at, (*row).to_owned())).collect();
        for piece in [1, 3, 1000] {
            assert_eq!(rows(&options(option), bytes, piece).unwrap(), expected, "{piece}");
        }
    }

    #[test]
    fn text_is_read_however_it_is_cut() {
        check(
            "",
            b"1\ta\\tb\\\\\\x41\\101\\q\n2\t\\N\r\n3\t",
            &[(1, "1|a\tb\\AAq"), (2, "2|NULL"), (3, "3|")],
        );
        check("", b"1\ta\\\nb\n2\tc\n\\.\nrest", &[(1, "1|a\nb"), (3, "2|c")]);
        check("(DELIMITER ';', NULL '')", b"1;;\\;x\n", &[(1, "1|NULL|;x")]);
        check("", b"", &[]);
    }

    #[test]
    fn csv_is_read_however_it_is_cut() {
        check(
            "csv",
            b"1,\"a \"\"b\"\"\n,c\",\n2,\"\",x\r\n",
            &[(1, "1|a \"b\"\n,c|NULL"), (3, "2||x")],
        );
        check("csv quote '''' escape '~'", b"'a~'b~~',~\n", &[(1, "a'b~|~")]);
        check("csv null 'n'", b"n,\"n\",\n", &[(1, "NULL|n|")]);
    }

    #[test]
    fn bad_rows_have_their_lines() {
        for (option, bytes, expected) in [
            ("csv", &b"1\n\"a\nb"[..], "22P04: line 2: a quote of the row is not closed"),
            ("", b"1\n2\\", "22P04: line 2: the row ends in a backslash"),
            ("", b"\xff\n", "22021: line 1: the text is not UTF-8, or has the letter U+0000"),
            ("", b"\\0\n", "22021: line 1: the text is not UTF-8, or has the letter U+0000"),
        ] {
            let error = rows(&options(option), bytes, 2).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        let long = vec![b'x'; MAX_ROW_BYTES + 1];
        let error = rows(&options(""), &long, 1 << 20).unwrap_err();
        assert_eq!(error.state, SqlState::LimitExceeded);
    }
}
