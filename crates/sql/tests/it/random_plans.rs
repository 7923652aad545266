//! Random texts as statements that are only planned: parsed, rewritten and planned over a few
//! declared tables, as they are, prepared, and with values for parameters. Nothing is read and
//! nothing written, so any number of them is safe anywhere.
//!
//! The seeds are the statements of `tests/slt`, changed by words, tokens and bytes. Each text is
//! planned or refused within its time; a panic is an internal error, an overflow of the stack the
//! end of the test. `HALITE_SQL_PLANS` sets the number of texts, `HALITE_SQL_SEED` the seed,
//! `HALITE_SQL_TEXT` one text. With a number that is set, growth of the process is a fault too: then
//! no other test may run beside it.

use std::time::{Duration, Instant};

use halite_sql::datafusion::common::ScalarValue;
use halite_sql::{SqlError, SqlState};

use crate::random::{Seeded, number_of};
use crate::slt::statements_of_files;
use crate::store::TestStore;

/// Time of one text, which is planned six times: constants of 64 MiB are computed each time, which
/// takes seconds without optimization.
const MAX_TIME: Duration = Duration::from_secs(180);
/// Memory by which one text may let the process grow.
const MAX_GROWTH_BYTES: u64 = 1 << 30;

/// Tables whose names the seeds often have, with columns of many kinds.
const TABLES: [&str; 8] = [
    "CREATE TABLE t (v I64 NOT NULL, w STRING, n I64 COUNTER, d DECIMAL(10, 2), \
     ROW KEY (k STRING, at I64))",
    "CREATE TABLE u (v I32, b BYTES, flag BOOL, ROW KEY (SALT(4 BY a), a I64, ts TIMESTAMP DESC))",
    "CREATE TABLE readings (v DOUBLE, note STRING, ROW KEY (device STRING, ts TIMESTAMP DESC))",
    "CREATE TABLE inbox (body STRING FAMILY b, tags MAP(STRING, STRING) FAMILY u PREFIX 't_', \
     ROW KEY (SALT(8 BY receiver), receiver STRING, ts TIMESTAMP DESC, sender STRING))",
    "CREATE TABLE m (p SERIES(F64) FAMILY t, q SERIES(I32) FAMILY t, place STRING FAMILY i, \
     ROW KEY (device STRING, BUCKET(ts, '1h')))",
    "CREATE TABLE r (x F32, y UUID, z DATE, ROW KEY (a STRING, b I32 DESC, c STRING NULLABLE))",
    "CREATE SCHEMA ns",
    "CREATE TABLE ns.s (v I64, ROW KEY (HASH(a), a STRING))",
];

