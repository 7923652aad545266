//! `halite sql --lint`: what the statements of a text would read, by its own CREATE TABLEs, without
//! running one of them.
//!
//! The tables are created in an empty store of its own, so that the statements are planned as they
//! are on a cluster.

use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use halite::SqlContext;
use halite::sql::datafusion::common::ScalarValue;
use halite::sql::datafusion::error::Result as DataFusionResult;
use halite::sql::{SqlError, cell_text, split_statements};
use halite_rowkey_tools::lint::TableRules;
use serde_json::Value;

use super::runner::describe;

/// What was found in a text.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Lines to print.
    pub(crate) lines: Vec<Line>,
    /// `true` if a statement is wrong.
    pub(crate) has_errors: bool,
    /// Statements that were examined.
    pub(crate) statements: usize,
}

/// Finding about the statement that begins in a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.text)
    }
}

/// What is done with a statement.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// It declares or changes tables or settings.
    Run,
    /// It reads or writes rows.
    Explain,
    /// Neither.
    Skip,
}

/// Examines the statements of texts, one after the other.
///
/// # Errors
/// There is no place for the store.
pub(crate) fn lint(texts: &[String]) -> anyhow::Result<Findings> {
    let directory = tempfile::tempdir().context("a directory for the tables")?;
    let store = halite::open(directory.path()).context("a store for the tables")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(halite::sql::STACK_BYTES)
        .enable_all()
        .build();
    let runtime = runtime.context("threads for SQL")?;
    let sql = SqlContext::new(Arc::clone(store.cluster())).with_lint(Arc::new(TableRules));
    let mut findings = Findings::default();
    for text in texts {
        for statement in split_statements(text) {
            let body = statement.text.trim_start();
            let start = statement.start + statement.text.len() - body.len();
            let line = 1 + text[..start].matches('\n').count();
            let found = runtime.block_on(lint_statement(&sql, body));
            findings.statements += 1;
            let found = found.unwrap_or_else(|error| {
                findings.has_errors = true;
                vec![format!("ERROR {}", describe(&error, body))]
            });
            findings.lines.extend(found.into_iter().map(|text| Line { line, text }));
        }
    }
    drop(sql);
    store.close().context("the store for the tables")?;
    Ok(findings)
}

async fn lint_statement(sql: &SqlContext, text: &str) -> Result<Vec<String>, SqlError> {
    match step(text) {
        Step::Skip => Ok(Vec::new()),
        Step::Run => {
            let mut answer = sql.run(text).await?;
            answer.batches().await?;
            Ok(answer.take_notices())
        }
        Step::Explain => explained(sql, text).await,
    }
}

/// Returns what EXPLAIN notes about a statement, with any values for its parameters.
async fn explained(sql: &SqlContext, text: &str) -> Result<Vec<String>, SqlError> {
    let prepared = sql.prepare(&format!("EXPLAIN (FORMAT json) {text}")).await;
    let prepared = prepared.map_err(|error| without_prefix(error, EXPLAIN))?;
    let values =
        prepared.parameters().iter().map(|field| ScalarValue::new_default(field.data_type()));
    let values: Vec<ScalarValue> = values.collect::<DataFusionResult<_>>()?;
    let answer = sql.run_prepared(&prepared, &values).await;
    let mut answer = answer.map_err(|error| without_prefix(error, EXPLAIN))?;
    let mut found = Vec::new();
    for batch in answer.batches().await? {
        let json = cell_text(answer.schema().field(0), batch.column(0).as_ref(), 0)?;
        let plan: Value = serde_json::from_str(&json.unwrap_or_default()).unwrap_or_default();
        add_notes(&plan, &mut found);
    }
    found.extend(answer.take_notices());
    Ok(found)
}

/// Words in front of a statement.
const EXPLAIN: &str = "EXPLAIN (FORMAT json) ";

/// Moves the place of an error back by what is in front of the statement.
fn without_prefix(mut error: SqlError, prefix: &str) -> SqlError {
    if let Some((1, column)) = error.position {
        error.position = Some((1, column.saturating_sub(prefix.len() as u64).max(1)));
    }
    error
}

