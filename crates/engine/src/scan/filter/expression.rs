//! Java regular expression that is searched in a text (Java: `Matcher.find`).
//!
//! It may end with `(?<!TEXT)$`, the only lookbehind that HBase's own clients send. A `QuotaFilter`
//! uses it to request the quotas of a user on tables and not on namespaces, whose names end with a
//! colon (HBase: `QuotaTableUtil`). A match up to the end of a text that does not end with TEXT can
//! be decided without lookbehind.

use regex_automata::meta::Regex;

use super::compiled_regex::{RegexBudget, RegexError};
use super::java_regex::{self, NegativeLookbehind, Translation};

/// Compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    plain: Option<Regex>,
    /// Expression that must match up to the end, and the text that must not be there.
    last: Option<(Regex, NegativeLookbehind)>,
}

impl Expression {
    /// Compiles an expression in Java's syntax, with the flags of `java.util.regex.Pattern`; uses a
    /// part of `room`.
    pub(super) fn new(
        pattern: &str,
        flags: u32,
        room: &mut RegexBudget,
    ) -> Result<Self, RegexError> {
        let Translation { plain, last } =
            java_regex::translate(pattern, flags, &mut room.unicode_classes)
                .map_err(RegexError::Unknown)?;
        let plain = plain.map(|plain| room.compile(&plain)).transpose()?;
        let last = last
            .map(|last| Ok((room.compile(&format!(r"(?:{})\z", last.expression))?, last)))
            .transpose()?;
        Ok(Self { plain, last })
    }

    /// Returns `true` if it matches anywhere in the text.
    pub(super) fn occurs_in(&self, text: &str) -> bool {
        let ends = |(to_end, last): &(Regex, NegativeLookbehind)| {
            let is_end = |text: &str| !text.ends_with(&last.text) && to_end.is_match(text);
            is_end(text) || without_line_end(text, last.unix_lines).is_some_and(is_end)
        };
        self.plain.as_ref().is_some_and(|plain| plain.is_match(text))
            || self.last.as_ref().is_some_and(ends)
    }
}

/// Returns the text before a final line end; Java's `$` matches there too.
fn without_line_end(text: &str, unix_lines: bool) -> Option<&str> {
    let ends = ["\r\n", "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"];
    if unix_lines {
        text.strip_suffix('\n')
    } else {
        ends.iter().find_map(|end| text.strip_suffix(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurs(pattern: &str, text: &str) -> bool {
        Expression::new(pattern, 0, &mut RegexBudget::for_expressions(1)).unwrap().occurs_in(text)
    }

    /// Pattern that `QuotaTableUtil` creates from the name of a table in a `QuotaFilter`.
    #[test]
    fn user_table_quotas_are_distinguished_from_namespace_quotas() {
        let any = r"^\Qs.\E.*(?<!\Q:\E)$";
        assert!(occurs(any, "s.t") && occurs(any, "s.ns:t") && occurs(any, "s.ns:t\n"));
        assert!(
            !occurs(any, "s.ns:")
                && !occurs(any, "s.ns:\n")
                && !occurs(any, "s")
                && !occurs(any, "u.t")
        );
        let some = r"^\Qs.\Et1|t2(?<!\Q:\E)$";
        assert!(occurs(some, "s.t1:") && occurs(some, "x.t2") && !occurs(some, "s.t2:"));
        assert!(
            occurs(r"^\Qs.\E(t1|ns:t2)(?<!:)$", "s.ns:t2")
                && !occurs(r"^\Qs.\E(t1|ns:)(?<!:)$", "s.ns:")
        );
    }

    #[test]
    fn alternative_keeps_preceding_flags() {
        assert!(
            occurs("(?i)a|b(?<!1)$", "B")
                && occurs("(?i:a|x)|b(?<!1)$", "b")
                && !occurs("(?i:a)|b(?<!1)$", "B")
        );
        assert!(occurs("a(?d)b|c(?<!1)$", "c\n") && !occurs("a(?d)b|c(?<!1)$", "c\r"));
    }

    #[test]
    fn other_lookbehind_is_rejected() {
        for pattern in [
            "a(?<!b)",
            "a(?<!b)$c",
            "a(?<!b|c)$",
            "(a(?<!b)$)",
            "(?i)a(?<!b)$",
            "a(?<!.)$",
            "(?m)a(?<!b)$",
            "a(?<=b)$",
            r"a(?<!\Qb)$",
        ] {
            assert!(
                matches!(Expression::new(pattern, 0, &mut RegexBudget::for_expressions(1)), Err(RegexError::Unknown(why)) if why.contains("look-")),
                "{pattern}"
            );
        }
    }
}
