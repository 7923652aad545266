//! Filters in HBase shell syntax: `PrefixFilter('a') AND (ValueFilter(=, 'binary:b') OR SKIP ...)`.
//! The parser is in `halite_types`; this module formats its errors for the shell.

use halite_types::Filter;

use super::session::{EvalResult, Interrupt};

/// Parses a filter.
///
/// # Errors
/// Returns the error and its column in the string.
pub(crate) fn parse(text: &[u8]) -> EvalResult<Filter> {
    Filter::parse_bytes(text).map_err(|error| {
        let text = error.message();
        Interrupt::Problem(format!(
            "FILTER: {}",
            text.strip_prefix("filter string, ").unwrap_or(text)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(Interrupt::Problem(text)) => text,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn filter_error_contains_column_and_expected_form() {
        assert_eq!(
            error("PrefxFilter('a')"),
            "FILTER: column 1: unknown filter PrefxFilter; did you mean PrefixFilter?"
        );
        assert!(error("KeyOnlyFilter() KeyOnlyFilter()").starts_with("FILTER: column 17: "));
        assert!(error("PageFilter(-1)").ends_with("; the form is PageFilter(rows)"));
        assert!(error(&"(".repeat(100_000)).contains("nested filters"));
        assert_eq!(
            parse(b"PrefixFilter('\x00\xff')").ok(),
            Some(Filter::Prefix((&b"\x00\xff"[..]).into()))
        );
    }
}
