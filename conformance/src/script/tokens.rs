//! Tokenizer of the words of a command, from left to right.

use bytes::Bytes;

use super::error::CommandError;
use super::text;

#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    tokens: std::iter::Peekable<std::str::SplitWhitespace<'a>>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { tokens: line.split_whitespace().peekable() }
    }

    pub(super) fn peek(&mut self) -> Option<&'a str> {
        self.tokens.peek().copied()
    }

    /// Returns `true` at the end of the command or of a mutation in a block.
    pub(super) fn at_end(&mut self) -> bool {
        matches!(self.peek(), None | Some(";" | "}"))
    }

    pub(super) fn next(&mut self) -> Result<&'a str, CommandError> {
        self.tokens.next().ok_or_else(|| CommandError::malformed("missing word at the end"))
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, CommandError> {
        text::bytes(self.next()?)
    }

    pub(super) fn column(&mut self) -> Result<(Bytes, Bytes), CommandError> {
        text::column(self.next()?)
    }

    pub(super) fn number(&mut self) -> Result<i64, CommandError> {
        number(self.next()?)
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), CommandError> {
        let found = self.next()?;
        if found == word {
            Ok(())
        } else {
            Err(CommandError::malformed(format!("expected {word:?}, found {found:?}")))
        }
    }

    /// Consumes the next word if it equals `word`.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.tokens.next_if_eq(&word).is_some()
    }

    /// Consumes `NAME=VALUE` and returns its value, if that is the next word.
    pub(super) fn option(&mut self, name: &str) -> Option<&'a str> {
        let value = self.peek()?.strip_prefix(name)?.strip_prefix('=')?;
        self.tokens.next();
        Some(value)
    }

    /// Consumes `@NUMBER` and returns the number, if that is the next word.
    pub(super) fn timestamp(&mut self) -> Result<Option<i64>, CommandError> {
        let Some(digits) = self.peek().and_then(|word| word.strip_prefix('@')) else {
            return Ok(None);
        };
        self.tokens.next();
        number(digits).map(Some)
    }

    /// Checks that no words follow.
    pub(super) fn finish(mut self) -> Result<(), CommandError> {
        self.peek().map_or(Ok(()), |word| {
            Err(CommandError::malformed(format!("unexpected word {word:?}")))
        })
    }
}

pub(super) fn number<T: std::str::FromStr>(word: &str) -> Result<T, CommandError> {
    word.parse().map_err(|_| CommandError::malformed(format!("invalid number {word:?}")))
}
