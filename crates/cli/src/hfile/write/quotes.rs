//! Check of the quotes of a file while it is read: the parser takes the rest of the file as one
//! value if a quote is not closed.

use std::io::{Error, ErrorKind, Read, Result};

/// Maximum length of a line, including the line breaks inside quotes, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Place in a line, as the parser sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    ValueStart,
    Plain,
    Quoted,
    /// After a quote inside quotes, which ends the value or is the first of two.
    QuoteInQuotes,
}

/// Source of lines whose quotes are checked.
pub(super) struct CheckedQuotes<R> {
    source: R,
    separator: u8,
    quote: Option<u8>,
    place: Place,
    /// Number of the physical line, from 1, and of that in which the last quote was opened.
    line: u64,
    opened: u64,
    /// Bytes since the start of the line.
    line_bytes: u64,
    /// Bytes since the start of the file, at most 3.
    offset: usize,
}

impl<R: Read> CheckedQuotes<R> {
    /// Creates a source; `quote` is `None` if quotes are part of the values.
    pub(super) fn new(source: R, separator: u8, quote: Option<u8>) -> Self {
        Self {
            source,
            separator,
            quote,
            place: Place::ValueStart,
            line: 1,
            opened: 0,
            line_bytes: 0,
            offset: 0,
        }
    }

    fn check(&mut self, byte: u8) -> Result<()> {
        // A byte order mark at the start, which the parser skips.
        let is_mark = [0xef, 0xbb, 0xbf].get(self.offset) == Some(&byte);
        self.offset = (self.offset + 1).min(3);
        self.line_bytes += 1;
        let is_break = byte == b'\n' || byte == b'\r';
        self.line += u64::from(byte == b'\n');
        self.place = match self.place {
            Place::ValueStart if is_mark => Place::ValueStart,
            Place::ValueStart if Some(byte) == self.quote => {
                self.opened = self.line;
                Place::Quoted
            }
            Place::Quoted if Some(byte) == self.quote => Place::QuoteInQuotes,
            Place::Quoted => Place::Quoted,
            Place::QuoteInQuotes if Some(byte) == self.quote => Place::Quoted,
            Place::ValueStart | Place::Plain | Place::QuoteInQuotes if is_break => {
                self.line_bytes = 0;
                Place::ValueStart
            }
            Place::ValueStart | Place::Plain | Place::QuoteInQuotes if byte == self.separator => {
                Place::ValueStart
            }
            Place::QuoteInQuotes => {
                return Err(self.wrong("there is text after the closing quote"));
            }
            Place::ValueStart | Place::Plain => Place::Plain,
        };
        if self.line_bytes <= MAX_LINE_BYTES {
            return Ok(());
        }
        Err(if self.place == Place::Quoted {
            self.wrong("it has not ended after 64 MiB")
        } else {
            let text = format!("line {} is longer than 64 MiB; is the separator right?", self.line);
            Error::new(ErrorKind::InvalidData, text)
        })
    }

    fn wrong(&self, what: &str) -> Error {
        let text = format!(
            "the quoted value that begins in line {}: {what}; write a quote inside a value twice, \
             or give --quote none",
            self.opened
        );
        Error::new(ErrorKind::InvalidData, text)
    }
}

impl<R: Read> Read for CheckedQuotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.source.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.place == Place::Quoted {
            return Err(self.wrong("it has no closing quote"));
        }
        for &byte in &buffer[..count] {
            self.check(byte)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &[u8], quote: Option<u8>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        CheckedQuotes::new(text, b',', quote).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn well_formed_lines_pass_unchanged() {
        for text in [
            "k,a\nr1,\"x\"\nr2,\"a,\"\"b\"\"\nc\"\r\n,\n",
            "\u{feff}\"k\",a\n1,2",
            "k,a\nr,5\" pipe\n",
            "",
            "\"\"",
        ] {
            assert_eq!(checked(text.as_bytes(), Some(b'"')).unwrap(), text.as_bytes(), "{text:?}");
        }
        assert!(checked(b"k,a\nr,\"x\n", None).is_ok());
    }

    #[test]
    fn unclosed_quote_is_an_error_with_its_line() {
        let error = checked(b"k,a\nr1,\"x\nr2,b\n", Some(b'"')).unwrap_err().to_string();
        assert!(error.contains("begins in line 2: it has no closing quote"), "{error}");
        let error = checked(b"k,a\nr1,\"x\nr2,y\nr3,\"z\"\n", Some(b'"')).unwrap_err().to_string();
        assert!(error.contains("begins in line 2: there is text after"), "{error}");
    }

    #[test]
    fn endless_line_is_an_error() {
        let endless = std::io::repeat(b'x');
        let mut source = CheckedQuotes::new(endless, b',', Some(b'"'));
        let error = std::io::copy(&mut source, &mut std::io::sink()).unwrap_err().to_string();
        assert!(error.contains("line 1 is longer than 64 MiB"), "{error}");
    }
}
