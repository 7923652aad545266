//! What is wrong with a text, where, and how it is shown to the person who wrote it.

use std::fmt;

/// A piece of a text: bytes from `start` up to `end`, which is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// From the beginning of this to the end of `last`.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageError {
    /// Where.
    pub span: Span,
    /// What, and what was expected.
    pub message: String,
    /// The mend, where there is one.
    pub suggestion: Option<String>,
}

/// Characters of a line that are shown at most, so that a statement on one long line stays readable.
const SHOWN_MAX: usize = 120;
/// Characters shown in front of the mistake if the line is longer.
const BEFORE_MAX: usize = 60;

impl LanguageError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), suggestion: None }
    }

    #[must_use]
    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// "did you mean", if there is a near word.
    #[must_use]
    pub(crate) fn near<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match halite_types::nearest::nearest(name, known.into_iter()) {
            Some(near) => self.suggest(format!("did you mean {near}?")),
            None => self,
        }
    }

    /// Line and column of the mistake in `source`, both counted from 1, the column in characters.
    pub fn position(&self, source: &str) -> (usize, usize) {
        let before = source.get(..self.span.start).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// The mistake with its line of `source` and a mark below it; several lines, the last without its end.
    pub fn render(&self, source: &str) -> String {
        let (number, column) = self.position(source);
        let line = source.split('\n').nth(number - 1).unwrap_or_default();
        let (shown, marked_from) = window(line, column - 1);
        let marks = source.get(self.span.start..self.span.end).unwrap_or_default();
        let marks = marks
            .split('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            .clamp(1, (shown.chars().count() - marked_from.min(shown.chars().count())).max(1));
        let gutter = " ".repeat(number.to_string().len());
        let hint = self.suggestion.as_ref().map_or_else(String::new, |hint| format!(" {hint}"));
        format!(
            "error: {}\n{gutter}--> line {number}, column {column}\n{gutter} |\n{number} | {shown}\n{gutter} | {}{}{hint}",
            self.message,
            " ".repeat(marked_from),
            "^".repeat(marks)
        )
    }

    /// The same as the error of a request: the mistake as [`Self::render`] shows it.
    pub fn into_invalid(self, source: &str) -> halite_types::Error {
        halite_types::Error::invalid(self.render(source))
    }
}

/// The part of a line that is shown, and where in it the character `at` stands.
fn window(line: &str, at: usize) -> (String, usize) {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let length = line.chars().count();
    if length <= SHOWN_MAX {
        return (line.trim_end().chars().map(plain).collect(), at);
    }
    let from = at.saturating_sub(BEFORE_MAX).min(length - SHOWN_MAX);
    let head = if from > 0 { "..." } else { "" };
    let tail = if from + SHOWN_MAX < length { "..." } else { "" };
    let middle: String = line.chars().skip(from).take(SHOWN_MAX).map(plain).collect();
    (format!("{head}{middle}{tail}"), at - from + head.len())
}

impl fmt::Display for LanguageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at byte {}: {}", self.span.start, self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(out, " ({suggestion})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for LanguageError {}