/// Adds the notes of all scans within a value, each with the key that would serve.
fn add_notes(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_notes(value, found)),
        Value::Object(members) => {
            if let (Some(table), Some(notes)) = (members.get("table"), members.get("notes")) {
                let table = table.as_str().unwrap_or_default();
                let text = |note: &Value| note["text"].as_str().map(str::to_owned);
                let notes: Vec<String> =
                    notes.as_array().into_iter().flatten().filter_map(text).collect();
                found.extend(notes.iter().map(|note| format!("table {table}: {note}")));
                if let Some(key) = members.get("serves").and_then(Value::as_str) {
                    found.push(format!("table {table}: {key} would serve it"));
                }
            }
            members.values().for_each(|value| add_notes(value, found));
        }
        _ => {}
    }
}

/// First words of statements that neither declare nor read or write rows of a query.
const SKIPPED: [&str; 16] = [
    "ABORT", "ANALYSE", "ANALYZE", "BEGIN", "COMMIT", "COMPACT", "COPY", "DESC", "DESCRIBE", "END",
    "EXPLAIN", "FLUSH", "ROLLBACK", "SHOW", "START", "TRUNCATE",
];

fn step(text: &str) -> Step {
    let text = text.trim_start();
    if text.starts_with("--") || text.starts_with("/*") {
        return step(after_comment(text));
    }
    let end = text.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(text.len());
    match text[..end].to_ascii_uppercase().as_str() {
        "CREATE" | "ALTER" | "DROP" | "SET" | "RESET" | "COMMENT" | "DISCARD" => Step::Run,
        "" if !text.starts_with('(') => Step::Skip,
        "SPLIT" => Step::Skip,
        word if SKIPPED.contains(&word) => Step::Skip,
        // What is no statement is refused there.
        _ => Step::Explain,
    }
}

/// Returns what follows the comment at the beginning of a text.
fn after_comment(text: &str) -> &str {
    let end = if text.starts_with("--") {
        text.find('\n').map(|at| at + 1)
    } else {
        text.find("*/").map(|at| at + 2)
    };
    end.map_or("", |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> (Vec<String>, bool) {
        let found = lint(&[text.to_owned()]).expect("findings");
        (found.lines.iter().map(ToString::to_string).collect(), found.has_errors)
    }

    #[test]
    fn queries_are_linted_with_the_tables_of_the_file() {
        let text = "-- Messages by their id.\n\
                    CREATE TABLE msgs (receiver_id STRING, created_at TIMESTAMP, body STRING,\n\
                    ROW KEY (msg_id STRING));\n\
                    \n\
                    SELECT * FROM msgs WHERE receiver_id = $1 ORDER BY created_at DESC LIMIT 100;\n\
                    SELECT body FROM msgs WHERE msg_id = 'm1';\n\
                    DELETE FROM msgs WHERE body = 'x';\n";
        let (found, has_errors) = lines(text);
        let shown = found.join("\n");
        assert!(!has_errors, "{shown}");
        let of_line = |line: &str| found.iter().filter(|found| found.starts_with(line)).count();
        assert!(shown.contains("line 5: table msgs: Q-FULL"), "{shown}");
        assert!(
            shown.contains("line 5: table msgs: ROW KEY (SALT(16 BY receiver_id), receiver_id STRING, created_at TIMESTAMP DESC, msg_id STRING) would serve it"),
            "{shown}"
        );
        assert_eq!(of_line("line 6:"), 0, "{shown}");
        assert!(of_line("line 7:") > 1, "{shown}");
    }

    #[test]
    fn wrong_statements_are_found_and_the_others_examined() {
        let (found, has_errors) = lines(
            "CREATE TABLE t (v I64, ROW KEY (k STRING));\nSELECT w FROM t;\nSELECT v FROM t WHERE v = 1",
        );
        let shown = found.join("\n");
        assert!(has_errors, "{shown}");
        assert!(shown.contains("line 2: ERROR 42703"), "{shown}");
        assert!(shown.contains("line 1: SELECT w FROM t\n               ^"), "{shown}");
        assert!(shown.contains("line 3: table t: Q-FULL"), "{shown}");
    }

    #[test]
    fn first_words_tell_what_is_done() {
        for (text, expected) in [
            ("-- a\n/* b */ select 1", Step::Explain),
            ("(SELECT 1)", Step::Explain),
            ("create table t (..)", Step::Run),
            ("SET x = 1", Step::Run),
            ("BEGIN", Step::Skip),
            ("-- nothing", Step::Skip),
            ("\\copy t FROM 'x'", Step::Skip),
            ("SELEC 1", Step::Explain),
        ] {
            assert_eq!(step(text), expected, "{text}");
        }
    }
}
