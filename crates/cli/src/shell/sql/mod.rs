//! SQL among the shell's commands: `SELECT ..;` and its kin run where SQL is built in, and say
//! elsewhere how to get it.
//!
//! Their first word distinguishes them from commands, and a semicolon ends them. Statements that
//! the row-key language has too (`CREATE TABLE`) belong to that.

#[cfg(feature = "sql")]
mod built_in;
#[cfg(any(not(feature = "sql"), test))]
#[cfg_attr(feature = "sql", allow(dead_code, reason = "its tests run in every build"))]
mod missing;

#[cfg(feature = "sql")]
pub(super) use built_in::{SqlRunner, is_ended, run};
#[cfg(not(feature = "sql"))]
pub(super) use missing::{is_ended, run};

/// First words of statements; no command of the shell has these names.
const BEGINNINGS: [&str; 7] = ["SELECT", "INSERT", "UPSERT", "UPDATE", "EXPLAIN", "WITH", "VALUES"];

/// Returns `true` if the input starts a statement of SQL. `select = 5` sets a variable.
pub(super) fn begins(text: &str) -> bool {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is = |beginning: &&str| word.eq_ignore_ascii_case(beginning);
    let next = rest.trim_start();
    if BEGINNINGS.iter().any(is) {
        return !next.starts_with(['=', '.', ',']) && (rest.is_empty() || next.len() < rest.len());
    }
    let behind = next.get(..4).unwrap_or_default();
    is(&"DELETE") && next.len() < rest.len() && behind.eq_ignore_ascii_case("FROM")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_distinguished_from_commands() {
        for text in [
            "SELECT 1",
            "select\n* from t;",
            "  insert into t (a) values (1);",
            "DELETE FROM t WHERE a = 1",
            "explain select 1",
            "select",
        ] {
            assert!(begins(text), "{text}");
        }
        for text in [
            "select = 5",
            "select.each",
            "update_all_config",
            "delete 't', 'r', 'f:q'",
            "deleteall 't', 'r'",
            "scan 't'",
        ] {
            assert!(!begins(text), "{text}");
        }
    }
}
