//! Compiling regular expressions within what one request may take: a filter of a few kilobytes can name hundreds of them,
//! each of which would be allowed megabytes alone.

use regex_automata::meta::{BuildError, Regex};
use regex_automata::nfa::thompson::WhichCaptures;

/// Bytes of all expressions of one filter, compiled.
const COMPILED_BYTES_MAX: usize = 16 << 20;
/// Bytes an expression takes beside what it counts itself: what it remembers of its text, and a place for the caches of
/// its threads.
const EXPRESSION_BYTES: usize = 4 << 10;
/// Bytes of the tables that all of them together fill in while they are matched, for each thread that does that, and of one of them.
const CACHE_BYTES_MAX: usize = 16 << 20;
const CACHE_BYTES_EACH_MAX: usize = 2 << 20;
/// Characters that are told of why an expression cannot be compiled: the reason repeats it.
const REASON_CHARS_MAX: usize = 600;

/// What is left for the expressions of one filter.
pub(super) struct Room {
    bytes: usize,
    /// Tables of Unicode so far, for [`java_regex::translate`](super::java_regex::translate).
    pub(super) unicode_classes: usize,
    cache_bytes_each: usize,
}

/// Why there is no such expression.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Java may know it and this does not.
    Unknown(String),
    /// It is too large, alone or together with the others.
    TooLarge(String),
    /// It is wrong in a way that only the engine behind has found.
    Wrong(String),
}

impl Room {
    /// Room for so many expressions together, and at least for one.
    pub(super) fn for_expressions(count: usize) -> Self {
        Self { bytes: COMPILED_BYTES_MAX, unicode_classes: 0, cache_bytes_each: (CACHE_BYTES_MAX / count.max(1)).min(CACHE_BYTES_EACH_MAX) }
    }

    /// Compiles an expression, for the question whether it matches.
    pub(super) fn compile(&mut self, text: &str) -> Result<Regex, Refusal> {
        let left = self.bytes.checked_sub(EXPRESSION_BYTES).ok_or_else(too_large)?;
        let config = Regex::config().which_captures(WhichCaptures::None).nfa_size_limit(Some(left)).hybrid_cache_capacity(self.cache_bytes_each);
        let regex = Regex::builder().configure(config).build(text).map_err(|error| refusal(&error))?;
        self.bytes = left.checked_sub(regex.memory_usage()).ok_or_else(too_large)?;
        Ok(regex)
    }
}

fn too_large() -> Refusal {
    let text = format!("the regular expressions of one filter may take {COMPILED_BYTES_MAX} bytes together, compiled, and these take more");
    Refusal::TooLarge(text)
}

fn refusal(error: &BuildError) -> Refusal {
    match error.syntax_error() {
        _ if error.size_limit().is_some() => too_large(),
        Some(wrong) => Refusal::Wrong(shortened(&wrong.to_string(), REASON_CHARS_MAX)),
        None => Refusal::Wrong(error.to_string()),
    }
}

/// The beginning of a text that may be long.
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
    fn expressions_share_their_room() {
        let mut room = Room::for_expressions(500);
        let fit = (0..500).take_while(|_| room.compile(r"\pL{50}").is_ok()).count();
        assert!((5..100).contains(&fit), "{fit}");
        assert!(matches!(room.compile(r"\pL{50}"), Err(Refusal::TooLarge(text)) if text.contains("16777216 bytes together")));
        // What is left goes to small ones.
        assert!(room.compile("^a.*b$").unwrap().is_match("a-b"));
    }

    #[test]
    fn there_is_room_for_a_thousand_ordinary_expressions_and_not_for_any_number() {
        let mut room = Room::for_expressions(100_000);
        let fit = (0..100_000).take_while(|number| room.compile(&format!("^user{number}-.*[0-9]+")).is_ok()).count();
        assert!((1000..5000).contains(&fit), "{fit}");
    }
}