fn store() -> TestStore {
    let store = TestStore::new();
    for text in TABLES {
        store.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    store
}

/// Returns a statement with some of its words, letters or bytes changed.
fn changed(chance: &mut Seeded, statements: &[String]) -> String {
    let mut text = statements[chance.below(statements.len())].clone();
    for _ in 0..=chance.below(3) {
        let other = &statements[chance.below(statements.len())];
        text = match chance.below(7) {
            0 | 1 => words_changed(chance, &text, other),
            2 => bytes_changed(chance, text),
            3 => repeated(chance, &text),
            4 => joined(chance, &text, other),
            5 => with_parameters(chance, &text),
            _ => nested(chance, &text),
        };
        if text.len() > 4096 {
            text.truncate(text.floor_char_boundary(4096));
        }
    }
    text
}

fn words_changed(chance: &mut Seeded, text: &str, other: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let others: Vec<&str> = other.split(' ').collect();
    let at = chance.below(words.len());
    let word = others[chance.below(others.len())];
    match chance.below(3) {
        0 if words.len() > 1 => drop(words.remove(at)),
        1 => words[at] = word,
        _ => words.insert(at, word),
    }
    words.join(" ")
}

fn bytes_changed(chance: &mut Seeded, text: String) -> String {
    const BYTES: &[u8] = b"'\"()[]{};:,.$%&|+-*/=<>!~^#?\\\0\n 0123456789eExXaA_\xf0\xff\x80";
    let mut bytes = text.into_bytes();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len() + 1);
        let byte = BYTES[chance.below(BYTES.len())];
        match chance.below(3) {
            0 if at < bytes.len() => drop(bytes.remove(at)),
            1 if at < bytes.len() => bytes[at] = byte,
            _ => bytes.insert(at, byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Repeats a part, up to some hundred times.
fn repeated(chance: &mut Seeded, text: &str) -> String {
    let (from, to) = (chance.below(text.len() + 1), chance.below(text.len() + 1));
    let from = text.floor_char_boundary(from.min(to));
    let to = text.floor_char_boundary(to.max(from));
    let part = &text[from..to];
    let times = if part.len() < 16 { chance.below(200) } else { chance.below(4) };
    format!("{}{}{}", &text[..to], part.repeat(times), &text[to..])
}

fn joined(chance: &mut Seeded, text: &str, other: &str) -> String {
    let between = chance.pick(&[" UNION ALL ", " EXCEPT ", " ; ", " AND ", " IN (", " ", ", "]);
    let end = text.floor_char_boundary(chance.below(text.len() + 1));
    let start = other.floor_char_boundary(chance.below(other.len() + 1));
    format!("{}{between}{}", &text[..end], &other[start..])
}

/// Replaces some numbers and texts by parameters.
fn with_parameters(chance: &mut Seeded, text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let is_value = word.starts_with(|first: char| first.is_ascii_digit() || first == '\'');
        if is_value && chance.below(2) == 0 {
            format!("${}", chance.below(5))
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn nested(chance: &mut Seeded, text: &str) -> String {
    match chance.below(5) {
        0 => format!("SELECT * FROM ({text}) AS q"),
        1 => format!("WITH q AS ({text}) SELECT * FROM q, q AS p"),
        2 => format!("INSERT INTO t {text}"),
        3 => format!("SELECT EXISTS ({text}), ({text})"),
        _ => format!("EXPLAIN (FORMAT json) {text}"),
    }
}

/// Values for parameters, of the types of the statement and of others.
fn values(chance: &mut Seeded, count: usize) -> Vec<ScalarValue> {
    let value = |_| match chance.below(9) {
        0 => ScalarValue::Null,
        1 => ScalarValue::from(i64::MIN),
        2 => ScalarValue::from(1i64),
        3 => ScalarValue::from("a"),
        4 => ScalarValue::from(f64::NAN),
        5 => ScalarValue::from(true),
        6 => ScalarValue::Binary(Some(vec![0, 0xff])),
        7 => ScalarValue::Utf8(None),
        _ => ScalarValue::Decimal128(Some(i128::MAX), 38, 10),
    };
    (0..count).map(value).collect()
}

/// Plans a text in all ways; returns the errors that are none of the text.
fn planned(store: &TestStore, chance: &mut Seeded, text: &str) -> Vec<SqlError> {
    let mut faults = Vec::new();
    let mut add = |result: Result<(), SqlError>| match result {
        Err(error) if error.state == SqlState::Internal => faults.push(error),
        _ => {}
    };
    for direct in ["on", "off"] {
        store.sql.change(|settings| settings.set("halite.direct", direct)).expect("a setting");
        let explained = format!("EXPLAIN {text}");
        // ANALYZE would run it.
        if !runs(&explained) {
            add(store.run_text(&explained).map(drop));
        }
        let prepared = match store.runtime.block_on(store.sql.prepare(text)) {
            Ok(prepared) => prepared,
            Err(error) => {
                add(Err(error));
                continue;
            }
        };
        let count = prepared.parameters().len();
        let explained = match store.runtime.block_on(store.sql.prepare(&explained)) {
            Ok(explained) if !runs(explained.text()) && explained.parameters().len() == count => {
                explained
            }
            Ok(_) => continue,
            Err(error) => {
                add(Err(error));
                continue;
            }
        };
        for _ in 0..2 {
            let values = values(chance, count);
            let run = async {
                let mut answer = store.sql.run_prepared(&explained, &values).await?;
                answer.batches().await.map(drop)
            };
            add(store.runtime.block_on(run));
        }
    }
    faults
}

/// Returns `true` if an EXPLAIN might run its statement.
fn runs(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    text.contains("ANALYZE") || text.contains("ANALYSE")
}

/// Returns the memory of the process, where it is known.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn random_texts_are_planned_or_refused() {
    let is_alone = std::env::var_os("HALITE_SQL_PLANS").is_some();
    let (texts, seed) = (number_of("HALITE_SQL_PLANS", 600), number_of("HALITE_SQL_SEED", 1));
    let statements = statements_of_files();
    let store = store();
    let tables = store.rows("SHOW TABLES");
    let mut chance = Seeded(seed);
    let only = std::env::var("HALITE_SQL_TEXT").ok();
    let mut faults = Vec::new();
    for _ in 0..texts {
        let text = only.clone().unwrap_or_else(|| changed(&mut chance, &statements));
        if is_alone {
            // A process that is aborted leaves the text that did it.
            let _ = std::fs::write(std::env::temp_dir().join("halite-sql-plan"), &text);
        }
        let (started, before) = (Instant::now(), resident_bytes());
        for error in planned(&store, &mut chance, &text) {
            faults.push(format!("{text:?}: {error}"));
        }
        let time = started.elapsed();
        if time > MAX_TIME {
            faults.push(format!("{text:?} took {time:?}"));
        }
        let grown = resident_bytes().zip(before).map_or(0, |(now, then)| now.saturating_sub(then));
        if is_alone && grown > MAX_GROWTH_BYTES {
            faults.push(format!("{text:?} took {grown} bytes"));
        }
    }
    // Planning changes nothing.
    assert_eq!(store.rows("SHOW TABLES"), tables);
    assert_eq!(store.rows("SELECT count(*) FROM t"), ["0"]);
    assert!(faults.is_empty(), "seed {seed}: {}", faults.join("\n"));
}
