//! Filters as the HBase shell writes them: `PrefixFilter('a') AND (ValueFilter(=, 'binary:b') OR SKIP ...)`. The language
//! is read by `halite_types`; here is how the shell tells what is wrong.

use halite_types::Filter;

use super::session::{Outcome, Stop};

/// Reads a filter.
///
/// # Errors
/// What is wrong, and at which column of the string.
pub(crate) fn parse(text: &[u8]) -> Outcome<Filter> {
    Filter::parse_bytes(text).map_err(|error| {
        let text = error.message();
        Stop::Problem(format!("FILTER: {}", text.strip_prefix("filter string, ").unwrap_or(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(Stop::Problem(text)) => text,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_form() {
        assert_eq!(error("PrefxFilter('a')"), "FILTER: column 1: there is no filter PrefxFilter; did you mean PrefixFilter?");
        assert!(error("KeyOnlyFilter() KeyOnlyFilter()").starts_with("FILTER: column 17: "));
        assert!(error("PageFilter(-1)").ends_with("; it is written PageFilter(rows)"));
        assert!(error(&"(".repeat(100_000)).contains("inside one another"));
        assert_eq!(parse(b"PrefixFilter('\x00\xff')").ok(), Some(Filter::Prefix((&b"\x00\xff"[..]).into())));
    }
}
