//! Java regular expression that a whole name must match, for lists of tables and similar names.

use halite_types::{Error, Result};
use regex_automata::meta::Regex;

use super::compiled_regex::{RegexBudget, RegexError, shortened};
use super::java_regex;

/// Java regular expression that matches a text as a whole or not at all (Java: `Matcher.matches`).
///
/// Matches in time linear to the text. Features that Java's engine supports only without that bound
/// are rejected.
#[derive(Clone, Debug)]
pub struct FullMatch(Regex);

impl FullMatch {
    /// Compiles an expression in Java's syntax.
    ///
    /// # Errors
    /// `InvalidRequest` with the unsupported or invalid feature.
    pub fn new(pattern: &str) -> Result<Self> {
        let refused = |reason: String| {
            Error::invalid(format!("regular expression {:?}: {reason}", shortened(pattern, 200)))
        };
        let mut room = RegexBudget::for_expressions(1);
        let translation =
            java_regex::translate(pattern, 0, &mut room.unicode_classes).map_err(refused)?;
        let java_regex::Translation { plain: Some(plain), last: None } = translation else {
            return Err(refused("look-behind is not supported".to_owned()));
        };
        room.compile(&format!(r"\A(?:{plain})\z")).map(Self).map_err(|refusal| match refusal {
            RegexError::Unknown(reason)
            | RegexError::TooLarge(reason)
            | RegexError::Wrong(reason) => refused(reason),
        })
    }

    /// Returns `true` if the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        FullMatch::new(pattern).unwrap().matches(text)
    }

    #[test]
    fn pattern_must_match_the_whole_text() {
        assert!(matches("t.*", "t1") && matches("ns:.*", "ns:t") && matches("a|ab", "ab"));
        assert!(!matches("t", "t1") && !matches(".*x|y", "yx2") && !matches("", "t"));
    }

    #[test]
    fn pattern_uses_java_syntax() {
        assert!(matches(r"\Qa.b\E.*", "a.bc") && matches("(?i)T1", "t1"));
        assert!(FullMatch::new("a(?<!b)$").is_err());
        assert!(FullMatch::new("(").is_err() && FullMatch::new(r"(a)\1").is_err());
    }
}
