//! Malicious declarations: long ones, deeply nested ones, and numbers out of range are rejected
//! immediately, with a fix.

use std::time::{Duration, Instant};

use halite_rowkey::KeySchema;
use halite_rowkey::language::{MAX_TEXT_BYTES, statements};

/// Returns the error message of a statement that must be rejected, as displayed to the user.
fn refused(text: &str) -> String {
    let error = statements(text)
        .err()
        .unwrap_or_else(|| panic!("it is taken: {}", &text[..text.len().min(200)]));
    let shown = error.render(text);
    assert!(shown.len() < 4_000, "a mistake is shown in {} bytes", shown.len());
    shown
}

#[test]
fn megabyte_texts_are_rejected_by_length() {
    let megabyte =
        format!("CREATE TABLE t (v I64, ROW KEY ({}id STRING))", "a STRING, ".repeat(110_000));
    assert!(megabyte.len() > 1 << 20);
    assert!(refused(&megabyte).contains(&format!("at most {MAX_TEXT_BYTES} are read")));
    let deep = format!("CREATE TABLE t {}", "(".repeat(100_000));
    assert!(refused(&deep).contains("are read"));
    assert!(deep.parse::<KeySchema>().is_err());
}

#[test]
fn deep_and_repeated_texts_are_rejected_quickly() {
    let began = Instant::now();
    let most = MAX_TEXT_BYTES - 100;
    let texts = [
        format!("CREATE TABLE t {}", "(".repeat(most)),
        format!("CREATE TABLE t (ROW KEY {}", "(".repeat(most)),
        format!("CREATE TABLE t (ROW KEY (SALT({}", "SALT(".repeat(most / 5)),
        format!("CREATE TABLE t (v I64, ROW KEY (a STRING)) WITH QUERIES {}", "(".repeat(most / 2)),
        format!(
            "CREATE TABLE t (v I64, ROW KEY (a STRING)) WITH QUERIES (q: {}a = ?)",
            "a = ? AND ".repeat(most / 11)
        ),
        format!(
            "CREATE TABLE t (v I64, ROW KEY (a STRING)) WITH QUERIES (q: a = ? ORDER BY {}a)",
            "a, ".repeat(most / 4)
        ),
        format!(
            "CREATE TABLE t (v I64, ROW KEY (a STRING)) WITH QUERIES (q: a = ?{})",
            ", q: a = ?".repeat(most / 11)
        ),
        format!(
            "CREATE TABLE t (v I64, ROW KEY (a STRING)) SPLIT AT ({}'a')",
            "'a', ".repeat(most / 6)
        ),
        format!(
            "CREATE TABLE t (v I64, ROW KEY (a STRING)) WITH ({})",
            "TTL = 1, ".repeat(most / 10)
        ),
    ];
    for text in texts {
        refused(&text);
    }
    // Seconds indicate a quadratic step; the time itself is not tested.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn salt_count_out_of_range_error_states_the_limit() {
    for salts in ["0", "65537", "4294967296", "18446744073709551616"] {
        for text in [
            format!("CREATE TABLE t (v I64, ROW KEY (SALT({salts}), a STRING))"),
            format!("CREATE TABLE t (v I64, ROW KEY TEXT '{{salt({salts})}}{{a}}')"),
            format!("CREATE TABLE t (a VARCHAR PRIMARY KEY, v BIGINT) SALT_BUCKETS = {salts}"),
            format!("ALTER TABLE t ALTER SALT TO {salts}"),
        ] {
            let shown = refused(&text);
            assert!(shown.contains("65536") || shown.contains("256"), "{text}\n{shown}");
        }
    }
    assert!("(SALT(65536 BY id), id STRING)".parse::<KeySchema>().is_ok());
}

#[test]
fn unknown_transform_error_suggests_the_nearest_name() {
    assert!(
        refused("CREATE TABLE t (v I64, ROW KEY (REVRSE(a) STRING))")
            .contains("did you mean REVERSE?")
    );
    assert!(refused("CREATE TABLE t (v I64, ROW KEY (SCRAMBLE(a) STRING))").contains("SCRAMBLE"));
    assert!(
        refused("CREATE TABLE t (v I64, ROW KEY (SALT(4 BY a USING md6), a STRING))")
            .contains("did you mean md5?")
    );
    assert!(refused("CREATE TABLE t (v I64, ROW KEY TEXT '{zip(a)}')").contains("zip"));
}

#[test]
fn key_that_moves_rows_is_rejected() {
    let key = |text: &str| text.parse::<KeySchema>().unwrap();
    let salted = key("(SALT(16 BY id), id STRING, ts TIMESTAMP)");
    for other in [
        "(SALT(32 BY id), id STRING, ts TIMESTAMP)",
        "(SALT(16 BY id, ts), id STRING, ts TIMESTAMP)",
        "(SALT(16 BY id USING md5), id STRING, ts TIMESTAMP)",
        "(id STRING, ts TIMESTAMP)",
        "(SALT(16 BY id), id STRING, ts TIMESTAMP DESC)",
        "(SALT(16 BY id), id STRING NULLABLE, ts TIMESTAMP)",
    ] {
        let error = salted.check_change(&key(other)).unwrap_err().to_string();
        assert!(
            error.contains("create a table with the new key and copy the rows"),
            "{other}: {error}"
        );
    }
    assert!(salted.check_change(&key("(SALT(16 BY device), device STRING, at TIMESTAMP)")).is_ok());
}
