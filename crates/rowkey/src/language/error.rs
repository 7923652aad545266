//! Errors in a text, with their position and a readable form.

use std::fmt;

/// Part of a text: bytes from `start` (inclusive) to `end` (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// End, exclusive.
    pub end: usize,
}

impl Span {
    /// Returns the span from the start of this one to the end of `last`.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }
}

/// Error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageError {
    /// Position.
    pub span: Span,
    /// Reason, and the expected input.
    pub message: String,
    /// Fix, if there is one.
    pub suggestion: Option<String>,
}

/// Maximum characters of a line that are printed, so that a statement on one long line is readable.
const MAX_LINE_CHARS: usize = 120;
/// Characters printed before the error if the line is longer.
const MAX_BEFORE_CHARS: usize = 60;

impl LanguageError {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), suggestion: None }
    }

    #[must_use]
    pub(crate) fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds "did you mean" if a known name is similar.
    #[must_use]
    pub(crate) fn near<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match halite_types::suggest::closest_match(name, known.into_iter()) {
            Some(near) => self.suggest(format!("did you mean {near}?")),
            None => self,
        }
    }

    /// Returns line and column of the error in `source`, both counted from 1, the column in
    /// characters.
    pub fn position(&self, source: &str) -> (usize, usize) {
        let before = source.get(..self.span.start).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// Formats the error with its line of `source` and a marker below it; several lines, without a
    /// final line break.
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
            "error: {}\n{gutter}--> line {number}, column {column}\n{gutter} |\n{number} | \
             {shown}\n{gutter} | {}{}{hint}",
            self.message,
            " ".repeat(marked_from),
            "^".repeat(marks)
        )
    }

    /// Converts to the error of a request, with the text of [`Self::render`].
    pub fn into_invalid(self, source: &str) -> halite_types::Error {
        halite_types::Error::invalid(self.render(source))
    }
}

/// Returns the printed part of a line, and the index in it of the character at `at`.
fn window(line: &str, at: usize) -> (String, usize) {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let length = line.chars().count();
    if length <= MAX_LINE_CHARS {
        return (line.trim_end().chars().map(plain).collect(), at);
    }
    let from = at.saturating_sub(MAX_BEFORE_CHARS).min(length - MAX_LINE_CHARS);
    let head = if from > 0 { "..." } else { "" };
    let tail = if from + MAX_LINE_CHARS < length { "..." } else { "" };
    let middle: String = line.chars().skip(from).take(MAX_LINE_CHARS).map(plain).collect();
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
