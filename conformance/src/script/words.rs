//! The words of a command, read from the left.

use bytes::Bytes;

use super::Fault;
use super::text;

#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    words: std::iter::Peekable<std::str::SplitWhitespace<'a>>,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { words: line.split_whitespace().peekable() }
    }

    pub(super) fn peek(&mut self) -> Option<&'a str> {
        self.words.peek().copied()
    }

    /// Whether the command or the mutation in a block ends here.
    pub(super) fn at_end(&mut self) -> bool {
        matches!(self.peek(), None | Some(";" | "}"))
    }

    pub(super) fn next(&mut self) -> Result<&'a str, Fault> {
        self.words.next().ok_or_else(|| Fault::malformed("a word is missing at the end"))
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, Fault> {
        text::bytes(self.next()?)
    }

    pub(super) fn column(&mut self) -> Result<(Bytes, Bytes), Fault> {
        text::column(self.next()?)
    }

    pub(super) fn number(&mut self) -> Result<i64, Fault> {
        number(self.next()?)
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Fault> {
        let found = self.next()?;
        if found == word { Ok(()) } else { Err(Fault::malformed(format!("expected {word:?}, found {found:?}"))) }
    }

    /// Takes the next word if it is this one.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.words.next_if_eq(&word).is_some()
    }

    /// The value of `NAME=VALUE`, if that is the next word.
    pub(super) fn option(&mut self, name: &str) -> Option<&'a str> {
        let value = self.peek()?.strip_prefix(name)?.strip_prefix('=')?;
        self.words.next();
        Some(value)
    }

    /// The number of `@NUMBER`, if that is the next word.
    pub(super) fn timestamp(&mut self) -> Result<Option<i64>, Fault> {
        let Some(digits) = self.peek().and_then(|word| word.strip_prefix('@')) else { return Ok(None) };
        self.words.next();
        number(digits).map(Some)
    }

    /// Nothing may follow.
    pub(super) fn finish(mut self) -> Result<(), Fault> {
        self.peek().map_or(Ok(()), |word| Err(Fault::malformed(format!("{word:?} is left over"))))
    }
}

pub(super) fn number<T: std::str::FromStr>(word: &str) -> Result<T, Fault> {
    word.parse().map_err(|_| Fault::malformed(format!("{word:?} is no number that fits here")))
}
