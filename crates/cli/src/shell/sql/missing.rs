//! SQL in a build without it.

use crate::shell::session::{EvalResult, Interrupt, Session};

/// Returns `true`: what does not run is not continued on the next line.
pub(in crate::shell) fn is_ended(_text: &str) -> bool {
    true
}

/// Fails with the way to get SQL.
pub(in crate::shell) fn run(_session: &mut Session<'_>, text: &str) -> EvalResult {
    Err(Interrupt::Problem(how_to_get(text)))
}

fn how_to_get(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    format!(
        "{word} is SQL, which this build has not: cargo build --release --features sql builds it \
         (docs/sql.md). Without it, scan 'table', {{LIMIT => 10}} shows rows, and halite key scan \
         asks by the fields of a key"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_says_how_to_get_sql() {
        let text = how_to_get("select 1;");
        assert!(text.starts_with("SELECT is SQL, which this build has not: cargo build"), "{text}");
        assert!(is_ended("SELECT"));
    }
}
