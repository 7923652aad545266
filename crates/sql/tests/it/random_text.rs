//! Random texts as statements: pieces of SQL in any order, and statements of `tests/slt` with a piece
//! changed. Each is answered or refused, in little time and without a panic: a panic in planning is
//! an internal error. `HALITE_SQL_TEXTS` sets the number of texts, `HALITE_SQL_SEED` the seed.

use std::time::{Duration, Instant};

use halite_sql::SqlState;

use crate::random::{Seeded, number_of};
use crate::slt::statements_of_files;
use crate::store::TestStore;

/// Words, signs and values that begin, end and cross everything that is parsed.
const PIECES: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "HAVING",
    "WITH",
    "AS",
    "ON",
    "JOIN",
    "LEFT JOIN",
    "CROSS JOIN",
    "USING",
    "UNION",
    "UNION ALL",
    "EXCEPT",
    "VALUES",
    "DISTINCT",
    "DISTINCT ON",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "IS NULL",
    "EXISTS",
    "ANY",
    "ALL",
    "OVER",
    "PARTITION BY",
    "ROWS",
    "INTERVAL",
    "EXPLAIN",
    "ANALYZE",
    "INSERT INTO",
    "UPSERT INTO",
    "UPDATE",
    "SET",
    "DELETE FROM",
    "RETURNING",
    "ON CONFLICT",
    "DO NOTHING",
    "DO UPDATE SET",
    "MOVE ROW IN",
    "TO",
    "VERSIONS",
    "AS OF TIMESTAMP",
    "FOR SYSTEM_TIME AS OF",
    "CREATE TABLE",
    "ROW KEY",
    "SALT",
    "ALTER TABLE",
    "ADOPT ROW KEY",
    "SHOW",
    "TABLES",
    "DESCRIBE",
    "BEGIN",
    "COMMIT",
    "TABLE",
    "LATERAL",
    "RECURSIVE",
    "UNNEST",
    "TABLESAMPLE",
    "t",
    "u",
    "k",
    "v",
    "w",
    "a",
    "_row",
    "_ts",
    "_cells",
    "cells",
    "t.k",
    "t.*",
    "*",
    "\"k\"",
    "\"",
    "count",
    "sum",
    "min",
    "coalesce",
    "starts_with",
    "date_bin",
    "generate_series",
    "array_agg",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ".",
    "::",
    ":",
    "=",
    "<",
    ">",
    "<=",
    "<>",
    "+",
    "-",
    "/",
    "%",
    "||",
    "->",
    "->>",
    "@>",
    "$1",
    "$0",
    "?",
    "~",
    "^",
    "&",
    "|",
    "#",
    "!",
    "\\",
    "0",
    "1",
    "-1",
    "1.5",
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    "NULL",
    "TRUE",
    "'a'",
    "''",
    "'it''s'",
    "x'00ff'",
    "x'0",
    "E'\\x00'",
    "'\\xff'::bytea",
    "'2024-01-01'",
    "'NaN'",
    "$$",
    "--",
    "/*",
    "*/",
    "\0",
    "\u{feff}",
    "\u{a0}",
    "\u{1f600}",
    "\u{e9}",
    "\r\n",
    "\t",
];

fn store() -> TestStore {
    let store = TestStore::new();
    for text in [
        "CREATE TABLE t (v I64, w STRING, ROW KEY (k STRING))",
        "CREATE TABLE u (v I32, b BYTES, n I64 COUNTER, ROW KEY (SALT(4 BY a), a I64, ts TIMESTAMP DESC))",
        "UPSERT INTO t (k, v, w) VALUES ('a', 1, 'x'), ('b', 2, NULL)",
        "UPSERT INTO u (a, ts, v) VALUES (1, '2024-01-01', 1), (2, '2024-01-02', 2)",
        "SET statement_timeout = 2000",
        "SET halite.max_rows_written = 1000",
    ] {
        store.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    store
}

fn pieces(chance: &mut Seeded) -> String {
    let begin = chance.pick(&["SELECT", "SELECT * FROM t", "UPDATE t SET", "UPSERT INTO t", ""]);
    let mut text = begin.to_owned();
    for _ in 0..=chance.below(12) {
        text.push_str(chance.pick(&[" ", " ", " ", ""]));
        text.push_str(chance.pick(PIECES));
    }
    text
}

/// Returns a statement with some of its words changed.
fn changed(chance: &mut Seeded, statements: &[String]) -> String {
    let statement = &statements[chance.below(statements.len())];
    let mut words: Vec<&str> = statement.split(' ').collect();
    for _ in 0..=chance.below(3) {
        let at = chance.below(words.len());
        match chance.below(4) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[chance.below(words.len())]),
            2 => words[at] = chance.pick(PIECES),
            _ => words.insert(at, chance.pick(PIECES)),
        }
    }
    let text = words.join(" ");
    // Sometimes only its beginning.
    let end = if chance.below(8) == 0 { chance.below(text.len() + 1) } else { text.len() };
    text[..text.floor_char_boundary(end)].to_owned()
}

#[test]
fn random_texts_are_answered_or_refused() {
    let (texts, seed) = (number_of("HALITE_SQL_TEXTS", 1500), number_of("HALITE_SQL_SEED", 1));
    let statements = statements_of_files();
    assert!(statements.len() > 400, "{} statements", statements.len());
    let store = store();
    let mut chance = Seeded(seed);
    let mut faults = Vec::new();
    for _ in 0..texts {
        let text = match chance.below(3) {
            0 => pieces(&mut chance),
            _ => changed(&mut chance, &statements),
        };
        let started = Instant::now();
        match store.run_text(&text) {
            Err(error) if error.state == SqlState::Internal => {
                faults.push(format!("{text:?}: {error}"));
            }
            _ => {}
        }
        let time = started.elapsed();
        assert!(time < Duration::from_mins(2), "seed {seed}: {text:?} took {time:?}");
    }
    assert!(faults.is_empty(), "seed {seed}: {}", faults.join("\n"));
}
