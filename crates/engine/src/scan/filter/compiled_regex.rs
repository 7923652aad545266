//! Compilation of regular expressions within the limits of one request. A filter of a few kilobytes
//! can contain hundreds of them, each of which would be allowed megabytes alone.

use regex_automata::meta::{BuildError, Regex};
use regex_automata::nfa::thompson::WhichCaptures;

/// Maximum bytes of all compiled expressions of one filter.
const MAX_COMPILED_BYTES: usize = 16 << 20;
/// Bytes of an expression in addition to its own count: its retained text, and a slot for the
/// caches of its threads.
const EXPRESSION_BYTES: usize = 4 << 10;
/// Maximum bytes of the tables that all expressions together fill in during matching, for each
/// matching thread, and of one expression.
const MAX_TOTAL_CACHE_BYTES: usize = 16 << 20;
const MAX_CACHE_BYTES_PER_REGEX: usize = 2 << 20;
/// Maximum characters of the error for an expression that cannot be compiled; the error repeats the
/// expression.
const MAX_REASON_CHARS: usize = 600;

/// Remaining budget for the expressions of one filter.
pub(super) struct RegexBudget {
    bytes: usize,
    /// Unicode tables so far, for [`java_regex::translate`](super::java_regex::translate).
    pub(super) unicode_classes: usize,
    cache_bytes_per_regex: usize,
}

/// Reason that an expression cannot be compiled.
#[derive(Debug)]
pub(super) enum RegexError {
    /// Not supported here, but possibly valid in Java.
    Unknown(String),
    /// Too large, alone or together with the others.
    TooLarge(String),
    /// Invalid in a way that only the underlying engine detects.
    Wrong(String),
}

impl RegexBudget {
    /// Returns the budget for `count` expressions together, and at least for one.
    pub(super) fn for_expressions(count: usize) -> Self {
        Self {
            bytes: MAX_COMPILED_BYTES,
            unicode_classes: 0,
            cache_bytes_per_regex: (MAX_TOTAL_CACHE_BYTES / count.max(1))
                .min(MAX_CACHE_BYTES_PER_REGEX),
        }
    }

    /// Compiles an expression, to test for matches only.
    pub(super) fn compile(&mut self, text: &str) -> Result<Regex, RegexError> {
        let left = self.bytes.checked_sub(EXPRESSION_BYTES).ok_or_else(too_large)?;
        let config = Regex::config()
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(left))
            .hybrid_cache_capacity(self.cache_bytes_per_regex);
        let regex =
            Regex::builder().configure(config).build(text).map_err(|error| regex_error(&error))?;
        self.bytes = left.checked_sub(regex.memory_usage()).ok_or_else(too_large)?;
        Ok(regex)
    }
}

fn too_large() -> RegexError {
    let text = format!(
        "the regular expressions of one filter may take {MAX_COMPILED_BYTES} bytes together, \
         compiled, and these take more"
    );
    RegexError::TooLarge(text)
}

fn regex_error(error: &BuildError) -> RegexError {
    match error.syntax_error() {
        _ if error.size_limit().is_some() => too_large(),
        Some(wrong) => RegexError::Wrong(shortened(&wrong.to_string(), MAX_REASON_CHARS)),
        None => RegexError::Wrong(error.to_string()),
    }
}

/// Returns the start of a text that may be long.
pub(super) fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_share_their_memory_budget() {
        let mut room = RegexBudget::for_expressions(500);
        let fit = (0..500).take_while(|_| room.compile(r"\pL{50}").is_ok()).count();
        assert!((5..100).contains(&fit), "{fit}");
        assert!(
            matches!(room.compile(r"\pL{50}"), Err(RegexError::TooLarge(text)) if text.contains("16777216 bytes together"))
        );
        // Small expressions use the remaining budget.
        assert!(room.compile("^a.*b$").unwrap().is_match("a-b"));
    }

    #[test]
    fn budget_fits_thousands_of_ordinary_expressions() {
        let mut room = RegexBudget::for_expressions(100_000);
        let fit = (0..100_000)
            .take_while(|number| room.compile(&format!("^user{number}-.*[0-9]+")).is_ok())
            .count();
        assert!((1000..5000).contains(&fit), "{fit}");
    }
}
